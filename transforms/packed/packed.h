// Weights that other programs store as codes in several tensors, joined so that they can be read.
//
//   P.qweight, P.qzeros, P.scales, P.g_idx      ──▶  P.weight [N, K]
//
// The declaration of quantization names the layout, and the parts are compared with it and with
// each other. If they disagree, the weight is rejected by name.
#pragma once

#include <map>
#include <string>

#include "core/model/checkpoint.h"
#include "core/model/codec.h"
#include "core/model/packed_forms.h"

namespace ckpt {

// Replaces the codes of each such weight by one tensor that can be decoded; other tensors and
// documents stay. Fails: kCorrupt: missing or contradictory parts; kUnsupported: an unknown layout
// of that method; kIo.
Result<Checkpoint> join_packed_weights(Checkpoint checkpoint, Codecs codecs);

// Whether join_packed_weights made the tensor, with values that are decoded when they are read.
bool is_unpacked(const Tensor& tensor);
// Whether its codes fill words: the input has no tensor of the weight's name, and llama.cpp's
// converter puts it after all tensors that have one.
bool is_made_of_words(const Tensor& tensor);

// The storage of weights, by name of the tensor with their codes: "GPTQ 4 bits (group 128)"; "" for
// their other parts. Reads no tensors. Fails: as join_packed_weights.
Result<std::map<std::string, std::string>> describe_packed_weights(const Checkpoint& checkpoint);

// Methods with supported layouts, as spelled in quant_method.
std::vector<std::string> packed_methods();

// Whether weights are codes in another program's layout, which dequantize and to-gguf read: GPTQ,
// AWQ and the like.
bool holds_packed_weights(const Checkpoint& checkpoint);

// Decodes such weights. Reads headers, and only those tensors that contain shapes.
PackedForms packed_forms(const Checkpoint& checkpoint);

}  // namespace ckpt
