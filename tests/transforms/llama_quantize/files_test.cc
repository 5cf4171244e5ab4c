// Whole files: what the quantize step makes of the files in testdata/mixtures has the SHA-256 of
// what llama-quantize made of them, with and without an importance matrix.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/engine/execute.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

using OrderedJson = nlohmann::ordered_json;
const std::filesystem::path kFolder = std::filesystem::path(CKPT_TESTDATA) / "mixtures";

// Computes the matrix as make_mixtures.py does.
Imatrix make_file_imatrix(const Checkpoint& checkpoint) {
  Imatrix out;
  out.file = "m.imatrix";
  out.datasets = {"text.txt"};
  out.chunk_count = 7;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool has = tensor.shape.size() >= 2 && tensor.name.ends_with("weight") &&
                     tensor.name != "token_embd.weight";
    if (!has) continue;
    const uint64_t matrices = tensor.shape.size() == 3 ? tensor.shape[0] : 1;
    std::vector<float>& weights = out.weights[tensor.name];
    for (uint64_t i = 0; i < matrices * tensor.row_values(); ++i) {
      weights.push_back(static_cast<float>(1 + (37 * i + tensor.name.size()) % 101) / 16);
    }
  }
  return out;
}

Result<std::string> quantized_sha256(const OrderedJson& row, const std::filesystem::path& out) {
  const Format* gguf = find_format("gguf");
  CKPT_ASSIGN(Checkpoint checkpoint,
              gguf->read(kFolder / (row["name"].get<std::string>() + ".gguf"), all_codecs(), {}));
  const Imatrix imatrix = make_file_imatrix(checkpoint);
  Options options;
  options.add("type", row["type"]);
  const Context context{all_codecs(), row["imatrix"].get<bool>() ? &imatrix : nullptr, nullptr};
  CKPT_ASSIGN(checkpoint,
              find_transform("quantize")->apply(std::move(checkpoint), options, context));
  CKPT_ASSIGN(Layout layout,
              gguf->lay_out(checkpoint, {.out_name = out.filename().string()}, all_codecs()));
  Plan plan;
  plan.outputs.push_back({out, std::move(checkpoint), std::move(layout)});
  CKPT_TRY(check(plan));
  ExecuteOptions execution;
  execution.force = true;
  CKPT_ASSIGN(const ExecuteReport report, execute(plan, execution));
  return report.files.at(0).sha256;
}

TEST(QuantizeFiles, EqualThoseOfLlamaQuantize) {
  std::ifstream file(kFolder / "files.json");
  const OrderedJson golden = OrderedJson::parse(file, nullptr, false);
  ASSERT_FALSE(golden.is_discarded());
  const auto out = std::filesystem::path(testing::TempDir()) / "quantize_files_test.gguf";
  int compared = 0;
  for (const OrderedJson& row : golden["files"]) {
    const auto made = quantized_sha256(row, out);
    if (row["sha256"].is_null()) {
      EXPECT_FALSE(made.has_value()) << row.dump();
      continue;
    }
    ASSERT_TRUE(made.has_value()) << row.dump() << made.error().text();
    EXPECT_EQ(*made, row["sha256"].get<std::string>()) << row.dump();
    ++compared;
  }
  std::filesystem::remove(out);
  // All but those that need a matrix, without one: q2_k_s, and eight of IQ1 to IQ3.
  EXPECT_EQ(compared, 3 * (2 * 33 - 9));
}

}  // namespace
}  // namespace ckpt
