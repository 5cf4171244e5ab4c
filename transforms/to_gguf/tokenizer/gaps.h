// Rules of tokenizer.json that llama.cpp lacks, so that it splits some texts differently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/metadata.h"

namespace ckpt {

struct TokenizerGap {
  std::string place;  // "tokenizer.json: normalizer"
  std::string found;  // the rule, and llama.cpp's behavior
  // Only texts with combining marks are split differently; conversions do not note it.
  bool is_rare = false;
};

// How llama.cpp splits texts: by the rules of tokenizer.ggml.pre, or with U+2581 for spaces.
enum class LlamaSplitting : uint8_t { kByPre, kByPieces };

// `pre` is the name in tokenizer.ggml.pre; empty if unknown.
std::vector<TokenizerGap> find_tokenizer_gaps(const JsonValue& tokenizer, LlamaSplitting splitting,
                                              std::string_view pre);

// Finds gaps for the keys of a GGUF, including those for a space before a text.
std::vector<TokenizerGap> find_tokenizer_gaps(const JsonValue& tokenizer, const Metadata& metadata);

// Whether the rules put a space before a text.
bool puts_space_in_front(const JsonValue& tokenizer);
// Whether llama.cpp puts a space before a text that it splits into pieces.
inline constexpr const char* kSpacePrefixKey = "tokenizer.ggml.add_space_prefix";
bool adds_space_prefix(const Metadata& metadata);

}  // namespace ckpt
