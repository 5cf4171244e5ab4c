// to-gguf on checkpoints made here: names, order, types, value changes, keys, refusals.
// Whole files against llama.cpp's converter: tests/pipeline and tests/interop.
#include "transforms/to_gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// F32 values 0, 1, 2, ... in memory order, rounded to `dtype`.
Tensor counting(const std::string& name, std::vector<uint64_t> shape, Dtype dtype = Dtype::kF32) {
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

std::vector<float> floats(const Tensor& tensor) {
  const std::string bytes = part_bytes(tensor, 0);
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

JsonValue tiny_tokenizer() {
  return JsonValue::parse(R"({
    "added_tokens": [{"id": 4, "content": "<|end|>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "use_regex": true},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3}, "merges": ["a b"]}})");
}

Checkpoint base(const JsonValue& config) {
  Checkpoint out;
  out.format = "hf";
  out.name = "tiny";
  out.set_document("config.json", config.dump());
  out.set_document("tokenizer.json", tiny_tokenizer().dump());
  out.set_document("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  return out;
}

void add(Checkpoint& checkpoint, Tensor tensor, const std::string& home = "model.safetensors") {
  tensor.home = home;
  checkpoint.tensors.push_back(std::move(tensor));
}

// Two key heads of 2, four value heads of 3; layer 0 linear, layer 1 full.
JsonValue qwen35_config() {
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

Checkpoint qwen35(Dtype dtype = Dtype::kF32) {
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

Result<Checkpoint> convert(Checkpoint input,
                           std::vector<std::pair<std::string, std::string>> pairs = {},
                           std::vector<std::string>* notes = nullptr) {
  Options options;
  for (auto& [key, value] : pairs) options.add(key, value);
  return find_transform("to-gguf")->apply(std::move(input), options,
                                          Context{all_codecs(), nullptr, notes});
}

std::string error_of(Checkpoint input,
                     std::vector<std::pair<std::string, std::string>> pairs = {}) {
  const auto result = convert(std::move(input), std::move(pairs));
  return result ? "" : result.error().text();
}

Tensor& find(Checkpoint& checkpoint, const std::string& name) {
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no " << name;
  return checkpoint.tensors.front();
}

std::vector<std::string> names(const Checkpoint& checkpoint) {
  std::vector<std::string> out;
  for (const Tensor& tensor : checkpoint.tensors) out.push_back(tensor.name);
  return out;
}

std::vector<std::string> keys(const Metadata& metadata) {
  std::vector<std::string> out;
  for (const MetaEntry& entry : metadata.entries) out.push_back(entry.key);
  return out;
}

std::vector<float> first_column(const Tensor& tensor) {
  const std::vector<float> values = floats(tensor);
  std::vector<float> out;
  for (size_t i = 0; i < values.size(); i += tensor.row_values()) {
    out.push_back(values[i] / static_cast<float>(tensor.row_values()));
  }
  return out;
}

TEST(ToGguf, Qwen35NamesInOrderOfSourceNames) {
  auto out = convert(qwen35());
  ASSERT_TRUE(out.has_value()) << out.error().text();
  const std::vector<std::string> expected = {
      "token_embd.weight",        "blk.0.attn_norm.weight", "blk.0.ssm_a",
      "blk.0.ssm_conv1d.weight",  "blk.0.ssm_dt.bias",      "blk.0.ssm_alpha.weight",
      "blk.0.attn_qkv.weight",    "blk.0.attn_gate.weight", "blk.0.ssm_norm.weight",
      "blk.0.ssm_out.weight",     "blk.0.ffn_down.weight",  "blk.0.post_attention_norm.weight",
      "blk.1.attn_norm.weight",   "blk.1.ffn_down.weight",  "blk.1.post_attention_norm.weight",
      "blk.1.attn_q_norm.weight", "output_norm.weight"};
  EXPECT_EQ(names(*out), expected);
  EXPECT_EQ(out->format, "gguf");
  EXPECT_TRUE(out->documents.empty());
  EXPECT_EQ(find(*out, "blk.0.ssm_a").source_name, "model.layers.0.linear_attn.A_log");
}

TEST(ToGguf, FilesComeInOrderOfTheirNames) {
  Checkpoint input = qwen35();
  for (Tensor& tensor : input.tensors) {
    tensor.home =
        tensor.name == "model.norm.weight" ? "model-1.safetensors" : "model-2.safetensors";
  }
  auto out = convert(std::move(input));
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->tensors.front().name, "output_norm.weight");
}

TEST(ToGguf, ValueHeadsAreTiled) {
  auto out = convert(qwen35());
  ASSERT_TRUE(out.has_value());
  // Heads 0 1 | 2 3 of two key heads become 0 2 1 3; one head is three rows.
  EXPECT_EQ(first_column(find(*out, "blk.0.attn_gate.weight")),
            (std::vector<float>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(
      first_column(find(*out, "blk.0.attn_qkv.weight")),
      (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 11, 12, 13, 17, 18, 19}));
  EXPECT_EQ(first_column(find(*out, "blk.0.ssm_alpha.weight")), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(floats(find(*out, "blk.0.ssm_dt.bias")), (std::vector<float>{0, 2, 1, 3}));
  const Tensor& conv = find(*out, "blk.0.ssm_conv1d.weight");
  EXPECT_EQ(conv.shape, (std::vector<uint64_t>{20, 2}));
  EXPECT_EQ(first_column(conv)[11], 14);
  const auto& ops = find(*out, "blk.0.ssm_out.weight").recoded().ops;
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(*std::get<PermuteColumns>(ops[0]).index,
            (std::vector<uint32_t>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  const Tensor& decay = find(*out, "blk.0.ssm_a");
  EXPECT_EQ(floats(*decay.recoded().from), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_TRUE(std::holds_alternative<NegExp>(decay.recoded().ops.at(0)));
  EXPECT_EQ(decay.shape, (std::vector<uint64_t>{4}));
}

TEST(ToGguf, EqualHeadsStayInPlace) {
  Checkpoint input = qwen35();
  JsonValue config = qwen35_config();
  config["linear_num_key_heads"] = 4;
  config["linear_key_head_dim"] = 1;
  input.set_document("config.json", config.dump());
  auto out = convert(std::move(input));
  ASSERT_TRUE(out.has_value());
  EXPECT_TRUE(find(*out, "blk.0.ssm_out.weight").is_stored());
  EXPECT_EQ(floats(find(*out, "blk.0.ssm_dt.bias")), (std::vector<float>{0, 1, 2, 3}));
}

TEST(ToGguf, NormsGetOneAddedInTheTypeOfTheSource) {
  auto out = convert(qwen35(Dtype::kBF16));
  ASSERT_TRUE(out.has_value());
  const Tensor& norm = find(*out, "blk.1.attn_q_norm.weight");
  ASSERT_EQ(norm.recoded().ops.size(), 1u);
  EXPECT_EQ(std::get<AddScalar>(norm.recoded().ops[0]).value, 1.0f);
  EXPECT_EQ(norm.codec->name, "f32");
  EXPECT_TRUE(find(*out, "blk.0.ssm_norm.weight").recoded().ops.empty());
  auto half = convert(qwen35(Dtype::kF16));
  ASSERT_TRUE(half.has_value());
  const auto& ops = find(*half, "blk.1.attn_q_norm.weight").recoded().ops;
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(std::get<RoundTo>(ops[1]).dtype, Dtype::kF16);
}

TEST(ToGguf, OutTypeIsThatOfTheSource) {
  const std::pair<Dtype, uint64_t> rows[] = {
      {Dtype::kF32, 0}, {Dtype::kF16, 1}, {Dtype::kBF16, 32}};
  for (const auto& [dtype, type] : rows) {
    auto out = convert(qwen35(dtype));
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ(out->metadata.find_unsigned("general.file_type"), type);
    const Tensor& tensor = find(*out, "blk.0.ffn_down.weight");
    EXPECT_TRUE(tensor.is_stored());
    EXPECT_EQ(tensor.codec->parts[0].dtype, dtype);
    EXPECT_EQ(find(*out, "blk.0.ssm_conv1d.weight").codec->name, "f32");
    EXPECT_EQ(find(*out, "blk.0.ssm_dt.bias").codec->name, "f32");
  }
}

TEST(ToGguf, WiderSourcesRoundThroughTheOutType) {
  auto out = convert(qwen35(), {{"outtype", "bf16"}});
  ASSERT_TRUE(out.has_value());
  const Tensor& tensor = find(*out, "blk.0.ffn_down.weight");
  ASSERT_EQ(tensor.recoded().ops.size(), 1u);
  EXPECT_EQ(std::get<RoundTo>(tensor.recoded().ops[0]).dtype, Dtype::kBF16);
  EXPECT_EQ(tensor.codec->name, "bf16");
}

TEST(ToGguf, RowsThatAreNoBlocksOfQ8BecomeF16) {
  Checkpoint input = qwen35();
  auto out = convert(std::move(input), {{"outtype", "q8_0"}});
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->metadata.find_unsigned("general.file_type"), 7u);
  EXPECT_EQ(find(*out, "blk.0.ffn_down.weight").codec->name, "f16");
}

TEST(ToGguf, Qwen35Keys) {
  auto out = convert(qwen35());
  ASSERT_TRUE(out.has_value());
  const std::vector<std::string> expected = {"general.architecture",
                                             "general.type",
                                             "general.name",
                                             "general.size_label",
                                             "qwen35.block_count",
                                             "qwen35.context_length",
                                             "qwen35.embedding_length",
                                             "qwen35.feed_forward_length",
                                             "qwen35.attention.head_count",
                                             "qwen35.attention.head_count_kv",
                                             "qwen35.rope.dimension_sections",
                                             "qwen35.rope.freq_base",
                                             "qwen35.attention.layer_norm_rms_epsilon",
                                             "qwen35.attention.key_length",
                                             "qwen35.attention.value_length",
                                             "general.file_type",
                                             "qwen35.ssm.conv_kernel",
                                             "qwen35.ssm.state_size",
                                             "qwen35.ssm.group_count",
                                             "qwen35.ssm.time_step_rank",
                                             "qwen35.ssm.inner_size",
                                             "qwen35.attention.recurrent_layers",
                                             "qwen35.full_attention_interval",
                                             "qwen35.rope.dimension_count",
                                             "general.quantization_version",
                                             "tokenizer.ggml.model",
                                             "tokenizer.ggml.pre",
                                             "tokenizer.ggml.tokens",
                                             "tokenizer.ggml.token_type",
                                             "tokenizer.ggml.merges",
                                             "tokenizer.ggml.eos_token_id"};
  EXPECT_EQ(keys(out->metadata), expected);
  EXPECT_EQ(out->metadata.find_unsigned("qwen35.ssm.inner_size"), 12u);
  EXPECT_EQ(out->metadata.find_unsigned("qwen35.rope.dimension_count"), 1u);
  const auto& flags =
      std::get<MetaArray>(out->metadata.find("qwen35.attention.recurrent_layers")->value);
  EXPECT_EQ(flags, make_bool_array({true, false}));
}

TEST(ToGguf, MultiTokenPredictionBecomesLayers) {
  Checkpoint input = qwen35();
  for (const char* p : {"mtp.", "model.mtp."}) {
    Checkpoint with = input;
    const std::string prefix = p;
    add(with, counting(prefix + "fc.weight", {4, 8}));
    add(with, counting(prefix + "pre_fc_norm_hidden.weight", {4}));
    add(with, counting(prefix + "norm.weight", {4}));
    add(with, counting(prefix + "layers.0.self_attn.o_proj.weight", {4, 4}));
    add(with, counting(prefix + "layers.1.input_layernorm.weight", {4}));
    auto out = convert(with);
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_EQ(out->metadata.find_unsigned("qwen35.block_count"), 4u);
    EXPECT_EQ(out->metadata.find_unsigned("qwen35.nextn_predict_layers"), 2u);
    EXPECT_EQ(find(*out, "blk.2.nextn.eh_proj.weight").shape, (std::vector<uint64_t>{4, 8}));
    EXPECT_FALSE(find(*out, "blk.2.nextn.hnorm.weight").recoded().ops.empty());
    EXPECT_FALSE(find(*out, "blk.2.nextn.shared_head_norm.weight").recoded().ops.empty());
    find(*out, "blk.2.attn_output.weight");
    find(*out, "blk.3.attn_norm.weight");
    const auto& flags =
        std::get<MetaArray>(out->metadata.find("qwen35.attention.recurrent_layers")->value);
    EXPECT_EQ(flags.count(), 4u);
    auto without = convert(with, {{"mtp", "no"}});
    ASSERT_TRUE(without.has_value());
    EXPECT_EQ(names(*without), names(*convert(input)));
    EXPECT_EQ(without->metadata.find_unsigned("qwen35.block_count"), 2u);
    EXPECT_EQ(without->metadata.find("qwen35.nextn_predict_layers"), nullptr);
  }
}

TEST(ToGguf, TextPartOfAVisionModel) {
  Checkpoint input = qwen35();
  input.set_document("config.json",
                     JsonValue{{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                               {"text_config", qwen35_config()},
                               {"hidden_size", 999}}
                         .dump());
  Checkpoint text = input;
  for (Tensor& tensor : input.tensors) tensor.name.insert(6, "language_model.");
  add(input, counting("model.visual.blocks.0.attn.qkv.weight", {3, 3}));
  add(input, counting("model.visual.patch_embed.proj.weight", {2, 3, 2, 2, 2}, Dtype::kI64));
  auto out = convert(std::move(input));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(out->tensors.size(), text.tensors.size());
  EXPECT_EQ(out->metadata.find_unsigned("qwen35.embedding_length"), 4u);
}

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
  auto out = convert(moe(true), {{"outtype", "f32"}});
  ASSERT_TRUE(out.has_value()) << out.error().text();
  const Tensor& gate = find(*out, "blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(gate.shape, (std::vector<uint64_t>{3, 2, 4}));
  EXPECT_EQ(first_column(gate), (std::vector<float>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(first_column(find(*out, "blk.0.ffn_up_exps.weight")),
            (std::vector<float>{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(find(*out, "blk.0.ffn_down_exps.weight").shape, (std::vector<uint64_t>{3, 4, 2}));
  EXPECT_EQ(find(*out, "blk.0.ffn_gate_inp.weight").codec->name, "f32");
  const Tensor& shared = find(*out, "blk.0.ffn_gate_inp_shexp.weight");
  EXPECT_EQ(shared.codec->name, "f32");
  EXPECT_EQ(shared.shape, (std::vector<uint64_t>{1, 4}));
  EXPECT_EQ(out->metadata.find_unsigned("qwen35moe.expert_count"), 3u);
  EXPECT_EQ(out->metadata.find_unsigned("qwen35moe.expert_feed_forward_length"), 2u);
  EXPECT_EQ(out->metadata.find("qwen35moe.feed_forward_length"), nullptr);
}

TEST(ToGguf, SeparateExpertsAreStacked) {
  auto out = convert(moe(false), {{"outtype", "f32"}});
  ASSERT_TRUE(out.has_value()) << out.error().text();
  const std::vector<std::string> expected = {
      "token_embd.weight",        "blk.0.ffn_down_exps.weight", "blk.0.ffn_gate_exps.weight",
      "blk.0.ffn_up_exps.weight", "blk.0.ffn_gate_inp.weight",  "blk.0.ffn_gate_inp_shexp.weight"};
  EXPECT_EQ(names(*out), expected);
  EXPECT_EQ(find(*out, "blk.0.ffn_down_exps.weight").shape, (std::vector<uint64_t>{3, 4, 2}));
  EXPECT_EQ(first_column(find(*out, "blk.0.ffn_up_exps.weight")),
            (std::vector<float>{0, 1, 0, 1, 0, 1}));
  Checkpoint missing = moe(false);
  missing.tensors.pop_back();
  EXPECT_NE(error_of(missing).find("layer 0 has 8 tensors of experts; expected 3 x 3"),
            std::string::npos)
      << error_of(missing);
  Checkpoint other = moe(false);
  other.tensors.back() = counting(other.tensors.back().name, {2, 2});
  EXPECT_NE(error_of(other).find("shape [2, 2]"), std::string::npos) << error_of(other);
}

JsonValue llama_config() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 8},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"vocab_size", 5},
          {"rope_theta", 500000.0}};
}

Checkpoint llama(const JsonValue& config) {
  Checkpoint out = base(config);
  add(out, counting("model.embed_tokens.weight", {5, 8}));
  add(out, counting("model.layers.0.self_attn.q_proj.weight", {8, 8}));
  add(out, counting("model.layers.0.self_attn.q_proj.bias", {8}));
  add(out, counting("model.layers.0.self_attn.k_proj.weight", {4, 8}));
  add(out, counting("model.layers.0.post_attention_layernorm.weight", {8}));
  add(out, counting("model.layers.0.self_attn.rotary_emb.inv_freq", {2}));
  return out;
}

TEST(ToGguf, LlamaRowsBecomePairs) {
  auto out = convert(llama(llama_config()));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(first_column(find(*out, "blk.0.attn_q.weight")),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(floats(find(*out, "blk.0.attn_q.bias")), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(first_column(find(*out, "blk.0.attn_k.weight")), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_TRUE(find(*out, "blk.0.ffn_norm.weight").is_stored());
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

TEST(ToGguf, ModelTypeStandsInForArchitectures) {
  JsonValue config = llama_config();
  config.erase("architectures");
  config["model_type"] = "llama";
  EXPECT_EQ(error_of(llama(config)), "");
}

TEST(ToGguf, RefusesWhatItDoesNotKnow) {
  JsonValue config = llama_config();
  config["architectures"] = {"GPT7ForCausalLM"};
  const std::string unknown = error_of(llama(config));
  EXPECT_NE(unknown.find("GPT7ForCausalLM"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("Qwen3_5MoeForConditionalGeneration"), std::string::npos) << unknown;

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

  EXPECT_NE(error_of(llama(llama_config()), {{"outtype", "q4_k"}}).find("outtype"),
            std::string::npos);
  EXPECT_NE(error_of(llama(llama_config()), {{"mtp", "maybe"}}).find("mtp"), std::string::npos);
  Checkpoint bare = llama(llama_config());
  bare.documents.clear();
  EXPECT_NE(error_of(bare).find("no config.json"), std::string::npos);
}

TEST(ToGguf, RefusesShapesThatContradictTheConfig) {
  Checkpoint input = qwen35();
  find(input, "model.layers.0.linear_attn.in_proj_z.weight") =
      counting("model.layers.0.linear_attn.in_proj_z.weight", {13, 4});
  EXPECT_NE(error_of(input).find("has 13 rows; config.json makes it 12"), std::string::npos)
      << error_of(input);
  JsonValue config = qwen35_config();
  config["linear_num_value_heads"] = 5;
  input = qwen35();
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("no multiple"), std::string::npos) << error_of(input);
  config = qwen35_config();
  config["layer_types"] = {"linear_attention"};
  input = qwen35();
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("layer_types has 1 entries; expected 2"), std::string::npos);
}

TEST(ToGguf, RefusesMoreTokensThanRows) {
  Checkpoint input = llama(llama_config());
  JsonValue config = llama_config();
  config["vocab_size"] = 9;
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("9 tokens"), std::string::npos) << error_of(input);
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
