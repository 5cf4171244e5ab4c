// Rules of tokenizer.json that llama.cpp does not have, found one by one.
#include "transforms/to_gguf/tokenizer/gaps.h"

#include <gtest/gtest.h>

#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
namespace {

using Gaps = std::vector<TokenizerGap>;

const JsonValue kNfc = {{"type", "NFC"}};
const JsonValue kSpacesToBars = {
    {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
const JsonValue kBarInFront = {{"type", "Prepend"}, {"prepend", "▁"}};

JsonValue in_sequence(const char* list, std::initializer_list<JsonValue> steps) {
  return {{"type", "Sequence"}, {list, JsonValue::array_t(steps)}};
}

JsonValue with_rules(JsonValue normalizer, JsonValue pre_tokenizer = nullptr) {
  return {{"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"model", {{"type", "BPE"}}}};
}

Gaps by_pre(const JsonValue& tokenizer, std::string_view pre = "qwen2") {
  return find_tokenizer_gaps(tokenizer, LlamaSplitting::kByPre, pre);
}

Gaps by_pieces(const JsonValue& tokenizer) {
  return find_tokenizer_gaps(tokenizer, LlamaSplitting::kByPieces, "default");
}

TEST(TokenizerGaps, FindsNoGapsInPublishedVocabularies) {
  EXPECT_TRUE(by_pre(with_rules(nullptr)).empty());
  EXPECT_TRUE(by_pre(with_rules(in_sequence("normalizers", {}))).empty());
  EXPECT_TRUE(by_pieces(with_rules(nullptr)).empty());
  EXPECT_TRUE(by_pieces(with_rules(kSpacesToBars)).empty());
  EXPECT_TRUE(
      by_pieces(with_rules(in_sequence("normalizers", {kBarInFront, kSpacesToBars}))).empty());
  EXPECT_TRUE(by_pieces(with_rules(kSpacesToBars, {{"type", "Split"},
                                                   {"pattern", {{"String", " "}}},
                                                   {"behavior", "MergedWithPrevious"}}))
                  .empty());
  EXPECT_TRUE(
      by_pieces(with_rules(nullptr, {{"type", "Metaspace"}, {"prepend_scheme", "never"}})).empty());
}

TEST(TokenizerGaps, ComposingIsNamedOnceAndRare) {
  for (const JsonValue& normalizer : {kNfc, in_sequence("normalizers", {kNfc})}) {
    const Gaps found = by_pre(with_rules(normalizer));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].place, "tokenizer.json: normalizer");
    EXPECT_TRUE(found[0].is_rare);
    EXPECT_TRUE(found[0].found.starts_with("NFC"));
  }
  ASSERT_EQ(by_pieces(with_rules(in_sequence("normalizers", {kNfc, kSpacesToBars}))).size(), 1u);
}

TEST(TokenizerGaps, MarksAmongLettersAreRare) {
  const auto split_by = [](const char* regex) {
    return with_rules(
        nullptr,
        in_sequence("pretokenizers",
                    {{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}},
                     {{"type", "ByteLevel"}}}));
  };
  const Gaps found = by_pre(split_by(R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*|\s+)"), "tekken");
  ASSERT_EQ(found.size(), 2u);  // and ignore_merges
  EXPECT_TRUE(found[0].is_rare);
  EXPECT_TRUE(by_pre(split_by(R"([\p{L}\p{M}]+)"), "qwen35").empty());
  EXPECT_TRUE(by_pre(split_by(R"([\p{Lo}\p{M}&&[^\p{Han}]]*)"), "kimi-k2").empty());
}

TEST(TokenizerGaps, EveryOtherRuleIsNamed) {
  const char* types[] = {"NFD",   "NFKC",         "NFKD",           "Lowercase",  "Nmt",
                         "Strip", "StripAccents", "BertNormalizer", "Precompiled"};
  for (const char* type : types) {
    for (const Gaps& found :
         {by_pre(with_rules({{"type", type}})), by_pieces(with_rules({{"type", type}}))}) {
      ASSERT_EQ(found.size(), 1u) << type;
      EXPECT_TRUE(found[0].found.starts_with(type));
      EXPECT_FALSE(found[0].is_rare);
    }
  }
  JsonValue other = kSpacesToBars;
  other["pattern"] = {{"Regex", " {2,}"}};
  EXPECT_EQ(by_pieces(with_rules(other)).size(), 1u);
  EXPECT_EQ(by_pre(with_rules(kSpacesToBars)).size(), 1u);
  EXPECT_EQ(by_pieces(with_rules({{"type", "Prepend"}, {"prepend", "x"}})).size(), 1u);
  EXPECT_EQ(by_pieces(with_rules(nullptr, {{"type", "Digits"}}))[0].place,
            "tokenizer.json: pre_tokenizer");
}

TEST(TokenizerGaps, SpaceInFrontIsNamedWhereLlamaCppPutsItElsewhere) {
  for (const char* scheme : {"first", "always"}) {
    const JsonValue bars = {{"type", "Metaspace"}, {"prepend_scheme", scheme}};
    EXPECT_EQ(by_pieces(with_rules(nullptr, bars)).size(), 1u) << scheme;
  }
  const JsonValue bytes = {{"type", "ByteLevel"}, {"add_prefix_space", true}};
  EXPECT_EQ(by_pre(with_rules(nullptr, bytes)).size(), 1u);
  EXPECT_EQ(by_pre(with_rules(nullptr, in_sequence("pretokenizers", {bytes}))).size(), 1u);
}

TEST(TokenizerGaps, IgnoredMergesMustBeThoseOfThePreTokenizer) {
  JsonValue tokenizer = with_rules(nullptr);
  EXPECT_EQ(by_pre(tokenizer, "llama-bpe").size(), 1u);
  tokenizer["model"]["ignore_merges"] = true;
  EXPECT_TRUE(by_pre(tokenizer, "llama-bpe").empty());
  EXPECT_EQ(by_pre(tokenizer, "qwen2").size(), 1u);
  EXPECT_TRUE(by_pre(tokenizer, "").empty());  // no name to compare with
}

TEST(TokenizerGaps, FlagsOfAddedTokensAreCounted) {
  JsonValue tokenizer = with_rules(nullptr);
  tokenizer["added_tokens"] = {{{"content", "<a>"}, {"lstrip", true}},
                               {{"content", "<b>"}, {"rstrip", true}, {"normalized", true}},
                               {{"content", "<c>"}, {"single_word", true}}};
  const Gaps found = by_pre(tokenizer);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].found.starts_with("2 tokens, the first '<a>', with lstrip or rstrip"));
  EXPECT_TRUE(found[1].found.starts_with("'<c>' with single_word"));
  // A token that is searched for in the normalized text has a space in front there.
  EXPECT_EQ(by_pieces(tokenizer).size(), 2u);
  tokenizer["normalizer"] = kBarInFront;
  EXPECT_EQ(by_pieces(tokenizer).size(), 3u);
}

TEST(TokenizerGaps, KeysOfAFileSayHowItSplits) {
  const JsonValue tokenizer = with_rules(kSpacesToBars);
  Metadata keys;
  keys.set("tokenizer.ggml.model", MetaValue::text("llama"));
  ASSERT_EQ(find_tokenizer_gaps(tokenizer, keys).size(), 1u);
  EXPECT_EQ(find_tokenizer_gaps(tokenizer, keys)[0].place, kSpacePrefixKey);
  keys.set(kSpacePrefixKey, MetaValue::boolean(false));
  EXPECT_TRUE(find_tokenizer_gaps(tokenizer, keys).empty());
  EXPECT_EQ(find_tokenizer_gaps(with_rules(kBarInFront), keys).size(), 1u);
  EXPECT_TRUE(find_tokenizer_gaps(nullptr, keys).empty());
}

}  // namespace
}  // namespace ckpt
