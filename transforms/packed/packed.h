// Weights that other programs store as codes in layouts of their own, taken together to be read.
//
//   P.qweight, P.qzeros, P.scales, P.g_idx      ──▶  P.weight [N, K]
//
// The statement about quantization says whose layout it is; what the parts are is held against it
// and against each other. A weight is refused by name where they disagree.
#pragma once

#include <map>
#include <string>

#include "core/model/checkpoint.h"
#include "core/model/codec.h"
#include "core/model/packed_forms.h"

namespace ckpt {

// `checkpoint` with each such weight as one tensor that can be decoded, at the place of its codes;
// others as they are. Documents stay. Fails: kCorrupt: parts that are missing or do not fit each
// other or what config.json says; kUnsupported: a layout of that method that is not read; kIo.
Result<Checkpoint> join_packed_weights(Checkpoint checkpoint, Codecs codecs);

// Made by join_packed_weights, with values that are decoded when they are read.
bool is_unpacked(const Tensor& tensor);
// The same of codes that fill words: such a weight has no tensor of its name in the input, and
// llama.cpp's converter puts it behind all that have one.
bool is_made_of_words(const Tensor& tensor);

// How weights are stored, by the name of the tensor with their codes: "GPTQ 4 bits (group 128)";
// "" for their other parts. Reads no tensor. Fails: as join_packed_weights.
Result<std::map<std::string, std::string>> describe_packed_weights(const Checkpoint& checkpoint);

// Methods whose layouts are read here, as quant_method spells them.
std::vector<std::string> packed_methods();

// Whether weights are stored as codes in another program's layout, which dequantize and to-gguf
// read: GPTQ, AWQ and the like.
bool holds_packed_weights(const Checkpoint& checkpoint);

// Decodes such weights. Reads headers, and of tensors the few numbers that are shapes.
PackedForms packed_forms(const Checkpoint& checkpoint);

}  // namespace ckpt
