// Matrices of a layer that belong together, in every spelling that models have: those that servers
// run as one, those that read the same input, and those of experts that are stored as one stack.
//
//   self_attn.q_proj k_proj v_proj   one input, one matrix in servers: qkv_proj
//   experts.3.gate_proj up_proj      the same; rows of expert 3 in the stack experts.gate_up_proj
//
// Sources: vLLM and SGLang, packed_modules_mapping and stacked_params_mapping of the classes;
// transformers conversion_mapping.py; modelopt/torch/export/unified_export_hf.py
// (collect_shared_input_modules).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// The members' task in a layer. kDelta: linear attention; kDeltaHeads: its queries, keys and
// values, trained apart; kDeltaGates: its decay. Routers are of no group.
enum class ProjectionRole : uint8_t {
  kAttention,
  kMlp,
  kDelta,  // members of roles up to here share the scale of their input
  kDeltaHeads,
  kDeltaGates,
  kRouter
};
// Which classes of servers run the members as one: all that have them; some; some, and they ask
// lists of modules for neither.
enum class ServerJoin : uint8_t { kAll, kSome, kUnlisted };

struct ProjectionGroup {
  ProjectionRole role;
  std::string_view joined;                  // the members as one matrix; empty: nobody joins them
  std::array<std::string_view, 3> members;  // in the order of their rows; the last may be empty
  ServerJoin join = ServerJoin::kSome;
  std::string_view lone = {};    // models may have this member without the others
  std::string_view output = {};  // the matrix that reads what the last member gives
  std::span<const std::string_view> parts() const {
    return std::span(members).first(members[2].empty() ? 2 : 3);
  }
};
std::span<const ProjectionGroup> projection_groups();
// Of each: the group that has the matrix `word`, the last word of a module's name, as a member, as
// its output, or as all its members in one. nullptr: no group has it.
const ProjectionGroup* group_with(std::string_view word);
const ProjectionGroup* group_before(std::string_view word);
const ProjectionGroup* group_joined_as(std::string_view word);
// The role of a member, of all members in one, or of a router.
std::optional<ProjectionRole> role_of_inputs(std::string_view word);
// Whether it is a member or the output of a group that all servers join.
bool is_of_usual_group(std::string_view word);
// The group that servers join and ask lists of modules for; nullptr: `word` is not in one.
const ProjectionGroup* listed_group_with(std::string_view word);

// Modules that read one input, found by their names.
struct SharedGroup {
  std::string key = {};     // the same for all members; the module itself when alone
  std::string parent = {};  // with its dot: a module is parent + one of `members`
  std::vector<std::string_view> members = {};  // empty: alone
  bool is_fused = false;                  // servers join them into one matrix
  bool is_joined_late = false;            // ModelOpt's export shares what its calibration did not
};
// The group of a linear layer. `model_type` is config.json's.
SharedGroup find_group(std::string_view module, std::string_view model_type);

// The matrices whose rows follow each other in a stack of experts called `word`; empty: no stack
// has that name.
std::span<const std::string_view> parts_of_stack(std::string_view word);
// The three matrices of an expert, in the spelling of `like`, or of most models.
std::array<std::string_view, 3> projections_of_expert(std::string_view like = {});
// The place of a matrix of one expert in the stack of all.
struct StackPart {
  std::string_view front;  // "….experts."
  std::string_view word;   // of the stack: "gate_up_proj"
  uint64_t expert = 0, part = 0, parts = 1;
  std::string stack() const { return std::string(front) + std::string(word); }
};
// nullopt: the module is not of a single expert, or of a kind that no stack has.
std::optional<StackPart> stack_part(std::string_view module);

}  // namespace ckpt
