// Which modules read the output of each norm, in models of the Llama and Qwen kind.
#include <algorithm>
#include <span>

#include "core/base/find.h"
#include "core/model/tensor_names.h"
#include "transforms/facts/family_by_prefix.h"
#include "transforms/nvfp4/mixed_model.h"

namespace ckpt {
namespace {

constexpr std::string_view kFirstNorm = "input_layernorm";

constexpr std::string_view kAttention[] = {
    "self_attn.q_proj",        "self_attn.k_proj",         "self_attn.v_proj",
    "linear_attn.in_proj_qkv", "linear_attn.in_proj_z",    "linear_attn.in_proj_a",
    "linear_attn.in_proj_b",   "linear_attn.in_proj_qkvz", "linear_attn.in_proj_ba"};
constexpr std::string_view kMlp[] = {"mlp.gate_proj",
                                     "mlp.up_proj",
                                     "mlp.gate",
                                     "mlp.shared_expert_gate",
                                     "mlp.shared_expert.gate_proj",
                                     "mlp.shared_expert.up_proj",
                                     "block_sparse_moe.gate"};
// Of every expert.
constexpr std::string_view kExpertInputs[] = {"gate_proj", "up_proj", "w1", "w3"};

void add_experts(const TensorIndex& index, const std::string& parent, NormReaders& out) {
  for (const std::string_view group : {"mlp.experts.", "block_sparse_moe.experts."}) {
    for (const std::string& name : index.starting_with(parent + std::string(group))) {
      if (!name.ends_with(kWeight)) continue;
      const std::string module = module_of(name);
      const bool reads_it =
          std::ranges::find(kExpertInputs, last_word(module)) != std::end(kExpertInputs);
      if (reads_it) out.readers.push_back(module);
    }
  }
}

NormReaders readers_of(const TensorIndex& index, const std::string& parent, std::string_view norm,
                       std::span<const std::string_view> names) {
  NormReaders out{parent + std::string(norm), {}};
  for (const std::string_view name : names) {
    const std::string module = parent + std::string(name);
    if (index.has(module + std::string(kWeight))) out.readers.push_back(module);
  }
  return out;
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
  return family_by_prefix_has_quirk(model_type, "norms_feed_linears");
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
    out.push_back(readers_of(index, parent, kFirstNorm, kAttention));
    // Gemma 2 and 3 have norms behind attention and MLP too: the name says where it stands.
    const bool is_sandwich = index.has(parent + "pre_feedforward_layernorm.weight");
    const std::string_view second =
        is_sandwich ? "pre_feedforward_layernorm" : "post_attention_layernorm";
    if (!index.has(parent + std::string(second) + std::string(kWeight))) continue;
    out.push_back(readers_of(index, parent, second, kMlp));
    add_experts(index, parent, out.back());
    const std::string stack = parent + "mlp.experts.gate_up_proj";
    if (index.has(stack)) out.back().readers.push_back(stack);
  }
  std::erase_if(out, [](const NormReaders& norm) { return norm.readers.empty(); });
  return out;
}

}  // namespace ckpt
