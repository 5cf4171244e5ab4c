// Tokens, their types and merges (llama.cpp conversion/base.py get_vocab_base,
// gguf-py/gguf/vocab.py _try_load_from_tokenizer_json, _try_load_merges_txt).
//
// A token is CONTROL when it is marked special or when it only looks so ("<|...|>"); ids that no
// token has are filled up to vocab_size.
#include "transforms/to_gguf/tokenizer/vocabulary.h"

#include <algorithm>

#include "transforms/to_gguf/tokenizer/added.h"

namespace ckpt {
namespace {

Result<uint64_t> token_id(const JsonValue& id, std::string_view text) {
  const auto value = whole(id);
  if (!value || *value >= kMaxTokens) {
    return fail(ErrorCode::kCorrupt, "tokenizer.json: token '{}' has id {}; expected 0 to {}", text,
                id.dump(), kMaxTokens - 1);
  }
  return *value;
}

Result<VocabularyTokens> base_tokens(const JsonValue& tokenizer) {
  const JsonValue* model = known(tokenizer, "model");
  const JsonValue* vocab = model == nullptr ? nullptr : known(*model, "vocab");
  if (vocab == nullptr || !vocab->is_object()) {
    return fail(ErrorCode::kCorrupt, "tokenizer.json: no model.vocab");
  }
  const auto& members = vocab->get_ref<const JsonValue::object_t&>();
  std::vector<std::pair<uint64_t, const std::string*>> by_id;
  by_id.reserve(members.size());
  for (const auto& [text, id] : members) {
    CKPT_ASSIGN(const uint64_t number, token_id(id, text));
    by_id.emplace_back(number, &text);
  }
  std::stable_sort(by_id.begin(), by_id.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  VocabularyTokens out;
  out.reserve(by_id.size());
  for (size_t i = 0; i < by_id.size(); ++i) {
    const auto& [id, text] = by_id[i];
    const bool is_last = i + 1 == by_id.size() || by_id[i + 1].first != id;
    if (is_last) out.push_back({id, {*text, TokenType::kNormal}});  // of those with one number
  }
  return out;
}

std::string join_pair(const std::string& left, const std::string& right) {
  std::string out;
  out.reserve(left.size() + right.size() + 1);
  for (const std::string* part : {&left, &right}) {
    if (!out.empty()) out += ' ';
    if (part->find(' ') == part->npos) {
      out += *part;
      continue;
    }
    for (const char c : *part) {
      if (c == ' ') {
        out += "\xc4\xa0";  // U+0120, byte-level BPE's space
      } else {
        out += c;
      }
    }
  }
  return out;
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r\f\v", at)) != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(" \t\r\f\v", at), line.size());
    out.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

std::vector<std::string> merges_of_text(std::string_view text) {
  std::vector<std::string> out;
  for (bool first = true; !text.empty(); first = false) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::vector<std::string> parts = words(line);
    const bool is_comment = first && !parts.empty() && parts[0].starts_with('#');
    if (parts.size() == 2 && !is_comment) out.push_back(parts[0] + " " + parts[1]);
  }
  return out;
}

// Beyond those that the files give, in a checkpoint without an embedding.
constexpr uint64_t kMostUnused = 65'536;

}  // namespace

Result<uint64_t> token_count(uint64_t held, const TokenizerOptions& options) {
  const uint64_t stated = options.vocab_size.value_or(0);
  const uint64_t count = stated == 0 ? held : stated;
  const uint64_t most =
      std::min(kMaxTokens, options.most_tokens.value_or(std::min(kMaxTokens, held) + kMostUnused));
  if (count <= most) return count;
  return fail_with_hint(
      ErrorCode::kCorrupt, "a tokenizer that belongs to these weights, with --tokenizer DIR",
      "{} is {}; {} {}", stated == 0 ? "the number of tokens" : "config.json's vocab_size", count,
      options.most_tokens ? "the embedding has rows for" : "expected at most", most);
}

Result<Vocabulary> read_vocabulary(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                   const JsonValue& config, const TokenizerOptions& options) {
  CKPT_ASSIGN(VocabularyTokens tokens, base_tokens(tokenizer));
  CKPT_TRY(add_added_tokens(checkpoint, tokenizer, config, tokens));
  const uint64_t needed = tokens.empty() ? 0 : tokens.back().first + 1;
  CKPT_ASSIGN(const uint64_t size, token_count(needed, options));
  if (needed > size) {
    return fail_with_hint(
        ErrorCode::kCorrupt, "a tokenizer that belongs to these weights, with --tokenizer DIR",
        "tokenizer.json has token '{}' as number {}; config.json's vocab_size is {}",
        tokens.back().second.text, needed - 1, size);
  }
  Vocabulary out;
  out.tokens.reserve(size);
  auto found = tokens.begin();
  for (uint64_t i = 0; i < size; ++i) {
    if (found == tokens.end() || found->first != i) {
      out.tokens.push_back(fmt::format("[PAD{}]", i));
      out.types.push_back(static_cast<int32_t>(TokenType::kUnused));
      continue;
    }
    out.tokens.push_back(std::move(found->second.text));
    out.types.push_back(static_cast<int32_t>(found->second.type));
    ++found;
  }
  return out;
}

Result<TokenTexts> token_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                               const JsonValue& config) {
  CKPT_ASSIGN(VocabularyTokens tokens, base_tokens(tokenizer));
  TokenTexts out;
  out.base_count = tokens.size();
  CKPT_ASSIGN(out.by_id, with_added_texts(checkpoint, tokenizer, config, std::move(tokens)));
  return out;
}

Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint,
                                             const JsonValue& tokenizer) {
  const JsonValue* list = known(*known(tokenizer, "model"), "merges");
  std::vector<std::string> out;
  if (list != nullptr && list->is_array()) {
    out.reserve(list->size());
    for (const JsonValue& merge : *list) {
      const auto* text = merge.get_ptr<const std::string*>();
      const bool is_pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (text == nullptr && !is_pair) {
        return fail(ErrorCode::kCorrupt, "tokenizer.json: merge {} is neither a text nor a pair",
                    out.size());
      }
      out.push_back(text != nullptr ? *text
                                    : join_pair(merge[0].get_ref<const std::string&>(),
                                                merge[1].get_ref<const std::string&>()));
    }
  }
  if (!out.empty()) return out;
  const Document* document = checkpoint.find_document("merges.txt");
  return document == nullptr ? out : merges_of_text(document->text());
}

}  // namespace ckpt
