// Tensors of a GGUF: names, order, types.
#pragma once

#include <optional>
#include <vector>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kUnsupported, naming tensors that no rule matches; kCorrupt for shapes that contradict
// config.json, missing experts, names that occur twice.
Result<std::vector<Tensor>> make_gguf_tensors(std::vector<NamedTensor> tensors, const Model& model,
                                              Codecs codecs);

// Stores `tensor` as `target`. Values are rounded to it even if a later step stores them in a third
// type, as if the conversion's file were quantized.
Result<Tensor> encode_as(Tensor tensor, const Codec& target);

// Fails: kCorrupt if shapes contradict config.json, naming the first tensor and their number.
Status check_shapes(const std::vector<NamedTensor>& tensors, const Model& model);

// Whether the tensor has this shape from a table. Axes of length 1 do not count, and the number of
// rows may differ in matrices with a row for each token.
bool has_shape(const NamedTensor& named, const std::vector<uint64_t>& shape, const Family& family);

// llama.cpp does not load most files that lack a tensor; for others it computes a different model:
// without a head it uses the embeddings. Fails: kCorrupt, naming the first missing tensor and their
// number. Allowed to be missing: optional rows, the head of a model that ties it, biases that a
// field requests, layers for multi-token prediction, and all tensors of a family with a partial
// table.
Status check_missing(const std::vector<NamedTensor>& tensors, const Model& model);
// Lists the parameters that check_missing() reports. Fails: as expected_parameters().
Result<std::vector<Parameter>> missing_parameters(const std::vector<NamedTensor>& tensors,
                                                  const Model& model);

// Fails: kCorrupt, naming a tensor of a layer after the last that is not for multi-token
// prediction.
Status check_layers(const std::vector<NamedTensor>& tensors, const Model& model);

// The model's parameters by config.json and by the form of `tensors`. Fails: as
// expected_parameters().
Result<std::vector<Parameter>> table_parameters(const std::vector<NamedTensor>& tensors,
                                                const Model& model);

// The name of a tensor in the table of its family.
std::string table_name(const NamedTensor& named, const Family& family);

// NVFP4 weights for a GGUF: bits move, and scales become separate tensors.
//
//   P.weight, P.weight_scale   ─▶ blk.N.x.weight        nvfp4 blocks
//   P.weight_scale_2, or 1 / P.weight_global_scale
//                             ─▶ blk.N.x.scale         F32 [1], for experts [experts]
//   P.input_scale, or 1 / P.input_global_scale
//                              ─▶ blk.N.x.input_scale   the same
//
// Source: llama.cpp conversion/base.py (_generate_nvfp4_tensors, _write_scale_tensor).
// These tensors precede all others in the file; a scale of 1 is omitted; a stack of experts takes
// the place of its projection's last expert. Fails: kUnsupported for names without a rule, tensors
// that are not matrices, incomplete blocks in rows; kCorrupt for scales that are not numbers, or
// missing experts.
Result<std::vector<Tensor>> make_nvfp4_tensors(const std::vector<NamedTensor>& tensors,
                                               const Model& model, Codecs codecs);

// Joins the tensors X_packed, X_scale and X_shape of compressed-tensors' INT4 groups into X, which
// can be decoded; other tensors stay. Fails: kIo.
Result<std::vector<Tensor>> join_packed_int4(std::vector<Tensor> tensors, Codecs codecs);

// Joins weights of `input` that are stored in several tensors. Fails: as join_packed_weights().
Result<Checkpoint> with_whole_weights(Checkpoint input, Codecs codecs);

// `tensor` as Q4_0 with its codes; nullopt if it is not packed INT4, or its changes do not leave
// complete blocks.
std::optional<Tensor> with_kept_codes(const Tensor& tensor, Codecs codecs);

// Notes how many of `made` keep their codes, and which packed weights of `input` do not. Fails:
// kUsage: none does.
Status note_kept_codes(const Checkpoint& input, const std::vector<Tensor>& made,
                       const Context& context);

}  // namespace ckpt
