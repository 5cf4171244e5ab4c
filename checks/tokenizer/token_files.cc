// Checks files that repeat facts of tokenizer.json and contradict it.
//
//   tokenizer_config.json has added_tokens_decoder    its tokens count; the two below are not read
//   otherwise   special_tokens_map.json               has precedence over tokenizer_config.json
//               added_tokens.json                     its tokens count
//
// A token that tokenizer.json lacks is added after the last one, whatever its ID in these files is.
// Classes of transformers 5 that build the rules themselves add all of these tokens again in this
// order, and none that added_tokens_decoder lacks.
// Source: transformers 4.57.6 and 5.17.0 src/transformers/tokenization_utils_base.py
// (_from_pretrained), tokenization_utils_fast.py and tokenization_utils_tokenizers.py (__init__).
#include <map>
#include <set>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/model/json_documents.h"
#include "core/model/token_lists.h"

namespace ckpt {
namespace {

constexpr std::string_view kDecoder = "added_tokens_decoder";

// The JSON object in a document, or null.
std::shared_ptr<const JsonValue> object_at(const Subject& on, std::string_view path) {
  return read_object(on.checkpoint, path).value_or(nullptr);
}

struct GivenToken {
  std::string place;
  uint64_t id;
  std::string text;
};

using TextsById = std::map<uint64_t, std::string_view>;

// The texts in tokenizer.json for the IDs of these tokens.
TextsById texts_of(const Subject& on, const std::vector<GivenToken>& given) {
  TextsById out;
  for (const GivenToken& token : given) out[token.id] = {};
  const auto put = [&](uint64_t id, std::string_view text) {
    if (std::string_view* const found = find_mapped(out, id)) *found = text;
  };
  for (const TokenLists::Token& token : on.token_lists->tokens) {
    if (token.id != TokenLists::kOddId) put(token.id, token.text);
  }
  for (const JsonValue& token : list_in(on.tokenizer, "added_tokens")) {
    const auto id = whole(member(token, "id"));
    const std::string* text = text_of(token, "content");
    if (id && text != nullptr) put(*id, *text);
  }
  return out;
}

std::vector<GivenToken> tokens_of_decoder(const JsonValue& decoder) {
  std::vector<GivenToken> out;
  if (!decoder.is_object()) return out;  // T16
  for (const auto& [key, token] : decoder.items()) {
    const auto id = number_from<uint64_t>(key);
    const std::string* text = text_of(token, "content");
    if (!id || text == nullptr) continue;
    out.push_back({fmt::format("tokenizer_config.json: {}.{}", kDecoder, key), *id, *text});
  }
  return out;
}

std::vector<GivenToken> tokens_of_table(const JsonValue& table) {
  std::vector<GivenToken> out;
  for (const auto& [text, value] : table.items()) {
    const auto id = whole(value);
    if (id) out.push_back({"added_tokens.json", *id, text});
  }
  return out;
}

void check_given_tokens(const CheckContext& context) {
  const Subject& on = context.on;
  if (!on.tokenizer.is_object()) return;
  std::vector<GivenToken> given;
  if (const JsonValue* decoder = member(on.tokenizer_config, kDecoder)) {
    given = tokens_of_decoder(*decoder);
  } else if (const auto table = object_at(on, "added_tokens.json")) {
    given = tokens_of_table(*table);
  }
  if (given.empty()) return;
  const bool is_rebuilt =
      context.profile.has_tokenizers_of_5() && rebuilds_tokenizer(on, context.profile);
  const TextsById texts = texts_of(on, given);
  for (const GivenToken& token : given) {
    const std::string_view other = texts.at(token.id);
    if (other.data() == nullptr || other == token.text) continue;
    return context.report(
        token.place,
        fmt::format("ID {} is '{}'; in tokenizer.json it is '{}'", token.id, token.text, other),
        is_rebuilt ? std::optional<Severity>() : Severity::kWarning,
        is_rebuilt ? "added tokens get other IDs than in training"
                   : "the token gets an ID beyond the vocabulary");
  }
}

// Special tokens in tokenizer_config.json, which are added in any case.
std::set<std::string> named_texts(const JsonValue& config) {
  std::set<std::string> out;
  const auto add = [&](const JsonValue& token) {
    if (const std::string* text = text_of_token(token)) out.insert(*text);
  };
  for (const auto& [key, value] : config.items()) {
    if (key.ends_with("_token")) add(value);
    if (!key.ends_with("_special_tokens") || !value.is_structured()) continue;
    for (const JsonValue& token : value) add(token);
  }
  return out;
}

void check_lost_tokens(const CheckContext& context) {
  const JsonValue& config = context.on.tokenizer_config;
  const JsonValue* decoder = member(config, kDecoder);
  const bool is_rebuilt =
      context.profile.has_tokenizers_of_5() && rebuilds_tokenizer(context.on, context.profile);
  if (!is_rebuilt || decoder == nullptr || !context.on.tokenizer.is_object()) return;
  std::set<std::string> kept = named_texts(config);
  for (const GivenToken& token : tokens_of_decoder(*decoder)) kept.insert(token.text);
  for (const JsonValue& token : list_in(context.on.tokenizer, "added_tokens")) {
    const std::string* text = text_of(token, "content");
    if (text == nullptr || kept.contains(*text)) continue;
    return context.report(fmt::format("tokenizer_config.json: {}", kDecoder),
                          fmt::format("lacks '{}', an added token of tokenizer.json; '{}' of "
                                      "transformers 5 adds only the tokens listed here",
                                      *text, tokenizer_class_of_5(context.on, context.profile)),
                          {}, "the token is cut into pieces");
  }
}

void check_named_tokens(const CheckContext& context) {
  if (member(context.on.tokenizer_config, kDecoder) != nullptr) return;
  const auto map = object_at(context.on, "special_tokens_map.json");
  if (!map) return;
  for (const std::string_view key : {"eos_token", "bos_token", "pad_token", "unk_token"}) {
    const JsonValue* there = known(*map, key);
    const JsonValue* here = known(context.on.tokenizer_config, key);
    if (there == nullptr || here == nullptr) continue;
    const std::string* theirs = text_of_token(*there);
    const std::string* ours = text_of_token(*here);
    if (theirs == nullptr || ours == nullptr || *theirs == *ours) continue;
    const bool ends = key == "eos_token" || key == "bos_token";
    context.report(
        fmt::format("special_tokens_map.json: {}", key),
        fmt::format("'{}', which goes before '{}' of tokenizer_config.json", *theirs, *ours),
        ends ? std::optional<Severity>() : Severity::kWarning,
        "generation does not end, or other tokens frame the prompt");
  }
}

void check_token_files(const CheckContext& context) {
  check_given_tokens(context);
  check_lost_tokens(context);
  check_named_tokens(context);
}

constexpr Check kTokenFileChecks[] = {
    {"T25", "the tokenizer's files agree", "S: vllm* sglang transformers*",
     "added tokens get other IDs than in training", "take the tokenizer's files from one model",
     check_token_files},
};

}  // namespace

std::span<const Check> token_file_checks() { return kTokenFileChecks; }

}  // namespace ckpt
