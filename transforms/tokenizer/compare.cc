// Compares two tokenizers and finds their first differences.
//
//   ids      vocabulary, merges, added tokens
//   rules    normalizer, pre_tokenizer, post_processor, decoder, the model's type and flags
//   all      facts of the files around tokenizer.json (config_facts.h)
//
// Merges affect ids as much as the vocabulary. Truncation and padding, which trainers leave in
// tokenizer.json, belong to no area: they are never compared.
#include "transforms/tokenizer/compare.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "transforms/tokenizer/file.h"

namespace ckpt {
namespace {

// A beginning of a text that is sufficient for messages.
std::string shown(std::string_view text) {
  constexpr size_t kMaxShown = 160;
  if (text.size() <= kMaxShown) return std::string(text);
  return fmt::format("{} ({} bytes)", shorten(text, kMaxShown), text.size());
}

std::string json_text(const JsonValue& json) {
  return json.is_null() ? "none"
                        : shown(json.dump(-1, ' ', false, JsonValue::error_handler_t::replace));
}

std::string describe(const ListedTokens::value_type& listed) {
  const TokenAddition& token = listed.second;
  std::string out = fmt::format("{} '{}'", listed.first, token.text);
  for (const auto& [on, word] :
       {std::pair{token.special, " special"}, std::pair{token.lstrip, " lstrip"},
        std::pair{token.rstrip, " rstrip"}, std::pair{token.normalized, " normalized"},
        std::pair{token.single_word, " single_word"}}) {
    if (on) out += word;
  }
  return out;
}

class Comparison {
 public:
  Comparison(const TokenizerFile& ours, const TokenizerFile& theirs)
      : ours_(ours), theirs_(theirs) {}

  // Returns "" if they are equal.
  Result<std::string> ids() const {
    using ListReader = Result<std::vector<std::string>> (*)(const TokenizerFile&);
    constexpr std::pair<ListReader, std::string_view> kComparedLists[] = {
        {read_tokens, "token"}, {read_merge_texts, "merge"}};
    for (const auto& [read, what] : kComparedLists) {
      if (ours_.text == theirs_.text) continue;
      CKPT_ASSIGN(const std::vector<std::string> a, read(ours_));
      CKPT_ASSIGN(const std::vector<std::string> b, read(theirs_));
      if (const auto found = first_token_difference(a, b, what)) return *found;
    }
    return scores_and_added();
  }

  std::string rules() const {
    for (const char* part : {"model.type", "normalizer", "pre_tokenizer", "post_processor",
                             "decoder", "model.dropout", "model.unk_token", "model.unk_id",
                             "model.continuing_subword_prefix", "model.end_of_word_suffix",
                             "model.fuse_unk", "model.byte_fallback", "model.ignore_merges"}) {
      const JsonValue &a = ours_.part(part), &b = theirs_.part(part);
      if (a == b || (!is_truthy(&a) && !is_truthy(&b))) continue;
      return fmt::format("{}: {} here, {} there", part, json_text(a), json_text(b));
    }
    return {};
  }

 private:
  Result<std::string> scores_and_added() const {
    // Unigram: the same tokens with other scores
    if (ours_.text != theirs_.text && ours_.lists->vocabulary == TokenLists::Vocabulary::kList) {
      CKPT_ASSIGN(const JsonValue a, read_scored_tokens(ours_));
      CKPT_ASSIGN(const JsonValue b, read_scored_tokens(theirs_));
      if (a != b) return std::string("scores of tokens differ");
    }
    CKPT_ASSIGN(const ListedTokens a, read_added_tokens(ours_));
    CKPT_ASSIGN(const ListedTokens b, read_added_tokens(theirs_));
    const size_t both = std::min(a.size(), b.size());
    for (size_t i = 0; i < both; ++i) {
      if (a[i] == b[i]) continue;
      return fmt::format("added token: {} here, {} there", describe(a[i]), describe(b[i]));
    }
    if (a.size() != b.size()) {
      const bool is_here = a.size() > b.size();
      return fmt::format("{} added tokens here, {} there; the first that is only {}: {}", a.size(),
                         b.size(), is_here ? "here" : "there", describe((is_here ? a : b)[both]));
    }
    return std::string();
  }

  const TokenizerFile& ours_;
  const TokenizerFile& theirs_;
};

// Describes the first different fact of `area`; "" if all are equal.
std::string fact_difference(const std::vector<TokenizerFact>& ours,
                            const std::vector<TokenizerFact>& theirs, TokenizerArea area) {
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (ours[i].area != area || ours[i].value == theirs[i].value) continue;
    const auto text = [](const TokenizerFact& fact) {
      return fact.value ? shown(*fact.value) : std::string("none");
    };
    return fmt::format("{}: {} here, {} there", ours[i].name, text(ours[i]), text(theirs[i]));
  }
  return {};
}

}  // namespace

std::optional<std::string> first_token_difference(const std::vector<std::string>& ours,
                                                  const std::vector<std::string>& theirs,
                                                  std::string_view what) {
  const size_t shared = std::min(ours.size(), theirs.size());
  for (size_t i = 0; i < shared; ++i) {
    if (ours[i] == theirs[i]) continue;
    return fmt::format("{} {}: '{}' here, '{}' there", what, i, shown(ours[i]), shown(theirs[i]));
  }
  if (ours.size() == theirs.size()) return std::nullopt;
  return fmt::format("{} {}s here, {} there", ours.size(), what, theirs.size());
}

Result<TokenizerDifferences> compare_tokenizers(const Checkpoint& ours, const Checkpoint& theirs) {
  CKPT_ASSIGN(const std::optional<TokenizerFile> a, read_tokenizer_file(ours));
  CKPT_ASSIGN(const std::optional<TokenizerFile> b, read_tokenizer_file(theirs));
  CKPT_CHECK(a && b);
  const Comparison comparison(*a, *b);
  std::vector<TokenizerFact> mine, other;
  if (ours.find_document(kTokenizerConfig) != nullptr &&
      theirs.find_document(kTokenizerConfig) != nullptr) {
    CKPT_SET(mine, tokenizer_facts(ours, *a));
    CKPT_SET(other, tokenizer_facts(theirs, *b));
  }
  TokenizerDifferences out;
  const auto add = [&](TokenizerArea area, std::string text) {
    if (text.empty()) text = fact_difference(mine, other, area);
    if (!text.empty()) out.push_back({area, std::move(text)});
  };
  CKPT_ASSIGN(std::string ids, comparison.ids());
  add(TokenizerArea::kIds, std::move(ids));
  add(TokenizerArea::kRules, comparison.rules());
  add(TokenizerArea::kSpecial, {});
  return out;
}

Status settle(const TokenizerDifferences& differences, const OptionValues& options,
              const Context& context) {
  const std::vector<TokenizerArea> accepted = options.choices<TokenizerArea>("accept");
  for (const TokenizerDifference& difference : differences) {
    if (std::ranges::find(accepted, difference.area) == accepted.end()) {
      const std::string_view area = kTokenizerAreas[static_cast<size_t>(difference.area)].name;
      return unsupported_hint(fmt::format("accept={} if it is meant", area),
                              "another tokenizer ({}): {}; expected the same", area,
                              difference.text);
    }
    context.note("tokenizer: taken although it differs: {}", difference.text);
  }
  return {};
}

}  // namespace ckpt
