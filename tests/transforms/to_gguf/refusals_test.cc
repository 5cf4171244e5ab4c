// Inputs that to-gguf rejects: unknown, contradictory and hostile ones.
#include <gtest/gtest.h>

#include "tests/transforms/gguf_models.h"

namespace ckpt {
using namespace gguf_test;
namespace {

// A Llama of one layer with all of its tensors.
Checkpoint whole_llama(JsonValue config) {
  config["intermediate_size"] = 16;
  config["attention_bias"] = true;
  Checkpoint out = llama(config);
  for (const char* name : {"model.norm", "model.layers.0.input_layernorm"}) {
    add(out, counting(fmt::format("{}.weight", name), {8}));
  }
  add(out, counting("lm_head.weight", {5, 8}));
  add(out, counting("model.layers.0.self_attn.v_proj.weight", {4, 8}));
  add(out, counting("model.layers.0.self_attn.o_proj.weight", {8, 8}));
  add(out, counting("model.layers.0.mlp.gate_proj.weight", {16, 8}));
  add(out, counting("model.layers.0.mlp.up_proj.weight", {16, 8}));
  add(out, counting("model.layers.0.mlp.down_proj.weight", {8, 16}));
  return out;
}

TEST(ToGguf, NamesTheFamilyWhoseTensorsAnUnknownClassHas) {
  for (const char* unknown : {"GPT7ForCausalLM", "Qwen3VLMoeForCausalLM"}) {
    JsonValue config = llama_config();
    config["architectures"] = {unknown};
    const std::string text = error_of(whole_llama(config));
    EXPECT_NE(text.find(unknown), std::string::npos) << text;
    EXPECT_NE(text.find("--like LlamaForCausalLM"), std::string::npos) << text;
  }
}

TEST(ToGguf, RefusesWhatItDoesNotKnow) {
  JsonValue config;

  Checkpoint extra = llama(llama_config());
  add(extra, counting("model.layers.0.self_attn.rotor.weight", {2}));
  EXPECT_NE(error_of(extra).find("model.layers.0.self_attn.rotor.weight"), std::string::npos);

  Checkpoint packed = llama(llama_config());
  add(packed, counting("model.layers.0.mlp.up_proj.weight", {2, 2}));
  packed.tensors.back().codec = &plain_codec(all_codecs(), Dtype::kF8E4M3);
  config = llama_config();
  config["quantization_config"] = {{"quant_method", "fp8"}};
  packed.set_document("config.json", config.dump());
  const std::string method = error_of(packed);
  EXPECT_NE(method.find("quantization_config says fp8"), std::string::npos) << method;

  EXPECT_NE(error_of(llama(llama_config()), options({{"outtype", "q4_k"}})).find("outtype"),
            std::string::npos);
  EXPECT_NE(error_of(llama(llama_config()), options({{"mtp", "maybe"}})).find("mtp"),
            std::string::npos);
  Checkpoint bare = llama(llama_config());
  bare.documents.clear();
  EXPECT_NE(error_of(bare).find("no config.json"), std::string::npos);
}

TEST(ToGguf, RefusesShapesThatContradictTheConfig) {
  Checkpoint input = qwen35();
  tensor(input, "model.layers.0.linear_attn.in_proj_z.weight") =
      counting("model.layers.0.linear_attn.in_proj_z.weight", {13, 4});
  EXPECT_NE(error_of(input).find("is [13, 4]; config.json says [12, 4]"), std::string::npos)
      << error_of(input);
  JsonValue config = qwen35_config();
  config["linear_num_value_heads"] = 5;
  input = qwen35();
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("config.json says [5], and 6 more tensors contradict it"),
            std::string::npos)
      << error_of(input);
  config = qwen35_config();
  config["layer_types"] = {"linear_attention"};
  input = qwen35();
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("layer_types has 1 entries; expected 2"), std::string::npos);
}

// Every tensor: what decides its shape is one field or two.
TEST(ToGguf, RefusesEveryShapeThatContradictsTheConfig) {
  for (const char* field :
       {"hidden_size", "intermediate_size", "head_dim", "linear_conv_kernel_dim",
        "linear_key_head_dim", "linear_num_key_heads", "linear_value_head_dim"}) {
    JsonValue config = qwen35_config();
    config[field] = config[field].get<uint64_t>() * 2;
    Checkpoint input = qwen35();
    input.set_document("config.json", config.dump());
    EXPECT_NE(error_of(input).find("; config.json says ["), std::string::npos)
        << field << ": " << error_of(input);
  }
  EXPECT_EQ(error_of(qwen35()), "");
}

TEST(ToGguf, RefusesMoreTokensThanRows) {
  Checkpoint input = llama(llama_config());
  JsonValue config = llama_config();
  config["vocab_size"] = 9;
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("vocab_size is 9"), std::string::npos) << error_of(input);
  config["vocab_size"] = 4;
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("vocab_size is 4"), std::string::npos) << error_of(input);
}

TEST(ToGguf, HostileConfigsAreErrors) {
  for (const char* text :
       {"", "[]", "{", "{\"architectures\": [3]}", "{\"architectures\": \"Llama\"}",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"num_hidden_layers\": -1}",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"num_hidden_layers\": 1e30}",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"num_hidden_layers\": \"x\"}"}) {
    Checkpoint input = llama(llama_config());
    input.set_document("config.json", text);
    EXPECT_NE(error_of(input), "") << text;
  }
  Checkpoint deep = llama(llama_config());
  deep.set_document("config.json", std::string(1'000'000, '['));
  EXPECT_NE(error_of(deep).find("nested"), std::string::npos);
  JsonValue config = llama_config();
  config["num_attention_heads"] = 0;
  Checkpoint zero = llama(config);
  EXPECT_NE(error_of(zero), "");
  config = qwen35_config();
  config["rope_parameters"]["mrope_section"] = {{"a", 1}};
  Checkpoint sections = qwen35();
  sections.set_document("config.json", config.dump());
  EXPECT_NE(error_of(sections), "");
}

}  // namespace
}  // namespace ckpt
