// Generated vocabularies as large as released ones: numbers out of order, holes, and added tokens
// in the middle.
#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
using namespace tokenizer_test;
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

}  // namespace
}  // namespace ckpt
