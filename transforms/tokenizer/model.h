// Facts about a tokenizer from the files around it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "transforms/tokenizer/file.h"

namespace ckpt {

struct TokenizerModel {
  std::string model_type;       // of config.json
  std::string text_model_type;  // of its text part; the same without one
  bool generates = false;       // an architecture ...ForCausalLM or ...ForConditionalGeneration
  std::optional<uint64_t> vocab_size;
  std::optional<uint64_t> embedding_rows;  // of the tensor; nullopt when tensors are not at hand
  // "eos" and the ids that config.json and generation_config.json give it
  std::vector<std::pair<std::string, std::vector<uint64_t>>> special_ids;
};

Result<TokenizerModel> read_tokenizer_model(const Checkpoint& checkpoint);

// Text of bos_token and its kin in tokenizer_config.json; nullopt when absent or null.
std::optional<std::string> special_text(const JsonValue& config, std::string_view kind);

// [bos] text [eos], as tokenizer.json frames a text: whether the tokens `bos` and `eos` are there;
// nullopt when it does something else. Fails: kCorrupt.
Result<std::optional<std::pair<bool, bool>>> text_frame(const TokenizerFile& file,
                                                        const std::optional<std::string>& bos,
                                                        const std::optional<std::string>& eos);

}  // namespace ckpt
