// Keys of special tokens.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// The steps of tokenizer.json's post_processor, which add special tokens to a text.
JsonValue post_processors(const JsonValue& tokenizer);

// Which special tokens are looked for; ids from `vocab_size` on are passed over.
struct SpecialsWanted {
  uint64_t vocab_size = UINT64_MAX;
  std::vector<std::string> kinds = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};
  std::vector<std::pair<std::string, uint64_t>> otherwise = {};  // ids of kinds no file speaks of
  std::string_view named = {};                                   // TokenizerRules::special_tokens
};

// Ids of special tokens, and flags that say which are added to a text. `tokenizer` is
// tokenizer.json or null, `config` tokenizer_config.json, empty when there is none.
Status add_special_ids(const Checkpoint& checkpoint, const JsonValue& tokenizer, JsonValue config,
                       const SpecialsWanted& wanted, Metadata& metadata);
// tokenizer.ggml.normalizer.*, as the normalizer of tokenizer.json has them.
void add_normalizer_keys(const JsonValue& tokenizer, Metadata& metadata);

// A text, or a list of {name, template}; null when there is none. transformers and vLLM use the
// files of templates, llama.cpp's converter the one in tokenizer_config.json.
struct ChatTemplate {
  JsonValue source, converter;
  bool differs() const;  // both make other keys
};
// Fails: kCorrupt: a file that is not UTF-8, or no JSON.
Result<ChatTemplate> find_chat_template(const Checkpoint& checkpoint, const JsonValue& config);
void add_chat_template(const JsonValue& found, Metadata& metadata);

}  // namespace ckpt
