// Whole families: what to-gguf, to-mmproj and quantize make of the folders in testdata/families has
// the SHA-256 of what llama.cpp v0.5.0 made of them, whole file by whole file.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "core/computed/strided_source.h"
#include "core/engine/execute.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

const std::filesystem::path kFamilyFolders = std::filesystem::path(CKPT_TESTDATA) / "families";

struct FamilyFile {
  std::string family, file, sha256;
  std::string pre;  // the pre-tokenizer's name that was answered; empty: found here
};
void PrintTo(const FamilyFile& row, std::ostream* out) { *out << row.family << "/" << row.file; }

std::vector<FamilyFile> family_files() {
  std::vector<FamilyFile> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFamilyFolders)) {
    std::ifstream sums(entry.path() / "SHA256SUMS");
    std::ifstream answered(entry.path() / "PRE");
    std::string pre;
    answered >> pre;
    for (FamilyFile row; sums >> row.sha256 >> row.file;) {
      row.family = entry.path().filename().string();
      row.pre = pre;
      out.push_back(row);
    }
  }
  std::sort(out.begin(), out.end(), [](const FamilyFile& a, const FamilyFile& b) {
    return std::tie(a.family, a.file) < std::tie(b.family, b.file);
  });
  return out;
}

Result<Checkpoint> step(const char* name, Checkpoint input, const Options& options) {
  return find_transform(name)->apply(std::move(input), options, {all_codecs(), nullptr, nullptr});
}

// "bf16.gguf", "*-outtype.gguf", "*-no-mtp.gguf", "*-dense.gguf" and "mmproj*.gguf" are the
// converter's, all others its bf16 file quantized.
Result<Checkpoint> made_as(const FamilyFile& row, Checkpoint input) {
  if (row.file.starts_with("mmproj")) {
    const bool has_type = row.file.starts_with("mmproj-");
    const size_t start = std::string_view("mmproj-").size();
    const std::string type = has_type ? row.file.substr(start, row.file.find('.') - start) : "bf16";
    return step("to-mmproj", std::move(input), {{"mmproj-type", type}});
  }
  const std::string type = row.file.substr(0, row.file.find_first_of("-."));
  const bool has_dense = row.file.ends_with("-dense.gguf");
  const bool is_plain = row.file == "bf16.gguf" || row.file == "bf16-no-mtp.gguf" || has_dense;
  const bool is_converters = is_plain || row.file.ends_with("-outtype.gguf");
  Options convert;
  convert.add("outtype", is_converters ? type : "bf16");
  if (row.file.find("-no-mtp") != std::string::npos) convert.add("mtp", "no");
  if (has_dense) convert.add("dense-modules", "yes");
  if (!row.pre.empty()) convert.add("tokenizer-pre", row.pre);
  // tokenizer.model is missing; tokenizer_config.json does not name "<|think|>", a special token.
  const bool differs = row.family == "tinyllama" || row.family.starts_with("gemma4");
  if (differs) convert.add("tokenizer-as", "converter");
  CKPT_ASSIGN(input, step("to-gguf", std::move(input), convert));
  if (is_converters) return input;
  Options quantize;
  quantize.add("type", type);
  return step("quantize", std::move(input), quantize);
}

Result<std::string> made_sha256(const FamilyFile& row, const std::filesystem::path& out) {
  const std::filesystem::path folder = kFamilyFolders / row.family / "hf";
  CKPT_ASSIGN(const Format* format, recognize(folder));
  CKPT_ASSIGN(Checkpoint checkpoint, format->read(folder, all_codecs(), {}));
  checkpoint.name = row.family;  // the folder's name when the reference was made
  CKPT_ASSIGN(checkpoint, made_as(row, std::move(checkpoint)));
  CKPT_ASSIGN(Layout layout, find_format("gguf")->lay_out(
                                 checkpoint, {.out_name = out.filename().string()}, all_codecs()));
  Plan plan;
  plan.outputs.push_back({out, std::move(checkpoint), std::move(layout)});
  CKPT_TRY(check(plan));
  ExecuteOptions execution;
  execution.force = true;
  CKPT_ASSIGN(const ExecuteReport report, execute(plan, execution));
  return report.files.at(0).sha256;
}

class FamilyReference : public testing::TestWithParam<FamilyFile> {};

TEST_P(FamilyReference, IsTheFileOfLlamaCpp) {
  const auto out = std::filesystem::path(testing::TempDir()) /
                   (GetParam().family + "_" + GetParam().file + ".made.gguf");
  const auto made = made_sha256(GetParam(), out);
  std::filesystem::remove(out);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(*made, GetParam().sha256);
}

Checkpoint qwen3_vl_moe() {
  const std::filesystem::path folder = kFamilyFolders / "qwen3-vl-moe" / "hf";
  return (*recognize(folder))->read(folder, all_codecs(), {}).value();
}

// The first values of each axis, and of those that `axes` names in another order.
Tensor part_of(const Tensor& tensor, std::array<uint64_t, 3> sizes, std::array<size_t, 3> axes) {
  std::array<uint64_t, 3> steps = {1, 1, 1};
  for (size_t i = tensor.shape.size(); i-- > 1;) steps[i - 1] = steps[i] * tensor.shape[i];
  StridedGrid grid;
  for (size_t i = 0; i < 3; ++i) {
    grid.sizes[i] = sizes[axes[i]];
    grid.strides[i] = steps[axes[i]];
  }
  Tensor out = take_grid(tensor, grid).value();
  out.shape.resize(tensor.shape.size());
  return out;
}

// The first 32 of 96 values of the model, as wide as its experts.
Checkpoint as_wide_as_its_experts(Checkpoint input) {
  for (Tensor& tensor : input.tensors) {
    if (tensor.name.find("visual.") != std::string::npos) continue;
    std::array<uint64_t, 3> sizes = {1, 1, 1};
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      sizes[i] = tensor.shape[i] == 96 ? 32 : tensor.shape[i];
    }
    tensor = part_of(tensor, sizes, {0, 1, 2});
  }
  JsonValue config = *input.find_document("config.json")->values().value();
  config["text_config"]["hidden_size"] = 32;
  input.set_document("config.json", config.dump());
  return input;
}

// The experts transposed, as transformers 5 saves them.
Checkpoint with_turned_experts(Checkpoint input) {
  for (Tensor& tensor : input.tensors) {
    if (tensor.name.find(".mlp.experts.") == std::string::npos) continue;
    tensor = part_of(tensor, {tensor.shape[0], tensor.shape[1], tensor.shape[2]}, {0, 2, 1});
  }
  return input;
}

// A folder that transformers 5 saved has the released file's values, its experts turned.
void expect_turned_experts_give_the_same(const Checkpoint& input) {
  const Options options{{"outtype", "f32"}, {"tokenizer-pre", "qwen2"}};
  const auto released = step("to-gguf", input, options);
  const auto saved = step("to-gguf", with_turned_experts(input), options);
  ASSERT_TRUE(released && saved) << (saved ? "" : saved.error().text());
  ASSERT_EQ(released->tensors.size(), saved->tensors.size());
  for (size_t i = 0; i < saved->tensors.size(); ++i) {
    const Tensor& tensor = saved->tensors[i];
    EXPECT_EQ(tensor.name, released->tensors[i].name);
    EXPECT_EQ(tensor.shape, released->tensors[i].shape) << tensor.name;
    if (tensor.name.find("_exps") == std::string::npos) continue;
    constexpr uint64_t kLimit = 1 << 20;
    const auto values_of = [](const Tensor& each) {
      return read_values(each.stored_tensor(), kLimit);
    };
    EXPECT_EQ(values_of(tensor).value(), values_of(released->tensors[i]).value()) << tensor.name;
  }
}

TEST(Families, ExpertsOfQwen3VlThatAreSavedOutInGiveTheSameTensors) {
  expect_turned_experts_give_the_same(qwen3_vl_moe());
}

TEST(Families, ExpertsOfQwen3VlAsWideAsTheModelAreToldApartByTheirGateAndUp) {
  expect_turned_experts_give_the_same(as_wide_as_its_experts(qwen3_vl_moe()));
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyReference, testing::ValuesIn(family_files()),
                         [](const auto& row) {
                           std::string name = row.param.family + "_" + row.param.file;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace ckpt
