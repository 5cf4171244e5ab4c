// Values and shapes of tensors, changed as the rules of a family say.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// One tensor's values and shape as its rule says; names and types are the caller's.
Result<std::vector<Tensor>> change_values(Tensor tensor, Change change, const Model& model,
                                          Codecs codecs);

// Multiplied by `fields` of config.json, one after the other (NameRule::factors).
Result<Tensor> multiplied(Tensor tensor, std::string_view fields, const Model& model);

// Floats that an earlier step computes as it would have written them, for changes that cut, stack
// or turn values. Fails: kUnsupported: codes that do not exist yet.
Result<Tensor> stored_floats(const Tensor& tensor);

// Rows of each of `heads` from halves to pairs, as rotary embeddings of llama.cpp want them. Fails:
// kCorrupt where the rows are not heads of an even size.
Result<Tensor> pair_rows(Tensor tensor, uint64_t heads);

// Without its axes of length 1.
Result<Tensor> squeezed(Tensor tensor);

// With an operation that adds; of F16 rounded to it, as the converter's arithmetic in F16 is.
Result<Tensor> with_sum(Tensor tensor, ValueOp op);

// kCorrupt: a shape that a change does not take.
Failure wrong_shape(const Tensor& tensor, std::string_view expected);

// The changes that turn matrices around; others are change_values' own. `f32` is the codec of
// values that had to be decoded for it.
Result<std::vector<Tensor>> change_grid(const Tensor& given, Change change, const Model& model,
                                        const Codec& f32);

}  // namespace ckpt
