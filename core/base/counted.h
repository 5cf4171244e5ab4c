// Formats counts and sizes for messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ckpt {

// Returns "1 tensor" or "3 tensors".
inline std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Returns "5.81 GB" (powers of ten, as disks are sold) or "812 bytes".
std::string human_bytes(uint64_t bytes);
// Formats `number`, at least 1000, with the unit for its power of 1000.
std::string in_thousands(uint64_t number, std::span<const char* const> units);

// Counts names of one kind for a note, and keeps the first.
class NameCount {
 public:
  void add(std::string_view name) {
    if (count_++ == 0) first_ = name;
  }
  uint64_t count() const { return count_; }
  const std::string& first() const { return first_; }
  // Returns "3 layers stay (the first: 'x')" for the words "layers stay".
  std::string text(std::string_view words) const {
    return fmt::format("{} {} (the first: '{}')", count_, words, first_);
  }

 private:
  uint64_t count_ = 0;
  std::string first_;
};

}  // namespace ckpt
