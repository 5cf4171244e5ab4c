// Shared by tests of to-gguf: checkpoints whose values count up, of the families Qwen3.5 and
// Llama, and looks at what the step made of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json_read.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "tests/transforms/run_step.h"

namespace ckpt::gguf_test {
using namespace step_test;

// F32 values 0, 1, 2, ... in memory order, rounded to `dtype`.
inline Tensor counting(const std::string& name, std::vector<uint64_t> shape,
                       Dtype dtype = Dtype::kF32) {
  Tensor tensor;
  tensor.shape = shape;
  std::vector<float> values(tensor.values());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Codec& codec = plain_codec(all_codecs(), dtype);
  tensor.codec = &codec;
  std::vector<std::byte> bytes(part_size_bytes(tensor, 0));
  const std::vector<std::span<std::byte>> parts = {bytes};
  if (codec.encode != nullptr) codec.encode({values, values.size()}, {}, parts);
  return make_tensor(name, std::move(shape), codec, std::move(bytes));
}

inline std::vector<float> floats(const Tensor& tensor) {
  const std::string bytes = part_bytes(tensor, 0);
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

inline JsonValue tiny_tokenizer() {
  return JsonValue::parse(R"({
    "added_tokens": [{"id": 4, "content": "<|end|>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "use_regex": true},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3}, "merges": ["a b"]}})");
}

inline Checkpoint base(const JsonValue& config) {
  Checkpoint out;
  out.format = "hf";
  out.name = "tiny";
  out.set_document("config.json", config.dump());
  out.set_document("tokenizer.json", tiny_tokenizer().dump());
  out.set_document("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  return out;
}

inline void add(Checkpoint& checkpoint, Tensor tensor) {
  tensor.home = "model.safetensors";
  checkpoint.tensors.push_back(std::move(tensor));
}

// Two key heads of 2, four value heads of 3; layer 0 linear, layer 1 full.
inline JsonValue qwen35_config() {
  return {{"architectures", {"Qwen3_5ForCausalLM"}},
          {"hidden_size", 4},
          {"intermediate_size", 6},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"head_dim", 4},
          {"vocab_size", 5},
          {"max_position_embeddings", 64},
          {"linear_conv_kernel_dim", 2},
          {"linear_key_head_dim", 2},
          {"linear_value_head_dim", 3},
          {"linear_num_key_heads", 2},
          {"linear_num_value_heads", 4},
          {"layer_types", {"linear_attention", "full_attention"}},
          {"rope_parameters", {{"rope_theta", 10000000}, {"mrope_section", {2, 1, 1}}}}};
}

inline Checkpoint qwen35(Dtype dtype = Dtype::kF32) {
  Checkpoint out = base(qwen35_config());
  const auto layer = [&](const std::string& p) {
    add(out, counting(p + "input_layernorm.weight", {4}, dtype));
    add(out, counting(p + "post_attention_layernorm.weight", {4}, dtype));
    add(out, counting(p + "mlp.down_proj.weight", {4, 6}, dtype));
  };
  layer("model.layers.0.");
  layer("model.layers.1.");
  const std::string linear = "model.layers.0.linear_attn.";
  add(out, counting(linear + "in_proj_qkv.weight", {20, 4}, dtype));
  add(out, counting(linear + "in_proj_z.weight", {12, 4}, dtype));
  add(out, counting(linear + "in_proj_a.weight", {4, 4}, dtype));
  add(out, counting(linear + "conv1d.weight", {20, 1, 2}, dtype));
  add(out, counting(linear + "A_log", {4}, dtype));
  add(out, counting(linear + "dt_bias", {4}, dtype));
  add(out, counting(linear + "norm.weight", {3}, dtype));
  add(out, counting(linear + "out_proj.weight", {4, 12}, dtype));
  add(out, counting("model.layers.1.self_attn.q_norm.weight", {4}, dtype));
  add(out, counting("model.norm.weight", {4}, dtype));
  add(out, counting("model.embed_tokens.weight", {5, 4}, dtype));
  return out;
}

// Converts a model that has only the tensors that a test looks at.
inline Result<Checkpoint> convert(Checkpoint input, Options given = {}) {
  if (!given.has("missing")) given.add("missing", "leave");
  return run("to-gguf", std::move(input), given);
}

inline std::string error_of(Checkpoint input, const Options& given = {}) {
  const auto result = convert(std::move(input), given);
  return result ? "" : result.error().text();
}

inline std::vector<float> first_column(const Tensor& tensor) {
  const std::vector<float> values = floats(tensor);
  std::vector<float> out;
  for (size_t i = 0; i < values.size(); i += tensor.row_values()) {
    out.push_back(values[i] / static_cast<float>(tensor.row_values()));
  }
  return out;
}

inline JsonValue llama_config() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 8},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"vocab_size", 5},
          {"rope_theta", 500000.0}};
}

inline Checkpoint llama(const JsonValue& config) {
  Checkpoint out = base(config);
  add(out, counting("model.embed_tokens.weight", {5, 8}));
  add(out, counting("model.layers.0.self_attn.q_proj.weight", {8, 8}));
  add(out, counting("model.layers.0.self_attn.q_proj.bias", {8}));
  add(out, counting("model.layers.0.self_attn.k_proj.weight", {4, 8}));
  add(out, counting("model.layers.0.post_attention_layernorm.weight", {8}));
  add(out, counting("model.layers.0.self_attn.rotary_emb.inv_freq", {2}));
  return out;
}

}  // namespace ckpt::gguf_test
