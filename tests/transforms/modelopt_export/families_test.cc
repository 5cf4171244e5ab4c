// Exports of every family: which layers are quantized, which are listed as excluded, how large the
// scales are; or the sentence that refuses.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "core/base/sha256.h"
#include "core/computed/strided_source.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "tests/transforms/run_step.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {
using namespace step_test;
namespace {

// testdata/export/families.tsv: folder, count of quantized weights, exclude_modules; or the folder,
// "-" and the sentence.
struct ExportedFamily {
  std::string folder, count, rest;
};

std::vector<ExportedFamily> exported_families() {
  std::istringstream lines(read_file(testdata("export/families.tsv")));
  std::vector<ExportedFamily> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    out.push_back({line.substr(0, first), line.substr(first + 1, second - first - 1),
                   line.substr(second + 1)});
  }
  return out;
}

Result<Checkpoint> exported_as(const std::string& folder, const Options& given) {
  auto floats = open(testdata("families/" + folder + "/hf"));
  CKPT_CHECK(floats.has_value());
  return run("export", std::move(*floats), given);
}

// Describes the export as the file would be written.
ExportedFamily described(const std::string& folder, const Result<Checkpoint>& made) {
  if (!made) return {folder, "-", made.error().text()};
  uint64_t count = 0;
  for (const Tensor& tensor : made->tensors) count += tensor.has_scales() ? 1 : 0;
  const auto config = read_quant_config(*made);
  CKPT_CHECK(config.has_value() && config->has_value());
  return {folder, std::to_string(count),
          fmt::format("{}", fmt::join((*config)->exclude_modules.value(), " "))};
}

TEST(ExportFamilies, EachIsExportedOrRefusedByName) {
  const std::vector<ExportedFamily> expected = exported_families();
  std::set<std::string> seen;
  for (const ExportedFamily& row : expected) {
    seen.insert(row.folder);
    const ExportedFamily found =
        described(row.folder, exported_as(row.folder, {{"type", "nvfp4-w4a16"}}));
    EXPECT_EQ(found.count, row.count) << row.folder;
    EXPECT_EQ(found.rest, row.rest) << row.folder;
  }
  for (const auto& entry : std::filesystem::directory_iterator(testdata("families"))) {
    EXPECT_EQ(seen.count(entry.path().filename().string()), 1u) << entry.path();
  }
}

// The real exporter's codes and scales, family by family: testdata/export/modelopt_families.tsv.
TEST(ExportFamilies, QuantizedWeightsAreModelOpts) {
  std::istringstream lines(read_file(testdata("export/modelopt_families.tsv")));
  size_t families = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string folder, count, digest;
    words >> folder >> count >> digest;
    const Checkpoint made =
        settle(exported_as(folder, {{"type", "nvfp4-w4a16"}, {"rounding", "cpu"}}));
    std::map<std::string, const Tensor*> quantized;
    for (const Tensor& tensor : made.tensors) {
      if (tensor.has_scales()) quantized[tensor.name] = &tensor;
    }
    Sha256 hash;
    for (const auto& [name, tensor] : quantized) {
      const std::string line_of_name = name + "\n";
      hash.add(std::as_bytes(std::span(line_of_name)));
      for (size_t part = 0; part < tensor->codec->parts.size(); ++part) {
        const std::string bytes = part_bytes(*tensor, part);
        hash.add(std::as_bytes(std::span(bytes)));
      }
    }
    EXPECT_EQ(std::to_string(quantized.size()), count) << folder;
    EXPECT_EQ(hash.finish(), digest) << folder;
    ++families;
  }
  EXPECT_EQ(families, 22U);
}

// `ckpt list families` describes exports correctly.
std::string class_in(const JsonText& config) {
  const JsonText* names = config.find("architectures");
  return names == nullptr ? "" : names->items()[0].as_text().value_or("");
}

TEST(ExportFamilies, TheListSaysWhichAreExportedWhole) {
  std::map<std::string, bool> listed;  // by architecture
  for (const FamilyInfo& family : all_families()) {
    std::istringstream words{std::string(family.architectures)};
    for (std::string word; words >> word;) listed[word] = family.not_in_nvfp4.empty();
    // Converting a wrapper to GGUF and back gives the class of its text part.
    const std::string_view classes = family.architectures;
    const bool is_wrapper = classes.find("ForConditionalGeneration") != classes.npos;
    const bool is_encoder = family.name.ends_with("bert") || family.name == "jina-bert-v2";
    const bool keeps_types = family.name == "deepseek4";
    EXPECT_TRUE(family.comes_back || is_wrapper || is_encoder || keeps_types) << family.name;
  }
  for (const ExportedFamily& row : exported_families()) {
    const Checkpoint model = *open(testdata("families/" + row.folder + "/hf"));
    const auto config = read_config(model);
    const bool is_quantized = row.rest.find("--step dequantize") != std::string::npos;
    if (is_quantized) continue;
    auto found = listed.find(class_in(**config));
    for (const std::string_view part : kTextParts) {
      const JsonText* text = (*config)->find_object(part);
      if (found == listed.end() && text != nullptr) found = listed.find(class_in(*text));
    }
    if (found == listed.end()) {
      EXPECT_EQ(row.folder, "ultravox") << "only its projector is converted";
    } else {
      // The test model's rows of n-grams are narrower than those of its class.
      EXPECT_EQ(found->second, row.count != "-" || row.folder == "qwen4exp") << row.folder;
    }
  }
}

// Experts that stay stacked are modules under the names of their tensors.
bool is_stacked(const Tensor& tensor) { return tensor.codec->dialect == Dialect::kModeloptStack; }

// Made-up maxima of the inputs of all layers that a weight-only export quantizes.
std::string made_up_maxima(const Checkpoint& made) {
  std::string out;
  for (const Tensor& tensor : made.tensors) {
    if (!tensor.has_scales()) continue;
    out += fmt::format("{}\"{}\": 8.0", out.empty() ? "{" : ", ",
                       is_stacked(tensor) ? tensor.name : module_of(tensor.name));
  }
  return out + "}";
}

uint64_t part_bytes_expected(const Tensor& tensor, size_t part) {
  const uint64_t values = tensor.values();
  if (part == 0) return tensor.codec->scheme == Scheme::kNvfp4 ? values / 2 : values;
  return tensor.codec->parts.size() == 3 && part == 1 ? values / 16 : sizeof(float);
}

// [N, K] has a scale for 16 values of a row and one for the tensor; FP8 one alone. With activations
// each has an input scale.
TEST(ExportFamilies, ScalesFitTheirWeights) {
  const TemporaryFolder folder;
  for (const ExportedFamily& row : exported_families()) {
    if (row.count == "-") continue;
    const auto weights_alone = exported_as(row.folder, {{"type", "nvfp4-w4a16"}});
    ASSERT_TRUE(weights_alone.has_value()) << row.folder;
    const std::string maxima = (folder / (row.folder + ".json")).string();
    write_file(maxima, made_up_maxima(*weights_alone));
    const bool has_stacks = std::ranges::any_of(weights_alone->tensors, is_stacked);
    for (const std::string type : {"nvfp4", "fp8"}) {
      const auto made = exported_as(row.folder, {{"type", type}, {"amax-from", maxima}});
      if (has_stacks && type == "fp8") {
        EXPECT_FALSE(made.has_value()) << row.folder;
        continue;
      }
      ASSERT_TRUE(made.has_value()) << row.folder << ' ' << type << ' ' << made.error().text();
      EXPECT_EQ(described(row.folder, made).count, row.count) << row.folder << ' ' << type;
      std::set<std::string> names;
      for (const Tensor& tensor : made->tensors) names.insert(tensor.name);
      for (const Tensor& tensor : made->tensors) {
        if (!tensor.has_scales()) continue;
        const std::string side = is_stacked(tensor) ? tensor.name + "_input_scale"
                                                    : module_of(tensor.name) + ".input_scale";
        EXPECT_EQ(names.count(side), 1u) << tensor.name;
        for (size_t part = 0; part < tensor.codec->parts.size(); ++part)
          EXPECT_EQ(part_size_bytes(tensor, part), part_bytes_expected(tensor, part))
              << tensor.name;
      }
    }
  }
}

// Qwen3-VL's experts as transformers 5 saves them, from those that were released.
Checkpoint with_experts_by_output(Checkpoint checkpoint) {
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.shape.size() != 3 || tensor.name.find(".experts.") == std::string::npos) continue;
    const uint64_t rows = tensor.shape[1], columns = tensor.shape[2];
    auto made =
        take_grid(tensor, {0, {tensor.shape[0], columns, rows}, {rows * columns, 1, columns}});
    CKPT_CHECK(made.has_value());
    tensor = std::move(*made);
  }
  return checkpoint;
}

TEST(ExportFamilies, ReleasedExpertsOfQwen3VlAreThoseThatTransformersSaves) {
  const Checkpoint released = *open(testdata("families/qwen3-vl-moe/hf"));
  const Options given = options({{"type", "nvfp4-w4a16"}});
  const Checkpoint expected = settle(run("export", with_experts_by_output(released), given));
  const Checkpoint made = settle(run("export", released, given));
  ASSERT_EQ(names_of(made), names_of(expected));
  EXPECT_NE(made.find_tensor("model.language_model.layers.1.mlp.experts.2.up_proj.weight"),
            nullptr);
  for (const Tensor& tensor : expected.tensors) {
    const Tensor& found = step_test::tensor(made, tensor.name);
    for (size_t part = 0; part < tensor.codec->parts.size(); ++part) {
      EXPECT_EQ(part_bytes(found, part), part_bytes(tensor, part)) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace ckpt
