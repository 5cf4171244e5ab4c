// Which layers read the same input: servers run them as one, so they share scales.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

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
