#include "core/model/tensor_names.h"

#include <charconv>

namespace ckpt {

std::string module_of(std::string_view tensor) {
  const size_t dot = tensor.rfind('.');
  return std::string(tensor.substr(0, dot == tensor.npos ? 0 : dot));
}

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string listed_name(std::string_view tensor) {
  return tensor.ends_with(kWeight) ? module_of(tensor) : std::string(tensor);
}

bool is_of_head(std::string_view tensor) {
  return tensor.starts_with("lm_head.") || tensor.find(".lm_head.") != tensor.npos ||
         tensor.starts_with("embed_out.");  // of GPT-NeoX
}

std::optional<ExpertName> expert_name(std::string_view name) {
  constexpr std::string_view kExperts = "experts.";
  const size_t at = name.rfind(kExperts);
  if (at == name.npos) return std::nullopt;
  const std::string_view digits = name.substr(at + kExperts.size());
  uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto length = static_cast<size_t>(read.ptr - digits.data());
  const bool is_number = read.ec == std::errc() && length < digits.size() && digits[length] == '.';
  if (!is_number) return std::nullopt;
  return ExpertName{name.substr(0, at + kExperts.size()), number, digits.substr(length + 1)};
}

}  // namespace ckpt
