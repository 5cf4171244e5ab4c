// Computes the id that git gives a file ("blob"): the SHA-1 of its size and bytes. Bytes must be
// added in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ckpt {

class GitId {
 public:
  explicit GitId(uint64_t size_bytes);
  ~GitId();
  GitId(const GitId&) = delete;
  GitId& operator=(const GitId&) = delete;

  void add(std::span<const std::byte> bytes);
  std::string finish();  // lower-case hex; call once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the id of bytes in memory.
std::string git_id_of(std::string_view bytes);

}  // namespace ckpt
