// tiktoken.model: tokens by rank, merges made of the ranks, special tokens behind them.
#include <gtest/gtest.h>

#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
using namespace tokenizer_test;
namespace {

// a, b, c, a space, 0xE9; ab, abc, bc, "a " and cab, which splits into three parts below its rank.
constexpr const char* kRanks =
    "YQ== 0\nYg== 1\nYw== 2\nIA== 3\n6Q== 4\nYWI= 5\nYWJj 6\nYmM= 7\nYSA= 8\n";

Input ranked(const std::string& ranks = kRanks, uint64_t vocab_size = 12) {
  Input out;
  out.tokenizer = JsonValue();
  out.config = {{"added_tokens_decoder",
                 {{"9", {{"content", "[BOS]"}, {"special", true}}},
                  {"11", {{"content", "[EOS]"}, {"special", true}}}}}};
  out.model = {{"bos_token_id", 9}, {"eos_token_id", 11}};
  out.options.vocab_size = vocab_size;
  out.options.rules.ranks = "kimi-k2";
  out.files = {{"tiktoken.model", ranks}};
  return out;
}

TEST(Ranks, TokensAreWrittenInLettersOfBytesAndSpecialsBehindThem) {
  const auto made = read(ranked());
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(texts(*made, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"a", "b", "c", "Ġ", "é", "ab", "abc", "bc", "aĠ", "[BOS]",
                                      "<|reserved_token_10|>", "[EOS]"}));
  EXPECT_EQ(*made->find_text("tokenizer.ggml.pre"), "kimi-k2");
  EXPECT_EQ(made->find_unsigned("tokenizer.ggml.bos_token_id"), 9u);
  EXPECT_EQ(made->find_unsigned("tokenizer.ggml.eos_token_id"), 11u);
}

TEST(Ranks, MergesAreWhatATokenSplitsIntoBelowItsRank) {
  const auto made = read(ranked());
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(texts(*made, "tokenizer.ggml.merges"),
            (std::vector<std::string>{"a b", "ab c", "b c", "a Ġ"}));
}

// Nothing of lower rank merges "b" with its neighbors, so the token stays in three parts.
TEST(Ranks, ATokenOfThreePartsHasNoMerge) {
  const auto made = read(ranked("YQ== 0\nYg== 1\nYWJh 2\n", 6));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->find("tokenizer.ggml.merges"), nullptr);
}

TEST(Ranks, ABadLineIsNamed) {
  for (const char* bad : {"YQ== 0\nYg==\n", "YQ== 0\n!! 1\n", "YQ== 0\nYg== x\n", "YQ== 0\n 1\n"}) {
    const auto made = read(ranked(bad));
    ASSERT_FALSE(made.has_value()) << bad;
    EXPECT_NE(made.error().text().find("tiktoken.model: line 2"), std::string::npos)
        << made.error().text();
  }
}

TEST(Ranks, OtherFamiliesSayWhatTheyTake) {
  Input input = ranked();
  input.options.rules.ranks = {};
  const auto made = read(input);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().text().find("tiktoken.model without tokenizer.json"), std::string::npos)
      << made.error().text();
}

}  // namespace
}  // namespace ckpt
