// The two documents that say how a checkpoint is quantized, held to files that ModelOpt wrote.
#include "transforms/facts/quant_config.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Checkpoint with_documents(const fs::path& folder) {
  Checkpoint out;
  for (const char* name : {"config.json", "hf_quant_config.json"}) {
    if (fs::exists(folder / name)) out.set_document(name, read_file(folder / name));
  }
  return out;
}

std::vector<fs::path> reference_folders() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(testdata("export/modelopt"))) {
    if (entry.path().filename() == kQuantConfigName) out.push_back(entry.path().parent_path());
  }
  return out;
}

JsonText parsed(std::string_view text) {
  auto json = JsonText::parse(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? std::move(*json) : JsonText();
}

// ---- documents ---------------------------------------------------------------------------------

TEST(QuantConfig, WhatModeloptWroteIsWrittenAgain) {
  const std::vector<fs::path> folders = reference_folders();
  ASSERT_GE(folders.size(), 20u);
  for (const fs::path& folder : folders) {
    Checkpoint checkpoint = with_documents(folder);
    const auto config = read_quant_config(checkpoint);
    ASSERT_TRUE(config && *config) << folder;
    ASSERT_TRUE(write_quant_config(checkpoint, **config)) << folder;
    for (const char* name : {"config.json", "hf_quant_config.json"}) {
      EXPECT_EQ(checkpoint.find_document(name)->text(), read_file(folder / name)) << folder;
    }
  }
}

TEST(QuantConfig, EmbeddedOneSaysTheSame) {
  for (const fs::path& folder : reference_folders()) {
    Checkpoint checkpoint = with_documents(folder);
    const auto own = read_quant_config(checkpoint);
    std::erase_if(checkpoint.documents,
                  [](const Document& each) { return each.path == kQuantConfigName; });
    const auto embedded = read_quant_config(checkpoint);
    ASSERT_TRUE(own && *own && embedded && *embedded) << folder;
    EXPECT_EQ((*own)->algo.name, (*embedded)->algo.name) << folder;
    EXPECT_EQ((*own)->exclude_modules, (*embedded)->exclude_modules) << folder;
    EXPECT_EQ((*own)->layers, (*embedded)->layers) << folder;
    EXPECT_EQ((*own)->kv_cache_algo, (*embedded)->kv_cache_algo) << folder;
    if ((*own)->algo.name != "NVFP4_AWQ") {  // which has no config_groups to say it in
      EXPECT_EQ((*own)->algo.group_size, (*embedded)->algo.group_size) << folder;
    }
  }
}

TEST(QuantConfig, RemovingGivesTransformersFormBack) {
  Checkpoint checkpoint = with_documents(testdata("export/modelopt/qwen35-micro/nvfp4"));
  const auto removed = remove_quant_config(checkpoint);
  ASSERT_TRUE(removed && *removed);
  EXPECT_EQ(checkpoint.find_document("hf_quant_config.json"), nullptr);
  EXPECT_EQ(checkpoint.find_document("config.json")->text(),
            read_file(testdata("qwen35-micro/config.json")));
  const auto again = remove_quant_config(checkpoint);
  EXPECT_TRUE(again && !*again);
}

TEST(QuantConfig, IsReadFromTextConfigAndReplacesEveryOtherStatement) {
  Checkpoint checkpoint;
  checkpoint.set_document(
      "config.json",
      R"({"text_config": {"quantization_config": {"quant_algo": "NVFP4"}, "hidden_size": 8}})");
  const auto config = read_quant_config(checkpoint);
  ASSERT_TRUE(config && *config);
  EXPECT_EQ((*config)->algo.name, "NVFP4");
  ASSERT_TRUE(write_quant_config(checkpoint, **config));
  JsonText made = parsed(checkpoint.find_document("config.json")->text());
  EXPECT_TRUE(made.remove("quantization_config"));
  EXPECT_EQ(made.dump(0), R"({"text_config": {"hidden_size": 8}})");
  const auto removed = remove_quant_config(checkpoint);
  ASSERT_TRUE(removed && *removed);
  EXPECT_EQ(parsed(checkpoint.find_document("config.json")->text()), made);

  checkpoint.set_document(
      "config.json", R"({"compression_config": {}, "text_config": {"compression_config": {}}})");
  ASSERT_TRUE(*remove_quant_config(checkpoint));
  EXPECT_EQ(parsed(checkpoint.find_document("config.json")->text()).dump(0),
            R"({"text_config": {}})");
}

TEST(QuantConfig, IsAbsentWithoutDocumentsAndForOtherMethods) {
  Checkpoint checkpoint;
  EXPECT_FALSE(read_quant_config(checkpoint)->has_value());
  checkpoint.set_document("config.json",
                          R"({"quantization_config": {"quant_method": "compressed-tensors"}})");
  EXPECT_FALSE(read_quant_config(checkpoint)->has_value());
}

TEST(QuantConfig, FieldsOfAnotherKindAreErrors) {
  for (const char* text :
       {"[]", "{}", R"({"quantization": []})", R"({"quantization": {"quant_algo": 4}})",
        R"({"quantization": {"quant_algo": "FP8", "exclude_modules": "lm_head"}})",
        R"({"quantization": {"quant_algo": "FP8", "exclude_modules": [1]}})",
        R"({"quantization": {"quant_algo": "FP8", "quantized_layers": []}})", "{"}) {
    Checkpoint checkpoint;
    checkpoint.set_document("hf_quant_config.json", text);
    const auto config = read_quant_config(checkpoint);
    ASSERT_FALSE(config.has_value()) << text;
    EXPECT_EQ(config.error().code, ErrorCode::kCorrupt) << text;
    EXPECT_TRUE(config.error().text().starts_with("hf_quant_config.json: ")) << text;
  }
}

// ---- exclude_modules ---------------------------------------------------------------------------

TEST(SummarizeExcluded, TakesTheShortestPrefixThatHitsNothingQuantized) {
  const std::vector<std::string> quantized = {"model.layers.0.mlp.gate_proj",
                                              "model.layers.0.mlp.up_proj"};
  EXPECT_EQ(summarize_excluded(
                {"lm_head", "model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj",
                 "model.layers.0.mlp.gate", "model.visual.blocks.0.attn.qkv", "mtp.fc"},
                quantized),
            (std::vector<std::string>{"lm_head", "model.layers.0.mlp.gate",
                                      "model.layers.0.self_attn*", "model.visual*", "mtp*"}));
}

// "a.b1*" would hit a.b10; "a.b1.*" does not.
TEST(SummarizeExcluded, SetsAPrefixApartFromLongerNames) {
  EXPECT_EQ(summarize_excluded({"a.b1.x"}, {"a.b10.x"}), std::vector<std::string>{"a.b1.*"});
  EXPECT_EQ(summarize_excluded({"a.b1.x"}, {"a.b1", "a.b10"}), std::vector<std::string>{"a.b1.x"});
}

TEST(SummarizeExcluded, OmitsQuantizedLayers) {
  EXPECT_TRUE(summarize_excluded({"a.b"}, {"a.b"}).empty());
  EXPECT_TRUE(summarize_excluded({}, {"a"}).empty());
}

// ---- JSON text ---------------------------------------------------------------------------------

TEST(JsonText, KeepsOrderAndSpelling) {
  const std::string text =
      "{\n  \"z\": 1e-06,\n  \"a\": [\n    10000000.0,\n    NaN,\n    "
      "-Infinity\n  ],\n  \"e\": {},\n  \"f\": [],\n  \"t\": \"\\u00e9\"\n}";
  EXPECT_EQ(parsed(text).dump(2), text);
}

TEST(JsonText, SetsReplaceInPlaceAndSort) {
  Status twice;
  JsonText json = *JsonText::parse(R"({"a": 1, "c": 2, "a": 3})", &twice);
  EXPECT_FALSE(twice.has_value());
  EXPECT_EQ(json.find_whole("a"), 3u);  // as Python: the last one
  json.set("c", JsonText::text("é\x7f"));
  json.set_sorted("b", JsonText::number(7));
  EXPECT_EQ(json.dump(0), "{\"a\": 1, \"b\": 7, \"c\": \"\\u00e9\\u007f\", \"a\": 3}");
  EXPECT_TRUE(json.remove("a"));
  EXPECT_FALSE(json.remove("a"));
}

TEST(JsonText, RejectsInvalidJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "{a: 1}", "01", "\"", "nul", "[1] 2",
                           "{\"a\": }", "\"\\", "'a'", "[1 2]"}) {
    EXPECT_FALSE(JsonText::parse(text).has_value()) << text;
  }
  const std::string deep(1'000'000, '[');
  const auto refused = JsonText::parse(deep);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("nested deeper than 128"), std::string::npos);
}

}  // namespace
}  // namespace ckpt
