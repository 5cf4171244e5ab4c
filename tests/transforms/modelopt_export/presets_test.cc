// Presets that need no data: scales of 1.0 for all inputs, or none.
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

bool has_input_scales(const Checkpoint& checkpoint) {
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.name.ends_with(".input_scale")) return true;
  }
  return false;
}

TEST(ExportPresets, InputScale1GivesEveryLayerOne) {
  for (const char* rounding : {"cpu", "gpu"}) {
    const auto made = run(
        "export", small_export_model(),
        options({{"type", "nvfp4"}, {"preset", "mlp-only-input-scale1"}, {"rounding", rounding}}));
    ASSERT_TRUE(made.has_value()) << made.error().text();
    for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
      EXPECT_EQ(value_of(*made, fmt::format("model.layers.0.mlp.{}.input_scale", name)), 1.0f);
    }
    EXPECT_EQ(made->find_tensor("model.layers.0.self_attn.q_proj.input_scale"), nullptr);
    EXPECT_NE(quant_config(made).find(R"("quant_algo": "NVFP4")"), std::string::npos);
  }
}

TEST(ExportPresets, WeightOnlyIsW4a16) {
  for (const char* type : {"nvfp4", "nvfp4-w4a16"}) {
    const auto made =
        run("export", small_export_model(), options({{"type", type}, {"preset", "weight-only"}}));
    ASSERT_TRUE(made.has_value()) << made.error().text();
    EXPECT_FALSE(has_input_scales(*made));
    EXPECT_NE(quant_config(made).find(R"("quant_algo": "W4A16_NVFP4")"), std::string::npos);
  }
}

// A cache that is declared without data has entries in the documents and no tensors.
TEST(ExportPresets, CastOfTheCacheIsDeclaredAlone) {
  const auto made =
      run("export", small_export_model(),
          options({{"type", "nvfp4"}, {"preset", "default-input-scale1"}, {"kv-cache", "nvfp4"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_NE(quant_config(made).find(R"("kv_cache_quant_algo": "NVFP4")"), std::string::npos);
  for (const std::string& name : names_of(*made)) {
    EXPECT_FALSE(name.ends_with("k_scale") || name.ends_with("v_scale")) << name;
  }
}

TEST(ExportPresets, StoredMaximaThatThePresetOverrulesAreNoted) {
  std::vector<std::string> notes;
  const auto made = run("export", qat_model(),
                        options({{"type", "nvfp4"}, {"preset", "default-input-scale1"}}), &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(value_of(*made, "model.layers.0.mlp.up_proj.input_scale"), 1.0f);
  EXPECT_EQ(std::count(notes.begin(), notes.end(), "7 activation maxima are not used"), 1);
}

TEST(ExportPresets, RefuseWhatTheyContradict) {
  const auto refused = [](std::initializer_list<std::pair<std::string, std::string>> pairs) {
    return run("export", small_export_model(), options(pairs));
  };
  expect_error(refused({{"type", "fp8"}, {"preset", "weight-only"}}), ErrorCode::kUsage,
               "preset weight-only makes NVFP4; found type fp8. Try: --to nvfp4");
  expect_error(refused({{"type", "nvfp4-w4a16"}, {"preset", "mlp-only-input-scale1"}}),
               ErrorCode::kUsage,
               "preset mlp-only-input-scale1: type nvfp4-w4a16 stores nothing of inputs");
  expect_error(
      refused({{"type", "nvfp4"}, {"preset", "experts-only-input-scale1"}, {"amax-from", "x"}}),
      ErrorCode::kUsage,
      "preset experts-only-input-scale1 gives all inputs a scale of 1.0 and amax-from has maxima");
  expect_error(refused({{"type", "nvfp4"}, {"preset", "weight-only"}, {"amax-from", "x"}}),
               ErrorCode::kUsage, "preset weight-only stores nothing of inputs and amax-from");
}

// ModelOpt writes a folder that says NVFP4 and has no input_scale; here the preset that does it
// right is named.
TEST(ExportPresets, MissingMaximaNameThePresetThatNeedsNone) {
  const auto hint = [](const char* type, const char* preset) {
    const auto made =
        run("export", small_export_model(), options({{"type", type}, {"preset", preset}}));
    EXPECT_FALSE(made.has_value());
    return made.error().hint;
  };
  EXPECT_NE(hint("nvfp4", "default").find("--preset default-input-scale1 or --to nvfp4-w4a16"),
            std::string::npos);
  EXPECT_NE(hint("nvfp4", "mlp-only").find("--preset mlp-only-input-scale1"), std::string::npos);
  EXPECT_EQ(hint("fp8", "default").find("input-scale1"), std::string::npos);
}

}  // namespace
}  // namespace ckpt
