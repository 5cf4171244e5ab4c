// Numbers in texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ckpt {

// All of `text` as a number; nullopt where it is none, or one that T does not hold.
template <class T>
std::optional<T> number_from(std::string_view text, [[maybe_unused]] int base = 10) {
  T out{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read;
  if constexpr (std::is_integral_v<T>) {
    read = std::from_chars(text.data(), end, out, base);
  } else {
    read = std::from_chars(text.data(), end, out);
  }
  return read.ec == std::errc() && read.ptr == end ? std::optional(out) : std::nullopt;
}

// Takes the number that `text` begins with off it.
template <class T>
std::optional<T> take_leading(std::string_view& text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

// The number behind `front` in a text that begins with it: 7 of "model.layers.7.mlp".
inline std::optional<uint64_t> number_after(std::string_view text, std::string_view front) {
  if (!text.starts_with(front)) return std::nullopt;
  text.remove_prefix(front.size());
  return take_leading<uint64_t>(text);
}

}  // namespace ckpt
