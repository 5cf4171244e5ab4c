// Keys by which llama.cpp splits texts as a tokenizer.json with byte fallback does.
#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
using namespace tokenizer_test;
namespace {

// "ab" is made by the second merge and again by the third; no merge makes "far".
Input merged() {
  Input input;
  input.tokenizer = JsonValue::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 5, "content": "cab", "special": false}],
    "decoder": {"type": "Sequence", "decoders": []},
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "model": {"type": "BPE", "byte_fallback": true,
              "merges": [["c", "a"], ["a", "b"], ["", "ab"], ["ca", "b"]],
              "vocab": {"<unk>": 0, "<0x0A>": 1, "a": 2, "ab": 3, "ca": 4, "cab": 5, "far": 6}}})");
  input.config = {{"unk_token", "<unk>"}};
  input.options.rules.byte_fallback = ByteFallback::kAsLlama;
  return input;
}

std::vector<float> score_list(const Metadata& metadata) {
  const auto& array = std::get<MetaArray>(metadata.find("tokenizer.ggml.scores")->value);
  std::vector<float> out;
  for (uint64_t i = 0; i < array.count(); ++i) {
    out.push_back(static_cast<float>(number_at(array, i)));
  }
  return out;
}

TEST(GgufTokenizerSourceRules, ScoresFollowTheOrderOfMerges) {
  const Metadata out = good(merged());
  EXPECT_EQ(score_list(out), (std::vector<float>{-1000, -1000, -1e6f, -1, 0, -2, -1e6f}));
}

TEST(GgufTokenizerSourceRules, AddedTokensInTheVocabularyAreUserDefined) {
  EXPECT_EQ(types(good(merged())), (std::vector<int>{3, 6, 1, 1, 1, 4, 1}));
}

TEST(GgufTokenizerSourceRules, VocabularyIsFilledUpToVocabSize) {
  Input input = merged();
  input.options.vocab_size = 8;
  const Metadata out = good(input);
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens").back(), "[PAD7]");
  EXPECT_EQ(types(out).back(), 5);
}

TEST(GgufTokenizerSourceRules, PrefixIsTheNormalizers) {
  constexpr const char* kPrefix = "tokenizer.ggml.add_space_prefix";
  Input input = merged();
  EXPECT_FALSE(flag(good(input), kPrefix));
  input.tokenizer["normalizer"] = {{"type", "Prepend"}, {"prepend", "▁"}};
  EXPECT_EQ(good(input).find(kPrefix), nullptr);  // llama.cpp adds one by default
  input.options.rules.adds_space_prefix = false;
  EXPECT_TRUE(flag(good(input), kPrefix));
  input = merged();
  input.tokenizer["normalizer"] = nullptr;
  input.tokenizer["pre_tokenizer"] = {{"type", "Metaspace"}, {"prepend_scheme", "never"}};
  EXPECT_FALSE(flag(good(input), kPrefix));
}

TEST(GgufTokenizerSourceRules, RequiredPieceFileMayBeMissing) {
  Input input = merged();
  input.options.rules = {.piece_file = PieceFile::kRequired, .adds_space_prefix = false};
  EXPECT_EQ(score_list(good(input))[3], -1);
  input.options.as_converter = true;
  EXPECT_NE(error_of(input).find("without tokenizer.model"), std::string::npos);
}

// Notes of a conversion that speak of merges.
std::vector<std::string> merge_notes(const Input& input) {
  std::vector<std::string> notes;
  Context context;
  context.notes = &notes;
  Checkpoint checkpoint;
  checkpoint.set_document("tokenizer.json", input.tokenizer.dump());
  Metadata out;
  EXPECT_TRUE(add_tokenizer_keys(checkpoint, input.options, context, out).has_value());
  std::erase_if(notes,
                [](const std::string& note) { return note.find("model.merges") == note.npos; });
  return notes;
}

TEST(GgufTokenizerSourceRules, TokensInAnotherOrderThanTheMergesAreNoted) {
  Input input = merged();
  JsonValue& model = input.tokenizer["model"];
  model["vocab"] = {{"<0x0A>", 0}, {"a", 1}, {"b", 2}, {"c", 3}, {"ab", 4}, {"bc", 5}, {"abc", 6}};
  model["merges"] = {"a b", "b c", "ab c", "a bc"};
  input.tokenizer["added_tokens"] = JsonValue::array();
  EXPECT_TRUE(merge_notes(input).empty());
  model["merges"] = {"a b", "b c", "ab c"};  // llama.cpp joins "a" and "bc" too
  ASSERT_EQ(merge_notes(input).size(), 1u);
  EXPECT_NE(merge_notes(input)[0].find(
                "1 of its tokens can be split in a way that no merge lists, the first 'abc'"),
            std::string::npos);
  model["vocab"]["ca"] = 7;
  model["merges"] = {"a b", "b c", "ab c", "c a", "a bc"};  // "ca" goes before one, after the other
  ASSERT_EQ(merge_notes(input).size(), 1u);
  EXPECT_NE(merge_notes(input)[0].find("1 of its tokens have merges apart from each other"),
            std::string::npos);
}

TEST(GgufTokenizerSourceRules, WithoutMergesTheVocabularyIsTheConverters) {
  Input input = merged();
  input.tokenizer["model"]["merges"] = JsonValue::array();
  const Metadata source = good(input);
  input.options.as_converter = true;
  EXPECT_EQ(source, good(input));
}

}  // namespace
}  // namespace ckpt
