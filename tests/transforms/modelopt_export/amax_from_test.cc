// --amax-from: files of docs/collect_amax.py are accepted, and faults of a file are reported.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

using OrderedJson = nlohmann::ordered_json;

// "….experts.3.up_proj" is a part of "….experts.gate_up_proj".
std::string name_in_list(const std::string& module) {
  constexpr std::string_view kExperts = ".experts.";
  const size_t at = module.find(kExperts);
  if (at == std::string::npos) return module;
  return module.substr(0, at + kExperts.size()) +
         (module.ends_with(".down_proj") ? "down_proj" : "gate_up_proj");
}

// Recorded by tests/interop/collect_amax_transformers.py.
TEST(ExportAmaxFrom, WhatTheScriptWroteIsTaken) {
  constexpr std::string_view kScale = ".input_scale";
  for (const std::string model : {"qwen3-micro", "qwen35moe-micro"}) {
    const auto list = testdata("export/collect_amax/" + model + ".json");
    const OrderedJson amax = OrderedJson::parse(read_file(list), nullptr, false);
    ASSERT_TRUE(amax.is_object());
    const auto made = run("export", *open(testdata(model)),
                          options({{"type", "nvfp4"}, {"amax-from", list.string()}}));
    ASSERT_TRUE(made.has_value()) << made.error().text();
    int compared = 0;
    for (const Tensor& tensor : made->tensors) {
      if (!tensor.name.ends_with(kScale)) continue;
      const std::string module = tensor.name.substr(0, tensor.name.size() - kScale.size());
      const std::string listed = name_in_list(module);
      ASSERT_TRUE(amax.contains(listed)) << module;
      EXPECT_EQ(value_of(*made, tensor.name), amax[listed].get<float>() * (1.0F / 2688)) << module;
      ++compared;
    }
    EXPECT_GE(compared, 20) << model;
  }
}

TEST(ExportAmaxFrom, EveryErrorNamesTheScriptThatMeasures) {
  const TemporaryFolder folder;
  const std::string list = (folder.path() / "amax.json").string();
  const auto expect = [&](const std::string& from, std::string_view what) {
    const auto made =
        run("export", small_export_model(), options({{"type", "nvfp4"}, {"amax-from", from}}));
    ASSERT_FALSE(made.has_value()) << what;
    EXPECT_NE(made.error().text().find(what), std::string::npos) << made.error().text();
    EXPECT_NE(made.error().hint.find("collect_amax.py"), std::string::npos) << what;
  };
  const auto expect_text = [&](const std::string& text, std::string_view what) {
    write_file(list, text);
    expect(list, what);
  };
  expect((folder.path() / "missing.json").string(), "cannot be opened");
  expect_text("[1", "not valid JSON");
  expect_text("[1]", "expected {\"MODULE\": NUMBER, ...}");
  expect_text("{}", "no activation maxima in it");
  expect_text(R"({"a": NaN})", "'a' is NaN; expected a number above zero");
  expect_text(R"({"transformer.h.0.fc": 3, "x": 1})",
              "names no layer that is quantized (the first of 2: 'transformer.h.0.fc'); expected "
              "names like 'model.layers.0.");
  expect_text(R"({"model.layers.0.mlp.up_proj": 3})",
              "5 of 7 layers have no activation maximum in");
  write_file((folder.path() / "config.json").string(), "{}");
  expect(folder.path().string(), "without weights");
}

TEST(ExportAmaxFrom, AMissingFileIsNamedOnce) {
  const auto made = run("export", small_export_model(),
                        options({{"type", "nvfp4"}, {"amax-from", "nowhere.json"}}));
  ASSERT_FALSE(made.has_value());
  const std::string text = made.error().text();
  EXPECT_EQ(text.find("nowhere.json"), text.rfind("nowhere.json")) << text;
}

}  // namespace
}  // namespace ckpt
