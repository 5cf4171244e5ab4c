// Tensors of a GGUF: names, order, types.
#pragma once

#include <optional>
#include <vector>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kUnsupported, naming them, for tensors no rule knows; kCorrupt for shapes that contradict
// config.json, experts that are missing, names that come twice.
Result<std::vector<Tensor>> make_gguf_tensors(std::vector<NamedTensor> tensors, const Model& model,
                                              Codecs codecs);

// `tensor` to be stored as `target`. Values pass through it even when a later step stores them in a
// third type: that is what converting first and quantizing the file would have done.
Result<Tensor> encode_as(Tensor tensor, const Codec& target);

// Fails: kCorrupt, naming the first and counting them: tensors whose shapes contradict config.json.
Status check_shapes(const std::vector<NamedTensor>& tensors, const Model& model);

// Whether the tensor has this shape from a table. Axes of length 1 do not count, and matrices with
// a row for each token may have another number of rows.
bool has_shape(const NamedTensor& named, const std::vector<uint64_t>& shape, const Family& family);

// llama.cpp does not load most files that lack a tensor, and computes another model with the rest:
// without a head it takes the embeddings.
// Fails: kCorrupt, naming the first tensor that is missing and their number. These may be missing:
// rows that are optional, the head of a model that ties it, biases that only a field asks for,
// layers for multi-token prediction, and all of a family whose table is partial.
Status check_missing(const std::vector<NamedTensor>& tensors, const Model& model);
// Lists the parameters that check_missing() reports. Fails: as expected_parameters().
Result<std::vector<Parameter>> missing_parameters(const std::vector<NamedTensor>& tensors,
                                                  const Model& model);

// Fails: kCorrupt, naming a tensor of a layer beyond num_hidden_layers that is not for multi-token
// prediction.
Status check_layers(const std::vector<NamedTensor>& tensors, const Model& model);

// The parameters that the model has by config.json and by the form of `tensors`. Fails: as
// expected_parameters().
Result<std::vector<Parameter>> table_parameters(const std::vector<NamedTensor>& tensors,
                                                const Model& model);

// The name of a tensor in the table of its family.
std::string table_name(const NamedTensor& named, const Family& family);

// NVFP4 weights on their way to GGUF: bits move, and scales become tensors of their own.
//
//   P.weight, P.weight_scale   ─▶ blk.N.x.weight        nvfp4 blocks
//   P.weight_scale_2, or 1 / P.weight_global_scale
//                              ─▶ blk.N.x.scale         F32 [1], of experts [experts]
//   P.input_scale, or 1 / P.input_global_scale
//                              ─▶ blk.N.x.input_scale   the same
//
// Source: llama.cpp conversion/base.py (_generate_nvfp4_tensors, _write_scale_tensor).
// These tensors come before all others in the file; a scale of 1 is not written; a stack of
// experts comes where the last of its projection was read.
// Fails: kUnsupported for names without a rule, for tensors that are not matrices, rows not of
// whole blocks; kCorrupt for scales that are not numbers, and when experts are missing.
Result<std::vector<Tensor>> make_nvfp4_tensors(const std::vector<NamedTensor>& tensors,
                                               const Model& model, Codecs codecs);

// INT4 in groups as compressed-tensors packs it, tensors X_packed, X_scale and X_shape, as X, which
// can be decoded; others as they are. Fails: kIo.
Result<std::vector<Tensor>> join_packed_int4(std::vector<Tensor> tensors, Codecs codecs);

// Joins weights of `input` that are stored in several tensors. Fails: as join_packed_weights().
Result<Checkpoint> with_whole_weights(Checkpoint input, Codecs codecs);

// `tensor` as Q4_0 with the codes that it has; nullopt where it is not packed INT4, or the changes
// to it leave no whole blocks.
std::optional<Tensor> with_kept_codes(const Tensor& tensor, Codecs codecs);

// Notes how many of `made` keep their codes, and which of the packed weights of `input` do not.
// Fails: kUsage: none does.
Status note_kept_codes(const Checkpoint& input, const std::vector<Tensor>& made,
                       const Context& context);

}  // namespace ckpt
