#include "transforms/gguf_tokenizer.h"

#include "transforms/gguf_tokenizer_parts.h"

namespace ckpt {
namespace {

constexpr const char* kTokenizerHint = "the folder of the model's tokenizer, with --tokenizer DIR";

// Granite's code models share one vocabulary size and want no BOS (llama.cpp conversion/llama.py).
constexpr uint64_t kNoBosVocabulary = 49152;

Result<JsonValue> read_tokenizer(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonValue> tokenizer, read_object(checkpoint, "tokenizer.json"));
  if (tokenizer) return std::move(*tokenizer);
  for (const char* path : {"tokenizer.model", "spiece.model", "tekken.json"}) {
    if (checkpoint.find_document(path) == nullptr) continue;
    return fail_with_hint(ErrorCode::kUnsupported, kTokenizerHint,
                          "{} without tokenizer.json: only byte-level BPE in a tokenizer.json is "
                          "converted",
                          path);
  }
  return fail_with_hint(ErrorCode::kUsage, kTokenizerHint, "no tokenizer.json");
}

// SentencePiece models in a tokenizer.json are BPE too; their bytes are tokens like <0x0A>.
Status check_kind(const JsonValue& tokenizer) {
  const JsonValue* model = known(tokenizer, "model");
  const std::string* type = model == nullptr ? nullptr : text_of(*model, "type");
  if (type == nullptr || *type != "BPE") {
    return fail(ErrorCode::kUnsupported,
                "tokenizer.json: a {} model; only byte-level BPE is converted",
                type == nullptr ? "nameless" : *type);
  }
  if (is_truthy(known(*model, "byte_fallback"))) {
    return fail(ErrorCode::kUnsupported,
                "tokenizer.json: BPE with byte fallback, as SentencePiece has it; only byte-level "
                "BPE is converted");
  }
  return {};
}

}  // namespace

Status add_tokenizer_keys(const Checkpoint& checkpoint, const TokenizerOptions& options,
                          Metadata& metadata) {
  CKPT_ASSIGN(const JsonValue tokenizer, read_tokenizer(checkpoint));
  CKPT_TRY(check_kind(tokenizer));
  CKPT_ASSIGN(std::optional<JsonValue> found, read_object(checkpoint, "tokenizer_config.json"));
  JsonValue config = found ? std::move(*found) : JsonValue::object();
  CKPT_ASSIGN(Vocabulary vocabulary,
              read_vocabulary(checkpoint, tokenizer, config, options.vocab_size.value_or(0)));
  CKPT_ASSIGN(std::vector<std::string> merges, read_merges(checkpoint, tokenizer));
  CKPT_ASSIGN(std::string pre, options.pre_name
                                   ? Result<std::string>(*options.pre_name)
                                   : recognise_pre_tokenizer(tokenizer, config, merges));
  const JsonValue* prefix = known(config, "add_prefix_space");
  if (options.writes_add_space_prefix && prefix != nullptr) {
    metadata.append("tokenizer.ggml.add_space_prefix", MetaValue::boolean(is_truthy(prefix)));
  }
  metadata.append("tokenizer.ggml.model", MetaValue::text("gpt2"));
  metadata.append("tokenizer.ggml.pre", MetaValue::text(std::move(pre)));
  metadata.append("tokenizer.ggml.tokens",
                  MetaValue::array(make_text_array(std::move(vocabulary.tokens))));
  metadata.append("tokenizer.ggml.token_type", MetaValue::array(make_i32_array(vocabulary.types)));
  if (!merges.empty()) {
    metadata.append("tokenizer.ggml.merges", MetaValue::array(make_text_array(std::move(merges))));
  }
  CKPT_TRY(add_special_keys(checkpoint, tokenizer, std::move(config), metadata));
  if (options.writes_add_space_prefix && options.vocab_size == kNoBosVocabulary) {
    metadata.set("tokenizer.ggml.add_bos_token", MetaValue::boolean(false));
  }
  return {};
}

}  // namespace ckpt
