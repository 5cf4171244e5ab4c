// Divisors of rotary frequencies become a rule that gives them again.
#include <gtest/gtest.h>

#include "models/families/list.h"
#include "quantizers/quantizers.h"
#include "transforms/from_gguf/config_fields.h"
#include "transforms/to_gguf/keys.h"

namespace ckpt {
namespace {

struct Llama3Case {
  double theta, factor, low, high;
  uint64_t context, head;
};

JsonValue rope_of(const Llama3Case& row) {
  return {{"rope_type", "llama3"},        {"rope_theta", row.theta},
          {"factor", row.factor},         {"low_freq_factor", row.low},
          {"high_freq_factor", row.high}, {"original_max_position_embeddings", row.context}};
}

std::vector<float> divisors_of(const JsonValue& rope, uint64_t head) {
  Model model;
  model.family = &kLlama;
  model.config = {{"head_dim", head}};
  model.rope = rope;
  const auto made = rope_factors(model);
  EXPECT_TRUE(made) << (made ? "" : made.error().text());
  return made && !made->empty() ? (*made)[0].values : std::vector<float>();
}

// Llama 3.1 and 3.2, Llama 4 with both borders at one place, heads so small that one divisor or
// none lies between the borders.
TEST(ReturnedRope, Llama3RuleGivesItsDivisorsAgain) {
  for (const Llama3Case& row :
       {Llama3Case{500000, 8, 1, 4, 8192, 128}, Llama3Case{500000, 32, 1, 4, 8192, 64},
        Llama3Case{500000, 16, 1, 1, 8192, 128}, Llama3Case{500000, 8, 1, 4, 256, 16},
        Llama3Case{500000, 8, 1, 4, 64, 8}, Llama3Case{10000, 4, 1, 2, 4096, 96},
        Llama3Case{500000, 8, 1, 4, 1 << 20, 4}}) {
    const std::vector<float> divisors = divisors_of(rope_of(row), row.head);
    ASSERT_FALSE(divisors.empty());
    Checkpoint file;
    file.tensors.push_back(
        make_f32_tensor("rope_freqs.weight", {divisors.size()}, divisors, all_codecs()));
    JsonValue rope = {{"rope_theta", row.theta}};
    ASSERT_TRUE(add_rope_rule(file, kLlama, rope));
    EXPECT_EQ(divisors_of(rope, row.head), divisors) << rope.dump();
  }
}

TEST(ReturnedRope, ProportionalRuleSaysTheShareThatIsTurned) {
  Checkpoint file;
  file.tensors.push_back(
      make_f32_tensor("rope_freqs.weight", {4}, {1, 1e30f, 1e30f, 1e30f}, all_codecs()));
  JsonValue rope = {{"rope_theta", 1e6}}, config = {{"rope_local_base_freq", 1e4}};
  ASSERT_TRUE(add_rope_rule(file, kGemma4, rope));
  finish_rope(kGemma4, rope, config);
  const JsonValue& full = config["rope_parameters"]["full_attention"];
  EXPECT_EQ(full["rope_type"], "proportional");
  EXPECT_EQ(full["partial_rotary_factor"], 0.25);
  EXPECT_EQ(config["rope_parameters"]["sliding_attention"]["rope_theta"], 1e4);
}

// Phi3Config takes 4096 for a context that only the rule names.
TEST(ReturnedRope, LongRuleNamesTheTrainedContextBesideTheOtherFields) {
  JsonValue rope = {
      {"rope_theta", 1e4}, {"rope_type", "longrope"}, {"original_max_position_embeddings", 256}};
  JsonValue config = JsonValue::object();
  finish_rope(kPhi3, rope, config);
  EXPECT_EQ(config["original_max_position_embeddings"], 256);
  EXPECT_EQ(config["rope_parameters"]["original_max_position_embeddings"], 256);
}

// transformers divides by mscale_all_dim's factor only where mscale is there too.
TEST(ReturnedRope, MinistralsYarnHasBothScales) {
  JsonValue rope = {{"mscale_all_dim", 0.5}}, config = JsonValue::object();
  kMinistral3.graph.add_fields({2, config, rope});
  EXPECT_EQ(rope["mscale"], 1.0);
  JsonValue plain = JsonValue::object();
  kMinistral3.graph.add_fields({2, config, plain});
  EXPECT_FALSE(plain.contains("mscale"));
}

}  // namespace
}  // namespace ckpt
