// Counts and sizes in messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ckpt {

// "1 tensor", "3 tensors".
inline std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "5.81 GB" (powers of ten, as disks are sold), "812 bytes".
std::string human_bytes(uint64_t bytes);
// `number`, at least 1000, with the unit for its power of 1000.
std::string in_thousands(uint64_t number, std::span<const char* const> units);

// Names of one kind that a note counts.
class NameCount {
 public:
  void add(std::string_view name) {
    if (count_++ == 0) first_ = name;
  }
  uint64_t count() const { return count_; }
  const std::string& first() const { return first_; }
  // "3 layers stay (the first: 'x')", of "layers stay".
  std::string text(std::string_view words) const {
    return fmt::format("{} {} (the first: '{}')", count_, words, first_);
  }

 private:
  uint64_t count_ = 0;
  std::string first_;
};

}  // namespace ckpt
