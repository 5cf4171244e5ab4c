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

// Next to a tokenizer_config.json of transformers 5, which has no added_tokens_decoder.
Input pieces_with_json() {
  Input input = pieces();
  input.options.vocab_size = 8;
  input.config = {{"bos_token", "<s>"}};
  input.tokenizer = JsonValue::parse(R"({
      "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                       {"id": 2, "content": "a", "special": false, "normalized": false},
                       {"id": 4, "content": "<x>", "special": true},
                       {"id": 5, "content": "x▁y", "special": false, "normalized": false},
                       {"id": 6, "content": "x▁z", "special": false, "normalized": true},
                       {"id": 7, "content": "<|im_start|>", "special": true},
                       {"id": 8, "content": "<far>", "special": true}],
      "normalizer": {"type": "Prepend", "prepend": "▁"},
      "model": {"type": "BPE", "byte_fallback": true, "merges": [],
                "vocab": {"<unk>": 0, "<s>": 1, "a": 2, "▁": 3, "<x>": 4}}})");
  return input;
}

TEST(GgufTokenizerPieces, AddedTokensAreThoseOfTokenizerJson) {
  Input input = pieces_with_json();
  Metadata out = good(input);
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"<unk>", "<s>", "a", "▁", "<x>", "x▁y", "x z",
                                      "<|im_start|>"}));
  EXPECT_EQ(types(out), (std::vector<int>{3, 3, 4, 1, 3, 4, 4, 3}));
  EXPECT_EQ(scores(out)[2], -1);  // merges may lead to it
  EXPECT_TRUE(has_note(input, "1 added tokens are beyond config.json's vocab_size 8"));
  EXPECT_TRUE(has_note(input, "ID 2 is 'a' (user-defined), and 'a' (normal) for llama.cpp's "
                              "converter (6 such tokens)"));
  input.options.as_converter = true;
  out = good(input);
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens")[7], "[PAD7]");
  EXPECT_EQ(types(out), (std::vector<int>{2, 3, 1, 1, 1, 5, 5, 5}));
}

TEST(GgufTokenizerPieces, TokenizerConfigThatAgreesChangesNothing) {
  Input input = pieces_with_json();
  input.tokenizer["added_tokens"].erase(6);
  JsonValue& table = input.config["added_tokens_decoder"];
  for (JsonValue token : input.tokenizer["added_tokens"]) {
    const auto id = token["id"].get<int>();
    token.erase("id");
    table[std::to_string(id)] = token;
  }
  const Metadata source = good(input);
  EXPECT_FALSE(has_note(input, "the added tokens are those of"));
  input.options.as_converter = true;
  EXPECT_EQ(good(input), source);
  EXPECT_TRUE(has_note(input, "tokenizer-as changes nothing"));
  EXPECT_EQ(texts(source, "tokenizer.ggml.tokens")[5], "x y");
}

TEST(GgufTokenizerPieces, SpacePrefixFollowsTokenizerJson) {
  Input input = pieces_with_json();
  input.options.rules.adds_space_prefix = false;
  EXPECT_TRUE(flag(good(input), "tokenizer.ggml.add_space_prefix"));
  EXPECT_TRUE(has_note(input, "add_space_prefix follows tokenizer.json"));
  input.options.as_converter = true;
  EXPECT_FALSE(flag(good(input), "tokenizer.ggml.add_space_prefix"));
}

TEST(GgufTokenizerPieces, OtherTokensOfTokenizerJsonAreNoted) {
  Input input = pieces_with_json();
  input.options.vocab_size = 9;
  input.tokenizer["model"]["vocab"] = JsonValue::parse(
      R"({"<unk>": 0, "<s>": 1, "a": 2, "b": 3, "<x>": 4, "x▁y": 5, "x▁z": 6, "<|im_start|>": 7,
          "<far>": 8})");
  EXPECT_TRUE(has_note(input, "ID 3 is '▁' in tokenizer.model and 'b' in tokenizer.json"));
  input.tokenizer["model"]["vocab"].erase("b");
  input.tokenizer["model"]["vocab"]["▁"] = 3;
  input.tokenizer["added_tokens"].erase(6);
  EXPECT_TRUE(has_note(input, "ID 8 is absent in tokenizer.model and '<far>'"));
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
