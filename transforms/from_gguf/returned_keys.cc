// Compares the tokenizer keys of a GGUF with those that a conversion of the new folder would write,
// and reports keys that the folder cannot hold.
#include "core/model/json_documents.h"
#include "transforms/from_gguf/config_fields.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/from_gguf/token_table.h"
#include "transforms/to_gguf/general/general.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/tokenizer/gaps.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/tokenizer/findings.h"

namespace ckpt {
namespace {

constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";

bool is_compared(std::string_view key) {
  return key.starts_with("tokenizer.") || key.starts_with("general.sampling.");
}

// Whether llama.cpp always assumes this value if the key is absent.
bool is_default(const MetaEntry& entry, const Metadata& file) {
  if (entry.value.type != MetaType::kBool || entry.key == "tokenizer.ggml.add_bos_token") {
    return false;
  }
  const std::string* model = file.find_text("tokenizer.ggml.model");
  const bool has_pieces = model != nullptr && *model == "llama";
  return (entry.value == MetaValue::boolean(true)) == (entry.key == kSpacePrefixKey && has_pieces);
}

// Compares numbers by value, even if their types differ.
bool are_equal(const MetaValue& a, const MetaValue& b) {
  if (a == b) return true;
  const JsonValue left = json_of(a), right = json_of(b);
  return left.is_number() && left == right;
}

// Whether two pre-tokenizers of different names split texts in the same way.
bool split_the_same(const std::string& a, const std::string& b) {
  const std::string_view steps = pre_tokenizer_steps(a);
  return a == b || (!steps.empty() && steps == pre_tokenizer_steps(b) &&
                    pre_ignores_merges(a) == pre_ignores_merges(b));
}

// Returns the file's keys as today's converter would write them: with the token types of `made`,
// with spaces for U+2581 in added tokens, and with the names that `made` has for rows without a
// token. Converters of other years wrote these differently.
Metadata as_made_now(Metadata file, const Metadata& made) {
  const MetaArray* const types = made.find_array(kTypesKey);
  const MetaArray* const old_types = file.find_array(kTypesKey);
  const MetaArray* const made_tokens = made.find_array(kTokensKey);
  const MetaArray* const tokens = file.find_array(kTokensKey);
  for (const MetaArray* each : {types, old_types, made_tokens, tokens}) {
    if (each == nullptr || each->count() != types->count()) return file;
  }
  if (!types->holds_numbers() || !old_types->holds_numbers()) return file;
  MetaArray texts = *tokens;
  for (size_t id = 0; id < std::min(texts.texts.size(), made_tokens->texts.size()); ++id) {
    const auto has_type = [&](const MetaArray& all, TokenType type) {
      return number_at(all, id) == double(type);
    };
    if (has_type(*types, TokenType::kUserDefined)) texts.texts[id] = with_spaces(texts.texts[id]);
    if (has_type(*types, TokenType::kUnused) && has_type(*old_types, TokenType::kUnused)) {
      texts.texts[id] = made_tokens->texts[id];
    }
  }
  file.set(std::string(kTokensKey), MetaValue::array(std::move(texts)));
  file.set(std::string(kTypesKey), MetaValue::array(*types));
  return file;
}

// Uses the pre-tokenizer's name for the folder's rules if they are known, else the file's name.
Result<Metadata> keys_of(const Checkpoint& file, const Checkpoint& folder, TokenizerOptions options,
                         bool is_own, const Context& context) {
  Metadata made;
  if (!is_own && add_tokenizer_keys(folder, options, context.quiet(), made)) return made;
  if (const std::string* pre = file.metadata.find_text(kPreKey)) options.pre_name = *pre;
  made = {};
  CKPT_TRY(add_tokenizer_keys(folder, options, context.quiet(), made));
  return made;
}

Result<ReturnedKeys> compare_keys(const Checkpoint& file, const Checkpoint& folder,
                                  const TokenizerOptions& options, bool is_own,
                                  const Context& context) {
  ReturnedKeys out;
  CKPT_ASSIGN(out.made, keys_of(file, folder, options, is_own, context));
  CKPT_TRY(add_sampling_keys(folder, out.made));
  const Metadata now = as_made_now(file.metadata, out.made);
  for (const MetaEntry& entry : file.metadata.entries) {
    if (!is_compared(entry.key)) continue;
    const MetaValue* made = out.made.find(entry.key);
    if (made == nullptr) {
      if (!is_default(entry, file.metadata)) out.absent.push_back(entry.key);
      continue;
    }
    if (are_equal(entry.value, *made)) continue;
    const auto* theirs = std::get_if<std::string>(&entry.value.value);
    const auto* ours = std::get_if<std::string>(&made->value);
    if (entry.key == kPreKey && theirs != nullptr && ours != nullptr) {
      // The folder does not store this name; conversions detect it, or the user supplies it.
      if (!split_the_same(*theirs, *ours)) out.absent.push_back(entry.key);
      continue;
    }
    const auto difference = key_difference(file.metadata, {entry.key, *made});
    if (!difference) continue;
    if (!is_own && !key_difference(now, {entry.key, *made})) {
      if (entry.key == kTypesKey || out.other_added.empty()) out.other_added = *difference;
      continue;
    }
    if (out.other.empty()) out.first_difference = fmt::format("{}: {}", entry.key, *difference);
    out.other.push_back(entry.key);
  }
  return out;
}

}  // namespace

Result<ReturnedKeys> find_returned_keys(const Checkpoint& file, const Checkpoint& folder,
                                        const Model& model, bool is_own, const Context& context) {
  const Tensor* tokens = file.find_embeddings();
  TokenizerOptions options =
      tokenizer_options_of(model, tokens == nullptr ? std::optional<uint64_t>() : tokens->rows());
  CKPT_ASSIGN(ReturnedKeys source, compare_keys(file, folder, options, is_own, context));
  if (source.other.empty()) return source;
  options.as_converter = true;
  CKPT_ASSIGN(ReturnedKeys converters, compare_keys(file, folder, options, is_own, context));
  if (converters.other.size() >= source.other.size()) return source;
  if (!is_own && converters.other.empty()) {
    context.note("the file has the vocabulary of llama.cpp's converter, and the folder another: {}",
                 source.first_difference);
  }
  return converters;
}

void note_lost_keys(const ReturnedKeys& keys, const Context& context) {
  if (!keys.other_added.empty()) {
    context.note("the tokenizer is the folder's; the file describes added tokens differently: {}",
                 keys.other_added);
  }
  std::vector<std::string> lost = keys.other;
  lost.insert(lost.end(), keys.absent.begin(), keys.absent.end());
  if (lost.empty()) return;
  context.note("the folder does not give these keys of the file back: {}", fmt::join(lost, ", "));
}

Status refuse_other_keys(const ReturnedKeys& keys) {
  if (keys.other.empty()) return {};
  const size_t more = keys.other.size() - 1;
  return misuse_hint(
      {"--tokenizer DIR, whose tokenizer takes the place of the file's", Remedy::kTokenizer},
      "BASE is not the model that this file was made from: {}{}", keys.first_difference,
      more == 0 ? std::string() : fmt::format(", and {} more keys differ", more));
}

Status follow_token_ids(const Metadata& made, const Checkpoint& file, Checkpoint& folder) {
  Metadata changed;
  for (const MetaEntry& entry : made.entries) {
    const MetaValue* old = file.metadata.find(entry.key);
    if (old != nullptr && !are_equal(*old, entry.value)) changed.append(entry.key, entry.value);
  }
  for (const char* path : {"config.json", "generation_config.json"}) {
    CKPT_ASSIGN(const auto declared, read_object(folder, path));
    if (declared == nullptr) continue;
    JsonValue config = *declared;
    add_token_ids(changed, config);
    if (config != *declared) folder.set_document(path, config.dump(2) + "\n");
  }
  return {};
}

}  // namespace ckpt
