// The dequantize step: an export undone, and what it refuses.
#include <gtest/gtest.h>

#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

TEST(Dequantize, UndoesAnExport) {
  Checkpoint packed = settle(run("export", qat_model(), options({{"type", "nvfp4"}})));
  // Columns were divided by these before they were packed.
  packed.tensors.push_back(
      floats("model.layers.0.mlp.down_proj.pre_quant_scale", {32}, std::vector<float>(32, 4)));
  const auto back = run("dequantize", std::move(packed), {});
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_EQ(back->tensors.size(), small_export_model().tensors.size());
  for (const Tensor& tensor : small_export_model().tensors) {
    const Tensor* found = back->find_tensor(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->shape, tensor.shape);
    if (tensor.name.find("_proj") != std::string::npos) {
      EXPECT_EQ(found->codec->name, "bf16");
    }
  }
  const auto& down = back->find_tensor("model.layers.0.mlp.down_proj.weight")->recoded();
  ASSERT_EQ(down.ops.size(), 2u);
  EXPECT_EQ(std::get<ScaleColumns>(down.ops[0]).factors->at(31), 4);
  EXPECT_EQ(std::get<RoundTo>(down.ops[1]).dtype, Dtype::kBF16) << "once, after the product";
  EXPECT_EQ(back->find_document("hf_quant_config.json"), nullptr);
  EXPECT_EQ(back->find_document("config.json")->text().find("quantization_config"),
            std::string::npos);
}

TEST(Dequantize, RefusesWhatItDoesNotKnow) {
  Checkpoint input = small_export_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.qweight", {1}, {1}));
  expect_error(run("dequantize", input, {}), ErrorCode::kUnsupported, "up_proj.qweight");
  input = small_export_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.pre_quant_scale", {2}, {1, 1}));
  expect_error(run("dequantize", input, {}), ErrorCode::kCorrupt, "2 values; its weight has 32");
  expect_error(run("dequantize", small_export_model(), options({{"type", "q8_0"}})),
               ErrorCode::kUsage, "bf16");
}

}  // namespace
}  // namespace ckpt
