// A codec, a shape and parts for it out of an input: what codec_decode and codec_encode share.
//
//   codec | rows | blocks a row | bytes, repeated until they fill
//
// Every part is in a separate memory block of exactly its size, so that the address
// sanitizer sees a kernel that reads or writes one byte beyond it.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/simd/dispatch.h"
#include "fuzz/fuzz.h"
#include "quantizers/quantizers.h"

namespace ckpt::fuzz {

struct CodecShape {
  const Codec* codec;
  uint64_t rows, row_values;
  uint64_t values() const { return rows * row_values; }
};

inline CodecShape take_shape(Input& input) {
  constexpr uint32_t kMaxValues = 512;
  const Codecs codecs = all_codecs();
  const Codec& codec = *codecs[input.byte() % codecs.size()];
  // One block a row is what most bugs need; tails of vectors want odd counts.
  const uint32_t most = std::max(kMaxValues / codec.block_values, 1u);
  const uint32_t blocks = 1 + input.byte() % std::min(most, 70u);
  const uint64_t row_values = uint64_t{blocks} * codec.block_values;
  const uint32_t rows = 1 + input.byte() % std::min(most / blocks, 4u);
  return {&codec, rows, row_values};
}

// Bytes of exactly one size, filled with the input again and again.
class ExactBytes {
 public:
  ExactBytes(size_t size, std::span<const uint8_t> pattern)
      : size_(size), bytes_(new std::byte[size]) {
    for (size_t at = 0; at < size && !pattern.empty(); at += pattern.size()) {
      std::memcpy(bytes_.get() + at, pattern.data(), std::min(pattern.size(), size - at));
    }
    if (pattern.empty()) std::fill_n(bytes_.get(), size, std::byte{0});
  }
  std::span<std::byte> span() const { return {bytes_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

class ExactParts {
 public:
  ExactParts(const CodecShape& shape, std::span<const uint8_t> pattern) {
    for (const PartRule& rule : shape.codec->parts) {
      const uint64_t size = part_shape(rule, shape.rows, shape.row_values).size_bytes;
      bytes_.emplace_back(size, pattern);
      // Parts must not repeat each other.
      if (!pattern.empty()) pattern = pattern.subspan(std::min(pattern.size() - 1, size));
    }
    for (const ExactBytes& bytes : bytes_) {
      spans_.push_back(bytes.span());
      const_spans_.push_back(bytes.span());
    }
  }
  ExactParts(const ExactParts&) = delete;
  ExactParts(ExactParts&&) = default;
  Parts parts() const { return spans_; }
  ConstParts const_parts() const { return const_spans_; }

 private:
  std::vector<ExactBytes> bytes_;
  std::vector<std::span<std::byte>> spans_;
  std::vector<std::span<const std::byte>> const_spans_;
};

inline bool are_same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

inline bool are_same(const ExactParts& a, const ExactParts& b) {
  for (size_t i = 0; i < a.parts().size(); ++i) {
    if (!are_same(a.parts()[i], b.parts()[i])) return false;
  }
  return true;
}

}  // namespace ckpt::fuzz
