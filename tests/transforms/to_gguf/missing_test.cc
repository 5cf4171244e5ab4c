// Folders that lack tensors of the model, or have layers that config.json does not count.
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
namespace {

Checkpoint family(const std::string& name, const char* changes = "{}") {
  auto opened = open(testdata("families/" + name + "/hf"));
  CKPT_CHECK(opened.has_value());
  JsonValue config = JsonValue::parse(opened->find_document("config.json")->text());
  config.update(JsonValue::parse(changes));
  opened->set_document("config.json", config.dump());
  return std::move(*opened);
}

// The message; empty where the family becomes a GGUF.
std::string missing_error(Checkpoint input, const char* missing = "refuse",
                          const char* mtp = "yes") {
  const auto made = run(
      "to-gguf", std::move(input),
      options({{"outtype", "bf16"},
               {"tokenizer-pre", "default"},
               {"missing", missing},
               {"mtp", mtp}}));
  return made ? "" : made.error().text();
}

Checkpoint without(Checkpoint input, std::string_view part) {
  const size_t removed = std::erase_if(input.tensors, [&](const Tensor& tensor) {
    return tensor.name.find(part) != tensor.name.npos;
  });
  EXPECT_GT(removed, 0u) << part;
  return input;
}

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(MissingTensors, AreRefusedByNameAndNumber) {
  for (const char* name :
       {"model.embed_tokens.weight", "model.norm.weight", "model.layers.1.self_attn.q_proj.weight",
        "model.layers.0.input_layernorm.weight"}) {
    expect_part(missing_error(without(family("qwen3-moe"), name)),
                std::string("tensor '") + name + "' is missing, which models of this family have");
    EXPECT_EQ(missing_error(without(family("qwen3-moe"), name), "leave"), "") << name;
  }
  const std::string two = missing_error(without(family("qwen3-moe"), ".self_attn.k_proj.weight"));
  expect_part(two, " more) is missing");
  EXPECT_EQ(missing_error(family("qwen3-moe")), "");
}

TEST(MissingTensors, AHeadMayBeMissingOnlyIfItIsTied) {
  expect_part(
      missing_error(without(family("qwen3-moe", R"({"tie_word_embeddings": false})"), "lm_head")),
      "config.json does not tie the head to the embeddings");
  EXPECT_EQ(
      missing_error(without(family("qwen3-moe", R"({"tie_word_embeddings": true})"), "lm_head")),
      "");
}

TEST(MissingTensors, BiasesThatOnlyAFieldAsksForMayBeMissing) {
  EXPECT_EQ(missing_error(family("qwen3-moe", R"({"attention_bias": true})")), "");
}

TEST(LayersBeyondTheCount, AreRefused) {
  for (const char* name : {"qwen3-moe", "llama-spm", "gpt-oss"}) {
    Checkpoint input = family(name, R"({"num_hidden_layers": 1})");
    JsonValue config = JsonValue::parse(input.find_document("config.json")->text());
    if (config.contains("layer_types")) config["layer_types"] = {config["layer_types"][0]};
    input.set_document("config.json", config.dump());
    expect_part(missing_error(std::move(input)),
                "config.json: num_hidden_layers is 1, but the weights have 'model.layers.1.");
  }
}

// Such families may have layers for multi-token prediction behind the last.
TEST(LayersBeyondTheCount, AreNotTreatedAsMultiTokenPrediction) {
  for (const char* name : {"deepseek-v3", "glm4-moe", "glm4-moe-lite"}) {
    for (const char* mtp : {"yes", "no"}) {
      EXPECT_EQ(missing_error(family(name), "refuse", mtp), "") << name;
      const std::string few =
          missing_error(family(name, R"({"num_hidden_layers": 1})"), "refuse", mtp);
      const bool is_kept =
          std::string_view(mtp) == "yes" && std::string_view(name) != "deepseek-v3";
      expect_part(few, is_kept ? "but tensors of layer 2 are there"
                               : "num_hidden_layers is 1, but the weights have 'model.layers.1.");
    }
  }
}

TEST(LayersBeyondTheCount, NoLayersAtAllAreRefused) {
  for (const char* name : {"qwen3-moe", "glm4-moe", "deepseek-v3-fp8"}) {
    expect_part(missing_error(family(name, R"({"num_hidden_layers": 0})")),
                "config.json: num_hidden_layers is 0; expected at least 1");
  }
}

}  // namespace
}  // namespace ckpt
