// The quantization of a checkpoint's tensors, and documents that contradict it.
#include "transforms/packed/quant_summary.h"

#include <gtest/gtest.h>

#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;

// Headers alone: nothing reads the bytes.
void add_stored(Checkpoint& checkpoint, std::string name, std::string_view codec,
                std::vector<uint64_t> shape) {
  Tensor& tensor = checkpoint.tensors.emplace_back();
  tensor.name = std::move(name);
  tensor.codec = find_codec(all_codecs(), codec);
  tensor.shape = std::move(shape);
  Stored stored;
  stored.parts.resize(tensor.codec->parts.size());
  tensor.origin = std::move(stored);
}

// Two layers of an MLP as `codec`, with what else a layer has; embeddings, head and a norm.
Checkpoint model(std::string_view codec, const Names& companions) {
  Checkpoint out;
  out.format = "safetensors";
  add_stored(out, "lm_head.weight", "bf16", {64, 128});
  add_stored(out, "model.embed_tokens.weight", "bf16", {64, 128});
  for (const char* layer : {"model.layers.0.mlp.", "model.layers.1.mlp."}) {
    for (const char* name : {"gate_proj", "up_proj"}) {
      add_stored(out, std::string(layer) + name + ".weight", codec, {128, 128});
      for (const std::string& each : companions) {
        add_stored(out, std::string(layer) + name + each, "f32", {});
      }
    }
  }
  add_stored(out, "model.norm.weight", "bf16", {128});
  return out;
}

std::string stated(const std::string& algo) {
  return R"({"producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": {)"
         R"("kv_cache_quant_algo": null, "exclude_modules": ["lm_head"], "quant_algo": ")" +
         algo + R"("}})";
}
std::string embedded(const std::string& algo, const std::string& more = "") {
  return R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": ")" + algo +
         R"(", "ignore": ["lm_head"])" + more + "}}";
}

QuantSummary summarize(const Checkpoint& checkpoint) {
  auto out = summarize_quantization(checkpoint);
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

struct Known {
  const char* codec;
  Names companions;
  const char* algo;       // as a configuration says it
  const char* algorithm;  // as it is shown
};

TEST(QuantSummary, NamesTheAlgorithmOfEveryGroup) {
  const Known all[] = {
      {"nvfp4_modelopt", {".input_scale"}, "NVFP4", "NVFP4 (group 16)"},
      {"nvfp4_modelopt", {}, "W4A16_NVFP4", "W4A16_NVFP4 (group 16)"},
      {"nvfp4_modelopt", {".input_scale", ".pre_quant_scale"}, "NVFP4_AWQ", "NVFP4_AWQ (group 16)"},
      {"fp8_tensor", {".input_scale"}, "FP8", "FP8"},
      {"fp8_tensor_vector", {".input_scale"}, "FP8", "FP8"},
      {"fp8_channel", {}, "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PER_CHANNEL_PER_TOKEN"},
      {"fp8_block_scale", {}, "FP8_PB_WO", "FP8_PB_WO (blocks of 128 x 128)"},
      {"mxfp8", {}, "MXFP8", "MXFP8 (group 32)"},
      {"mxfp4_modelopt", {}, "MXFP4", "MXFP4 (group 32)"},
  };
  for (const Known& known : all) {
    Checkpoint checkpoint = model(known.codec, known.companions);
    checkpoint.set_document("hf_quant_config.json", stated(known.algo));
    checkpoint.set_document("config.json", embedded(known.algo));
    const QuantSummary found = summarize(checkpoint);
    EXPECT_TRUE(found.is_quantized);
    EXPECT_EQ(found.stated, known.algo);
    EXPECT_EQ(found.disagreements, Names()) << known.codec;
    ASSERT_EQ(found.groups.size(), 2u);
    EXPECT_EQ(found.groups[0].algorithm, "BF16");
    EXPECT_EQ(found.groups[0].names, (Names{"lm_head", "model.embed_tokens"}));
    EXPECT_EQ(found.groups[0].vectors, 1u);
    EXPECT_EQ(found.groups[1].algorithm, known.algorithm);
    EXPECT_EQ(found.groups[1].layers, 4u);
    EXPECT_EQ(found.groups[1].names, Names{"model.layers.{0,1}.mlp.{gate,up}_proj"});
    ASSERT_EQ(found.algorithms.size(), checkpoint.tensors.size());
    EXPECT_EQ(found.algorithms[2], known.algorithm);
    if (!known.companions.empty()) {
      EXPECT_EQ(found.algorithms[3], "");
    }
  }
}

TEST(QuantSummary, MixedFilesAreComparedLayerByLayer) {
  Checkpoint checkpoint = model("nvfp4_modelopt", {".input_scale"});
  const std::string layers = R"(, "quantized_layers": {
      "model.layers.0.mlp.gate_proj": {"quant_algo": "NVFP4", "group_size": 16},
      "model.layers.0.mlp.up_proj": {"quant_algo": "FP8"},
      "model.layers.1.mlp.gate_proj": {"quant_algo": "NVFP4", "group_size": 16}})";
  checkpoint.set_document("config.json", embedded("MIXED_PRECISION", layers));
  EXPECT_EQ(summarize(checkpoint).disagreements,
            (Names{"the configuration leaves them out, the tensors are NVFP4: 1 layers: "
                   "model.layers.1.mlp.up_proj",
                   "the configuration says FP8, the tensors are NVFP4: 1 layers: "
                   "model.layers.0.mlp.up_proj"}));
}

TEST(QuantSummary, ReportsContradictoryDocuments) {
  Checkpoint checkpoint = model("nvfp4_modelopt", {".input_scale"});
  checkpoint.set_document("hf_quant_config.json", stated("MIXED_PRECISION"));
  checkpoint.set_document("config.json", embedded("NVFP4"));
  EXPECT_EQ(summarize(checkpoint).disagreements,
            Names{"algorithm: hf_quant_config.json says MIXED_PRECISION, config.json says NVFP4"});
  checkpoint.set_document("hf_quant_config.json", stated("NVFP4"));
  checkpoint.set_document("config.json", "{}");
  const QuantSummary alone = summarize(checkpoint);
  EXPECT_EQ(alone.stated, "NVFP4");
  EXPECT_EQ(alone.disagreements,
            Names{"hf_quant_config.json alone says NVFP4; config.json has no quantization_config"});
}

TEST(QuantSummary, ReportsLayersThatContradictTheList) {
  Checkpoint checkpoint = model("nvfp4_modelopt", {".input_scale"});
  add_stored(checkpoint, "model.layers.0.mlp.down_proj.weight", "bf16", {128, 128});
  checkpoint.set_document("config.json",
                          R"({"quantization_config": {"quant_method": "modelopt",
      "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.1*"]}})");
  EXPECT_EQ(summarize(checkpoint).disagreements,
            (Names{"the configuration leaves them out, the tensors are NVFP4: 2 layers: "
                   "model.layers.1.mlp.{gate,up}_proj",
                   "the configuration says NVFP4, the tensors are BF16: 1 layers: "
                   "model.layers.0.mlp.down_proj"}));
}

TEST(QuantSummary, CompressedTensorsAndCaches) {
  Checkpoint checkpoint = model("nvfp4_ct", {".input_global_scale"});
  checkpoint.set_document("config.json", R"({"quantization_config": {
      "quant_method": "compressed-tensors", "version": "0.19.0", "format": "nvfp4-pack-quantized",
      "ignore": ["lm_head", "model.layers.1.mlp.up_proj"],
      "kv_cache_scheme": {"num_bits": 8, "type": "float"}}})");
  QuantSummary found = summarize(checkpoint);
  EXPECT_EQ(found.stated, "compressed-tensors nvfp4-pack-quantized");
  EXPECT_EQ(found.producer, "compressed-tensors 0.19.0");
  EXPECT_EQ(found.kv_cache, "FP8, without scales: servers take 1");
  EXPECT_EQ(found.disagreements.size(), 1u);
  add_stored(checkpoint, "model.layers.0.self_attn.k_proj.k_scale", "f32", {});
  EXPECT_EQ(summarize(checkpoint).kv_cache, "FP8, 1 scales");
  checkpoint.set_document("config.json", "{}");
  EXPECT_EQ(summarize(checkpoint).disagreements,
            (Names{"no document says that weights are quantized",
                   "1 scales of a KV cache, of which no document speaks"}));
}

TEST(QuantSummary, PlainFloatsSayNothing) {
  const QuantSummary found = summarize(model("bf16", {}));
  EXPECT_FALSE(found.is_quantized);
  EXPECT_EQ(found.stated, "");
  EXPECT_EQ(found.disagreements, Names());
}

TEST(QuantSummary, RejectsInvalidJson) {
  Checkpoint checkpoint = model("bf16", {});
  checkpoint.set_document("config.json", std::string(100000, '['));
  EXPECT_EQ(summarize_quantization(checkpoint).error().code, ErrorCode::kCorrupt);
}

TEST(NameRanges, GridsAndGaps) {
  EXPECT_EQ(summarize_names({"a.0.x", "a.1.x", "a.2.x", "a.4.x", "b"}),
            (Names{"a.{0..2,4}.x", "b"}));
  // Experts 0 and 1 in layer 0, only 1 in layer 3: no grid.
  EXPECT_EQ(summarize_names({"l.0.e.0.w", "l.0.e.1.w", "l.3.e.1.w"}),
            (Names{"l.0.e.{0,1}.w", "l.3.e.1.w"}));
  EXPECT_EQ(summarize_names({"l.0.a_proj", "l.0.b_proj", "l.1.a_proj"}),
            (Names{"l.{0,1}.a_proj", "l.0.b_proj"}));
  EXPECT_EQ(summarize_names({"l.0.fc1", "l.0.fc2"}), Names{"l.0.{fc1,fc2}"});
  EXPECT_EQ(summarize_names({"l.0.proj", "l.0.q_proj"}), Names{"l.0.{proj,q_proj}"});
  EXPECT_EQ(summarize_names({}), Names());
}

// A name of two thousand numbers made the summary as deep, and its copies larger than memory.
TEST(SummarizeNames, NumbersWithoutEnd) {
  std::string ending;
  for (int i = 0; i < 2000; ++i) ending += ".0";
  Names names;
  for (int i = 0; i < 200; ++i) names.push_back(fmt::format("a.{}{}", i, ending));
  EXPECT_EQ(summarize_names(names), Names{"a.{0..199}" + ending});
}

}  // namespace
}  // namespace ckpt
