// Which layers read the output of a norm, and how a norm multiplies.
//
//   plain norm     y = x̂ w            scale s folded in:   w' = w s
//   1 + w norm     y = x̂ (1 + w)                           w' = (1 + w) s - 1
//
// Qwen3.5, Qwen3-Next and Gemma store norms of the second kind; nothing in the file says so but the
// model's type. linear_attn.norm of those models is a plain one.
// Source: huggingface/transformers src/transformers/models/{qwen3_5,qwen3_next,gemma3}/
// modeling_*.py (the classes *RMSNorm and *RMSNormGated).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Finds tensors by name; the checkpoint's list must not change meanwhile.
class TensorIndex {
 public:
  explicit TensorIndex(const std::vector<Tensor>& tensors);
  // Position in the list; -1 when there is none.
  int64_t find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) >= 0; }
  // Names that begin with `prefix`, sorted.
  std::vector<std::string> starting_with(std::string_view prefix) const;

 private:
  std::map<std::string, size_t, std::less<>> positions_;
};

// Models whose decoder layers are known: a norm, attention, a norm, gate and up and down; only in
// them scales are moved from one tensor to another. `model_type` is the language model's.
bool has_known_layers(std::string_view model_type);
// Whether their norms multiply by 1 + w.
bool adds_one_to_norms(std::string_view model_type);

// A norm, and the modules that read what it gives.
struct NormReaders {
  std::string norm;  // "model.layers.0.input_layernorm", without ".weight"
  std::vector<std::string> readers;
};
// All norms in front of linear layers, in the order of their names; empty for unknown models.
std::vector<NormReaders> find_norm_readers(const TensorIndex& index, std::string_view model_type);

}  // namespace ckpt
