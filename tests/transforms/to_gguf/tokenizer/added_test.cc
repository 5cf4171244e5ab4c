// Added tokens: how their texts are decoded, and which numbers they get.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
using namespace tokenizer_test;
namespace {

// Output of llama.cpp v0.5.0's converter, with transformers 4.57.6.
TEST(GgufTokenizer, AddedTokensThatAreNotNormalizedAreDecoded) {
  struct Row {
    const char *text, *written;
    int type;
  };
  constexpr Row kRows[] = {
      {"Ġ1", " 1", 4},
      {"Ċ", "\n", 4},
      {"é", "\xef\xbf\xbd", 4},
      {"日本", "日本", 4},
      {"a b", "a b", 4},
      {"▁x", " x", 4},
      {"<|x|>", "<|x|>", 3},
      {"<|Ġ|>", "<| |>", 3},
      {"naïve", "na\xef\xbf\xbdve", 4},
      {"ĠÂł", " \xc2\xa0", 4},
      {"Ġ ", "Ġ ", 4},
      {"x .", "x .", 4},
      {"ðŁĺĢ", "😀", 4},
      {"ðŁĺ", "\xef\xbf\xbd", 4},
  };
  for (const Row& row : kRows) {
    Input input;
    input.tokenizer["decoder"] = {{"type", "ByteLevel"}};
    input.tokenizer["added_tokens"].push_back(
        {{"id", 10}, {"content", row.text}, {"special", false}, {"normalized", false}});
    EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").at(10), row.written) << row.text;
    EXPECT_EQ(types(good(input)).at(10), row.type) << row.text;
    if (std::string(row.text) == "▁x") continue;
    input.tokenizer["added_tokens"][5]["normalized"] = true;
    EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").at(10), row.text);
    input.tokenizer["added_tokens"][5]["normalized"] = false;
    input.tokenizer["decoder"] = nullptr;
    EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").at(10), row.text);
  }
  Input input;
  input.tokenizer["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "ByteLevel"}}}}};
  input.tokenizer["added_tokens"].push_back(
      {{"id", 10}, {"content", "Ġ."}, {"special", false}, {"normalized", false}});
  EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").at(10), " .");
  input.config["clean_up_tokenization_spaces"] = true;
  EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").at(10), ".");
  input.tokenizer["decoder"] = {{"type", "Metaspace"}};
  EXPECT_NE(error_of(input).find("a decoder of type Metaspace"), std::string::npos);
}

// The library tokenizers does not look at ids: what is in the vocabulary keeps its number, the rest
// follows the order of the list. Other readers keep the ids, so both must say the same.
TEST(GgufTokenizer, AddedTokensAreNumberedInTheOrderOfTheList) {
  const auto tokens = [](const Input& input) {
    std::vector<std::string> out = texts(good(input), "tokenizer.ggml.tokens");
    out.erase(out.begin(), out.begin() + 5);
    return out;
  };
  using Texts = std::vector<std::string>;
  Input input;
  JsonValue& list = input.tokenizer["added_tokens"];
  list.push_back({{"id", 10}, {"content", "over"}});
  list.push_back({{"id", 99}, {"content", "ab"}, {"special", true}});
  EXPECT_EQ(tokens(input), (Texts{"<s>", "</s>", "<tool>", "<|odd|>", "a b", "over"}));
  EXPECT_EQ(types(good(input)).at(3), 3);  // "ab", of the vocabulary
  input.config["added_tokens_decoder"] = {{"30", {{"content", "late"}}},
                                          {"4", {{"content", "soon"}}}};
  EXPECT_EQ(tokens(input),
            (Texts{"<s>", "</s>", "<tool>", "<|odd|>", "a b", "over", "soon", "late"}));
}

TEST(GgufTokenizer, AddedTokensThatReadersNumberDifferentlyAreRefused) {
  Input input;
  JsonValue& list = input.tokenizer["added_tokens"];
  list.push_back({{"id", 20}, {"content", "gap"}});
  EXPECT_NE(error_of(input).find("'gap' has id 20, but 10 by the order"), std::string::npos)
      << error_of(input);
  list.erase(list.size() - 1);
  std::reverse(list.begin(), list.end());
  EXPECT_NE(error_of(input).find("'a▁b' has id 9, but 5 by the order"), std::string::npos)
      << error_of(input);
}

TEST(GgufTokenizer, OlderFilesAddAndNameTokens) {
  Input input;
  input.files = {{"added_tokens.json", R"({"<more>": 10, "<tool>": 7})"},
                 {"special_tokens_map.json", R"({"additional_special_tokens": ["<tool>"]})"}};
  EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").at(10), "<more>");
  EXPECT_EQ(types(good(input)).at(10), 4);
  EXPECT_EQ(types(good(input)).at(7), 3);
  input.config["added_tokens_decoder"] = {
      {"7", {{"content", "<tool>"}}}};  // then they are not read
  EXPECT_EQ(texts(good(input), "tokenizer.ggml.tokens").size(), 10u);
  EXPECT_EQ(types(good(input)).at(7), 4);
}

}  // namespace
}  // namespace ckpt
