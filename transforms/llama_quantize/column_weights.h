// Entries of importance matrices, as weights of columns.
#pragma once

#include <memory>

#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"

namespace ckpt {

// Finds the importance matrix's entry for `tensor`; null if there is none. Each matrix of a stack
// has its own weights. Fails: kCorrupt: an entry of another size.
Result<std::shared_ptr<const ColumnWeights>> find_column_weights(const Imatrix& imatrix,
                                                                 const Tensor& tensor);

// Fails: kCorrupt, naming the first number that is NaN or Inf.
Status check_finite(const Imatrix& imatrix);

}  // namespace ckpt
