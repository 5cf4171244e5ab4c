// The quantization of a checkpoint for people: what its tensors are, what its documents declare,
// and where both differ.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// The quantization of a checkpoint by its tensors, and as its documents declare it.
struct QuantSummary {
  struct Group {
    std::string algorithm;           // "NVFP4 (group 16)"
    uint64_t layers;                 // weights of two axes or more
    uint64_t vectors;                // norms, biases
    std::vector<std::string> names;  // of the layers: "model.layers.{0..7}.mlp.{gate,up}_proj"
  };
  std::vector<Group> groups;               // in the order of their first tensors
  std::vector<std::string> algorithms;     // by tensor; "" for scales that belong to another
  bool is_quantized = false;               // something is
  std::string stated;                      // "NVFP4"; "" when no document says anything
  std::string producer;                    // "modelopt 0.47.0"
  std::string kv_cache;                    // "FP8, 8 scales"
  std::vector<std::string> disagreements;  // between documents, and between them and the tensors
};
// Fails: kCorrupt: documents that are not JSON.
Result<QuantSummary> summarize_quantization(const Checkpoint& checkpoint);

// Many names in few words.
//
//   model.layers.0.mlp.gate_proj, model.layers.0.mlp.up_proj, model.layers.1.mlp.gate_proj, ...
//     ─▶ model.layers.{0..7}.mlp.{gate,up}_proj
//
// Absent tensors are not mentioned. Numbers that are not a full grid (experts that only some
// layers have) are split until each piece is one. Behind the eighth number of a name, numbers are
// words like any other.
//
// Names in the order in which the first of each piece comes. Braces hold numbers ("0..3,7") or the
// last words of names that are alike but for them.
std::vector<std::string> summarize_names(const std::vector<std::string>& names);

}  // namespace ckpt
