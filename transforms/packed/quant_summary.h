// Describes the quantization of a checkpoint to users: its tensors, the declarations of its
// documents, and differences between both.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// The quantization of a checkpoint by its tensors and by its documents.
struct QuantSummary {
  struct Group {
    std::string algorithm;           // "NVFP4 (group 16)"
    uint64_t layers;                 // weights with two or more axes
    uint64_t vectors;                // weights with one axis: norms, biases
    std::vector<std::string> names;  // of the layers: "model.layers.{0..7}.mlp.{gate,up}_proj"
  };
  std::vector<Group> groups;               // in the order of their first tensors
  std::vector<std::string> algorithms;     // by tensor; "" for scales of another tensor
  bool is_quantized = false;               // whether any tensor is quantized
  std::string stated;                      // "NVFP4"; "" without a declaration
  std::string producer;                    // "modelopt 0.47.0"
  std::string kv_cache;                    // "FP8, 8 scales"
  std::vector<std::string> disagreements;  // between documents, or with the tensors
};
// Fails: kCorrupt: a document is not JSON.
Result<QuantSummary> summarize_quantization(const Checkpoint& checkpoint);

// Shortens a list of many names.
//
//   model.layers.0.mlp.gate_proj, model.layers.0.mlp.up_proj, model.layers.1.mlp.gate_proj, ...
//     ─▶ model.layers.{0..7}.mlp.{gate,up}_proj
//
// Missing tensors are not mentioned. If numbers do not form a full grid (only some layers have
// experts), they are split until each piece does. After the eighth number in a name, numbers count
// as text.
//
// The pieces are in the order of their first names. Braces contain numbers ("0..3,7") or the last
// words of otherwise equal names.
std::vector<std::string> summarize_names(const std::vector<std::string>& names);

}  // namespace ckpt
