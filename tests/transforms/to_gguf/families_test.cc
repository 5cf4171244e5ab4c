// to-gguf on experts and on Llama: stacks, pairs of rows, the scaling of rotary positions.
#include <gtest/gtest.h>

#include "tests/transforms/gguf_models.h"

namespace ckpt {
using namespace gguf_test;
namespace {

Checkpoint moe(bool fused) {
  JsonValue config = qwen35_config();
  config["architectures"] = {"Qwen3_5MoeForCausalLM"};
  config["num_experts"] = 3;
  config["moe_intermediate_size"] = 2;
  config["num_hidden_layers"] = 1;
  config["layer_types"] = {"linear_attention"};
  config.erase("intermediate_size");
  Checkpoint out = base(config);
  add(out, counting("model.embed_tokens.weight", {5, 4}));
  const std::string mlp = "model.layers.0.mlp.";
  add(out, counting(mlp + "gate.weight", {3, 4}, Dtype::kBF16));
  add(out, counting(mlp + "shared_expert_gate.weight", {1, 4}, Dtype::kBF16));
  if (fused) {
    add(out, counting(mlp + "experts.gate_up_proj", {3, 4, 4}));
    add(out, counting(mlp + "experts.down_proj", {3, 4, 2}));
    return out;
  }
  for (int i = 0; i < 3; ++i) {
    const std::string expert = fmt::format("{}experts.{}.", mlp, i);
    add(out, counting(expert + "gate_proj.weight", {2, 4}));
    add(out, counting(expert + "up_proj.weight", {2, 4}));
    add(out, counting(expert + "down_proj.weight", {4, 2}));
  }
  return out;
}

TEST(ToGguf, FusedExpertsAreSplit) {
  auto out = convert(moe(true), options({{"outtype", "f32"}}));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  const Tensor& gate = tensor(*out, "blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(gate.shape, (std::vector<uint64_t>{3, 2, 4}));
  EXPECT_EQ(first_column(gate), (std::vector<float>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(first_column(tensor(*out, "blk.0.ffn_up_exps.weight")),
            (std::vector<float>{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(tensor(*out, "blk.0.ffn_down_exps.weight").shape, (std::vector<uint64_t>{3, 4, 2}));
  EXPECT_EQ(tensor(*out, "blk.0.ffn_gate_inp.weight").codec->name, "f32");
  const Tensor& shared = tensor(*out, "blk.0.ffn_gate_inp_shexp.weight");
  EXPECT_EQ(shared.codec->name, "f32");
  EXPECT_EQ(shared.shape, (std::vector<uint64_t>{1, 4}));
  EXPECT_EQ(out->metadata.find_unsigned("qwen35moe.expert_count"), 3u);
  EXPECT_EQ(out->metadata.find_unsigned("qwen35moe.expert_feed_forward_length"), 2u);
  EXPECT_EQ(out->metadata.find("qwen35moe.feed_forward_length"), nullptr);
}

// Floats of several types are joined as F32, which holds them all; the converter does the same.
TEST(ToGguf, ExpertsOfSeveralFloatTypesAreStacked) {
  Checkpoint input = moe(false);
  const Dtype types[] = {Dtype::kF16, Dtype::kBF16, Dtype::kF32};
  for (int i = 0; i < 3; ++i) {
    for (const char* what : {"gate_proj", "up_proj", "down_proj"}) {
      const std::string name = fmt::format("model.layers.0.mlp.experts.{}.{}.weight", i, what);
      for (Tensor& tensor : input.tensors) {
        if (tensor.name == name) tensor = counting(name, tensor.shape, types[i]);
      }
    }
  }
  auto plain = convert(moe(false), options({{"outtype", "f32"}}));
  auto mixed = convert(input, options({{"outtype", "f32"}}));
  ASSERT_TRUE(plain.has_value() && mixed.has_value()) << mixed.error().text();
  for (const char* what : {"gate", "up", "down"}) {
    const std::string name = fmt::format("blk.0.ffn_{}_exps.weight", what);
    EXPECT_EQ(part_bytes(tensor(*mixed, name), 0), part_bytes(tensor(*plain, name), 0)) << name;
  }
}

TEST(ToGguf, SeparateExpertsAreStacked) {
  auto out = convert(moe(false), options({{"outtype", "f32"}}));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  const std::vector<std::string> expected = {
      "token_embd.weight",        "blk.0.ffn_down_exps.weight", "blk.0.ffn_gate_exps.weight",
      "blk.0.ffn_up_exps.weight", "blk.0.ffn_gate_inp.weight",  "blk.0.ffn_gate_inp_shexp.weight"};
  EXPECT_EQ(names_of(*out), expected);
  EXPECT_EQ(tensor(*out, "blk.0.ffn_down_exps.weight").shape, (std::vector<uint64_t>{3, 4, 2}));
  EXPECT_EQ(first_column(tensor(*out, "blk.0.ffn_up_exps.weight")),
            (std::vector<float>{0, 1, 0, 1, 0, 1}));
  Checkpoint missing = moe(false);
  missing.tensors.pop_back();
  EXPECT_NE(error_of(missing).find("layer 0 has 8 tensors of experts; expected 3 x 3"),
            std::string::npos)
      << error_of(missing);
  Checkpoint other = moe(false);
  other.tensors.back() = counting(other.tensors.back().name, {2, 2});
  EXPECT_NE(error_of(other).find("is [2, 2]; config.json says [4, 2]"), std::string::npos)
      << error_of(other);
}

TEST(ToGguf, TwoTensorsOfOneExpertAreRefused) {
  Checkpoint twice = moe(false);
  const std::string other = "model.layers.0.mlp.experts.00.up_proj.weight";
  twice.tensors.insert(twice.tensors.begin(), counting(other, {2, 4}));
  EXPECT_NE(error_of(twice).find("expert 0 comes twice"), std::string::npos) << error_of(twice);
}

TEST(ToGguf, LlamaRowsBecomePairs) {
  auto out = convert(llama(llama_config()));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(first_column(tensor(*out, "blk.0.attn_q.weight")),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(floats(tensor(*out, "blk.0.attn_q.bias")),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(first_column(tensor(*out, "blk.0.attn_k.weight")), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_TRUE(tensor(*out, "blk.0.ffn_norm.weight").is_stored());
  EXPECT_EQ(out->tensors.size(), 5u);
  EXPECT_EQ(out->metadata.find_unsigned("llama.attention.key_length"), 4u);
  EXPECT_EQ(out->metadata.find_unsigned("llama.rope.dimension_count"), 4u);
  EXPECT_EQ(out->metadata.find_unsigned("llama.vocab_size"), 5u);
  EXPECT_EQ(out->metadata.find_unsigned("llama.context_length"), 2048u);  // the class's default
}

TEST(ToGguf, Llama3ScalingIsATensor) {
  JsonValue config = llama_config();
  config["head_dim"] = 128;
  config["num_attention_heads"] = 1;
  config["num_key_value_heads"] = 1;
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192}};
  Checkpoint input = base(config);
  add(input, counting("model.embed_tokens.weight", {5, 8}));
  auto out = convert(std::move(input));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(out->tensors[0].name, "rope_freqs.weight");
  const std::vector<float> factors = floats(out->tensors[0]);
  ASSERT_EQ(factors.size(), 64u);
  // As PyTorch 2.15 computes them for Llama 3.1 (theta 500000).
  EXPECT_EQ(factors[28], 1.0f);
  EXPECT_EQ(factors[29], 1.2074838876724243f);
  EXPECT_EQ(factors[31], 2.026313066482544f);
  EXPECT_EQ(factors[34], 5.257327079772949f);
  EXPECT_EQ(factors[35], 8.0f);
  EXPECT_EQ(out->metadata.find("llama.rope.scaling.type"), nullptr);
}

TEST(ToGguf, RopeScalingGoesBeforeRopeParameters) {
  const auto base_of = [](const JsonValue& config) {
    auto out = convert(llama(config));
    if (!out) return "refused: " + out.error().text();
    const std::string* type = out->metadata.find_text("llama.rope.scaling.type");
    return fmt::format("{} {}", type == nullptr ? "unscaled" : *type,
                       std::get<double>(out->metadata.find("llama.rope.freq_base")->value));
  };
  JsonValue config = llama_config();
  config["rope_theta"] = 500000.0;
  config["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "default"}};
  config["rope_scaling"] = nullptr;
  EXPECT_EQ(base_of(config), "unscaled 500000");
  config["rope_scaling"] = JsonValue::object();
  EXPECT_EQ(base_of(config), "unscaled 500000");
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}};
  config["max_position_embeddings"] = 4096;
  EXPECT_EQ(base_of(config), "yarn 500000");
  config["rope_parameters"] = JsonValue::object();
  EXPECT_EQ(base_of(config), "yarn 500000");
  config["rope_parameters"] = {{"rope_theta", 1e6}, {"rope_type", "default"}};
  EXPECT_TRUE(base_of(config).starts_with("refused: ")) << base_of(config);
  config["rope_scaling"]["rope_theta"] = 2e6;
  EXPECT_EQ(base_of(config), "yarn 2000000");
  config.erase("rope_theta");  // the class has 10000
  config["rope_scaling"].erase("rope_theta");
  config["rope_parameters"]["rope_theta"] = 10000;
  EXPECT_EQ(base_of(config), "yarn 10000");
  config["rope_parameters"]["rope_theta"] = 10001;
  EXPECT_TRUE(base_of(config).starts_with("refused: ")) << base_of(config);
}

TEST(ToGguf, RopeScalingKeys) {
  JsonValue config = llama_config();
  config["max_position_embeddings"] = 4096;
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4}, {"beta_fast", 32}};
  auto out = convert(llama(config));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(*out->metadata.find_text("llama.rope.scaling.type"), "yarn");
  EXPECT_EQ(std::get<double>(out->metadata.find("llama.rope.scaling.factor")->value), 4.0);
  EXPECT_EQ(out->metadata.find_unsigned("llama.rope.scaling.original_context_length"), 4096u);
  EXPECT_NE(out->metadata.find("llama.rope.scaling.yarn_beta_fast"), nullptr);
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.5}};
  out = convert(llama(config));
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(*out->metadata.find_text("llama.rope.scaling.type"), "linear");
  config["rope_scaling"] = nullptr;
  out = convert(llama(config));
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->metadata.find("llama.rope.scaling.type"), nullptr);
  EXPECT_EQ(std::get<double>(out->metadata.find("llama.rope.freq_base")->value), 500000.0);
}

TEST(ToGguf, FallsBackToModelType) {
  JsonValue config = llama_config();
  config.erase("architectures");
  config["model_type"] = "llama";
  EXPECT_EQ(error_of(llama(config)), "");
}

// With layer_types transformers reads it as Ministral, whose head_dim stays open.
TEST(ToGguf, MistralWithLayerTypesHasNoHeadSize) {
  JsonValue config = llama_config();
  config["architectures"] = {"MistralForCausalLM"};
  config["model_type"] = "mistral";
  auto out = convert(llama(config));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(out->metadata.find_unsigned("llama.attention.key_length"), 4u);
  for (const JsonValue& types : {JsonValue({"full_attention"}), JsonValue()}) {
    config["layer_types"] = types;
    out = convert(llama(config));
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_EQ(out->metadata.find("llama.attention.key_length"), nullptr);
    EXPECT_EQ(out->metadata.find("llama.attention.value_length"), nullptr);
    EXPECT_EQ(out->metadata.find_unsigned("llama.rope.dimension_count"), 4u);
  }
}

TEST(ToGguf, NullKeyValueHeadsAreAsManyAsHeads) {
  JsonValue config = llama_config();
  for (const char* name : {"MistralForCausalLM", "LlamaForCausalLM"}) {
    config["architectures"] = {name};
    config["num_key_value_heads"] = nullptr;
    Checkpoint input = llama(config);
    const std::string key = "model.layers.0.self_attn.k_proj.weight";
    tensor(input, key) = counting(key, {8, 8});
    auto out = convert(std::move(input));
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_EQ(out->metadata.find_unsigned("llama.attention.head_count_kv"), 2u) << name;
  }
}

}  // namespace
}  // namespace ckpt
