// Keys made of a tokenizer.json whose BPE falls back to bytes.
#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
using namespace tokenizer_test;
namespace {

Input fallback(ByteFallback kind) {
  Input input;
  input.tokenizer = JsonValue::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 1, "content": "<bos>", "special": true},
                     {"id": 5, "content": "<far>", "special": true},
                     {"id": 6, "content": "<|tool_call>", "special": true}],
    "decoder": {"type": "Sequence", "decoders": []},
    "model": {"type": "BPE", "byte_fallback": true, "merges": [["a", "b"]],
              "vocab": {"<unk>": 0, "<bos>": 1, "<0x0A>": 2, "a": 3, "<|tool_call>": 4}}})");
  input.config = {{"tokenizer_class", "GemmaTokenizer"}, {"image_token", "<far>"}};
  input.options.rules.byte_fallback = kind;
  input.options.as_converter = true;
  return input;
}

TEST(GgufTokenizerByteFallback, TokensAreThoseOfSentencePieceWithoutScores) {
  Input input = fallback(ByteFallback::kAsLlama);
  input.options.vocab_size = 9;  // counts for nothing
  const Metadata out = good(input);
  EXPECT_EQ(*out.find_text("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(*out.find_text("tokenizer.ggml.pre"), "default");
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"<unk>", "<bos>", "<0x0A>", "a", "<|tool_call>", "<far>"}));
  // Control is what the configuration or its class names, not what is marked special.
  EXPECT_EQ(types(out), (std::vector<int>{3, 3, 6, 1, 1, 3}));
  EXPECT_EQ(out.find("tokenizer.ggml.merges"), nullptr);
}

TEST(GgufTokenizerByteFallback, Gemma4HasMergesAndTokensThatArePrinted) {
  Input input = fallback(ByteFallback::kAsGemma4);
  input.options.rules.adds_bos = true;
  const Metadata out = good(input);
  EXPECT_EQ(*out.find_text("tokenizer.ggml.model"), "gemma4");
  EXPECT_EQ(out.find("tokenizer.ggml.pre"), nullptr);
  EXPECT_EQ(texts(out, "tokenizer.ggml.merges"), std::vector<std::string>{"a b"});
  EXPECT_EQ(types(out), (std::vector<int>{3, 3, 6, 1, 4, 3}));
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_bos_token"));
}

TEST(GgufTokenizerByteFallback, TokensBehindTheVocabularyAreUserDefined) {
  Input input = fallback(ByteFallback::kAsLlama);
  input.config = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"unk_token", "<unk>"}};
  EXPECT_EQ(types(good(input)), (std::vector<int>{3, 1, 6, 1, 1, 4}));
}

TEST(GgufTokenizerByteFallback, IgnoresNullNames) {
  Input input = fallback(ByteFallback::kAsLlama);
  input.config["bos_token"] = nullptr;
  EXPECT_EQ(types(good(input)), (std::vector<int>{3, 1, 6, 1, 1, 3}));
}

TEST(GgufTokenizerByteFallback, IdsThatAreLeftOut) {
  Input input = fallback(ByteFallback::kAsLlama);
  input.tokenizer["model"]["vocab"].erase("a");
  EXPECT_NE(error_of(input).find("has id 5, but 4 by the order"), std::string::npos)
      << error_of(input);
}

TEST(GgufTokenizerByteFallback, FamiliesThatDoNotTakeIt) {
  EXPECT_NE(error_of(fallback(ByteFallback::kRefused)).find("BPE with byte fallback"),
            std::string::npos);
}

}  // namespace
}  // namespace ckpt
