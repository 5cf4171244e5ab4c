// Adapters merged by PEFT and by the step lora: equal bytes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/transforms/lora/adapters.h"

namespace ckpt {
namespace {

using lora_test::adapter_of;
using lora_test::expect_hashes;
using lora_test::expect_merged;
using lora_test::merged_hashes;
using lora_test::RawTensor;

TEST(LoraMerge, EqualsPeft) {
  expect_merged("qwen3-micro", adapter_of("plain"), "plain");
  expect_merged("llama-micro", adapter_of("plain-bf16"), "plain-bf16");
  expect_merged("llama-micro", adapter_of("rslora"), "rslora");
  expect_merged("qwen3-micro", adapter_of("trainable-tokens"), "trainable-tokens");
  expect_merged("qwen35vl-micro", adapter_of("vl-lora-bias"), "vl-lora-bias");
}

TEST(LoraMerge, EqualsPeftForExpertsOfAllLayouts) {
  expect_merged("qwen35moe-micro", adapter_of("experts"), "experts");
  expect_merged("qwen35moe-micro", adapter_of("experts-peft-0.18"), "experts-peft-0.18");
  expect_merged("qwen35moe-micro", adapter_of("experts-unsloth-old"), "experts");
}

// Routers and stacks of some layers, next to modules: keys of patterns are the parameters' names,
// the products are rounded first, and lists of modules and layers are for modules alone.
TEST(LoraMerge, EqualsPeftForParameters) {
  expect_merged("lora/models/qwen3-moe", adapter_of("parameters"), "parameters");
  expect_merged("lora/models/qwen3-moe", adapter_of("linear-parameter"), "linear-parameter");
}

struct MergedAdapter {
  const char* base;
  const char* adapter;
};

void PrintTo(const MergedAdapter& each, std::ostream* out) { *out << each.adapter; }

class AdapterOfPeft : public testing::TestWithParam<MergedAdapter> {};

TEST_P(AdapterOfPeft, MergesAsPeftDoes) {
  expect_merged(GetParam().base, adapter_of(GetParam().adapter), GetParam().adapter);
}

// These adapters have modules that transformers 5 renames, a convolution, experts without a gate,
// tied embeddings, several spellings of one module, and rows for new tokens.
INSTANTIATE_TEST_SUITE_P(
    All, AdapterOfPeft,
    testing::Values(MergedAdapter{"families/gemma3-vl/hf", "gemma3-vl"},
                    MergedAdapter{"families/nemotron-h/hf", "nemotron-h"},
                    MergedAdapter{"families/nemotron-h-moe/hf", "nemotron-h-experts"},
                    MergedAdapter{"lora/models/hy-v3", "hy-v3"},
                    MergedAdapter{"lora/models/kimi-linear", "kimi-linear"},
                    MergedAdapter{"lora/models/lfm2-vl", "lfm2-vl"},
                    MergedAdapter{"lora/models/glm4v-moe", "glm4v-moe"},
                    MergedAdapter{"families/smollm3/hf", "tied-saved"},
                    MergedAdapter{"families/smollm3/hf", "tied-product"},
                    MergedAdapter{"lora/models/arcee", "saved-embeddings"},
                    MergedAdapter{"lora/models/arcee", "grown-saved"},
                    MergedAdapter{"lora/models/arcee", "grown-tokens"}));

JsonValue config_of(const Checkpoint& checkpoint) {
  return *checkpoint.find_document("config.json")->values().value();
}

TEST(LoraMerge, GrowsTheVocabulary) {
  for (const char* name : {"grown-saved", "grown-tokens"}) {
    const Checkpoint after = lora_test::merged("lora/models/arcee", adapter_of(name));
    EXPECT_EQ(step_test::tensor(after, "lm_head.weight").rows(), 288u);
    EXPECT_EQ(config_of(after)["vocab_size"], 288);
  }
}

TEST(LoraMerge, TakesTheTokenizerOfAGrownVocabulary) {
  const TemporaryFolder folder;
  for (const char* file : {"adapter_config.json", "adapter_model.safetensors"}) {
    std::filesystem::copy(adapter_of("grown-tokens") / file, folder / file);
  }
  write_file(folder / "tokenizer_config.json", R"({"added": "here"})");
  const Checkpoint after = lora_test::merged("lora/models/arcee", folder.path());
  ASSERT_NE(after.find_document("tokenizer_config.json"), nullptr);
  EXPECT_EQ(after.find_document("tokenizer_config.json")->text(), R"({"added": "here"})");
}

TEST(LoraMerge, MakesAClassifierOfAModelAndItsHead) {
  const Checkpoint after = lora_test::merged("lora/models/arcee", adapter_of("reward-model"));
  for (const auto& [name, hash] : merged_hashes("reward-model")) {
    EXPECT_EQ(lora_test::hash_of(step_test::tensor(after, name)), hash) << name;
  }
  EXPECT_FALSE(after.has_head());
  const std::string& home = step_test::tensor(after, "score.weight").home;
  EXPECT_TRUE(home.empty() || home == "model.safetensors") << home;  // not the adapter's file
  EXPECT_EQ(config_of(after)["architectures"], JsonValue({"ArceeForSequenceClassification"}));
  EXPECT_EQ(config_of(after)["num_labels"], 1);
}

TEST(LoraMerge, ReadsPatternsAndTrainedBiases) {
  expect_merged("llama-micro", adapter_of("patterns"), "patterns");
  expect_merged("qwen35vl-micro", adapter_of("vl-vision-bias"), "vl-vision-bias");
}

// The tensors of an adapter in testdata, to be written again with others.
std::vector<RawTensor> tensors_of_adapter(const std::string& name) {
  const Checkpoint stored = step_test::open(adapter_of(name) / "adapter_model.safetensors").value();
  std::vector<RawTensor> out;
  for (const Tensor& each : stored.tensors) {
    out.push_back(
        {each.name, each.codec->name == "bf16" ? "BF16" : "F32", each.shape, part_bytes(each)});
  }
  return out;
}

void write_again(const std::filesystem::path& folder, const std::string& name,
                 const std::vector<RawTensor>& tensors) {
  lora_test::write_safetensors(folder / "adapter_model.safetensors", tensors);
  write_file(folder / "adapter_config.json", read_file(adapter_of(name) / "adapter_config.json"));
}

constexpr const char* kSavedPrefix = "base_model.model.";
constexpr const char* kBothEnds[] = {"lm_head", "model.embed_tokens"};

// PEFT stores copies of the embeddings that it changes.
TEST(LoraMerge, IgnoresCopiesOfTheBaseAsPeftDoes) {
  const TemporaryFolder folder;
  const Checkpoint base = step_test::open(testdata("llama-micro")).value();
  std::vector<RawTensor> tensors = tensors_of_adapter("embedding");
  for (const std::string end : kBothEnds) {
    const Tensor& weight = step_test::tensor(base, end + ".weight");
    tensors.push_back(
        {kSavedPrefix + end + ".base_layer.weight", "BF16", weight.shape, part_bytes(weight)});
  }
  write_again(folder.path(), "embedding", tensors);
  expect_merged("llama-micro", folder.path(), "embedding");
  expect_merged("llama-micro", adapter_of("embedding"), "embedding");
}

// Products next to whole weights, which replace the model's.
TEST(LoraMerge, ReplacesModulesToSaveAsPeftDoes) {
  const TemporaryFolder folder;
  std::vector<RawTensor> tensors = tensors_of_adapter("modules-to-save");
  auto expected = merged_hashes("modules-to-save");
  for (const std::string end : kBothEnds) {
    std::string bytes(size_t{1024} * 256 * 2, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 61 + end.size());
    expected[end + ".weight"] = sha256_of(bytes);
    tensors.push_back({kSavedPrefix + end + ".weight", "BF16", {1024, 256}, std::move(bytes)});
  }
  write_again(folder.path(), "modules-to-save", tensors);
  expect_hashes("qwen3-micro", folder.path(), expected);
}

constexpr const char* kConv1dModel = "lora/models/gpt2";

// The weights of GPT-2 are [inputs, outputs]: products of modules are turned, those of parameters
// are as they are.
TEST(LoraMerge, EqualsPeftForConv1d) {
  for (const char* name : {"conv1d", "conv1d-dora", "conv1d-parameter"}) {
    expect_merged(kConv1dModel, adapter_of(name), name);
  }
}

TEST(LoraMerge, AsksTheClassForTheAxesAndNotTheAdapter) {
  for (const char* name : {"conv1d", "conv1d-dora"}) {
    const TemporaryFolder folder;
    write_again(folder.path(), name, tensors_of_adapter(name));
    std::string config = read_file(adapter_of(name) / "adapter_config.json");
    const std::string flag = R"("fan_in_fan_out": true)";
    const size_t at = config.find(flag);
    ASSERT_NE(at, config.npos);
    config.replace(at, flag.size(), R"("fan_in_fan_out": false)");
    write_file(folder / "adapter_config.json", config);
    expect_merged(kConv1dModel, folder.path(), name);
  }
}

// The files of GPT2Model, as OpenAI's, have no "transformer.".
TEST(LoraMerge, AdaptersOfTheClassWithAHeadFitFilesOfTheOneWithout) {
  Checkpoint base = step_test::open(testdata(kConv1dModel)).value();
  constexpr std::string_view kFront = "transformer.";
  for (Tensor& each : base.tensors) each.name.erase(0, kFront.size());
  const Checkpoint after = step_test::settle(
      step_test::run("lora", base, step_test::options({{"from", adapter_of("conv1d").string()}})));
  for (const auto& [name, hash] : merged_hashes("conv1d")) {
    EXPECT_EQ(lora_test::hash_of(step_test::tensor(after, name.substr(kFront.size()))), hash)
        << name;
  }
}

// The adapter has a layer's experts as a stack, the model's files have them one by one.
TEST(LoraMerge, ReplacesStackedExpertsAsPeftDoes) {
  expect_merged("lora/models/qwen3-moe", adapter_of("saved-experts"), "saved-experts");
}

// PEFT names modules after the classes of transformers 5, and files have older names: other words,
// other projections of single experts, and stacks that are weights.
TEST(LoraMerge, NamesOfClassesFindOlderNamesOfFiles) {
  for (const std::string name : {"mixtral", "phimoe", "granite-moe"}) {
    expect_merged("lora/models/" + name, adapter_of(name), name);
  }
}

std::string inserted(std::string name, std::string_view before, std::string_view words) {
  return name.insert(name.find(before), words);
}

// Trained on the text class alone: the same weights in the model that has a vision tower.
TEST(LoraMerge, AdaptersOfATextClassFitTheModelAroundIt) {
  expect_merged("qwen35-micro", adapter_of("text-only-for-vl"), "text-only-for-vl");
  std::map<std::string, std::string> expected;
  for (const auto& [name, hash] : merged_hashes("text-only-for-vl")) {
    expected[inserted(name, "layers.", "language_model.")] = hash;
  }
  expect_hashes("qwen35vl-micro", adapter_of("text-only-for-vl"), expected);
}

TEST(LoraMerge, AdaptersOfAModelWithATowerFitItsTextClass) {
  const TemporaryFolder folder;
  std::vector<RawTensor> tensors = tensors_of_adapter("text-only-for-vl");
  for (RawTensor& each : tensors) each.name = inserted(each.name, "layers.", "language_model.");
  write_again(folder.path(), "text-only-for-vl", tensors);
  expect_merged("qwen35-micro", folder.path(), "text-only-for-vl");
  std::map<std::string, std::string> expected;
  for (const auto& [name, hash] : merged_hashes("text-only-for-vl")) {
    expected[inserted(name, "layers.", "language_model.")] = hash;
  }
  expect_hashes("qwen35vl-micro", folder.path(), expected);
}

// A value that PEFT rounds otherwise, because it sums the squares of a norm in another order.
struct RoundedByPeft {
  const char* tensor;
  size_t at;
  uint16_t bits;  // BF16
};
constexpr RoundedByPeft kRoundedByPeft[] = {
    {"model.layers.2.self_attn.k_proj.weight", 31063, 15265},
    {"model.layers.2.self_attn.o_proj.weight", 30831, 48499},
};

// All values of the six weights but these two are PEFT's, and these two are the number next to it.
TEST(LoraMerge, DoraDiffersFromPeftByOneUlpOfTwoValues) {
  const auto expected = merged_hashes("dora-rslora-bf16");
  EXPECT_EQ(expected.size(), 6u);
  const Checkpoint after = lora_test::merged("qwen3-micro", adapter_of("dora-rslora-bf16"));
  for (const auto& [name, hash] : expected) {
    std::string bytes = part_bytes(step_test::tensor(after, name));
    for (const RoundedByPeft& each : kRoundedByPeft) {
      if (name != each.tensor) continue;
      uint16_t ours = 0;
      std::memcpy(&ours, bytes.data() + 2 * each.at, sizeof ours);
      EXPECT_LE(std::abs(int{ours} - int{each.bits}), 1) << name;
      std::memcpy(bytes.data() + 2 * each.at, &each.bits, sizeof each.bits);
    }
    EXPECT_EQ(sha256_of(bytes), hash) << name;
  }
}

}  // namespace
}  // namespace ckpt
