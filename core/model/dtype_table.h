// The rows of dtype.h as a table, for constants that are made while compiling.
#pragma once

#include "core/model/dtype.h"

namespace ckpt {

inline constexpr DtypeInfo kDtypeInfos[] = {  // by Dtype
#define CKPT_ROW(enumerator, name, values, size_bytes, ggml, short_rows, weights, search, place) \
  {name, values, size_bytes, ggml, Dtype::short_rows, ImportanceUse::weights, SearchUse::search, \
   place},
    CKPT_DTYPES_OF_NUMBERS(CKPT_ROW) CKPT_DTYPES_OF_BLOCKS(CKPT_ROW)
#undef CKPT_ROW
};

}  // namespace ckpt
