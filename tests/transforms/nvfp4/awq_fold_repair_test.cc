// awq-fold-repair on two layers of a real export of ModelOpt 0.47 (Qwen3.5, NVFP4_AWQ), and on
// checkpoints whose folds are sound.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "tests/transforms/run_step.h"
#include "transforms/nvfp4/awq_folds.h"
#include "transforms/transforms.h"

namespace ckpt {
using step_test::open;
using step_test::tensor;
namespace {

namespace fs = std::filesystem;

constexpr const char* kExport = "mixed/qwen35-micro-awq-lite";
constexpr const char* kBase = "qwen35-micro";

struct RepairOutcome {
  Result<Checkpoint> made;
  std::vector<std::string> notes;
};
RepairOutcome repaired(Checkpoint source, const char* base = kBase) {
  Options given;
  if (base != nullptr) given.add("base", testdata(base).string());
  std::vector<std::string> notes;
  auto made = find_transform("awq-fold-repair")
                  ->apply(std::move(source), given, Context{all_codecs(), nullptr, &notes, open});
  return {std::move(made), std::move(notes)};
}

// Values as they will be written.
std::vector<float> values(const Tensor& each) {
  Checkpoint alone;
  alone.format = "safetensors";
  alone.tensors = {each};
  const auto out = read_values(step_test::settle(std::move(alone)).tensors[0], UINT64_MAX);
  CKPT_CHECK(out.has_value());
  return *out;
}

// How near (1 + w') W' is to the base's (1 + w) W, in decibels.
double product_db(const Checkpoint& made, const std::string& norm, const std::string& reader) {
  const Checkpoint base = *open(testdata(kBase));
  const auto w = values(tensor(made, norm)), w_base = values(tensor(base, norm));
  const auto m = values(tensor(made, reader)), m_base = values(tensor(base, reader));
  double signal = 0, noise = 0;
  for (size_t i = 0; i < m.size(); ++i) {
    const double expected = (1 + double{w_base[i % w.size()]}) * m_base[i];
    const double found = (1 + double{w[i % w.size()]}) * m[i];
    signal += expected * expected;
    noise += (found - expected) * (found - expected);
  }
  return 10 * std::log10(signal / noise);
}

struct Pair {
  const char *norm, *reader;
  double least_db;
};
constexpr Pair kPairs[] = {
    {"model.layers.0.input_layernorm.weight", "model.layers.0.linear_attn.in_proj_qkv.weight", 18},
    {"model.layers.0.input_layernorm.weight", "model.layers.0.linear_attn.in_proj_a.weight", 40},
    {"model.layers.0.input_layernorm.weight", "model.layers.0.linear_attn.in_proj_b.weight", 40},
    {"model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.up_proj.weight", 18},
    {"model.layers.3.input_layernorm.weight", "model.layers.3.self_attn.v_proj.weight", 18},
    {"model.layers.3.post_attention_layernorm.weight", "model.layers.3.mlp.gate_proj.weight", 18}};

TEST(AwqFoldRepair, NormAndReadersMultiplyToTheBaseAgain) {
  const Checkpoint source = *open(testdata(kExport));
  const RepairOutcome out = repaired(source);
  ASSERT_TRUE(out.made.has_value()) << out.made.error().text();
  for (const Pair& pair : kPairs) {
    const double before = product_db(source, pair.norm, pair.reader);
    const double after = product_db(*out.made, pair.norm, pair.reader);
    EXPECT_GT(after, pair.least_db) << pair.reader << ", before " << before;
    EXPECT_GT(after, before) << pair.reader;
  }
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("4 norms"), std::string::npos) << out.notes[0];
  EXPECT_NE(out.notes[0].find("2 unquantized layers"), std::string::npos) << out.notes[0];
}

TEST(AwqFoldRepair, EverythingElseStays) {
  const Checkpoint source = *open(testdata(kExport));
  const RepairOutcome out = repaired(source);
  ASSERT_TRUE(out.made.has_value());
  ASSERT_EQ(out.made->tensors.size(), source.tensors.size());
  size_t changed = 0;
  for (size_t i = 0; i < source.tensors.size(); ++i) {
    changed += out.made->tensors[i].is_stored() ? 0 : 1;
    EXPECT_EQ(out.made->tensors[i].codec, source.tensors[i].codec);
  }
  EXPECT_EQ(changed, 6u);
  EXPECT_EQ(out.made->find_document("hf_quant_config.json")->text(),
            source.find_document("hf_quant_config.json")->text());
}

// Recoded tensors of a step with values instead: as if written and read.
Checkpoint settled(Checkpoint checkpoint) {
  for (Tensor& each : checkpoint.tensors) {
    if (each.is_stored()) continue;
    const std::vector<float> held = values(each);
    std::vector<std::byte> bytes(held.size() * 2);
    const std::span<std::byte> part = bytes;
    each.codec->encode({held, each.row_values()}, {}, std::span(&part, 1));
    each = make_tensor(each.name, each.shape, *each.codec, std::move(bytes));
  }
  return checkpoint;
}

TEST(AwqFoldRepair, ASecondTimeChangesNothing) {
  const Checkpoint once = settled(*repaired(*open(testdata(kExport))).made);
  const RepairOutcome twice = repaired(once);
  ASSERT_TRUE(twice.made.has_value());
  EXPECT_NE(twice.notes.at(0).find("nothing changed"), std::string::npos) << twice.notes[0];
  for (size_t i = 0; i < once.tensors.size(); ++i) {
    EXPECT_TRUE(twice.made->tensors[i].is_stored()) << once.tensors[i].name;
  }
}

TEST(AwqFoldRepair, ReportsSuspectNormsWithoutABase) {
  const Checkpoint source = *open(testdata(kExport));
  const RepairOutcome out = repaired(source, nullptr);
  ASSERT_FALSE(out.made.has_value());
  EXPECT_EQ(out.made.error().code, ErrorCode::kUsage);
  EXPECT_NE(out.made.error().text().find("look wrongly folded"), std::string::npos)
      << out.made.error().text();

  const RepairOutcome after = repaired(settled(*repaired(source).made), nullptr);
  ASSERT_FALSE(after.made.has_value());
  EXPECT_NE(after.made.error().text().find("no norm looks wrongly folded"), std::string::npos)
      << after.made.error().text();
}

// Floats made of wrong folds look sound to every later check.
TEST(AwqFoldRepair, DequantizeRefusesWrongFoldsUntilTheyAreRepaired) {
  const auto dequantized = [](Checkpoint source, const char* folds = nullptr) {
    Options given;
    if (folds != nullptr) given.add("folds", folds);
    return find_transform("dequantize")->apply(std::move(source), given, Context{all_codecs()});
  };
  const Checkpoint source = *open(testdata(kExport));
  const auto refused = dequantized(source);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(refused.error().what.find("4 norms look as if"), std::string::npos);
  EXPECT_TRUE(refused.error().hint.starts_with("--step awq-fold-repair:base=DIR"));

  const auto made = dequantized(*repaired(source).made);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  for (const Pair& pair : kPairs) {
    EXPECT_GT(product_db(*made, pair.norm, pair.reader), pair.least_db) << pair.reader;
  }
  EXPECT_TRUE(dequantized(settled(*repaired(source).made)).has_value());
  EXPECT_TRUE(dequantized(source, "keep").has_value());
  EXPECT_EQ(dequantized(source, "maybe").error().code, ErrorCode::kUsage);
}

// A column whose norm weight is 0 tells its scale by the weights alone.
TEST(AwqFoldRepair, AScaleComesFromTheWeightsWhereTheNormIsZero) {
  const Checkpoint source = *open(testdata(kExport));
  Checkpoint zeroed = source, base = *open(testdata(kBase));
  const std::string norm = "model.layers.3.input_layernorm.weight";
  for (Checkpoint* each : {&zeroed, &base}) {
    for (Tensor& tensor_ : each->tensors) {
      if (tensor_.name != norm) continue;
      std::string bytes = part_bytes(tensor_);
      std::fill_n(bytes.begin(), 64, '\0');
      std::vector<std::byte> copy(bytes.size());
      std::memcpy(copy.data(), bytes.data(), bytes.size());
      tensor_ = make_tensor(norm, tensor_.shape, *tensor_.codec, std::move(copy));
    }
  }
  Options given;
  given.add("base", "base");
  const auto made =
      find_transform("awq-fold-repair")
          ->apply(zeroed, given,
                  Context{all_codecs(), nullptr, nullptr,
                          [&](const fs::path&) -> Result<Checkpoint> { return base; }});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto expected = values(tensor(*repaired(source).made, norm));
  const auto before = values(tensor(base, norm)),
             was = values(tensor(*open(testdata(kBase)), norm));
  const auto found = values(tensor(*made, norm));
  for (size_t i = 0; i < 32; ++i) {
    const double scale = (1 + double{expected[i]}) / (1 + double{was[i]});
    EXPECT_NEAR((1 + double{found[i]}) / scale, 1, 0.05) << i;
  }
  EXPECT_EQ(before[40], was[40]);
}

// Qwen3 has plain norms: w s is right there.
TEST(AwqFoldRepair, KeepsCorrectFolds) {
  const auto plain = open(testdata("export/modelopt/qwen3-micro/nvfp4"));
  ASSERT_TRUE(plain.has_value());
  const RepairOutcome out = repaired(*plain, "qwen3-micro");
  ASSERT_TRUE(out.made.has_value()) << out.made.error().text();
  EXPECT_NE(out.notes.at(0).find("nothing changed"), std::string::npos) << out.notes[0];
}

}  // namespace
}  // namespace ckpt
