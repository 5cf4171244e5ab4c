// The syntax of chat templates: Jinja as transformers compiles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The tokens that the parser reads; only files of this folder use them.
enum class TokenKind : uint8_t {
  kData,      // text between tags
  kPrint,     // {{
  kPrintEnd,  // }}
  kBlock,     // {%
  kBlockEnd,  // %}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct JinjaToken {
  TokenKind kind;
  std::string_view text;
  size_t line;
};

struct JinjaTokens {
  std::vector<JinjaToken> tokens;  // the last is kEnd
  std::optional<TemplateFault> fault;  // where the tokens end early
};
// Views into `text`, whose lines end with \n alone.
JinjaTokens read_jinja_tokens(std::string_view text);

}  // namespace ckpt
