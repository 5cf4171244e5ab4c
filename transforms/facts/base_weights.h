// The float weights that a quantized checkpoint was made from, found by the names of its layers.
//
//   layer                                       in the base
//   model.layers.0.mlp.up_proj                  the same, or with "language_model." in or out
//   model.layers.0.mlp.experts.3.up_proj        the same, or rows of experts.gate_up_proj
//
// Experts lie stacked in newer folders, gate upon up.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/transform.h"

namespace ckpt {

// A module's name without the wrapper that vision models put around the language model.
std::string input_key(std::string_view module);

class BaseWeights {
 public:
  // Fails: kUsage: the folder holds quantized weights, or none; as Context::open.
  static Result<BaseWeights> open(const std::string& folder, const Context& context);

  // The tensor `module`.weight, Stored; nullopt when the base has none of that shape.
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
