// Generated vocabularies as large as released ones: numbers out of order, holes, and added tokens
// in the middle.
#include "tests/transforms/to_gguf/tokenizer/input.h"
#include "tests/transforms/to_gguf/tokenizer/sentencepiece.h"

namespace ckpt {
using namespace tokenizer_test;
using namespace sentencepiece_test;
namespace {

constexpr uint64_t kFullSize = 151'936;

// Numbers 0 to kFullSize - 1 in another order; 7919 has no factor in common with kFullSize.
uint64_t shuffled_id(uint64_t place) { return place * 7919 % kFullSize; }

bool is_hole(uint64_t id) { return id % 10'000 == 17; }
bool is_added_id(uint64_t id) { return id % 10'000 == 42; }

std::string text_of_place(uint64_t place) {
  return place < 26 ? std::string(1, static_cast<char>('a' + place)) : fmt::format("w{}", place);
}

// Every token that is neither a hole nor added is made by one merge, in the order of places.
Input full_size(bool is_byte_level) {
  Input input;
  JsonValue::object_t vocab;
  JsonValue merges = JsonValue::array(), added = JsonValue::array();
  for (uint64_t place = 0; place < kFullSize; ++place) {
    const uint64_t id = shuffled_id(place);
    const std::string text = text_of_place(place);
    if (is_hole(id) && is_byte_level) continue;
    vocab[text] = id;
    if (is_added_id(id)) {
      added.push_back({{"id", id}, {"content", text}, {"special", id % 20'000 == 42}});
    } else if (place >= 26) {
      merges.push_back({text.substr(0, 1), text.substr(1)});
    }
  }
  input.tokenizer = {{"added_tokens", std::move(added)},
                     {"decoder", {{"type", "Sequence"}, {"decoders", JsonValue::array()}}},
                     {"model",
                      {{"type", "BPE"},
                       {"byte_fallback", !is_byte_level},
                       {"vocab", std::move(vocab)},
                       {"merges", std::move(merges)}}}};
  input.config = JsonValue::object();
  input.options.vocab_size = kFullSize;
  input.options.pre_name = "qwen2";
  if (!is_byte_level) input.options.rules.byte_fallback = ByteFallback::kAsLlama;
  return input;
}

int expected_type(uint64_t id, bool has_holes) {
  if (has_holes && is_hole(id)) return 5;
  if (!is_added_id(id)) return 1;
  return id % 20'000 == 42 ? 3 : 4;
}

TEST(GgufTokenizerFullSize, EveryTokenHasItsNumberAndType) {
  for (const bool is_byte_level : {true, false}) {
    const Metadata out = good(full_size(is_byte_level));
    const std::vector<std::string> tokens = texts(out, "tokenizer.ggml.tokens");
    const std::vector<int> found = types(out);
    ASSERT_EQ(tokens.size(), kFullSize);
    ASSERT_EQ(found.size(), kFullSize);
    uint64_t wrong = 0;
    for (uint64_t place = 0; place < kFullSize; ++place) {
      const uint64_t id = shuffled_id(place);
      const bool is_filled = is_byte_level && is_hole(id);
      const std::string text = is_filled ? fmt::format("[PAD{}]", id) : text_of_place(place);
      wrong += tokens[id] != text || found[id] != expected_type(id, is_byte_level) ? 1u : 0u;
    }
    EXPECT_EQ(wrong, 0u) << is_byte_level;
  }
}

TEST(GgufTokenizerFullSize, ScoresFollowTheOrderOfMergesNotOfNumbers) {
  const Metadata out = good(full_size(false));
  const auto& scores = std::get<MetaArray>(out.find("tokenizer.ggml.scores")->value);
  double last = 1;
  for (uint64_t place = 26; place < kFullSize; ++place) {
    const uint64_t id = shuffled_id(place);
    if (is_added_id(id)) continue;
    const double score = number_at(scores, id);
    ASSERT_LT(score, last) << id;
    last = score;
  }
}

// tokenizer.model with added pieces in the middle; tokenizer_config.json adds the last tokens.
TEST(GgufTokenizerFullSize, PiecesOfATokenizerModelKeepNumberScoreAndType) {
  constexpr uint64_t kPieces = kFullSize - 100;
  Input input;
  std::string model = piece("<unk>", 0, 2);
  for (uint64_t id = 1; id < kPieces; ++id) {
    const uint64_t type = is_added_id(id) ? (id % 20'000 == 42 ? 3 : 4) : 0;
    model += piece(text_of_place(id + 26), static_cast<float>(id % 1000), type);
  }
  input.files.emplace_back("tokenizer.model", model + bpe());
  JsonValue added = JsonValue::object();
  for (uint64_t id = kPieces; id < kFullSize; id += 2) {  // the others are filled in
    added[std::to_string(id)] = {{"content", text_of_place(id + 26)}, {"special", true}};
  }
  input.config = {{"added_tokens_decoder", std::move(added)}};
  input.tokenizer = nullptr;
  input.options.vocab_size = kFullSize;
  input.options.rules.piece_file = PieceFile::kRequired;
  const Metadata out = good(input);
  const std::vector<std::string> tokens = texts(out, "tokenizer.ggml.tokens");
  const std::vector<int> found = types(out);
  const auto& scores = std::get<MetaArray>(out.find("tokenizer.ggml.scores")->value);
  ASSERT_EQ(tokens.size(), kFullSize);
  uint64_t wrong = 0;
  for (uint64_t id = 1; id < kPieces; ++id) {
    const bool is_control = is_added_id(id) && id % 20'000 == 42;
    const bool is_same = tokens[id] == text_of_place(id + 26) &&
                         found[id] == (is_control ? 3 : 1) &&  // user-defined pieces are normal
                         number_at(scores, id) == static_cast<double>(id % 1000);
    wrong += is_same ? 0u : 1u;
  }
  EXPECT_EQ(wrong, 0u);
  for (uint64_t id = kPieces; id < kFullSize; ++id) {
    const bool is_filled = (id - kPieces) % 2 == 1;
    wrong +=
        tokens[id] == (is_filled ? fmt::format("[PAD{}]", id) : text_of_place(id + 26)) ? 0u : 1u;
    wrong += found[id] == (is_filled ? 5 : 3) ? 0u : 1u;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(GgufTokenizerFullSize, OtherModelsAreRefusedInOneSentence) {
  for (const char* kind : {"Unigram", "WordPiece"}) {
    Input input;
    JsonValue vocab =
        kind == std::string_view("Unigram") ? JsonValue::array() : JsonValue::object();
    for (uint64_t id = 0; id < kFullSize; ++id) {
      const std::string text = text_of_place(id);
      if (vocab.is_array()) vocab.push_back({text, -1.5});
      if (vocab.is_object()) vocab[text] = id;
    }
    input.tokenizer = {{"model", {{"type", kind}, {"vocab", std::move(vocab)}}}};
    EXPECT_NE(error_of(input).find(fmt::format("tokenizer.json: a {} model", kind)),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ckpt
