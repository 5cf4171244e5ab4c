// Which members of two JSON documents differ.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// "vision_config: only in B", "text_config.rope_theta: 1e4 -> 1e6"; one entry for text that is laid
// out differently and says the same; empty where one of the two is not a JSON object.
std::vector<std::string> differing_keys(const Document& a, const Document& b);

}  // namespace ckpt
