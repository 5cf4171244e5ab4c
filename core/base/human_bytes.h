// Writes sizes and large numbers for people, with units.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ckpt {

// "5.81 GB" (powers of ten, as disks are sold), "812 bytes".
std::string human_bytes(uint64_t bytes);
// `number`, at least 1000, with the unit for its power of 1000.
std::string in_thousands(uint64_t number, std::span<const char* const> units);

}  // namespace ckpt
