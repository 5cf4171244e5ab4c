// Statistics for experts that calibration did not reach.
#pragma once

#include "core/base/result.h"
#include "core/model/imatrix.h"

namespace ckpt {

// The values of an expert without statistics: the same for each column, or the mean over all inputs
// that the tensor's other experts saw.
enum class FillWith : uint8_t { kOnes, kMean };

// Gives each expert that saw fewer than `least` inputs, and each other matrix that saw none, these
// statistics with a count of 1; kMean becomes ones where no other expert saw any. Gives the number
// of matrices and notes it in the key kFilledKey. Fails: kUnsupported for a legacy file, which does
// not count by expert.
Result<uint64_t> fill_imatrix(ImatrixSums& imatrix, FillWith with, int64_t least);

}  // namespace ckpt
