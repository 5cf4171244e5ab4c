// Names of the rules by which a text is cut before merging.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/token_lists.h"

namespace ckpt {

// llama.cpp's name for the rules by which tokenizer.json cuts a text before merging.
// Fails: kUnsupported, showing the rules, when no signature fits.
Result<std::string> recognize_pre_tokenizer(const JsonValue& tokenizer, const JsonValue& config,
                                            const TokenLists& lists,
                                            const std::vector<std::string>& merges);

// The steps that llama.cpp's `name` stands for, a line each: the pattern of a Split, or a word as
// in pre.cc ("bytes" last). Empty for names that are not known.
std::string_view pre_tokenizer_steps(std::string_view name);

// Whether llama.cpp takes a word that is a token without merging, for the pre-tokenizer `name`.
bool pre_ignores_merges(std::string_view name);
// Whether published vocabularies of this pre-tokenizer bring texts to NFC; no key says it.
bool pre_normalizes_to_nfc(std::string_view name);

}  // namespace ckpt
