// Parses numbers in texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ckpt {

// Parses the entire `text` as a number; nullopt if it is not one, or T cannot hold it.
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

// Removes the number at the start of `text` and returns it.
template <class T>
std::optional<T> take_leading(std::string_view& text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

// The number after `front` in a text that begins with it: 7 in "model.layers.7.mlp".
inline std::optional<uint64_t> number_after(std::string_view text, std::string_view front) {
  if (!text.starts_with(front)) return std::nullopt;
  text.remove_prefix(front.size());
  return take_leading<uint64_t>(text);
}

}  // namespace ckpt
