// The only reader of numbers in untrusted bytes.
//
// Reads little-endian numbers and strings from the start of a source through a window, so that a
// header of any size needs a bounded buffer. Every read checks the remaining size. Every error
// names the position in the file, and reports if the file is truncated. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/bytes.h"

namespace ckpt {

class Cursor {
 public:
  // Reads from `offset_bytes` to `offset_bytes + size_bytes` of `source`, never beyond.
  Cursor(SharedSource source, uint64_t offset_bytes, uint64_t size_bytes);
  explicit Cursor(SharedSource source);

  Result<uint8_t> u8() { return number<uint8_t>(); }
  Result<uint16_t> u16() { return number<uint16_t>(); }
  Result<uint32_t> u32() { return number<uint32_t>(); }
  Result<uint64_t> u64() { return number<uint64_t>(); }
  Result<float> f32() { return number<float>(); }

  // Reads a count of items that each need at least `min_bytes_each` of the remaining bytes, so that
  // a 20-byte file cannot request a gigabyte. Fails: kCorrupt, also above `limit`.
  Result<uint64_t> count_u64(uint64_t min_bytes_each, uint64_t limit);
  Result<uint64_t> count_u32(uint64_t min_bytes_each, uint64_t limit);

  // Reads `size_bytes` raw bytes. Fails: kCorrupt if fewer remain.
  Result<std::vector<std::byte>> bytes(uint64_t size_bytes);
  // Reads a u64 length and that many bytes. Fails: kCorrupt above `limit_bytes` or past the end.
  Result<std::string> text_u64(uint64_t limit_bytes);
  Result<std::string> text(uint64_t size_bytes);
  Status skip(uint64_t size_bytes);

  // An error about the item that was just read at byte `at`: "at byte 49: value type 13; expected
  // ...".
  template <class... Args>
  static Failure fail_at(uint64_t at, fmt::format_string<Args...> format, Args&&... args) {
    return corrupt("at byte {}: {}", at, fmt::format(format, std::forward<Args>(args)...));
  }

  uint64_t position_bytes() const { return position_; }
  uint64_t left_bytes() const { return end_ - position_; }

 private:
  Status take(std::span<std::byte> out);
  template <class T>
  Result<T> number() {
    T value{};
    const uint64_t at = position_ - window_start_;
    if (at < window_.size() && sizeof(T) <= window_.size() - at) {  // as most numbers are
      std::memcpy(&value, window_.data() + at, sizeof(T));
      position_ += sizeof(T);
      return value;
    }
    CKPT_TRY(take(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  Failure ends_early(uint64_t size_bytes) const;
  // `at` is the position of the count.
  Result<uint64_t> checked_count(uint64_t at, uint64_t found, uint64_t min_bytes_each,
                                 uint64_t limit) const;

  SharedSource source_;
  uint64_t position_;
  uint64_t end_;
  std::vector<std::byte> window_;
  uint64_t window_start_ = 0;
};

}  // namespace ckpt
