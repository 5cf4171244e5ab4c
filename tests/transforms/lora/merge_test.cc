// Adapters merged: names and configurations of other programs, and every tensor used or refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/model/json_documents.h"
#include "tests/transforms/lora/adapters.h"

namespace ckpt {
namespace {

using lora_test::adapter_of;
using lora_test::expect_merged;
using lora_test::hash_of;
using lora_test::made_value;
using lora_test::merged;
using lora_test::TestTensor;
using lora_test::write_adapter;
using step_test::options;
using step_test::settle;
using step_test::tensor;

TEST(LoraMerge, ReadsTheNamesOfOtherPrograms) {
  for (const char* name :
       {"", "default-name", "no-prefix", "inner-model", "fsdp-wrapped", "vl-named", "vl-named-v4",
        "old-config", "no-metadata", "tinker-scaled", "mlx"}) {
    expect_merged("llama-micro", adapter_of("conventions") / name, "conventions");
  }
}

TEST(LoraMerge, RefusesAdaptersThatAreWrong) {
  const std::map<std::string, std::string> refused = {
      {"b-missing", "has no lora_B"},
      {"fused-qkv", "the model has no"},
      {"nan", "has NaN or Inf"},
      {"pissa", "ckpt merges LORA"},
      {"rank-differs", "has rank 4"},
      {"unknown-layer", "layers_to_transform lists [1]"},
      {"wrong-shape", "do not fit the weight"},
      {"zero-size", "has no values"}};
  for (const auto& [name, words] : refused) {
    const auto made = step_test::run(
        "lora", step_test::open(testdata("llama-micro")).value(),
        options({{"from", (adapter_of("conventions") / ("refuse-" + name)).string()}}));
    ASSERT_FALSE(made) << name;
    EXPECT_NE(made.error().text().find(words), std::string::npos) << made.error().text();
  }
}

// ---- adapters made here -------------------------------------------------------------------------

constexpr const char* kLoraConfig = R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4})";

const std::vector<TestTensor> kEmbeddingPieces = {
    {"model.embed_tokens.lora_embedding_A", {2, 1024}},
    {"model.embed_tokens.lora_embedding_B", {256, 2}}};

Checkpoint tied_llama() {
  Checkpoint out = step_test::open(testdata("llama-micro")).value();
  std::erase_if(out.tensors, [](const Tensor& each) { return each.name == "lm_head.weight"; });
  auto config = read_json(out, "config.json").value();
  config->root.set("tie_word_embeddings", JsonText::boolean(true));
  write_json(out, "config.json", *config);
  return out;
}

std::vector<float> values_of(const Tensor& tensor) {
  return read_values(tensor, uint64_t{1} << 24).value();
}

TEST(LoraMerge, EmbeddingsThatAreTheHeadGetAHeadOfTheirOwn) {
  const TemporaryFolder folder;
  write_adapter(folder.path(), kEmbeddingPieces, kLoraConfig);
  const Checkpoint before = tied_llama();
  const Checkpoint after =
      settle(step_test::run("lora", before, options({{"from", folder.path().string()}})));
  const std::string original = hash_of(tensor(before, "model.embed_tokens.weight"));
  EXPECT_EQ(hash_of(tensor(after, "lm_head.weight")), original);
  EXPECT_NE(hash_of(tensor(after, "model.embed_tokens.weight")), original);
  EXPECT_NE(after.find_document("config.json")->text().find("\"tie_word_embeddings\": false"),
            std::string::npos);
}

TEST(LoraMerge, ATiedHeadThatIsTrainedLeavesTheEmbeddings) {
  const TemporaryFolder folder;
  write_adapter(folder.path(),
                {{"lm_head.lora_A.weight", {2, 256}}, {"lm_head.lora_B.weight", {1024, 2}}},
                kLoraConfig);
  const Checkpoint before = tied_llama();
  const Checkpoint after =
      settle(step_test::run("lora", before, options({{"from", folder.path().string()}})));
  const std::string original = hash_of(tensor(before, "model.embed_tokens.weight"));
  EXPECT_NE(hash_of(tensor(after, "lm_head.weight")), original);
  EXPECT_EQ(hash_of(tensor(after, "model.embed_tokens.weight")), original);
}

// DoRA of embeddings works by columns: V / |V| m, where |V| runs over the vocabulary.
TEST(LoraMerge, DoraOfEmbeddingsHasTheNormsOfColumns) {
  const TemporaryFolder folder;
  std::vector<TestTensor> pieces = kEmbeddingPieces;
  pieces.push_back({"model.embed_tokens.lora_magnitude_vector", {1, 256}});
  write_adapter(folder.path(), pieces,
                R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "use_dora": true})");
  const Checkpoint after = merged("llama-micro", folder.path());
  const std::vector<float> values = values_of(tensor(after, "model.embed_tokens.weight"));
  for (size_t column = 0; column < 256; ++column) {
    double squares = 0;
    for (size_t row = 0; row < 1024; ++row) squares += std::pow(values[row * 256 + column], 2.0);
    EXPECT_NEAR(std::sqrt(squares), std::fabs(made_value(2, column)), 2e-3) << column;
  }
}

TEST(LoraMerge, ScaleMultipliesTheUpdate) {
  const TemporaryFolder folder;
  const std::string module = "model.layers.0.self_attn.q_proj.";
  write_adapter(folder.path(),
                {{module + "lora_A.weight", {2, 256}}, {module + "lora_B.weight", {256, 2}}},
                kLoraConfig);
  const std::string name = module + "weight";
  const Checkpoint before = step_test::open(testdata("llama-micro")).value();
  const auto with = [&](const std::string& scale) {
    return settle(step_test::run("lora", before,
                                 options({{"from", folder.path().string()}, {"scale", scale}})));
  };
  EXPECT_EQ(hash_of(tensor(with("0"), name)), hash_of(tensor(before, name)));
  const auto w = values_of(tensor(before, name));
  const Checkpoint half = with("0.5");
  const auto merged = values_of(tensor(half, name));
  for (size_t i = 0; i < w.size(); i += 97) {
    float delta = 0;  // exact: small multiples of 1/64
    for (size_t k = 0; k < 2; ++k) {
      delta += made_value(0, k * 256 + i % 256) * made_value(1, i / 256 * 2 + k);
    }
    EXPECT_NEAR(merged[i], w[i] + delta, std::fabs(w[i] + delta) / 256) << i;
  }
}

// The adapter saved a layer whole, under the names of transformers 5.
TEST(LoraMerge, ModulesToSaveFindOlderNamesOfFiles) {
  const TemporaryFolder folder;
  const std::string front = "model.layers.0.mlp.";
  write_adapter(folder.path(),
                {{front + "gate.weight", {2, 16}},
                 {front + "experts.gate_up_proj", {2, 48, 16}},
                 {front + "experts.down_proj", {2, 16, 24}}},
                R"({"r": 2, "lora_alpha": 4, "modules_to_save": ["mlp"]})");
  const Checkpoint saved = step_test::open(folder / "adapter_model.safetensors").value();
  const std::vector<float> stack = values_of(tensor(saved, front + "experts.gate_up_proj"));
  const Checkpoint after = merged("lora/models/mixtral", folder.path());
  const std::string sparse = "model.layers.0.block_sparse_moe.";
  EXPECT_EQ(values_of(tensor(after, sparse + "gate.weight")),
            values_of(tensor(saved, front + "gate.weight")));
  size_t first = 0;
  for (const char* part : {"0.w1", "0.w3", "1.w1", "1.w3"}) {
    const std::vector<float> found =
        values_of(tensor(after, fmt::format("{}experts.{}.weight", sparse, part)));
    EXPECT_TRUE(std::equal(found.begin(), found.end(), stack.begin() + static_cast<long>(first)))
        << part;
    first += found.size();
  }
  EXPECT_EQ(first, stack.size());
}

// Why the step fails; empty: it does not.
std::string lora_refusal(const std::filesystem::path& model, const std::vector<TestTensor>& pieces,
                         const std::string& config) {
  const TemporaryFolder folder;
  write_adapter(folder.path(), pieces, config);
  const auto made = step_test::run("lora", step_test::open(model).value(),
                                   options({{"from", folder.path().string()}}));
  return made ? "" : made.error().text();
}

TEST(LoraMerge, ModulesToSaveReplaceTensorsOfAnyName) {
  const std::string front = "model.layers.0.";
  const TestTensor stack = {front + "mlp.experts.down_proj", {2, 3, 4}};
  const TestTensor decay = {front + "linear_attn.A_log", {4}};
  const auto config = [](std::string_view saved) {
    return fmt::format(R"({{"r": 2, "lora_alpha": 4, "modules_to_save": [{}]}})", saved);
  };
  const std::string both = config(R"("experts", "linear_attn")");
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "model");
  lora_test::write_pieces(folder / "model" / "model.safetensors", {stack, decay});
  write_adapter(folder / "adapter", {decay, stack}, both);
  const Checkpoint before = step_test::open(folder / "model").value();
  const Checkpoint after =
      settle(step_test::run("lora", before, options({{"from", (folder / "adapter").string()}})));
  const Checkpoint saved =
      step_test::open(folder / "adapter" / "adapter_model.safetensors").value();
  for (const Tensor& each : saved.tensors) {
    EXPECT_NE(hash_of(each), hash_of(tensor(before, each.name))) << each.name;
    EXPECT_EQ(hash_of(each), hash_of(tensor(after, each.name))) << each.name;
  }
  const std::string unlisted =
      lora_refusal(folder / "model", {decay, stack}, config(R"("experts")"));
  EXPECT_NE(unlisted.find("A_log': not a name that LoRA adapters use"), std::string::npos);
  EXPECT_NE(lora_refusal(folder / "model", {{decay.name, {3}}, stack}, both).find("has [4]"),
            std::string::npos);
  EXPECT_NE(lora_refusal(testdata("lora/models/qwen3-moe"), {{stack.name, {2, 16, 11}}},
                         config(R"("experts")"))
                .find("the model has experts of [2, 16, 12]"),
            std::string::npos);
}

// Gives each tensor another name, another shape, or leaves it out.
TEST(LoraMerge, EveryTensorIsUsedOrRefused) {
  const std::string front = "base_model.model.model.layers.0.";
  const std::vector<TestTensor> pieces = {{front + "self_attn.q_proj.lora_A.weight", {2, 256}},
                                          {front + "self_attn.q_proj.lora_B.weight", {256, 2}},
                                          {front + "self_attn.q_proj.lora_magnitude_vector", {256}},
                                          {front + "input_layernorm.weight", {256}},
                                          {"base_model.model.lm_head.weight", {1024, 256}}};
  constexpr const char* kConfig =
      R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "use_dora": true})";
  const TemporaryFolder folder;
  const auto result = [&](const std::vector<TestTensor>& made) {
    write_adapter(folder.path(), made, kConfig);
    return step_test::run("lora", step_test::open(testdata("llama-micro")).value(),
                          options({{"from", folder.path().string()}}));
  };
  ASSERT_TRUE(result(pieces));
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::vector<TestTensor> other = pieces;
    other[i].name += "_x";
    EXPECT_FALSE(result(other)) << other[i].name;
    other[i].name = front + "self_attn.z_proj" + other[i].name.substr(other[i].name.rfind('.'));
    EXPECT_FALSE(result(other)) << other[i].name;
    for (size_t axis = 0; axis < pieces[i].shape.size(); ++axis) {
      other = pieces;
      ++other[i].shape[axis];
      EXPECT_FALSE(result(other)) << other[i].name << " " << axis;
    }
    if (i > 2) continue;  // each of the others is an adapter's own
    other = pieces;
    other.erase(other.begin() + static_cast<long>(i));
    EXPECT_FALSE(result(other)) << pieces[i].name;
  }
}

// The hash of q_proj's weight, merged with this configuration.
std::string hash_of_q_proj(const std::string& config) {
  const std::string module = "model.layers.0.self_attn.q_proj.";
  const TemporaryFolder folder;
  write_adapter(folder.path(),
                {{module + "lora_A.weight", {2, 256}}, {module + "lora_B.weight", {256, 2}}},
                config);
  const auto made = step_test::run("lora", step_test::open(testdata("llama-micro")).value(),
                                   options({{"from", folder.path().string()}}));
  return made ? hash_of(tensor(*made, module + "weight")) : "refused";
}

TEST(LoraMerge, EveryNumberOfTheConfigurationCounts) {
  const auto& hash = hash_of_q_proj;
  const std::string usual = hash(kLoraConfig);
  ASSERT_NE(usual, "refused");
  EXPECT_EQ(hash(R"({"r": 3, "lora_alpha": 4})"), "refused");
  EXPECT_EQ(hash(R"({"r": 0, "lora_alpha": 4})"), "refused");
  EXPECT_EQ(hash(R"({"r": 3, "r": 2, "lora_alpha": 4})"), "refused");
  EXPECT_EQ(hash(R"({"r": "2", "lora_alpha": 4})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "layers_to_transform": [1]})"), "refused");
  for (const char* named : {R"(["q_proj"])", R"(["k_proj", "layers.0.self_attn.q_proj"])",
                            R"(["model.layers.0.self_attn.q_proj"])", R"(".*\.0\..*")"}) {
    EXPECT_EQ(hash(fmt::format(R"({{"r": 2, "lora_alpha": 4, "exclude_modules": {}}})", named)),
              "refused")
        << named;
  }
  for (const char* other : {"null", "[]", R"("")", R"(["k_proj", "_proj", "self_attn"])",
                            R"("q_proj")", R"("model.*k_proj")"}) {
    EXPECT_EQ(hash(fmt::format(R"({{"r": 2, "lora_alpha": 4, "exclude_modules": {}}})", other)),
              usual)
        << other;
  }
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "lora_bias": true})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "trainable_token_indices": [3]})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "use_qalora": true})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "use_dora": true})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "init_lora_weights": "pissa_niter_4"})"), "refused");
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "rank_pattern": {"q_proj": 3}})"), "refused");
  EXPECT_EQ(hash(R"({"r": 3, "lora_alpha": 4, "rank_pattern": {"q_proj": 2}})"), usual);
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 1, "alpha_pattern": {"q_proj": 4}})"), usual);
  EXPECT_NE(hash(R"({"r": 2, "lora_alpha": 4.5})"), usual);
  EXPECT_NE(hash(R"({"r": 2, "lora_alpha": 4, "use_rslora": true})"), usual);
  EXPECT_NE(hash(R"({"r": 2, "lora_alpha": 4, "alpha_pattern": {"q_proj": 5, ".*": 4}})"), usual);
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "alpha_pattern": {"k_proj": 5}})"), usual);
  EXPECT_EQ(hash(R"({"r": 2, "lora_alpha": 4, "fan_in_fan_out": true})"), usual);
}

// Merges with a scale whose products have more digits than BF16, so that rounding shows.
std::string hash_with(std::string_view more) {
  return hash_of_q_proj(fmt::format(R"({{"r": 2, "lora_alpha": 4.7, {}}})", more));
}

TEST(LoraMerge, ListsOfModulesAndLayersAreNotForParameters) {
  const auto parameter = [](std::string_view more) {
    return hash_with(R"("target_parameters": ["q_proj.weight"], )" + std::string(more));
  };
  const std::string usual = parameter(R"("alpha_pattern": {})");
  EXPECT_NE(usual, "refused");
  EXPECT_NE(usual, hash_with(R"("alpha_pattern": {})"));
  for (const char* idle : {R"("alpha_pattern": {"q_proj": 9})", R"("rank_pattern": {"q_proj": 3})",
                           R"("exclude_modules": ["q_proj"])", R"("layers_to_transform": [1])"}) {
    EXPECT_EQ(parameter(idle), usual) << idle;
  }
  EXPECT_NE(parameter(R"("alpha_pattern": {"q_proj.weight": 9})"), usual);
  EXPECT_EQ(parameter(R"("rank_pattern": {"q_proj.weight": 3})"), "refused");
}

TEST(LoraMerge, ParametersAreThoseOfTheirLayer) {
  const std::string usual = hash_with(R"("alpha_pattern": {})");
  for (const char* other : {"layers.1.self_attn.q_proj.weight", "_proj.weight", "q_proj"}) {
    EXPECT_EQ(hash_with(fmt::format(R"("target_parameters": ["{}"])", other)), usual) << other;
  }
  EXPECT_NE(hash_with(R"("target_parameters": ["model.layers.0.self_attn.q_proj.weight"])"), usual);
}

TEST(LoraMerge, ModulesThatAreNamedEntirelyAreOfAnyLayer) {
  const auto other_layer = [](std::string_view module) {
    return hash_with(
        fmt::format(R"("layers_to_transform": [1], "target_modules": ["{}"])", module));
  };
  EXPECT_EQ(other_layer("model.layers.0.self_attn.q_proj"), hash_with(R"("alpha_pattern": {})"));
  EXPECT_EQ(other_layer("layers.0.self_attn.q_proj"), "refused");
  EXPECT_EQ(other_layer("q_proj"), "refused");
}

}  // namespace
}  // namespace ckpt
