// Names tensors that a file holds as one stack: "blk.0.ffn_up_exps[3]" is matrix 3 of
// "blk.0.ffn_up_exps".
//
// A checkpoint keeps such tensors separate if each is encoded with a separate number (NVFP4: its
// tensor scale). They are consecutive, numbered from 0, with the same shape and codec, and a format
// lays them out as one. Only codecs with several parts are stacked this way; in other names the
// brackets have no meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/checkpoint.h"

namespace ckpt {

struct StackMember {
  std::string stack;
  uint64_t number;
};

inline std::string stack_member_name(std::string_view stack, uint64_t number) {
  return fmt::format("{}[{}]", stack, number);
}

// Returns nullopt for a tensor that is not part of a stack.
inline std::optional<StackMember> stack_member(const Tensor& tensor) {
  const size_t open = tensor.name.rfind('[');
  if (tensor.codec->parts.size() < 2 || open == std::string::npos || !tensor.name.ends_with(']')) {
    return std::nullopt;
  }
  uint64_t number = 0;
  const std::string digits = tensor.name.substr(open + 1, tensor.name.size() - open - 2);
  if (digits.empty() || digits.size() > 7) return std::nullopt;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  return StackMember{tensor.name.substr(0, open), number};
}

}  // namespace ckpt
