// Which layers read the same input: servers run them as one, so they share scales.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// A set of sibling modules that read the same tensor.
struct SharedInput {
  // Words of which one is a quirk of the family or, where no table has it, the start of its
  // model_type; "" = all.
  std::string_view families;
  std::vector<std::string_view> members;  // names below the module that holds them all
  bool is_fused = true;                   // servers join them into one matrix
  bool is_joined_late = false;            // ModelOpt's export shares what its calibration did not
};

struct SharedGroup {
  std::string key;                    // the same for all members; the module itself when alone
  const SharedInput* rule = nullptr;  // null: alone
  std::string parent;                 // with its dot: member = parent + one of rule->members
  bool is_fused() const { return rule != nullptr && rule->is_fused; }
};
// The group of a linear layer. `model_type` is config.json's.
SharedGroup find_group(std::string_view module, std::string_view model_type);

// A text that is the same for all that servers run as one with `module`, which is of `group`.
std::string joined_key(std::string_view module, const SharedGroup& group);

// "….experts.3.up_proj" as "….experts.*.up_proj": experts of a layer share the scale of their
// inputs. Other names as they are.
std::string without_expert(std::string_view module);

// Experts are siblings 0, 1, 2 ..., each with the same matrices. Looks at those of
// which `quantized` has one. Gives the first layer that has fewer than `count` of them (0: not
// known), in words; "" for none. Fails: kCorrupt: one of them has a matrix less than others, or has
// one twice.
Result<std::string> check_experts_whole(const std::vector<Tensor>& tensors,
                                        const std::vector<std::string>& quantized, uint64_t count);

// The same of linear layers of `checkpoint`, which have one type where they have one text: q, k and
// v; gate and up; all experts of a layer. Fails: kCorrupt: config.json is not a JSON object.
Result<std::vector<std::string>> joined_layers(const Checkpoint& checkpoint,
                                               const std::vector<std::string>& modules);

}  // namespace ckpt
