// SHA-256 of bytes that come in order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ckpt {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  std::string finish();  // lower-case hex; call once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt
