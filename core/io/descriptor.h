// A file descriptor that closes itself, and system calls that are repeated after signals.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ckpt {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Repeats `call()` while signals interrupt it (EINTR), and returns its result. Not for close(),
// after which another thread may own the number.
template <class Call>
auto retried(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Writes all of `bytes`. Returns false and sets errno on failure.
inline bool write_all(int descriptor, std::span<const std::byte> bytes, uint64_t offset_bytes) {
  while (!bytes.empty()) {
    const auto at = static_cast<off_t>(offset_bytes);
    const ssize_t written =
        retried([&] { return ::pwrite(descriptor, bytes.data(), bytes.size(), at); });
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset_bytes += static_cast<uint64_t>(written);
  }
  return true;
}

// Fills `out`, up to the end of the file. Returns the number of bytes read, or -1 and sets errno.
inline ssize_t read_all(int descriptor, std::span<std::byte> out, uint64_t offset_bytes) {
  size_t done = 0;
  while (done < out.size()) {
    const auto at = static_cast<off_t>(offset_bytes + done);
    const ssize_t got =
        retried([&] { return ::pread(descriptor, out.data() + done, out.size() - done, at); });
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace ckpt
