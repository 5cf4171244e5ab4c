// Parses chat templates: Jinja as transformers compiles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// Python rejects conditions, loops and brackets before this depth.
inline constexpr size_t kMaxTemplateDepth = 200;

struct TemplateFault {
  size_t line;
  std::string what;
  // False if the template can be parsed but jinja2's compiler rejects it.
  bool is_syntax = true;
};

// The first fault for which jinja2 rejects `text`; nullopt if it compiles. Time and memory are
// proportional to the text.
std::optional<TemplateFault> find_template_fault(std::string_view text);

// The tokens that the parser reads. Only files of this folder use them.
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
  std::vector<JinjaToken> tokens;  // the last one is kEnd
  std::optional<TemplateFault> fault;  // set if the tokens end early
};
// Returns views into `text`. Requires: lines end with LF alone.
JinjaTokens read_jinja_tokens(std::string_view text);

}  // namespace ckpt
