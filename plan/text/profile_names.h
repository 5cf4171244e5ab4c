// Names of profiles as people write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

// "a,b" is a and b; empty words count.
std::vector<std::string> words_between_commas(std::string_view text);

// "vLLM" is vllm, "llamacpp" is llama.cpp, "vllm-0.17.1" and "vllm==0.17" are vllm-0.17, and
// "vllm,sglang" are two, "all" is every one. Each once. Fails: kUsage, with the nearest.
Result<std::vector<std::string>> profiles_named(const std::vector<std::string>& texts);

}  // namespace ckpt
