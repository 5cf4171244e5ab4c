#include "core/model/dtype.h"

#include "core/base/result.h"

namespace ckpt {

const DtypeInfo& info(Dtype dtype) {
  const auto index = static_cast<uint32_t>(dtype);
  CKPT_CHECK(index < kDtypeCount);
  return kDtypeInfos[index];
}

}  // namespace ckpt
