// Tokens of a Jinja template; private to this folder.
#pragma once

#include <vector>

#include "checks/tokenizer/jinja.h"

namespace ckpt {

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
