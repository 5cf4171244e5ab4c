// Keys made of tokenizer.model and the files next to it.
#include "tests/transforms/to_gguf/tokenizer/input.h"
#include "tests/transforms/to_gguf/tokenizer/sentencepiece.h"

namespace ckpt {
using namespace tokenizer_test;
namespace {

Input pieces(std::string model = sentencepiece_test::small_model()) {
  Input input;
  input.tokenizer = JsonValue();
  input.config = JsonValue();
  input.options.rules.piece_file = PieceFile::kPreferred;
  input.files.emplace_back("tokenizer.model", std::move(model));
  return input;
}

std::vector<float> scores(const Metadata& metadata) {
  const auto& array = std::get<MetaArray>(metadata.find("tokenizer.ggml.scores")->value);
  std::vector<float> out;
  for (uint64_t i = 0; i < array.count(); ++i) {
    out.push_back(static_cast<float>(number_at(array, i)));
  }
  return out;
}

TEST(GgufTokenizerPieces, PiecesWithScoresAndTypes) {
  Input input = pieces();
  input.options.vocab_size = 7;
  input.model = {{"bos_token_id", 1}, {"eos_token_id", 7}};  // of which 7 is not a token
  const Metadata out = good(input);
  EXPECT_EQ(keys(out),
            (std::vector<std::string>{"ggml.model", "ggml.pre", "ggml.tokens", "ggml.scores",
                                      "ggml.token_type", "ggml.bos_token_id"}));
  EXPECT_EQ(*out.find_text("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(*out.find_text("tokenizer.ggml.pre"), "default");
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"<unk>", "<s>", "a", "▁", "<x>", "[PAD5]", "[PAD6]"}));
  EXPECT_EQ(scores(out), (std::vector<float>{0, 0, -1, -2.5f, 0, -10000, -10000}));
  // A piece that the model calls user-defined is NORMAL: only other files make such tokens.
  EXPECT_EQ(types(out), (std::vector<int>{2, 3, 1, 1, 1, 5, 5}));
}

TEST(GgufTokenizerPieces, OtherFilesAddTokensOnTop) {
  Input input = pieces();
  input.options.vocab_size = 9;
  input.files.emplace_back("added_tokens.json", R"({"<new>": 5, "<far>": 9})");
  input.config = JsonValue::parse(R"({"added_tokens_decoder": {
      "4": {"content": "x▁y", "special": false}, "6": {"content": "<end>", "special": true},
      "7": {"content": "<unused0>"}, "8": {"content": "<|odd|>", "special": false}}})");
  const Metadata out = good(input);
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"<unk>", "<s>", "a", "▁", "x y", "<new>", "<end>",
                                      "<unused0>", "<|odd|>"}));
  EXPECT_EQ(types(out), (std::vector<int>{2, 3, 1, 1, 4, 4, 3, 3, 3}));
  EXPECT_EQ(scores(out)[4], -1000);
  EXPECT_EQ(scores(out)[5], -1000);
}

TEST(GgufTokenizerPieces, PhiKeepsTextsAndReadsTokenizerJsonToo) {
  Input input = pieces();
  input.options.rules.keeps_added_texts = true;
  input.options.vocab_size = 8;
  input.config = JsonValue::parse(R"({"added_tokens_decoder": {
      "5": {"content": "<|odd|>", "special": false}, "6": {"content": "x▁y"}}})");
  input.tokenizer =
      JsonValue::parse(R"({"added_tokens": [{"id": 7, "content": "<|e|>", "special": true}]})");
  const Metadata out = good(input);
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens").at(6), "x▁y");
  EXPECT_EQ(types(out), (std::vector<int>{2, 3, 1, 1, 1, 4, 4, 3}));
}

TEST(GgufTokenizerPieces, WithoutVocabSizeThereAreAsManyAsPieces) {
  EXPECT_EQ(texts(good(pieces()), "tokenizer.ggml.tokens").size(), 5u);
}

TEST(GgufTokenizerPieces, SpacePrefixIsSaidLast) {
  Input input = pieces();
  input.options.rules.adds_space_prefix = false;
  input.options.rules.end_of_turn_id = 3;
  const Metadata out = good(input);
  EXPECT_FALSE(flag(out, "tokenizer.ggml.add_space_prefix"));
  EXPECT_EQ(keys(out).back(), "ggml.add_space_prefix");
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.eot_token_id"), 3u);
}

TEST(GgufTokenizerPieces, CodeLlamaGetsItsEndOfTurn) {
  Input input = pieces();
  input.options.rules.is_llama = true;
  input.options.vocab_size = 32016;
  EXPECT_EQ(good(input).find_unsigned("tokenizer.ggml.eot_token_id"), 32010u);
}

TEST(GgufTokenizerPieces, TiktokenUnderThisNameIsLeftToTokenizerJson) {
  Input input = pieces("IQ== 0\nIg== 1\n");
  input.tokenizer = tokenizer();
  input.options.pre_name = "llama-bpe";
  EXPECT_EQ(*good(input).find_text("tokenizer.ggml.model"), "gpt2");
}

TEST(GgufTokenizerPieces, FamiliesThatIgnoreItSaySo) {
  Input input = pieces();
  input.options.rules = {};
  EXPECT_NE(error_of(input).find("tokenizer.model without tokenizer.json"), std::string::npos);
}

TEST(GgufTokenizerPieces, FamiliesThatNeedItSaySo) {
  Input input;
  input.options.rules.piece_file = PieceFile::kRequired;
  EXPECT_NE(error_of(input).find("tokenizer.json without tokenizer.model"), std::string::npos);
}

TEST(GgufTokenizerPieces, AddedTokensOfOneId) {
  Input input = pieces();
  input.files.emplace_back("added_tokens.json", R"({"<a>": 5, "<b>": 5})");
  EXPECT_NE(error_of(input).find("'<a>' and '<b>' have the same id 5"), std::string::npos);
}

TEST(GgufTokenizerPieces, AddedTokensWithoutNumber) {
  Input input = pieces();
  input.files.emplace_back("added_tokens.json", R"({"<a>": "5"})");
  EXPECT_NE(error_of(input).find("token '<a>' has id \"5\""), std::string::npos);
  input.files.back().second = "{}";
  input.config = JsonValue::parse(R"({"added_tokens_decoder": {"x": {"content": "a"}}})");
  EXPECT_NE(error_of(input).find("added_tokens_decoder has 'x'"), std::string::npos);
}

TEST(GgufTokenizerPieces, TokensThatAreLeftOutAreNoted) {
  Checkpoint checkpoint;
  checkpoint.set_document("tokenizer.model", sentencepiece_test::small_model());
  checkpoint.set_document("added_tokens.json", R"({"<new>": 5})");
  std::vector<std::string> notes;
  Context context;
  context.notes = &notes;
  TokenizerOptions options;
  options.rules.piece_file = PieceFile::kRequired;
  options.vocab_size = 4;
  Metadata out;
  ASSERT_TRUE(add_tokenizer_keys(checkpoint, options, context, out).has_value());
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens").size(), 4u);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0], "tokenizer.model has 5 pieces; config.json's vocab_size keeps 4");
}

}  // namespace
}  // namespace ckpt
