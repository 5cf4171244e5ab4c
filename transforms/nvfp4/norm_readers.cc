// Finds the modules that read each norm's output, in models like Llama and Qwen.
#include <algorithm>

#include "core/base/find.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/nvfp4/mixed_model.h"

namespace ckpt {
namespace {

constexpr std::string_view kFirstNorm = "input_layernorm";

// Adds the tensor's module to the readers of the norm before attention or MLP, if it is one.
void add_reader(const std::string& tensor, NormReaders& attention, NormReaders& mlp) {
  const std::string module = listed_name(tensor);
  const auto role = role_of_inputs(last_word(module));
  if (!role || (module == tensor && parts_of_stack(last_word(module)).empty())) return;
  const bool is_of_mlp = *role == ProjectionRole::kMlp || *role == ProjectionRole::kRouter;
  (is_of_mlp ? mlp : attention).readers.push_back(module);
}

}  // namespace

TensorIndex::TensorIndex(const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) positions_.emplace(tensors[i].name, i);
}

std::optional<size_t> TensorIndex::find(std::string_view name) const {
  const size_t* found = find_mapped(positions_, name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<std::string> TensorIndex::starting_with(std::string_view prefix) const {
  std::vector<std::string> out;
  for (auto at = positions_.lower_bound(prefix);
       at != positions_.end() && at->first.starts_with(prefix); ++at) {
    out.push_back(at->first);
  }
  return out;
}

bool has_known_layers(std::string_view model_type) {
  return traits_by_prefix(model_type).has(ModelTrait::kNormsFeedLinears);
}

bool adds_one_to_norms(std::string_view model_type) {
  const Family* family = family_by_prefix(model_type);
  if (family == nullptr) return false;
  const auto adds_one = [](const NameRule& rule) {
    return rule.change == Change::kAddOne && rule.from.ends_with(kFirstNorm);
  };
  return std::ranges::any_of(family->names, [&](std::span<const NameRule> rules) {
    return std::ranges::any_of(rules, adds_one);
  });
}

std::vector<NormReaders> find_norm_readers(const TensorIndex& index, std::string_view model_type) {
  std::vector<NormReaders> out;
  if (!has_known_layers(model_type)) return out;
  const std::string first = std::string(kFirstNorm) + std::string(kWeight);
  for (const std::string& name : index.starting_with("")) {
    if (!name.ends_with(first)) continue;
    const std::string parent = name.substr(0, name.size() - first.size());
    // Gemma 2 and 3 also have norms after attention and MLP: this name tells their position.
    const bool is_sandwich = index.has(parent + "pre_feedforward_layernorm.weight");
    NormReaders attention{parent + std::string(kFirstNorm), {}};
    NormReaders mlp{
        parent + (is_sandwich ? "pre_feedforward_layernorm" : "post_attention_layernorm"), {}};
    for (const std::string& tensor : index.starting_with(parent)) {
      add_reader(tensor, attention, mlp);
    }
    out.push_back(std::move(attention));
    if (index.has(mlp.norm + std::string(kWeight))) out.push_back(std::move(mlp));
  }
  std::erase_if(out, [](const NormReaders& norm) { return norm.readers.empty(); });
  return out;
}

}  // namespace ckpt
