// to-gguf on small models of Qwen3.5: names, order, types, value changes, keys.
// Whole files against llama.cpp's converter: tests/pipeline and tests/interop.

#include <gtest/gtest.h>

#include "tests/transforms/gguf_models.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {
using namespace gguf_test;
namespace {

std::vector<std::string> gguf_keys(const Metadata& metadata) {
  std::vector<std::string> out;
  for (const MetaEntry& entry : metadata.entries) out.push_back(entry.key);
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
  EXPECT_EQ(names_of(*out), expected);
  EXPECT_EQ(out->format, "gguf");
  EXPECT_TRUE(out->documents.empty());
  EXPECT_EQ(tensor(*out, "blk.0.ssm_a").source_name, "model.layers.0.linear_attn.A_log");
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
  EXPECT_EQ(first_column(tensor(*out, "blk.0.attn_gate.weight")),
            (std::vector<float>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(
      first_column(tensor(*out, "blk.0.attn_qkv.weight")),
      (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 11, 12, 13, 17, 18, 19}));
  EXPECT_EQ(first_column(tensor(*out, "blk.0.ssm_alpha.weight")), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(floats(tensor(*out, "blk.0.ssm_dt.bias")), (std::vector<float>{0, 2, 1, 3}));
  const Tensor& conv = tensor(*out, "blk.0.ssm_conv1d.weight");
  EXPECT_EQ(conv.shape, (std::vector<uint64_t>{20, 2}));
  EXPECT_EQ(first_column(conv)[11], 14);
  const auto& ops = tensor(*out, "blk.0.ssm_out.weight").recoded().ops;
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(*std::get<PermuteColumns>(ops[0]).index,
            (std::vector<uint32_t>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  const Tensor& decay = tensor(*out, "blk.0.ssm_a");
  EXPECT_EQ(floats(*decay.recoded().from), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_TRUE(std::holds_alternative<SignedExp>(decay.recoded().ops.at(0)));
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
  EXPECT_TRUE(tensor(*out, "blk.0.ssm_out.weight").is_stored());
  EXPECT_EQ(floats(tensor(*out, "blk.0.ssm_dt.bias")), (std::vector<float>{0, 1, 2, 3}));
}

TEST(ToGguf, NormsGetOneAddedInTheTypeOfTheSource) {
  auto out = convert(qwen35(Dtype::kBF16));
  ASSERT_TRUE(out.has_value());
  const Tensor& norm = tensor(*out, "blk.1.attn_q_norm.weight");
  ASSERT_EQ(norm.recoded().ops.size(), 1u);
  EXPECT_EQ(std::get<AddScalar>(norm.recoded().ops[0]).value, 1.0f);
  EXPECT_EQ(norm.codec->name, "f32");
  EXPECT_TRUE(tensor(*out, "blk.0.ssm_norm.weight").recoded().ops.empty());
  auto half = convert(qwen35(Dtype::kF16));
  ASSERT_TRUE(half.has_value());
  const auto& ops = tensor(*half, "blk.1.attn_q_norm.weight").recoded().ops;
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
    const Tensor& down = tensor(*out, "blk.0.ffn_down.weight");
    EXPECT_TRUE(down.is_stored());
    EXPECT_EQ(down.codec->parts[0].dtype, dtype);
    EXPECT_EQ(tensor(*out, "blk.0.ssm_conv1d.weight").codec->name, "f32");
    EXPECT_EQ(tensor(*out, "blk.0.ssm_dt.bias").codec->name, "f32");
  }
}

TEST(ToGguf, WiderSourcesRoundThroughTheOutType) {
  auto out = convert(qwen35(), options({{"outtype", "bf16"}}));
  ASSERT_TRUE(out.has_value());
  const Tensor& down = tensor(*out, "blk.0.ffn_down.weight");
  ASSERT_EQ(down.recoded().ops.size(), 1u);
  EXPECT_EQ(std::get<RoundTo>(down.recoded().ops[0]).dtype, Dtype::kBF16);
  EXPECT_EQ(down.codec->name, "bf16");
}

TEST(ToGguf, StoresRowsThatAreNotWholeBlocksOfQ8AsF16) {
  Checkpoint input = qwen35();
  auto out = convert(std::move(input), options({{"outtype", "q8_0"}}));
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->metadata.find_unsigned("general.file_type"), 7u);
  EXPECT_EQ(tensor(*out, "blk.0.ffn_down.weight").codec->name, "f16");
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
  EXPECT_EQ(gguf_keys(out->metadata), expected);
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
    add(with, counting(prefix + "layers.0.self_attn.o_proj.weight", {4, 8}));
    add(with, counting(prefix + "layers.1.input_layernorm.weight", {4}));
    auto out = convert(with);
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_EQ(out->metadata.find_unsigned("qwen35.block_count"), 4u);
    EXPECT_EQ(out->metadata.find_unsigned("qwen35.nextn_predict_layers"), 2u);
    EXPECT_EQ(tensor(*out, "blk.2.nextn.eh_proj.weight").shape, (std::vector<uint64_t>{4, 8}));
    EXPECT_FALSE(tensor(*out, "blk.2.nextn.hnorm.weight").recoded().ops.empty());
    EXPECT_FALSE(tensor(*out, "blk.2.nextn.shared_head_norm.weight").recoded().ops.empty());
    EXPECT_NE(out->find_tensor("blk.2.attn_output.weight"), nullptr);
    EXPECT_NE(out->find_tensor("blk.3.attn_norm.weight"), nullptr);
    const auto& flags =
        std::get<MetaArray>(out->metadata.find("qwen35.attention.recurrent_layers")->value);
    EXPECT_EQ(flags.count(), 4u);
    auto without = convert(with, options({{"mtp", "no"}}));
    ASSERT_TRUE(without.has_value());
    EXPECT_EQ(names_of(*without), names_of(*convert(input)));
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

}  // namespace
}  // namespace ckpt
