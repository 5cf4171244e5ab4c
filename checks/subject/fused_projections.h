// Projections that servers run as one matrix, in the server's order.
//
// Sources: vLLM and SGLang, packed_modules_mapping and stacked_params_mapping of the classes.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace ckpt {

struct FusedProjections {
  std::string_view name;                    // name in the server
  std::array<std::string_view, 3> members;  // names on disk; the last may be empty
  bool is_of_latents = false;               // module lists do not apply to it
  std::span<const std::string_view> parts() const {
    return std::span(members).first(members[2].empty() ? 2 : 3);
  }
};
inline constexpr FusedProjections kFusedProjections[] = {
    {"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
    {"gate_up_proj", {"gate_proj", "up_proj"}},
    {"w13", {"w1", "w3"}},
    {"in_proj_qkvz", {"in_proj_qkv", "in_proj_z"}},
    {"in_proj_ba", {"in_proj_b", "in_proj_a"}},
    {"fused_qkv_a_proj", {"q_a_proj", "kv_a_proj_with_mqa"}, true}};

// The row that contains `word`; null if none does.
inline const FusedProjections* fused_with(std::string_view word) {
  const auto* found = std::ranges::find_if(kFusedProjections, [word](const auto& row) {
    return std::ranges::count(row.parts(), word) != 0;
  });
  return found == std::end(kFusedProjections) ? nullptr : found;
}

}  // namespace ckpt
