// Lines of a SHA256SUMS, of a folder on this machine or on the web.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

struct SumsLine {
  std::string name;    // relative, with '/'
  std::string sha256;  // 64 lower-case hex digits
};

// Both forms: "hex  name" and "SHA256 (name) = hex"; a line that says the same again counts once.
// Fails: kCorrupt, naming the line.
Result<std::vector<SumsLine>> read_sha256_sums(std::string_view text);

}  // namespace ckpt
