// mixed-to-nvfp4 on layers with a pre_quant_scale: the tensors that take the factors over.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/transforms/nvfp4/mixed_models.h"

namespace ckpt {
using namespace mixed_test;
namespace {

TEST(MixedToNvfp4, AScaleOfAllReadersGoesIntoTheNorm) {
  Checkpoint source = exported("qwen3-micro", "nvfp4");
  const std::vector<float> scale = powers_of_two(256);
  for (const char* which : {"q", "k", "v"}) {
    source.tensors.push_back(
        column_scale(fmt::format("model.layers.1.self_attn.{}_proj", which), scale));
  }
  const Checkpoint made = converted(source);
  for (const char* which : {"q", "k", "v"}) {
    const std::string module = fmt::format("model.layers.1.self_attn.{}_proj", which);
    expect_same(made, source, module + ".weight");
    expect_same(made, source, module + ".input_scale");
    EXPECT_EQ(made.find_tensor(module + ".pre_quant_scale"), nullptr);
  }
  const char* norm = "model.layers.1.input_layernorm.weight";
  const auto before = values(tensor(source, norm)), after = values(tensor(made, norm));
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(after[i], before[i] * scale[i]);
}

TEST(MixedToNvfp4, ANormThatAddsOneTakesItWithTheOne) {
  Checkpoint source = exported("qwen35-micro", "nvfp4");
  const std::vector<float> scale = powers_of_two(256);
  for (const char* which : {"in_proj_qkv", "in_proj_z"}) {
    source.tensors.push_back(
        column_scale(fmt::format("model.layers.1.linear_attn.{}", which), scale));
  }
  const Checkpoint made = converted(source);
  expect_same(made, source, "model.layers.1.linear_attn.in_proj_qkv.weight");
  const char* norm = "model.layers.1.input_layernorm.weight";
  const char* plain = "model.layers.1.linear_attn.in_proj_a.weight";
  const auto before = values(tensor(source, norm)), after = values(tensor(made, norm));
  const auto w = values(tensor(source, plain)), w_made = values(tensor(made, plain));
  for (size_t i = 0; i < 256; ++i) {
    ASSERT_NEAR(after[i], (1 + before[i]) * scale[i] - 1, 0.01 * scale[i]);
    ASSERT_EQ(w_made[i], w[i] / scale[i]);
  }
}

TEST(MixedToNvfp4, AScaleOfTheLastLayerOfAnMlpGoesIntoRows) {
  Checkpoint source = exported("qwen3-micro", "nvfp4");
  const std::vector<float> scale = powers_of_two(512);
  source.tensors.push_back(column_scale("model.layers.2.mlp.down_proj", scale));
  const Checkpoint made = converted(source);
  expect_same(made, source, "model.layers.2.mlp.down_proj.weight");
  expect_same(made, source, "model.layers.2.mlp.down_proj.input_scale");
  const char *up = "model.layers.2.mlp.up_proj.weight",
             *gate = "model.layers.2.mlp.gate_proj.weight";
  const auto before = values(tensor(source, up)), after = values(tensor(made, up));
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(after[i], before[i] * scale[i / 256]) << i;  // powers of two: exact
  }
  EXPECT_EQ(values(tensor(made, gate)), values(tensor(source, gate)));
  EXPECT_EQ(tensor_scale(made, up), tensor_scale(made, gate));
  EXPECT_EQ(part_bytes(tensor(made, up), 0), part_bytes(tensor(source, up), 0));
}

// Heads that share a value head differ: what they have in common goes to v, the rest is encoded.
TEST(MixedToNvfp4, GroupedHeadsShareWhatTheyCan) {
  Checkpoint source = exported("qwen3-micro", "nvfp4");
  std::vector<float> scale(256);
  for (size_t i = 0; i < 256; ++i) {
    scale[i] = std::exp2(std::sin(static_cast<float>(i % 64)) * 3) * (i / 64 % 2 == 0 ? 1 : 1.25f);
  }
  const std::string module = "model.layers.0.self_attn.o_proj";
  source.tensors.push_back(column_scale(module, scale));
  std::vector<std::string> notes;
  const Checkpoint made = converted(source, {}, &notes);
  EXPECT_EQ(made.find_tensor(module + ".pre_quant_scale"), nullptr);
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes[0].find("1 requantized"), std::string::npos) << notes[0];
  // o v before and after: the product over a value head's columns.
  const auto o = values(tensor(source, module + ".weight"));
  const auto o_made = values(tensor(made, module + ".weight"));
  const auto v = values(tensor(source, "model.layers.0.self_attn.v_proj.weight"));
  const auto v_made = values(tensor(made, "model.layers.0.self_attn.v_proj.weight"));
  double noise = 0, signal = 0;
  for (size_t row = 0; row < 256; row += 5) {
    for (size_t j = 0; j < 256; ++j) {
      const size_t value_row = j / 128 * 64 + j % 64;
      for (size_t column = 0; column < 256; column += 17) {
        const double expected = double{o[row * 256 + j]} * scale[j] * v[value_row * 256 + column];
        const double found = double{o_made[row * 256 + j]} * v_made[value_row * 256 + column];
        signal += expected * expected;
        noise += (found - expected) * (found - expected);
      }
    }
  }
  EXPECT_GT(10 * std::log10(signal / noise), 16);
}

TEST(MixedToNvfp4, AScaleOfWholeBlocksGoesIntoBlockScales) {
  Checkpoint source = exported("qwen35moe-micro", "nvfp4");
  nlohmann::ordered_json config =
      nlohmann::ordered_json::parse(source.find_document("config.json")->text(), nullptr, false);
  config["model_type"] = "somebody_elses";
  source.set_document("config.json", config.dump(4));
  const std::string module = "model.layers.3.self_attn.o_proj";
  const size_t columns = tensor(source, module + ".weight").row_values();
  std::vector<float> scale(columns);
  for (size_t i = 0; i < columns; ++i) scale[i] = i / 16 % 2 == 0 ? 0.5f : 2;
  source.tensors.push_back(column_scale(module, scale));
  const Checkpoint made = converted(source);
  const auto before = values(tensor(source, module + ".weight"));
  const auto after = values(tensor(made, module + ".weight"));
  for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], before[i] * scale[i % columns]);
  EXPECT_EQ(number(made, module + ".input_scale"), number(source, module + ".input_scale") * 2);
}

}  // namespace
}  // namespace ckpt
