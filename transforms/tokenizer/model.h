// The model's tokenizer as config.json, generation_config.json and the embedding describe it.
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
  std::string model_type;       // in config.json
  std::string text_model_type;  // of its text part; equal to model_type if there is none
  bool generates = false;       // class ...ForCausalLM or ...ForConditionalGeneration
  std::optional<uint64_t> vocab_size;
  std::optional<uint64_t> embedding_rows;  // nullopt if tensors are unknown
  // "eos" and the ids that config.json and generation_config.json give it
  std::vector<std::pair<std::string, std::vector<uint64_t>>> special_ids;
};

Result<TokenizerModel> read_tokenizer_model(const Checkpoint& checkpoint);

// The text of bos_token or a similar field in tokenizer_config.json; nullopt if absent or null.
std::optional<std::string> special_text(const JsonValue& config, std::string_view kind);

// Whether tokenizer.json frames a text with the tokens `bos` and `eos`; nullopt if it does
// something else.
std::optional<std::pair<bool, bool>> text_frame(const TokenizerFile& file,
                                                const std::optional<std::string>& bos,
                                                const std::optional<std::string>& eos);

}  // namespace ckpt
