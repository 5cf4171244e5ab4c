// Formats and parses sizes, counts and times for people.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/base/counted.h"
#include "core/base/result.h"

namespace ckpt {

std::string human_count(uint64_t count);    // "9.41 B", "752 M", "1024"
// Returns 0 if there are no weights.
double bits_per_weight(uint64_t bytes, uint64_t weights);
std::string human_seconds(double seconds);  // "4.2 s", "3 min 12 s"

// Parses "512M", "2GiB", "5GB", "1048576". K, M, G and T mean powers of 1024, alone or with "iB",
// and powers of 1000 with "B".
Result<uint64_t> parse_size(std::string_view text);

// Stands for the size `auto`: equal_file_bytes() computes the limit for each output.
inline constexpr uint64_t kAutoFileBytes = std::numeric_limits<uint64_t>::max();

// The limit that cuts tensors of these sizes, in this order, into the most equal files. A file is
// hashed by one core, so there are up to 16 files, of at least 256 MB each, and as many more as
// keep each below 5 GB. The number of cores here does not count: every machine writes the same
// files.
uint64_t equal_file_bytes(std::span<const uint64_t> tensor_bytes);

}  // namespace ckpt
