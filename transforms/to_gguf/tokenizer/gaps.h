// Rules of tokenizer.json that llama.cpp does not have, so that it splits some texts differently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/metadata.h"

namespace ckpt {

struct TokenizerGap {
  std::string place;  // "tokenizer.json: normalizer"
  std::string found;  // the rule, and what llama.cpp does
  // Texts without combining marks are split the same; no conversion notes it.
  bool is_rare = false;
};

// How llama.cpp splits texts: by the rules that tokenizer.ggml.pre names, or by U+2581 for spaces.
enum class LlamaSplitting : uint8_t { kByPre, kByPieces };

// `pre` is the name in tokenizer.ggml.pre; empty when it is not known.
std::vector<TokenizerGap> find_tokenizer_gaps(const JsonValue& tokenizer, LlamaSplitting splitting,
                                              std::string_view pre);

// The same with the keys of a GGUF, also of those that decide on a space in front of a text.
std::vector<TokenizerGap> find_tokenizer_gaps(const JsonValue& tokenizer, const Metadata& metadata);

// Whether the rules put a space in front of a text.
bool puts_space_in_front(const JsonValue& tokenizer);
// Whether llama.cpp puts one in front of a text that it splits into pieces.
inline constexpr const char* kSpacePrefixKey = "tokenizer.ggml.add_space_prefix";
bool adds_space_prefix(const Metadata& metadata);

}  // namespace ckpt
