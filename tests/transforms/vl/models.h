// Shared by tests of vl-wrap, vl-unwrap and preprocessor: steps run on checkpoints and BASE
// folders that a test made up.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json_edit.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "tests/transforms/run_step.h"
#include "transforms/transforms.h"
#include "transforms/vl/families.h"

namespace ckpt::vl_test {

using step_test::expect_error;
using step_test::names_of;
using step_test::open;

// BASE folders are looked up here first: documents that a test made up.
inline std::map<std::string, std::vector<Document>> made_bases;

inline Result<std::vector<Document>> documents(const std::filesystem::path& path) {
  const auto found = made_bases.find(path.string());
  return found == made_bases.end() ? read_documents(path, {}) : found->second;
}

inline Result<Checkpoint> run(std::string_view step, Checkpoint input,
                              std::initializer_list<std::pair<std::string, std::string>> given = {},
                              std::vector<std::string>* notes = nullptr) {
  Options options;
  for (const auto& [key, value] : given) options.add(key, value);
  return find_transform(step)->apply(std::move(input), options,
                                     Context{all_codecs(), nullptr, notes, open, documents});
}

inline Checkpoint must(Result<Checkpoint> made) {
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text());
  return made ? std::move(*made) : Checkpoint();
}

inline JsonText parsed(std::string_view text) {
  auto json = JsonText::parse(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? std::move(*json) : JsonText();
}

inline JsonText document(const Checkpoint& checkpoint, std::string_view path) {
  const Document* found = checkpoint.find_document(path);
  EXPECT_NE(found, nullptr) << path;
  return found == nullptr ? JsonText() : parsed(found->text());
}

inline Checkpoint small_model(std::string config, const std::vector<std::string>& names) {
  Checkpoint out;
  out.format = "safetensors";
  out.set_document("config.json", std::move(config));
  for (const std::string& name : names) {
    out.tensors.push_back(
        make_tensor(name, {2}, *find_codec(all_codecs(), "bf16"), std::vector<std::byte>(4)));
    out.tensors.back().home = "model.safetensors";
  }
  return out;
}

inline std::string flat_config(const VlText& text) {
  return fmt::format(R"({{
  "architectures": ["{}"],
  "dtype": "bfloat16",
  "head_dim": 128,
  "hidden_size": 512,
  "model_type": "{}",
  "num_attention_heads": 4,
  "num_hidden_layers": 4,
  "rope_theta": 10000.0,
  "vocab_size": 300000
}}
)",
                     text.architecture, text.outside);
}

inline std::vector<Document> made_base(const VlFamily& family, const VlText& text) {
  Checkpoint out;
  out.set_document("config.json", fmt::format(R"({{"architectures": ["{}"], "model_type": "{}",
                                    "{}": {{"model_type": "{}", "hidden_size": 512}},
                                    "vision_config": {{"depth": 2}}}})",
                                              family.architecture, family.model_type,
                                              family.text_key, text.inside));
  out.set_document("preprocessor_config.json", R"({"image_processor_type": "X"})");
  return out.documents;
}

}  // namespace ckpt::vl_test
