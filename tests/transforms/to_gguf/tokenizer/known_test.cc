// The hash by which llama.cpp knows published vocabularies.
#include <gtest/gtest.h>

#include <numeric>

#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "tests/support/files.h"
#include "transforms/facts/byte_level_bpe.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

TEST(GgufTokenizerKnown, LettersOfBytes) {
  EXPECT_EQ(byte_letter('a'), "a");
  EXPECT_EQ(byte_letter(' '), "Ġ");
  EXPECT_EQ(byte_letter('\n'), "Ċ");
  EXPECT_EQ(byte_letter(0), "Ā");
  EXPECT_EQ(byte_letter(0x7F), "ġ");
  EXPECT_EQ(byte_letter(0xAD), "Ń");
  EXPECT_EQ(byte_letter(0xFF), "ÿ");
}

// Whether the tokenizer spells `piece`; its ids go to `ids`.
bool encodes(std::string_view model, const std::vector<std::string>& merges, std::string_view piece,
             std::vector<uint64_t>& ids) {
  const std::string text = fmt::format(R"({{"model": {}}})", model);
  const auto read = parse_tokenizer_json(text);
  EXPECT_TRUE(read.has_value());
  return ByteLevelBpe(read->values.at("model"), read->lists, merges).encode(piece, ids);
}

TEST(GgufTokenizerKnown, MergesBestFirst) {
  constexpr std::string_view kModel =
      R"({"vocab": {"a": 0, "b": 1, "c": 2, "bc": 3, "ab": 4, "abc": 5, "aa": 6}})";
  std::vector<uint64_t> ids;
  // "b c" ranks before "a b", so that "abc" has no way to become "ab" + "c".
  EXPECT_TRUE(encodes(kModel, {"b c", "a b"}, "abc", ids));
  EXPECT_EQ(ids, (std::vector<uint64_t>{0, 3}));
  ids.clear();
  EXPECT_TRUE(encodes(kModel, {"a a"}, "aaa", ids));
  EXPECT_EQ(ids, (std::vector<uint64_t>{6, 0}));
  EXPECT_FALSE(encodes(kModel, {}, "x", ids));
}

TEST(GgufTokenizerKnown, PiecesTakenWhole) {
  constexpr std::string_view kModel =
      R"({"ignore_merges": true, "vocab": {"a": 0, "b": 1, "c": 2, "abc": 5}})";
  std::vector<uint64_t> ids;
  EXPECT_TRUE(encodes(kModel, {}, "abc", ids));
  EXPECT_TRUE(encodes(kModel, {}, "ab", ids));
  EXPECT_EQ(ids, (std::vector<uint64_t>{5, 0, 1}));
}

TEST(GgufTokenizerKnown, PiecesMakeUpTheText) {
  for (const char* rules : {"qwen2", "qwen35", "llama-bpe", "tekken", "gpt-4o", "tiny_aya",
                            "deepseek-v3", "deepseek-coder", "seed-coder", "bailingmoe", "minicpm5",
                            "ufakzeka", "falcon", "starcoder", "gpt-2"}) {
    const auto pieces = check_pieces(rules);
    EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), 0u), 431u) << rules;
  }
  EXPECT_TRUE(check_pieces("other").empty());
}

std::optional<std::string> hash_of(const std::string& tokenizer) {
  Checkpoint checkpoint;
  checkpoint.set_document("tokenizer.json", tokenizer);
  const auto values = read_object(checkpoint, "tokenizer.json");
  const auto merges = read_merges(checkpoint);
  EXPECT_TRUE(values.has_value() && merges.has_value());
  return check_hash(**values, **token_lists_of(checkpoint), *merges, check_pieces("qwen35"));
}

// Expected: tokenizers 0.22, Tokenizer.from_file(...).encode(text).ids of the same file.
TEST(GgufTokenizerKnown, HashIsThatOfTheTokenizersLibrary) {
  EXPECT_EQ(hash_of(read_file(testdata("qwen35-micro/tokenizer.json"))),
            "e5970f5b9dd8b8f0ec1b3c28eaf7b63c5e7407c86c3746dc22d50b455a6ae0b1");
}

TEST(GgufTokenizerKnown, IdsOfTheTemplateCount) {
  JsonValue tokenizer = JsonValue::parse(read_file(testdata("qwen35-micro/tokenizer.json")));
  const auto plain = hash_of(tokenizer.dump());
  tokenizer["post_processor"] = JsonValue::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
      "special_tokens": {"<s>": {"ids": [7]}}})");
  const auto with_first = hash_of(tokenizer.dump());
  ASSERT_TRUE(with_first.has_value());
  EXPECT_NE(with_first, plain);
}

TEST(GgufTokenizerKnown, Names) {
  EXPECT_EQ(name_of_hash("e636dc30a262dcc0d8c323492e32ae2b70728f4df7dfe9737d9f920a282b8aea"),
            "qwen2");
  EXPECT_EQ(name_of_hash("b3f499bb4255f8ca19fccd664443283318f2fd2414d5e0b040fbdd0cc195d6c5"),
            "deepseek-r1-qwen");
  // Two vocabularies share this one; the converter's later row wins.
  EXPECT_EQ(name_of_hash("b6dc8df998e1cfbdc4eac8243701a65afe638679230920b50d6f17d81c098166"),
            "olmo");
  EXPECT_EQ(name_of_hash("00"), "");
}

}  // namespace
}  // namespace ckpt
