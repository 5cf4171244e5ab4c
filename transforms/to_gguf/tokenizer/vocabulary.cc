// Tokens, their types and merges (llama.cpp conversion/base.py get_vocab_base,
// gguf-py/gguf/vocab.py _try_load_from_tokenizer_json, _try_load_merges_txt).
//
// A token is CONTROL if it is marked special or looks special ("<|...|>"); ids without a token are
// filled up to vocab_size.
#include "transforms/to_gguf/tokenizer/vocabulary.h"

#include <algorithm>

#include "core/base/lines.h"
#include "core/base/utf8.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

using TextById = std::pair<uint64_t, std::string_view>;

Result<uint64_t> token_id(const TokenLists& lists, const TokenLists::Token& token) {
  if (token.id < kMaxTokens) return token.id;
  const JsonValue id = lists.id_value(token);
  const auto value = whole(id);
  if (!value || *value >= kMaxTokens) {
    return corrupt("tokenizer.json: token '{}' has id {}; expected 0 to {}", token.text, id.dump(),
                   kMaxTokens - 1);
  }
  return *value;
}

// Tokens in the order of ids. Fails: kCorrupt: an id out of range, or shared by two tokens, one of
// which a GGUF would lose.
Result<std::vector<TextById>> base_tokens(const TokenLists& lists) {
  if (lists.vocabulary != TokenLists::Vocabulary::kNumbers) {
    return corrupt("tokenizer.json: no model.vocab");
  }
  std::vector<TextById> out;
  out.reserve(lists.tokens.size());
  for (const TokenLists::Token& token : lists.tokens) {
    CKPT_ASSIGN(const uint64_t number, token_id(lists, token));
    out.emplace_back(number, token.text);
  }
  if (!std::ranges::is_sorted(out)) std::ranges::sort(out);
  const auto same_id = [](const TextById& a, const TextById& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(out.begin(), out.end(), same_id);
  if (twice == out.end()) return out;
  return corrupt_hint(kSourceTokenizer,
                      "tokenizer.json: tokens '{}' and '{}' both have id {}; expected one of them",
                      shorten(twice->second), shorten(std::next(twice)->second), twice->first);
}

// Merges both lists by id; if both have an id, the token of `added` is kept.
VocabularyTokens joined(const std::vector<TextById>& base, VocabularyTokens added) {
  VocabularyTokens out;
  out.reserve(base.size() + added.size());
  auto next = added.begin();
  for (const auto& [id, text] : base) {
    while (next != added.end() && next->first < id) out.push_back(std::move(*next++));
    if (next == added.end() || next->first != id) {
      out.push_back({id, {std::string(text), TokenType::kNormal}});
    }
  }
  std::move(next, added.end(), std::back_inserter(out));
  return out;
}

std::string join_pair(std::string_view left, std::string_view right) {
  constexpr std::string_view kByteSpace = "\xc4\xa0";  // U+0120, the space of byte-level BPE
  const std::string front = replace_all(left, " ", kByteSpace);
  return front + (front.empty() ? "" : " ") + replace_all(right, " ", kByteSpace);
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
    const std::string_view line = take_line(text);
    const std::vector<std::string> parts = words(line);
    const bool is_comment = first && !parts.empty() && parts[0].starts_with('#');
    if (parts.size() == 2 && !is_comment) out.push_back(parts[0] + " " + parts[1]);
  }
  return out;
}

std::string token_shown(const Vocabulary& vocabulary, size_t id) {
  constexpr std::string_view kNames[] = {"",        "normal",       "unknown", "control",
                                         "user-defined", "unused", "a byte"};
  return fmt::format("'{}' ({})", shorten(vocabulary.tokens[id]),
                     kNames[static_cast<size_t>(vocabulary.types[id])]);
}

// Limit for ids without a token if the checkpoint has no embedding.
constexpr uint64_t kMostUnused = 65'536;

}  // namespace

Hint advice_on_count(uint64_t needed, const TokenizerOptions& options) {
  const uint64_t rows = options.most_tokens.value_or(0);
  if (needed > rows || rows == options.vocab_size || options.vocab_size_field.empty()) {
    return kFittingTokenizer;
  }
  return fmt::format("--step config:set={}={}", options.vocab_size_field, rows);
}

Result<uint64_t> token_count(uint64_t held, const TokenizerOptions& options) {
  const uint64_t stated = options.vocab_size.value_or(0);
  const uint64_t count = stated == 0 ? held : stated;
  const uint64_t most =
      std::min(kMaxTokens, options.most_tokens.value_or(std::min(kMaxTokens, held) + kMostUnused));
  if (count <= most) return count;
  return corrupt_hint(
      advice_on_count(held, options), "{} is {}; {} {}",
      stated == 0 ? "the number of tokens" : options.vocab_size_of, count,
      options.most_tokens ? "the embedding has rows for" : "expected at most", most);
}

Vocabulary chosen_vocabulary(Vocabulary source, Vocabulary converters,
                             const TokenizerOptions& options) {
  uint64_t count = 0;
  size_t first = 0;
  bool is_first_found = true;
  for (size_t id = 0; id < source.tokens.size(); ++id) {
    const int32_t type = converters.types[id];
    const bool has_text = source.tokens[id] == converters.tokens[id];
    if (has_text && source.types[id] == type) continue;
    // llama.cpp finds unknown and control tokens alike, so this difference is reported last.
    const bool is_found = has_text && type == static_cast<int32_t>(TokenType::kUnknown);
    if (++count == 1 || (is_first_found && !is_found)) {
      first = id;
      is_first_found = is_found;
    }
  }
  std::string difference;
  if (count != 0) {
    difference = fmt::format("ID {} is {}, and {} for llama.cpp's converter{}", first,
                             token_shown(source, first), token_shown(converters, first),
                             count == 1 ? "" : fmt::format(" ({} such tokens)", count));
  }
  Vocabulary& out = options.as_converter ? converters : source;
  out.difference = std::move(difference);
  return std::move(out);
}

Result<Vocabulary> read_vocabulary(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                   const JsonValue& config, const TokenizerOptions& options) {
  CKPT_ASSIGN(const auto lists, token_lists_of(checkpoint));
  CKPT_ASSIGN(const std::vector<TextById> base, base_tokens(*lists));
  CKPT_ASSIGN(VocabularyTokens added, added_tokens(checkpoint, tokenizer, config));
  VocabularyTokens tokens = joined(base, std::move(added));
  const uint64_t needed = tokens.empty() ? 0 : tokens.back().first + 1;
  CKPT_ASSIGN(const uint64_t size, token_count(needed, options));
  if (needed > size) {
    return corrupt_hint(advice_on_count(needed, options),
                        "tokenizer.json has token '{}' as number {}; {} is {}",
                        tokens.back().second.text, needed - 1, options.vocab_size_of, size);
  }
  Vocabulary out;
  out.tokens.reserve(size);
  out.types.reserve(size);
  const auto put = [&](std::string text, TokenType type) {
    out.tokens.push_back(std::move(text));
    out.types.push_back(static_cast<int32_t>(type));
  };
  const auto fill_up_to = [&](uint64_t id) {
    while (out.tokens.size() < id) {
      put(fmt::format("[PAD{}]", out.tokens.size()), TokenType::kUnused);
    }
  };
  for (auto& [id, token] : tokens) {
    fill_up_to(id);
    put(std::move(token.text), token.type);
  }
  fill_up_to(size);
  return out;
}

Result<TokenTexts> token_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                               const JsonValue& config) {
  CKPT_ASSIGN(const auto lists, token_lists_of(checkpoint));
  CKPT_ASSIGN(const std::vector<TextById> base, base_tokens(*lists));
  CKPT_ASSIGN(VocabularyTokens added, added_texts(checkpoint, tokenizer, config));
  return TokenTexts{joined(base, std::move(added)), base.size()};
}

std::string merge_text(const TokenLists::Merge& merge) {
  return merge.is_pair() ? join_pair(merge.left, merge.right) : std::string(merge.left);
}

Status check_merges(const TokenLists& lists) {
  const auto is_wrong = [](const auto& merge) { return !merge.is_text() && !merge.is_pair(); };
  const auto wrong = std::ranges::find_if(lists.merges, is_wrong);
  if (wrong == lists.merges.end()) return {};
  return corrupt("tokenizer.json: merge {} is neither a text nor a pair",
                 wrong - lists.merges.begin());
}

Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto lists, token_lists_of(checkpoint));
  CKPT_TRY(check_merges(*lists));
  if (!lists->merges.empty()) {
    std::vector<std::string> out(lists->merges.size());
    std::transform(lists->merges.begin(), lists->merges.end(), out.begin(), merge_text);
    return out;
  }
  const Document* document = checkpoint.find_document("merges.txt");
  return document == nullptr ? std::vector<std::string>() : merges_of_text(document->text());
}

}  // namespace ckpt
