// Keys of special tokens.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// The steps in tokenizer.json's post_processor, which add special tokens to a text.
JsonValue post_processors(const JsonValue& tokenizer);

// The special tokens to look for; ids from `vocab_size` on are ignored.
struct SpecialsWanted {
  uint64_t vocab_size = UINT64_MAX;
  std::vector<std::string> kinds = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};
  std::vector<std::pair<std::string, uint64_t>> otherwise = {};  // ids of kinds absent in files
  std::string_view named = {};                                   // TokenizerRules::special_tokens
  bool is_after_v050 = false;                                    // as in TokenizerRules
};

// Adds ids of special tokens, and flags for those that are added to a text. `tokenizer` is
// tokenizer.json or null, `config` is tokenizer_config.json, or empty if it is missing.
Status add_special_ids(const Checkpoint& checkpoint, const JsonValue& tokenizer, JsonValue config,
                       const SpecialsWanted& wanted, Metadata& metadata);
// Adds tokenizer.ggml.normalizer.* from the normalizer in tokenizer.json.
void add_normalizer_keys(const JsonValue& tokenizer, Metadata& metadata);

// The template that goes with a class, for a folder of this name. Requires: it has one.
std::string chat_of_class(const ChatOfClass& chat, std::string_view folder);

// A text, or a list of {name, template}; null if there is none. transformers and vLLM use template
// files, llama.cpp's converter the template in tokenizer_config.json.
struct ChatTemplate {
  JsonValue source, converter;
  bool differs() const;  // whether both result in different keys
};
// Fails: kCorrupt: a file is not UTF-8, or not JSON.
Result<ChatTemplate> find_chat_template(const Checkpoint& checkpoint, const JsonValue& config);
void add_chat_template(const JsonValue& found, Metadata& metadata);

}  // namespace ckpt
