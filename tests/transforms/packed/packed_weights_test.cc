// Which tensors belong to weights that no codec reads, and which tables are not weights at all.
#include "transforms/packed/packed_weights.h"

#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
namespace {

struct Entry {
  std::string name;
  Dtype dtype;
  std::vector<uint64_t> shape;
  const char* codec = nullptr;  // null: the plain one of `dtype`
};

// The name of the tensor that is found; "" when every weight is read.
std::string found_in(const std::vector<Entry>& entries, const std::string& config = "{}") {
  Checkpoint checkpoint;
  checkpoint.format = "safetensors";
  checkpoint.set_document("config.json", config);
  for (const Entry& entry : entries) {
    Tensor& tensor = checkpoint.tensors.emplace_back();
    tensor.name = entry.name;
    tensor.shape = entry.shape;
    tensor.codec = entry.codec == nullptr ? &plain_codec(all_codecs(), entry.dtype)
                                          : find_codec(all_codecs(), entry.codec);
  }
  const auto found = find_unread_weight(checkpoint);
  EXPECT_TRUE(found.has_value());
  EXPECT_EQ(check_weights_are_read(checkpoint).has_value(), *found == nullptr);
  return *found == nullptr ? "" : (*found)->name;
}

std::string says(const std::string& method) {
  return R"({"quantization_config": {"quant_method": ")" + method + R"("}})";
}

TEST(PackedWeights, CodesAreNamedBeforeTheirScales) {
  using enum Dtype;
  EXPECT_EQ(found_in({{"a.scales", kF16, {2, 8}}, {"a.qweight", kI32, {8, 1}}}), "a.qweight");
  EXPECT_EQ(found_in({{"a.P_scales", kU8, {2, 4, 1}}, {"a.P_blocks", kU8, {2, 4, 1, 16}}}),
            "a.P_blocks");
  EXPECT_EQ(found_in({{"a.P_weight_scale", kF8E4M3, {2, 1, 4}}, {"a.P", kU8, {2, 8, 4}}}), "a.P");
  EXPECT_EQ(found_in({{"a.weight", kU8, {64, 1}}, {"a.weight.absmax", kF32, {2}}}), "a.weight");
  EXPECT_EQ(found_in({{"a.weight", kI8, {8, 8}}, {"a.SCB", kF32, {8}}}), "a.weight");
  EXPECT_EQ(found_in({{"a.W_q", kU8, {8, 8}}, {"a.scale", kF16, {8}}, {"a.zero", kF16, {8}}}),
            "a.W_q");
  EXPECT_EQ(found_in({{"a.weight._data", kI8, {8, 8}}, {"a.weight._scale", kF32, {8, 1}}}),
            "a.weight._data");
  EXPECT_EQ(found_in({{"a.weight", kF8E4M3, {8, 8}}}), "a.weight");
  // Codes are gone, and what scaled them is left.
  EXPECT_EQ(found_in({{"a.weight_scale", kF32, {8, 1}}}), "a.weight_scale");
}

TEST(PackedWeights, AMethodThatIsNotKnownMayPackIntoAnyTable) {
  using enum Dtype;
  const std::vector<Entry> tensors = {{"a.trellis", kI16, {4, 4, 32}}, {"a.suh", kF16, {64}}};
  EXPECT_EQ(found_in(tensors), "");
  EXPECT_EQ(found_in(tensors, says("exl3")), "a.trellis");
  EXPECT_EQ(found_in({{"a.Qidxs", kI64, {8, 8}}}, says("quip")), "a.Qidxs");
  EXPECT_EQ(found_in(tensors, R"({"text_config": )" + says("exl3") + "}"), "a.trellis");
}

// Stacks of experts are not called "weight", and their scales may be missing.
TEST(PackedWeights, CodesOfExpertsAreWeightsWithoutTheirScales) {
  using enum Dtype;
  for (const char* method : {"fp8", "fbgemm_fp8", "modelopt", "compressed-tensors", "mxfp4"}) {
    for (const char* name : {"mlp.experts.down_proj", "mlp.experts.gate_up_proj"}) {
      for (const Dtype dtype : {kF8E4M3, kF8E5M2, kU8, kI8, kI32}) {
        EXPECT_EQ(found_in({{name, dtype, {2, 8, 8}}}, says(method)), name) << method;
      }
    }
  }
}

// Sparse and Marlin layouts of methods whose other layouts are read.
TEST(PackedWeights, WhereCodesAreDeclaredAndNoneAreFoundEveryTableMayBeThem) {
  using enum Dtype;
  EXPECT_EQ(found_in({{"a.compressed", kBF16, {40, 48}}, {"a.bitmask", kU8, {40, 12}}},
                     says("compressed-tensors")),
            "a.bitmask");
  EXPECT_EQ(found_in({{"a.B", kI32, {6, 80}}, {"a.s", kF16, {3, 40}}}, says("gptq")), "a.B");
  EXPECT_EQ(found_in({{"embeddings.position_ids", kI64, {1, 512}}}, says("gptq")), "");
}

TEST(PackedWeights, IgnoresTablesWithoutScales) {
  using enum Dtype;
  EXPECT_EQ(found_in({{"h.0.attn.bias", kU8, {1, 1, 64, 64}},
                      {"a.weight", kF8E4M3, {128, 128}, "fp8_block"}},
                     says("gptq")),
            "");
  EXPECT_EQ(found_in({{"embeddings.position_ids", kI64, {1, 512}},
                      {"h.0.attn.bias", kU8, {1, 1, 64, 64}},
                      {"attn.relative_position_index", kI64, {49, 49}},
                      {"attn.logit_scale", kF32, {4, 1, 1}},
                      {"a.mask", kBool, {4, 4}},
                      {"a.weight", kBF16, {8, 8}}}),
            "");
  // A router that looks experts up by token, with weights in blocks of FP8.
  EXPECT_EQ(found_in({{"ffn.gate.tid2eid", kI32, {1024, 6}},
                      {"a.weight", kF8E4M3, {128, 128}, "fp8_block"}},
                     says("fp8")),
            "");
  // Scales of a cache and of inputs accompany weights of every kind.
  EXPECT_EQ(found_in({{"attn.k_scale", kF32, {}}, {"attn.table", kI32, {4, 4}}}), "");
}

TEST(PackedWeights, OfGgufEveryTypeIsOneOfItsOwn) {
  Checkpoint checkpoint;
  checkpoint.format = "gguf";
  Tensor& tensor = checkpoint.tensors.emplace_back();
  tensor.name = "blk.0.ffn_up.weight";
  tensor.shape = {4, 4};
  tensor.codec = &plain_codec(all_codecs(), Dtype::kI8);
  const auto found = find_unread_weight(checkpoint);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, nullptr);
}

}  // namespace
}  // namespace ckpt
