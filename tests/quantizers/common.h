// Shared by tests of codecs.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "quantizers/quantizers.h"

namespace ckpt {

using Bytes = std::vector<std::byte>;

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline const Codec& codec_named(std::string_view name) { return *find_codec(all_codecs(), name); }

// Whether to take tens of millions of weights a type and target: CKPT_LONG=1.
inline bool is_long() {
  const char* text = std::getenv("CKPT_LONG");
  return text != nullptr && std::string_view(text) == "1";
}

}  // namespace ckpt
