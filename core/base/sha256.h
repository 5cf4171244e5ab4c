// SHA-256 of bytes that are added in order, in one run of the program or in several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ckpt {

// The state of an unfinished hash, so that another run can continue it.
//
//   text   64 hex digits: the eight words; then two for each of the last size_bytes % 64 bytes,
//          which do not fill a block yet
struct Sha256State {
  uint64_t size_bytes = 0;  // hashed
  std::string text;
};

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  std::string finish();  // lower-case hex; call once

  Sha256State state() const;
  // For add_to_each(): the bytes of a block that is not full yet, and the eight words of the chain,
  // to which the caller adds so many blocks. Requires: every block is full.
  size_t open_bytes() const;
  std::span<uint32_t, 8> chain_for(uint64_t blocks);
  // nullopt if `state` is not valid.
  static std::optional<Sha256> from(const Sha256State& state);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The hash of bytes in memory.
std::string sha256_of(std::span<const std::byte> bytes);
std::string sha256_of(std::string_view bytes);

}  // namespace ckpt
