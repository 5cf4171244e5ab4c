// Data of `ckpt report`: groups of tensors, their sizes, and the memory of a sequence.
#include "formats/formats.h"
#include "plan/conversion/targets.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"
#include "tools/report/cells.h"
#include "tools/report/page.h"

namespace ckpt {
namespace {

Checkpoint read_reported(const std::filesystem::path& path) {
  auto checkpoint = (*recognize(path))->read(path, all_codecs(), {});
  EXPECT_TRUE(checkpoint) << checkpoint.error().text();
  return checkpoint ? *checkpoint : Checkpoint();
}

std::string place(std::string_view tensor) {
  const TensorPlace found = place_of(tensor);
  return found.layer ? fmt::format("{} {}", found.role, *found.layer) : found.role;
}

TEST(ReportCells, DerivesRoleAndLayerFromTheName) {
  EXPECT_EQ(place("model.layers.3.mlp.experts.17.up_proj.weight"), "mlp.experts.up_proj 3");
  EXPECT_EQ(place("model.language_model.layers.0.input_layernorm.weight"), "input_layernorm 0");
  EXPECT_EQ(place("model.embed_tokens.weight"), "embed_tokens");
  EXPECT_EQ(place("lm_head.weight"), "lm_head");
  EXPECT_EQ(place("blk.61.ffn_gate_exps.weight"), "ffn_gate_exps 61");
  EXPECT_EQ(place("blk.2.attn_q.bias"), "attn_q.bias 2");
  EXPECT_EQ(place("backbone.layers.7.mixer.A_log"), "mixer.A_log 7");
  EXPECT_EQ(place("model.visual.blocks.5.attn.qkv.weight"), "visual.attn.qkv 5");
  EXPECT_EQ(place("mtp.layers.0.mlp.up_proj.weight"), "mtp.mlp.up_proj 0");
}

TEST(ReportCells, ScalesGoWithWhatTheyScale) {
  for (const char* scale : {"weight_scale", "weight_scale_2", "input_scale", "weight_scale_inv"}) {
    EXPECT_EQ(place(fmt::format("model.layers.1.mlp.up_proj.{}", scale)), "mlp.up_proj 1") << scale;
  }
  EXPECT_EQ(place("model.layers.1.mlp.up_proj.weight_quantizer._amax"), "mlp.up_proj 1");
}

TEST(ReportCells, AnyNameHasAPlace) {
  for (const char* name : {"", ".", "weight", "model", "1.2.3", "layers.", "layers.x", "blk.",
                           "...", "layers.99999999999999999999999.w"}) {
    EXPECT_EQ(place_of(name).role.empty(), std::string_view(name).empty()) << name;
  }
}

TEST(ReportCells, HoldEveryTensorAndEveryByte) {
  for (const char* model : {"qwen35-micro", "families/kimi-k2/hf", "families/qwen3-vl/hf"}) {
    const Checkpoint checkpoint = read_reported(testdata(model));
    const Cells cells = cells_of(checkpoint);
    uint64_t bytes = 0, weights = 0, tensors = 0, of_cells = 0, of_types = 0;
    for (const Tensor& tensor : checkpoint.tensors) {
      bytes += size_bytes(tensor);
      weights += tensor.values();
      EXPECT_EQ(cells.types[cells.cells[cells.of_tensor.at(tensor.name)].type], tensor.codec->name);
    }
    for (const Cell& cell : cells.cells) {
      of_cells += cell.sums.size_bytes;
      weights -= cell.sums.weights;
      tensors += cell.sums.tensors;
    }
    for (const CellSums& sums : cells.of_type) of_types += sums.size_bytes;
    EXPECT_EQ(of_cells, bytes) << model;
    EXPECT_EQ(of_types, bytes) << model;
    EXPECT_EQ(weights, 0U) << model;
    EXPECT_EQ(tensors, checkpoint.tensors.size()) << model;
  }
}

TEST(ReportCells, EmbeddingsComeFirstAndTheHeadLast) {
  const Cells cells = cells_of(read_reported(testdata("qwen35-micro")));
  EXPECT_EQ(cells.roles.front(), "embed_tokens");
  EXPECT_EQ(cells.roles.back(), "lm_head");
  EXPECT_EQ(cells.layers, 4U);
}

// ---- the page -----------------------------------------------------------------------------------

TEST(ReportPage, DataCannotCloseItsElement) {
  const std::string page = report_page(R"({"name": "</script><script>alert(1)</script><!--"})");
  EXPECT_EQ(page.find("</script><script>alert"), page.npos);
  EXPECT_NE(page.find("\\u003c/script>"), page.npos);
  EXPECT_NE(page.find(kReportMark), page.npos);
}

}  // namespace
}  // namespace ckpt
