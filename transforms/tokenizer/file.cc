// Source of the fields: huggingface/tokenizers, tokenizers/src/tokenizer/serialization.rs,
// models/bpe/serialization.rs. Merges are texts "a b" in old files and pairs ["a", "b"] in new
// ones, with the same meaning.
#include "transforms/tokenizer/file.h"

#include <algorithm>

namespace ckpt {
namespace {

Failure bad_part(std::string_view what, std::string_view expected) {
  return corrupt("{}: {}; expected {}", kTokenizerJson, what, expected);
}

}  // namespace

const JsonValue& TokenizerFile::part(std::string_view name) const {
  static const JsonValue kNone;
  constexpr std::string_view kModel = "model.";
  const JsonValue* found = name.starts_with(kModel)
                               ? known(known(*values, "model"), name.substr(kModel.size()))
                               : known(*values, name);
  return found == nullptr ? kNone : *found;
}

Result<std::optional<TokenizerFile>> read_tokenizer_file(const Checkpoint& checkpoint) {
  const Document* document = checkpoint.find_document(kTokenizerJson);
  if (document == nullptr) return std::optional<TokenizerFile>();
  TokenizerFile out;
  out.text = document->text();
  CKPT_ASSIGN(out.values, document->values());
  CKPT_ASSIGN(out.lists, document->token_lists());
  if (!out.values->is_object()) return bad_part("the file is not an object", "one");
  if (!out.part("model").is_object()) return bad_part("'model' is not an object", "one");
  return std::optional(std::move(out));
}

Result<ListedTokens> read_added_tokens(const TokenizerFile& file) {
  const JsonValue& list = file.part("added_tokens");
  if (!list.is_null() && !list.is_array()) return bad_part("added_tokens is not a list", "a list");
  CKPT_ASSIGN(ListedTokens out, listed_tokens(*file.values));
  for (size_t i = 0; i < out.size(); ++i) {  // the library requires the flag
    out[i].second.normalized = is_truthy(known(list[i], "normalized"));
  }
  std::ranges::stable_sort(out, {}, &ListedTokens::value_type::first);
  return out;
}

Result<JsonValue> read_scored_tokens(const TokenizerFile& file) {
  if (file.lists->list_text.empty()) return JsonValue();
  return parse_json_piece(fmt::format("{}: model.vocab", kTokenizerJson), file.lists->list_text,
                          file.text);
}

Result<std::vector<std::string>> read_tokens(const TokenizerFile& file) {
  std::vector<std::string> out;
  const TokenLists& lists = *file.lists;
  if (lists.vocabulary == TokenLists::Vocabulary::kList) {
    CKPT_ASSIGN(const JsonValue vocabulary, read_scored_tokens(file));
    for (const JsonValue& entry : vocabulary) {
      if (!entry.is_array() || entry.empty() || !entry[0].is_string()) {
        return bad_part("a token of the vocabulary is not a text with a score", "[text, score]");
      }
      out.push_back(entry[0].get<std::string>());
    }
    return out;
  }
  if (lists.vocabulary == TokenLists::Vocabulary::kNone) {
    return bad_part("the model has no vocabulary", "one");
  }
  for (const TokenLists::Token& token : lists.tokens) {
    const std::optional<uint64_t> id = whole(lists.id_value(token));
    if (!id) return bad_part(fmt::format("token '{}' has no whole number", token.text), "its id");
    if (*id >= kMaxTokens) {
      return bad_part(fmt::format("token '{}' has id {}", token.text, *id), "less");
    }
    if (*id >= out.size()) out.resize(*id + 1);
    if (out[*id] < token.text) out[*id] = token.text;  // of two with one id the last in order
  }
  return out;
}

Result<std::vector<std::string>> read_merge_texts(const TokenizerFile& file) {
  const auto& merges = file.lists->merges;
  std::vector<std::string> out;
  if (!file.part("model.merges").is_null()) return bad_part("merges is not a list", "a list");
  out.reserve(merges.size());
  for (const TokenLists::Merge& merge : merges) {
    if (!merge.is_text() && !merge.is_pair()) {
      return bad_part(fmt::format("merge {} is not a pair", out.size()),
                      "\"a b\" or [\"a\", \"b\"]");
    }
    out.emplace_back(merge.left);
    if (merge.is_pair()) out.back().append(" ").append(merge.right);
  }
  return out;
}

}  // namespace ckpt
