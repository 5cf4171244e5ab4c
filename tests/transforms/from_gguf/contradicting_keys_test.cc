// Keys of a GGUF that contradict its tensors, for a family with heads and MLPs of two sizes.
#include "tests/transforms/run_step.h"

namespace ckpt {
namespace {

Checkpoint gemma4_file() {
  auto folder = step_test::open(testdata("families") / "gemma4" / "hf");
  EXPECT_TRUE(folder.has_value());
  auto file = step_test::run("to-gguf", folder.value_or(Checkpoint()), {});
  EXPECT_TRUE(file.has_value()) << file.error().text();
  return file.value_or(Checkpoint());
}

void expect_refused(Checkpoint file, std::string_view part) {
  const auto made = step_test::run("from-gguf", step_test::as_gguf_file(std::move(file)), {});
  step_test::expect_error(made, ErrorCode::kCorrupt, part);
}

TEST(ContradictingKeys, ConsistentFileIsReturned) {
  const auto made = step_test::run("from-gguf", step_test::as_gguf_file(gemma4_file()), {});
  EXPECT_TRUE(made.has_value()) << made.error().text();
}

TEST(ContradictingKeys, RejectsSizesThatContradictTheTensors) {
  for (const auto& [key, tensor] :
       {std::pair{"embedding_length", "token_embd.weight"},
        std::pair{"embedding_length_per_layer_input", "per_layer_token_embd.weight"},
        std::pair{"attention.head_count", "blk.0.attn_output.weight"},
        std::pair{"attention.head_count_kv", "blk.0.attn_k.weight"}}) {
    Checkpoint file = gemma4_file();
    const std::string name = std::string("gemma4.") + key;
    const auto value = file.metadata.find_unsigned(name);
    ASSERT_TRUE(value.has_value()) << name;
    file.metadata.set(name, MetaValue::u32(*value + 1));
    expect_refused(std::move(file), fmt::format("tensor '{}' has shape", tensor));
  }
}

// Heads of full attention are larger: a layer of either kind cannot be of the other.
TEST(ContradictingKeys, RejectsAWindowPatternThatContradictsTheHeads) {
  const std::string name = "gemma4.attention.sliding_window_pattern";
  const Checkpoint whole = gemma4_file();
  const MetaArray* pattern = whole.metadata.find_array(name);
  ASSERT_NE(pattern, nullptr);
  for (uint64_t layer = 0; layer < pattern->count(); ++layer) {
    Checkpoint file = whole;
    std::vector<bool> slides;
    for (uint64_t i = 0; i < pattern->count(); ++i) {
      slides.push_back((number_at(*pattern, i) != 0) != (i == layer));
    }
    file.metadata.set(name, MetaValue::array(make_bool_array(slides)));
    expect_refused(std::move(file), fmt::format("blk.{}.attn_", layer));
  }
}

}  // namespace
}  // namespace ckpt
