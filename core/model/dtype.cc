#include "core/model/dtype.h"

#include <array>
#include <cstddef>

#include "core/base/result.h"

namespace ckpt {
namespace {

constexpr std::array<DtypeInfo, kDtypeCount> kTable = {{
#define CKPT_ROW(enumerator, name, values, size_bytes, ggml, short_rows, weights, search, place) \
  {name, values, size_bytes, ggml, Dtype::short_rows, ImportanceUse::weights, SearchUse::search, \
   place},
    CKPT_DTYPES_OF_NUMBERS(CKPT_ROW) CKPT_DTYPES_OF_BLOCKS(CKPT_ROW)
#undef CKPT_ROW
}};

}  // namespace

const DtypeInfo& info(Dtype dtype) {
  const auto index = static_cast<size_t>(dtype);
  CKPT_CHECK(index < kTable.size());
  return kTable[index];
}

}  // namespace ckpt
