// The rows of projections.h: which projections programs join or quantize together, in most families
// and in some.
#include "models/projections.h"

#include <algorithm>

#include "core/base/find.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

using enum ProjectionRole;
using enum ServerJoin;

constexpr ProjectionGroup kProjectionGroups[] = {
    {kAttention, "qkv_proj", {"q_proj", "k_proj", "v_proj"}, kAll, "q_proj", "o_proj"},
    {kAttention, "", {"wq", "wk", "wv"}, kUnlisted, "wq", "wo"},
    {kAttention, "fused_qkv_a_proj", {"q_a_proj", "kv_a_proj_with_mqa"}, kUnlisted,
     "kv_a_proj_with_mqa"},
    {kMlp, "gate_up_proj", {"gate_proj", "up_proj"}, kAll, "up_proj", "down_proj"},
    {kMlp, "w13", {"w1", "w3"}, kSome, {}, "w2"},
    {kDelta, "in_proj_qkvz", {"in_proj_qkv", "in_proj_z"}, kSome, "in_proj_z"},
    {kDeltaGates, "in_proj_ba", {"in_proj_b", "in_proj_a"}},
    {kDeltaHeads, "in_proj_qkv", {"in_proj_q", "in_proj_k", "in_proj_v"}, kUnlisted},
};
constexpr std::string_view kRouters = " gate router shared_expert_gate ";
constexpr const ProjectionGroup& kUsualMlp = kProjectionGroups[3];

// Inputs that are shared beyond a group, or by fewer than a group.
//   members   below the module that holds them all
//   applies   null: to all families
struct FamilyInput {
  std::string_view members;
  bool is_fused = false;
  bool (*applies)(std::string_view model_type) = nullptr;
};
bool has_mlp_beside_attention(std::string_view model_type) {
  return traits_by_prefix(model_type).has(ModelTrait::kMlpBesideAttention);
}
bool has_indexers(std::string_view model_type) {
  const auto& types = traits_by_prefix(model_type).layer_types;
  return std::ranges::find(types, "deepseek_sparse_attention") != types.end();
}
// No family describes GPT-J and Falcon, so model_type decides.
bool is_gptj(std::string_view model_type) { return model_type.starts_with("gptj"); }
bool is_falcon(std::string_view model_type) { return model_type.starts_with("falcon"); }
constexpr FamilyInput kFamilyInputs[] = {
    // attention and MLP side by side behind one norm
    {"self_attn.q_proj self_attn.k_proj self_attn.v_proj mlp.gate_proj mlp.up_proj mlp.fc1", false,
     has_mlp_beside_attention},
    {"attn.q_proj attn.k_proj attn.v_proj mlp.fc_in", false, is_gptj},
    {"self_attention.query_key_value mlp.dense_h_to_4h", false, is_falcon},
    // attention whose keys come from elsewhere
    {"cross_attn.k_proj cross_attn.v_proj", true},
    {"encoder_attn.k_proj encoder_attn.v_proj", true},
    // sparse attention: its indexer reads what attention reads
    {"q_a_proj kv_a_proj_with_mqa indexer.wk indexer.weights_proj", true, has_indexers},
    {"q_b_proj indexer.wq_b", false, has_indexers},
    {"in_proj_qkvz in_proj_ba"},
};

// The group that kFamilyInputs gives to the module; a group of the module alone if no row fits.
SharedGroup find_family_group(std::string_view module, std::string_view model_type) {
  for (const FamilyInput& rule : kFamilyInputs) {
    if (rule.applies != nullptr && !rule.applies(model_type)) continue;
    SharedGroup out{{}, {}, split_words(rule.members), rule.is_fused};
    for (const std::string_view member : out.members) {
      if (!module.ends_with(member)) continue;
      out.parent = module.substr(0, module.size() - member.size());
      if (out.parent.empty() || out.parent.back() == '.') return out;
    }
  }
  return {};
}

}  // namespace

std::span<const ProjectionGroup> projection_groups() { return kProjectionGroups; }

const ProjectionGroup* group_with(std::string_view word) {
  const auto* found = std::ranges::find_if(
      kProjectionGroups,
      [word](const auto& row) { return std::ranges::count(row.parts(), word) != 0; });
  return found == std::end(kProjectionGroups) ? nullptr : found;
}

const ProjectionGroup* group_before(std::string_view word) {
  return word.empty() ? nullptr : find_by(kProjectionGroups, &ProjectionGroup::output, word);
}

const ProjectionGroup* group_joined_as(std::string_view word) {
  const ProjectionGroup* found = find_by(kProjectionGroups, &ProjectionGroup::joined, word);
  return found == nullptr || found->join == kUnlisted ? nullptr : found;
}

std::optional<ProjectionRole> role_of_inputs(std::string_view word) {
  const ProjectionGroup* found = group_with(word);
  if (found == nullptr) found = group_joined_as(word);
  if (has_word(kRouters, word)) return kRouter;
  return found == nullptr ? std::nullopt : std::optional(found->role);
}

bool is_of_usual_group(std::string_view word) {
  const ProjectionGroup* found = group_with(word);
  if (found == nullptr) found = group_before(word);
  return found != nullptr && found->join == kAll;
}

const ProjectionGroup* listed_group_with(std::string_view word) {
  const ProjectionGroup* found = group_with(word);
  return found == nullptr || found->join == kUnlisted ? nullptr : found;
}

SharedGroup find_group(std::string_view module, std::string_view model_type) {
  SharedGroup out = find_family_group(module, model_type);
  const std::string_view word = last_word(module);
  const ProjectionGroup* own = group_with(word);
  const bool is_shared = own != nullptr && own->role <= kDelta;
  if (out.members.empty() && !is_shared) return {std::string(module)};
  if (out.members.empty()) {
    out = {{}, std::string(module.substr(0, module.size() - word.size())), {}, true};
    out.is_joined_late = own->role == kDelta;
    for (const ProjectionGroup& row : kProjectionGroups) {
      const auto parts = row.parts();
      if (row.role == own->role) out.members.insert(out.members.end(), parts.begin(), parts.end());
    }
  }
  out.key = fmt::format("{}{{{}}}", out.parent, out.members.front());
  return out;
}

std::span<const std::string_view> parts_of_stack(std::string_view word) {
  if (word == kUsualMlp.joined) return kUsualMlp.parts();
  if (word == kUsualMlp.output) return {&kUsualMlp.output, 1};
  return {};
}

std::array<std::string_view, 3> projections_of_expert(std::string_view like) {
  const ProjectionGroup* found = group_with(like);
  if (found == nullptr) found = group_before(like);
  if (found == nullptr || found->role != kMlp) found = &kUsualMlp;
  return {found->members[0], found->members[1], found->output};
}

std::optional<StackPart> stack_part(std::string_view module) {
  const auto expert = expert_name(module);
  if (!expert) return std::nullopt;
  const auto words = projections_of_expert(expert->rest);
  const auto at = static_cast<size_t>(std::ranges::find(words, expert->rest) - words.begin());
  if (at == words.size()) return std::nullopt;
  if (at == 2) return StackPart{expert->front, kUsualMlp.output, expert->number};
  return StackPart{expert->front, kUsualMlp.joined, expert->number, at, 2};
}

}  // namespace ckpt
