// The syntax of chat templates: Jinja as transformers compiles it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

// Python gives up on conditions, loops and brackets before this depth.
inline constexpr size_t kMaxTemplateDepth = 200;

struct TemplateFault {
  size_t line;
  std::string what;
  // False if the template can be parsed, and only jinja2's compiler refuses it.
  bool is_syntax = true;
};

// The first fault for which jinja2 does not compile `text`; nullopt if it does. Takes time and
// memory in proportion to the text.
std::optional<TemplateFault> find_template_fault(std::string_view text);

}  // namespace ckpt
