// Whole families: what to-gguf, to-mmproj and quantize make of the folders in testdata/families has
// the SHA-256 of what llama.cpp v0.5.0 made of them, whole file by whole file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "core/engine/execute.h"
#include "core/model/strided_source.h"
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

// "bf16.gguf", "*-outtype.gguf", "*-no-mtp.gguf" and "mmproj*.gguf" are the converter's, all others
// its bf16 file quantized.
Result<Checkpoint> made_as(const FamilyFile& row, Checkpoint input) {
  if (row.file.starts_with("mmproj")) {
    const bool has_type = row.file.starts_with("mmproj-");
    const size_t start = std::string_view("mmproj-").size();
    const std::string type = has_type ? row.file.substr(start, row.file.find('.') - start) : "bf16";
    return step("to-mmproj", std::move(input), {{"mmproj-type", type}});
  }
  const std::string type = row.file.substr(0, row.file.find_first_of("-."));
  const bool is_plain = row.file == "bf16.gguf" || row.file == "bf16-no-mtp.gguf";
  const bool is_converters = is_plain || row.file.ends_with("-outtype.gguf");
  Options convert;
  convert.add("outtype", is_converters ? type : "bf16");
  if (row.file.find("-no-mtp") != std::string::npos) convert.add("mtp", "no");
  if (!row.pre.empty()) convert.add("tokenizer-pre", row.pre);
  CKPT_ASSIGN(input, step("to-gguf", std::move(input), convert));
  if (is_converters) return input;
  Options quantize;
  quantize.add("type", type);
  return step("quantize", std::move(input), quantize);
}

Result<std::string> made_sha256(const FamilyFile& row, const std::filesystem::path& out) {
  const std::filesystem::path folder = kFamilyFolders / row.family / "hf";
  CKPT_ASSIGN(const Format* format, recognize(folder));
  CKPT_ASSIGN(Checkpoint checkpoint, format->read(folder, all_codecs()));
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

// A folder that transformers 5 saved has the released file's values, its experts turned.
TEST(Families, ExpertsOfQwen3VlThatAreSavedOutInGiveTheSameTensors) {
  const std::filesystem::path folder = kFamilyFolders / "qwen3-vl-moe" / "hf";
  const auto read = (*recognize(folder))->read(folder, all_codecs());
  ASSERT_TRUE(read);
  Checkpoint turned = *read;
  for (Tensor& tensor : turned.tensors) {
    if (tensor.name.find(".mlp.experts.") == std::string::npos) continue;
    const uint64_t in = tensor.shape[1], out = tensor.shape[2];
    auto grid = take_grid(tensor, {0, {tensor.shape[0], out, in}, {in * out, 1, out}});
    ASSERT_TRUE(grid);
    tensor = std::move(*grid);
  }
  const Options options{{"outtype", "f32"}, {"tokenizer-pre", "qwen2"}};
  const auto released = step("to-gguf", *read, options);
  const auto saved = step("to-gguf", turned, options);
  ASSERT_TRUE(released && saved) << (saved ? "" : saved.error().text());
  ASSERT_EQ(released->tensors.size(), saved->tensors.size());
  for (size_t i = 0; i < saved->tensors.size(); ++i) {
    const Tensor& tensor = saved->tensors[i];
    EXPECT_EQ(tensor.name, released->tensors[i].name);
    EXPECT_EQ(tensor.shape, released->tensors[i].shape) << tensor.name;
    if (tensor.name.find("_exps") == std::string::npos) continue;
    constexpr uint64_t kLimit = 1 << 20;
    const auto values_of = [](const Tensor& each) {
      return read_values(each.is_stored() ? each : *each.recoded().from, kLimit);
    };
    EXPECT_EQ(values_of(tensor).value(), values_of(released->tensors[i]).value()) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyReference, testing::ValuesIn(family_files()),
                         [](const auto& row) {
                           std::string name = row.param.family + "_" + row.param.file;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace ckpt
