// Targets of folders: bits as ModelOpt counts them, sensitivities by layers' names, errors of NVFP4
// and FP8.
#include "plan/size_target/folder_target.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/size_target/measured_file.h"
#include "plan/size_target/sensitivity.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// A tensor of which only shape and codec are read.
Tensor shaped(std::string name, std::vector<uint64_t> shape, const Codec& codec) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.codec = &codec;
  return out;
}

const Codec& layer_codec(Scheme scheme) {
  return scheme_codec(all_codecs(), scheme, Dialect::kModelopt);
}
const Codec& bf16_codec() { return plain_codec(all_codecs(), Dtype::kBF16); }

// The search of mtq.auto_quantize (ModelOpt 0.47) on a Qwen3 of two layers ended with these types
// and says "effective_bits": 12.384615384615385.
TEST(EffectiveBits, AreThoseOfModelOptsSearch) {
  Checkpoint model;
  model.tensors.push_back(shaped("model.embed_tokens.weight", {1024, 64}, bf16_codec()));
  model.tensors.push_back(shaped("model.norm.weight", {64}, bf16_codec()));
  for (const int layer : {0, 1}) {
    const auto add = [&](std::string_view module, std::vector<uint64_t> shape, const Codec& codec) {
      model.tensors.push_back(
          shaped(fmt::format("model.layers.{}.{}.weight", layer, module), shape, codec));
    };
    add("self_attn.q_proj", {128, 64}, layer_codec(Scheme::kFp8Tensor));
    add("self_attn.k_proj", {64, 64}, layer_codec(Scheme::kFp8Tensor));
    add("self_attn.v_proj", {64, 64}, layer_codec(Scheme::kFp8Tensor));
    add("self_attn.o_proj", {64, 128}, layer_codec(Scheme::kFp8Tensor));
    add("mlp.gate_proj", {256, 64}, bf16_codec());
    add("mlp.up_proj", {256, 64}, bf16_codec());
    add("mlp.down_proj", {64, 256}, layer_codec(Scheme::kNvfp4));
    add("self_attn.q_norm", {16}, bf16_codec());
  }
  model.tensors.push_back(shaped("lm_head.weight", {1024, 64}, bf16_codec()));
  EXPECT_NEAR(effective_bits(model), 12.384615384615385, 1e-12);
  model.tensors.pop_back();
  EXPECT_NEAR(effective_bits(model), 12.384615384615385, 1e-12) << "a tied head is a layer, too";
}

TEST(Sensitivity, OfALayerIsThatOfItsRoleInAGguf) {
  const auto same = [](const char* layer, const char* tensor) {
    EXPECT_EQ(sensitivity_of_layer(layer), sensitivity_of(tensor, false)) << layer;
  };
  same("model.layers.0.self_attn.v_proj", "blk.0.attn_v.weight");
  same("model.language_model.layers.12.mlp.down_proj", "blk.12.ffn_down.weight");
  same("model.layers.3.mlp.experts.17.up_proj", "blk.3.ffn_up.weight");
  same("lm_head", "output.weight");
  EXPECT_GT(sensitivity_of_layer("model.layers.3.something_new"), 0);
}

TEST(MeasuredTypes, OfFoldersHaveSeveralParts) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(256 * 64);
  for (float& value : values) value = normal(random);
  TypesToMeasure one;
  one.values = make_f32_tensor("t", {64, 256}, values, all_codecs());
  one.codecs = {&layer_codec(Scheme::kNvfp4), &layer_codec(Scheme::kFp8Tensor)};
  TypesToMeasure searched = one;
  searched.search = ScaleSearch::kSweep;
  const auto errors = measure_types({one, searched}, {});
  ASSERT_TRUE(errors);
  // Normal values lose 20.4 dB in blocks of 16, and 31.5 dB as E4M3.
  EXPECT_NEAR((*errors)[0][0], 9.1e-3, 6e-4);
  EXPECT_NEAR((*errors)[0][1], 7.0e-4, 6e-5);
  EXPECT_LT((*errors)[1][0], 0.97 * (*errors)[0][0]);
  EXPECT_EQ((*errors)[1][1], (*errors)[0][1]);
}

TEST(JoinedLayers, AreThoseThatServersRunAsOne) {
  Checkpoint model;
  const auto keys = joined_layers(
      model, {"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
              "model.layers.0.self_attn.o_proj", "model.layers.1.self_attn.q_proj",
              "model.layers.1.mlp.experts.0.up_proj", "model.layers.1.mlp.experts.7.down_proj"});
  ASSERT_TRUE(keys);
  EXPECT_EQ((*keys)[0], (*keys)[1]);
  EXPECT_NE((*keys)[0], (*keys)[2]);
  EXPECT_NE((*keys)[0], (*keys)[3]);
  EXPECT_EQ((*keys)[4], (*keys)[5]);
}

}  // namespace
}  // namespace ckpt
