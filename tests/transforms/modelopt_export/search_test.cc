// Activation statistics for searches of the export step: importance matrices and second moments.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/engine/execute.h"
#include "core/simd/dispatch.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Checkpoint open_model(const fs::path& path) {
  return (*recognize(path))->read(path, all_codecs(), {}).value();
}

using ExportPairs = std::vector<std::pair<std::string, std::string>>;

Result<Checkpoint> export_with(Checkpoint input, const ExportPairs& pairs, const Imatrix* imatrix,
                               const Checkpoint& moments, std::vector<std::string>* notes) {
  Options options;
  options.add("type", "nvfp4-w4a16");
  for (const auto& [key, value] : pairs) options.add(key, value);
  const auto opened = [&](const fs::path&) -> Result<Checkpoint> { return moments; };
  return find_transform("export")->apply(std::move(input), options,
                                         Context{all_codecs(), imatrix, notes, opened});
}

const Recoded& recoded(const Result<Checkpoint>& made, std::string_view name) {
  const Tensor* tensor = made->find_tensor(name);
  CKPT_CHECK(tensor != nullptr && !tensor->is_stored());
  return tensor->recoded();
}

// Ones on the diagonal, 0.5 next to it.
Tensor moments_of(std::string name, uint64_t runs, uint64_t n) {
  std::vector<float> values(runs * n * n);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t row = i / n % n, column = i % n;
    values[i] = row == column ? 1.0f : row + 1 == column || column + 1 == row ? 0.5f : 0.0f;
  }
  const auto bytes = std::as_bytes(std::span(values));
  return make_tensor(std::move(name), {runs, n, n}, plain_codec(all_codecs(), Dtype::kF32),
                     {bytes.begin(), bytes.end()});
}

std::vector<float> iota(size_t count) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), 1.0f);
  return out;
}

TEST(ExportSearch, ImportanceComesBackToTheCheckpointsNamesAndColumns) {
  const Checkpoint input = open_model(testdata("qwen35-micro"));
  Imatrix imatrix;
  imatrix.weights["blk.0.ffn_up.weight"] = iota(256);
  imatrix.weights["blk.0.ssm_out.weight"] = iota(256);
  std::vector<std::string> notes;
  const auto made = export_with(input, {{"search", "best"}}, &imatrix, {}, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Recoded& up = recoded(made, "model.layers.0.mlp.up_proj.weight");
  ASSERT_NE(up.weights, nullptr);
  EXPECT_EQ(up.weights->weights, iota(256));
  EXPECT_EQ(recoded(made, "model.layers.0.mlp.gate_proj.weight").weights, nullptr);
  EXPECT_EQ(notes.size(), 1u);
  // GGUF has the columns of this one in another order: through it, the weights must be 1, 2, 3...
  const Recoded& out = recoded(made, "model.layers.0.linear_attn.out_proj.weight");
  ASSERT_NE(out.weights, nullptr);
  const auto gguf = find_transform("to-gguf")->apply(
      input,
      [] {
        Options o;
        o.add("tokenizer-pre", "qwen35");
        return o;
      }(),
      Context{all_codecs()});
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  std::vector<float> there = out.weights->weights;
  for (const ValueOp& op : recoded(gguf, "blk.0.ssm_out.weight").ops) {
    if (const auto* permuted = std::get_if<PermuteColumns>(&op)) {
      for (size_t i = 0; i < there.size(); ++i) {
        there[i] = out.weights->weights[(*permuted->index)[i]];
      }
    }
  }
  EXPECT_EQ(there, iota(256));
  EXPECT_NE(out.weights->weights, iota(256));
}

TEST(ExportSearch, ExpertsHaveTheirOwnImportance) {
  const Checkpoint input = open_model(testdata("qwen35moe-micro"));
  const auto gguf = find_transform("to-gguf")->apply(
      input,
      [] {
        Options o;
        o.add("tokenizer-pre", "qwen35");
        return o;
      }(),
      Context{all_codecs()});
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  const Tensor& stack = *gguf->find_tensor("blk.1.ffn_down_exps.weight");
  const uint64_t columns = stack.row_values();
  Imatrix imatrix;
  imatrix.weights[stack.name] = iota(stack.shape[0] * columns);
  const auto made = export_with(input, {{"search", "sweep"}}, &imatrix, {}, nullptr);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  for (uint64_t e = 0; e < stack.shape[0]; ++e) {
    const std::string name = fmt::format("model.layers.1.mlp.experts.{}.down_proj.weight", e);
    const Recoded& expert = recoded(made, name);
    ASSERT_NE(expert.weights, nullptr) << name;
    ASSERT_EQ(expert.weights->weights.size(), columns);
    EXPECT_EQ(expert.weights->weights[0], static_cast<float>(e * columns + 1));
  }
}

// Qwen3.5's out_proj has value heads of 64 columns, which a GGUF has in another order.
TEST(GgufSearch, MomentsFollowColumnsThatMoveInWholeRuns) {
  const std::string kName = "model.layers.0.linear_attn.out_proj.input_moments";
  Options to_gguf, quantize;
  to_gguf.add("tokenizer-pre", "qwen35");
  quantize.add("type", "q4_k_m");
  quantize.add("search", "best");
  quantize.add("moments", "m.safetensors");
  for (const uint64_t n : {32, 64, 128}) {
    Tensor given = moments_of(kName, 256 / n, n);
    std::vector<float> values = *read_values(given, 256 * n);
    for (uint64_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(i / (n * n) + 1);
    const auto bytes = std::as_bytes(std::span(values));
    given = make_tensor(kName, given.shape, *given.codec, {bytes.begin(), bytes.end()});
    const auto opened = [&](const fs::path&) -> Result<Checkpoint> {
      Checkpoint out;
      out.tensors.push_back(given);
      return out;
    };
    auto made = find_transform("to-gguf")->apply(open_model(testdata("qwen35-micro")), to_gguf,
                                                 Context{all_codecs()});
    made = find_transform("quantize")
               ->apply(std::move(*made), quantize, Context{all_codecs(), nullptr, nullptr, opened});
    ASSERT_TRUE(made.has_value()) << made.error().text();
    const Recoded& out = recoded(made, "blk.0.ssm_out.weight");
    ASSERT_EQ(out.moments != nullptr, n <= 64) << n;
    if (out.moments == nullptr) continue;
    const auto& index =
        *std::get<PermuteColumns>(*std::find_if(out.ops.begin(), out.ops.end(), [](const auto& op) {
           return std::holds_alternative<PermuteColumns>(op);
         })).index;
    EXPECT_NE(index[64], 64u);
    const std::vector<float> moved = *read_values(*out.moments, 256 * n);
    for (uint64_t run = 0; run < 256 / n; ++run) {
      EXPECT_EQ(moved[run * n * n], static_cast<float>(index[run * n] / n + 1)) << run;
    }
  }
}

TEST(ExportSearch, ImportanceThatDoesNotFitIsRefused) {
  Imatrix imatrix;
  imatrix.file = "some.gguf";
  imatrix.weights["blk.0.ffn_up.weight"] = iota(255);
  auto made = export_with(open_model(testdata("qwen35-micro")), {{"search", "best"}}, &imatrix, {},
                          nullptr);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().text().find("255 values for 'blk.0.ffn_up.weight'; expected 256"),
            std::string::npos)
      << made.error().text();
  imatrix.weights["blk.0.ffn_up.weight"] = std::vector<float>(256, -1.0f);
  made = export_with(open_model(testdata("qwen35-micro")), {{"search", "best"}}, &imatrix, {},
                     nullptr);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kCorrupt);
  std::vector<std::string> notes;
  made = export_with(open_model(testdata("qwen35-micro")), {}, &imatrix, {}, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(notes.size(), 1u);
}

TEST(ExportSearch, MomentsOfOneMemberServeTheGroup) {
  Checkpoint moments;
  moments.tensors.push_back(moments_of("model.layers.0.mlp.gate_proj.input_moments", 4, 64));
  std::vector<std::string> notes;
  auto made = export_with(open_model(testdata("qwen35-micro")),
                          {{"search", "best"}, {"moments", "m"}}, nullptr, moments, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_NE(recoded(made, "model.layers.0.mlp.gate_proj.weight").moments, nullptr);
  EXPECT_NE(recoded(made, "model.layers.0.mlp.up_proj.weight").moments, nullptr);
  EXPECT_EQ(recoded(made, "model.layers.0.mlp.down_proj.weight").moments, nullptr);
  EXPECT_EQ(notes.size(), 1u);
  const auto refusal = [&](const ExportPairs& pairs) {
    const auto refused =
        export_with(open_model(testdata("qwen35-micro")), pairs, nullptr, moments, nullptr);
    return refused ? std::string("made") : refused.error().text();
  };
  EXPECT_NE(refusal({{"moments", "m"}}).find("only search=best"), std::string::npos);
  moments.tensors = {moments_of("model.layers.0.mlp.gate_proj.input_moments", 3, 64)};
  EXPECT_NE(refusal({{"search", "best"}, {"moments", "m"}}).find("3 x 64 columns"),
            std::string::npos);
  moments.tensors = {moments_of("model.layers.0.mlp.gate_proj.input_moments", 32, 8)};
  EXPECT_NE(refusal({{"search", "best"}, {"moments", "m"}}).find("multiple of 16"),
            std::string::npos);
  moments.tensors = {moments_of("something_else", 4, 64)};
  EXPECT_NE(refusal({{"search", "best"}, {"moments", "m"}}).find("no tensor"), std::string::npos);
}

TEST(ExportSearch, MomentsOfAStackAreThoseOfItsExperts) {
  const Checkpoint model = open_model(testdata("qwen35moe-micro"));
  const std::string experts = "model.layers.0.mlp.experts.";
  Checkpoint moments;
  moments.tensors = {moments_of(experts + "gate_up_proj.input_moments", 256 / 16, 16),
                     moments_of(experts + "down_proj.input_moments", 128 / 16, 16),
                     moments_of(experts + "1.down_proj.input_moments", 128 / 32, 32)};
  const auto made =
      export_with(model, {{"search", "best"}, {"moments", "m"}}, nullptr, moments, nullptr);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto runs = [&](const std::string& weight) {
    const auto& found = recoded(made, experts + weight + ".weight").moments;
    return found == nullptr ? 0 : found->shape[2];
  };
  for (const char* weight : {"0.gate_proj", "0.up_proj", "1.up_proj", "0.down_proj"}) {
    EXPECT_EQ(runs(weight), 16u) << weight;
  }
  EXPECT_EQ(runs("1.down_proj"), 32u) << "an expert's own come first";
}

// Every search, on every target, with any number of threads: the same file.
TEST(ExportSearch, BytesDependOnNothingButTheSearch) {
  Checkpoint moments;
  for (int layer = 0; layer < 4; ++layer) {
    for (const char* name : {"gate_proj", "down_proj"}) {
      const bool is_down = name[0] == 'd';
      moments.tensors.push_back(moments_of(
          fmt::format("model.layers.{}.mlp.{}.input_moments", layer, name), is_down ? 4 : 2, 128));
    }
  }
  Imatrix imatrix;
  imatrix.weights["blk.0.ffn_up.weight"] = iota(256);
  std::set<std::string> all;
  for (const ExportPairs& pairs :
       {ExportPairs{{"search", "four-over-six"}}, ExportPairs{{"search", "sweep"}},
        ExportPairs{{"search", "best"}}, ExportPairs{{"search", "best"}, {"moments", "m"}}}) {
    std::set<std::string> found;
    for (const SimdTarget target : simd_targets()) {
      if (target == SimdTarget::kScalar) continue;  // kernels are held to it one by one
      const ForcedSimdTarget forced(target);
      for (const unsigned threads : {1u, 3u}) {
        auto made =
            export_with(open_model(testdata("qwen35-micro")), pairs, &imatrix, moments, nullptr);
        ASSERT_TRUE(made.has_value()) << made.error().text();
        const TemporaryFolder folder;
        const auto layout =
            find_format("safetensors")->lay_out(*made, {.out_name = "out"}, all_codecs());
        Plan plan;
        plan.outputs.push_back({folder.path() / "out", std::move(*made), *layout});
        ExecuteOptions options;
        options.threads = threads;
        options.chunk_bytes = threads == 1 ? 1 << 16 : 1 << 20;
        const auto report = execute(plan, options);
        ASSERT_TRUE(report.has_value()) << report.error().text();
        for (const FileReport& file : report->files)
          if (file.path.ends_with(".safetensors")) found.insert(file.sha256);
      }
    }
    EXPECT_EQ(found.size(), 1u) << pairs.back().second;
    all.insert(found.begin(), found.end());
  }
  EXPECT_EQ(all.size(), 4u);
}

}  // namespace
}  // namespace ckpt
