// Changes values and shapes of tensors by the rules of a family.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// Changes one tensor's values and shape by its rule; names and types are left to the caller.
Result<std::vector<Tensor>> change_values(Tensor tensor, Change change, const Model& model,
                                          Codecs codecs);

// Multiplies by each of `fields` in config.json (NameRule::factors).
Result<Tensor> multiplied(Tensor tensor, std::string_view fields, const Model& model);

// Makes floats that an earlier step computes readable, for changes that cut, stack or transpose
// values. Fails: kUnsupported: codes that do not exist yet.
Result<Tensor> stored_floats(const Tensor& tensor);

// Moves the rows of each head from halves to pairs, as llama.cpp's rotary embeddings need them.
// Fails: kCorrupt if the rows are not heads of an even size.
Result<Tensor> pair_rows(Tensor tensor, uint64_t heads);

// The products of the values of two vectors, in F32. Fails: kCorrupt: they differ in size;
// kUnsupported: too many values.
Result<Tensor> product_of(const Tensor& a, Tensor b, Codecs codecs);

// Removes axes of length 1.
Result<Tensor> squeezed(Tensor tensor);

// Appends an operation that adds; for F16 the sum is rounded to F16, as by the converter.
Result<Tensor> with_sum(Tensor tensor, ValueOp op);

// kCorrupt: a shape that a change does not support.
Failure wrong_shape(const Tensor& tensor, std::string_view expected);

// Applies the changes that transpose matrices; change_values handles the others. `f32` is the codec
// for values that had to be decoded.
Result<std::vector<Tensor>> change_grid(const Tensor& given, Change change, const Model& model,
                                        const Codec& f32);

}  // namespace ckpt
