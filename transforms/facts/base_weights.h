// The float weights that a quantized checkpoint was made from, found by the names of its layers.
//
//   layer                                       in the base
//   model.layers.0.mlp.up_proj                  same name, with or without "language_model."
//   model.layers.0.mlp.experts.3.up_proj        same name, or rows of experts.gate_up_proj
//
// Newer folders store experts as stacks, with gate rows before up rows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/transform.h"

namespace ckpt {

// A module's name without the prefix that vision models give to their language model.
std::string input_key(std::string_view module);

class BaseWeights {
 public:
  // Fails: kUsage: the folder has quantized weights or no weights; otherwise as Context::open.
  static Result<BaseWeights> open(const std::string& folder, const Context& context);

  // The tensor `module`.weight, Stored; nullopt if the base has none of that shape.
  std::optional<Tensor> find(std::string_view module, const std::vector<uint64_t>& shape) const;
  const std::string& folder() const { return folder_; }

 private:
  const Tensor* find_tensor(std::string_view name) const;
  std::optional<Tensor> find_expert(std::string_view module) const;

  std::string folder_;
  Checkpoint checkpoint_;
  std::map<std::string, size_t, std::less<>> positions_;  // by name without "language_model."
};

}  // namespace ckpt
