// The table of shared inputs. ModelOpt finds them by running the model once
// (modelopt/torch/export/unified_export_hf.py collect_shared_input_modules); here they are known by
// name.
#include "transforms/modelopt_export/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/model/tensor_names.h"
#include "transforms/facts/family_by_prefix.h"

namespace ckpt {
namespace {

constexpr std::string_view kSparseAttention = "layer_type:deepseek_sparse_attention";

// The first rule that fits wins.
const std::vector<SharedInput> kSharedInputs = {
    // attention and MLP side by side behind one norm
    {"mlp_beside_attention",
     {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj",
      "mlp.fc1"},
     false},
    {"gptj", {"attn.q_proj", "attn.k_proj", "attn.v_proj", "mlp.fc_in"}, false},
    {"falcon", {"self_attention.query_key_value", "mlp.dense_h_to_4h"}, false},
    // attention whose keys come from elsewhere
    {"", {"cross_attn.k_proj", "cross_attn.v_proj"}, true},
    {"", {"encoder_attn.k_proj", "encoder_attn.v_proj"}, true},
    // sparse attention: its indexer reads what attention reads
    {kSparseAttention,
     {"q_a_proj", "kv_a_proj_with_mqa", "indexer.wk", "indexer.weights_proj"},
     true},
    {kSparseAttention, {"q_b_proj", "indexer.wq_b"}, false},
    // multi-head latent attention reads its input through one or two of these
    {"", {"q_proj", "k_proj", "v_proj", "q_a_proj", "kv_a_proj_with_mqa"}, true},
    {"", {"wq", "wk", "wv"}, true},
    // linear attention
    {"", {"in_proj_qkv", "in_proj_z"}, true, true},
    {"", {"in_proj_qkvz", "in_proj_ba"}, false},
    // MLP
    {"", {"gate_proj", "up_proj"}, true},
    {"", {"w1", "w3"}, true},
};

bool has_family(const SharedInput& rule, std::string_view model_type, std::string_view quirks) {
  if (rule.families.empty()) return true;
  return std::ranges::any_of(split_words(rule.families), [&](std::string_view word) {
    return has_word(quirks, word) || model_type.starts_with(word);
  });
}

}  // namespace

SharedGroup find_group(std::string_view module, std::string_view model_type) {
  const Family* family = family_by_prefix(model_type);
  const std::string_view quirks = family == nullptr ? std::string_view() : family->quirks;
  for (const SharedInput& rule : kSharedInputs) {
    if (!has_family(rule, model_type, quirks)) continue;
    for (const std::string_view member : rule.members) {
      if (!module.ends_with(member)) continue;
      const std::string_view parent = module.substr(0, module.size() - member.size());
      if (!parent.empty() && parent.back() != '.') continue;
      return {fmt::format("{}{{{}}}", parent, rule.members.front()), &rule, std::string(parent)};
    }
  }
  return {std::string(module), nullptr, {}};
}

std::string joined_key(std::string_view module, const SharedGroup& group) {
  const auto expert = expert_name(module);
  return std::string(expert ? expert->front : group.is_fused() ? group.key : module);
}

std::string without_expert(std::string_view module) {
  const auto expert = expert_name(module);
  return expert ? fmt::format("{}*.{}", expert->front, expert->rest) : std::string(module);
}

Result<std::string> check_experts_whole(const std::vector<Tensor>& tensors,
                                        const std::vector<std::string>& quantized, uint64_t count) {
  // The numbers of the experts that have a matrix of this name, by front and name.
  std::map<std::string_view, std::map<std::string_view, std::set<uint64_t>>> layers;
  for (const std::string& module : quantized) {
    if (const auto expert = expert_name(module)) layers.try_emplace(expert->front);
  }
  std::map<std::string_view, uint64_t> counts;
  for (const Tensor& tensor : tensors) {
    const auto expert = expert_name(tensor.name);
    if (!expert || !tensor.name.ends_with(kWeight)) continue;
    const auto layer = layers.find(expert->front);
    if (layer == layers.end()) continue;
    if (!layer->second[expert->rest].insert(expert->number).second) {
      return corrupt("tensor '{}': expert {} has another '{}'; expected one", tensor.name,
                     expert->number, expert->rest);
    }
    uint64_t& found = counts[expert->front];
    found = std::max(found, expert->number + 1);
  }
  for (const auto& [front, matrices] : layers) {
    for (const auto& [name, numbers] : matrices) {
      uint64_t missing = 0;
      while (numbers.count(missing) != 0) ++missing;
      if (missing >= counts[front]) continue;
      return corrupt_hint("the whole folder, downloaded again",
                          "tensor '{}{}.{}' is missing; expert {} has it", front, missing, name,
                          *numbers.rbegin());
    }
  }
  const auto fewer =
      std::ranges::find_if(counts, [&](const auto& layer) { return layer.second < count; });
  if (fewer == counts.end()) return std::string();
  return fmt::format("'{}*': {} experts; config.json says {}", fewer->first, fewer->second, count);
}

}  // namespace ckpt
