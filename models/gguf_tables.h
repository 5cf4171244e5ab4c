// llama.cpp v0.5.0's requirements for a GGUF of each architecture, as data: keys with their types,
// and tensors with their shapes. The tables are in models/gguf/.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/row_lists.h"

namespace ckpt {

// A tensor of the file; one a layer where {} is in the name.
//   name    "blk.{}.attn_{q,k,v}" is one fused matrix or three, with biases or without; its shape
//           counts inputs, then what each of the three gives. "blk.{}.ffn_{gate,up}_exps" is one
//           stack of both or two. Any other list is a row for each word; that of ffn_down has the
//           first two sizes of its shape the other way round
//   shape   as GGUF orders dimensions; numbers of the layer (checks/gguf/gguf_numbers.cc), as in
//           models/models.h
//   when    words that must all hold: numbers of the layer that are not 0, or with ! that are. And:
//           optional, it may be left out, but of all layers together; alone, of any layer;
//           biased, the biases of an optional kind are part of the model; needed, the file loads
//           without it, and its answers are noise; read, only in blocks that are read; reshaped,
//           only the number of values counts; longer, it may have further rows; f32 or i32, of this
//           type; any, of any float type
struct GgufRow {
  std::string_view name, shape, when = {};
};

using GgufRowLists = RowLists<GgufRow>;

// When key and value heads of a layer may have the sizes of sliding attention.
enum class Sliding : uint8_t {
  kNever,
  kAlways,
  kIfSaid,      // where the file has a window
  kUnlessZero,  // unless the file has a window of 0
  kOf64Layers,
};

//   names   of general.architecture, between spaces
//   graph   numbers that llama.cpp's graph takes for granted, as words of gguf_numbers.cc
//   norm    as keys, but at least one of those without ! must be there
//   keys    names below the architecture's, or of the file behind /, with ! where one must be
//           there; what each holds is in models/gguf_keys.cc, but where this architecture reads
//           another kind: "name:kind"
struct GgufArchitecture {
  std::string_view names;
  GgufRowLists rows;
  std::string_view norm = "attention.layer_norm_rms_epsilon!";  // before `keys`
  std::string_view keys = {}, graph = {};
  bool needs_experts = false;
  bool has_nextn = false;       // the rows are those of blocks for multi-token prediction too
  bool may_lack_nextn = false;  // which may be in a file of their own
  bool has_mlp_blocks = false;  // blocks are recurrent, attention or an MLP, not two of these
  Sliding sliding = Sliding::kNever;
  uint64_t sliding_pattern = 0;  // the last of so many layers has full attention
};

// nullptr: no table has the architecture.
const GgufArchitecture* find_gguf_architecture(std::string_view name);

}  // namespace ckpt
