// Shared by the structure-aware mutators: dice, bytes, and the names worth trying.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ckpt::fuzz {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  bool one_in(size_t count) { return below(count) == 0; }
  uint64_t any() { return uint64_t{random_()} << 32 | random_(); }
  // Numbers at which readers tend to fail.
  uint64_t edge() {
    const uint64_t power = uint64_t{1} << below(64);
    switch (below(6)) {
      case 0: return power;
      case 1: return power - 1;
      case 2:
        return ~uint64_t{0} - below(16);
      case 3: return below(256);
      default: return below(9);
    }
  }
  template <class T>
  T& of(std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937 random_;
};

// libFuzzer's own mutation, of a text.
inline void mutate_text(std::string& text, size_t most) {
  std::vector<uint8_t> bytes(most + 1);
  const size_t size = std::min(text.size(), most);
  std::memcpy(bytes.data(), text.data(), size);
  const size_t mutated = LLVMFuzzerMutate(bytes.data(), size, most);
  text.assign(reinterpret_cast<const char*>(bytes.data()), mutated);
}

// Drops, repeats or moves one of `values`.
template <class T>
void shuffle_one(std::vector<T>& values, Dice& dice) {
  if (values.empty()) return;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(dice.below(values.size()));
  switch (dice.below(3)) {
    case 0:
      values.erase(at);
      return;
    case 1:
      values.insert(at, T(*at));
      return;
    default:
      std::swap(*at, dice.of(values));
      return;
  }
}

// The buffer that a fuzzer passes in and reads back; too long a result is cut.
inline size_t give(const std::string& bytes, uint8_t* data, size_t max_size) {
  const size_t size = std::min(bytes.size(), max_size);
  std::memcpy(data, bytes.data(), size);
  return size;
}

}  // namespace ckpt::fuzz
