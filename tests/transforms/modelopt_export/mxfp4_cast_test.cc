// Weights of MXFP4 become NVFP4 by keeping their codes where that is exact; what is not is named.
#include <cmath>

#include "core/chunks/repack.h"
#include "core/model/tensor_names.h"
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

constexpr std::string_view kMxConfig =
    R"({"model_type": "llama", "quantization_config": {"quant_method": "compressed-tensors",
        "format": "mxfp4-pack-quantized", "config_groups": {"group_0": {"format":
        "mxfp4-pack-quantized", "weights": {"num_bits": 4, "type": "float", "group_size": 32}}}}})";

// [rows, 32 x blocks of a row]: codes count up, one exponent a block.
Tensor mxfp4_weight(std::string name, uint64_t rows, const std::vector<uint8_t>& exponents) {
  const Codec& codec = scheme_codec(all_codecs(), Scheme::kMxfp4, Dialect::kCompressedTensors);
  std::vector<std::byte> codes(exponents.size() * 16), scales;
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::byte>(i % 2 == 0 ? 0x71 + i % 7 : 0xA3);
  }
  for (const uint8_t exponent : exponents) scales.push_back(static_cast<std::byte>(exponent));
  Tensor out;
  out.name = std::move(name);
  out.shape = {rows, exponents.size() / rows * 32};
  out.codec = &codec;
  const auto slice = [](std::vector<std::byte> bytes) {
    const uint64_t size = bytes.size();
    return std::vector<Slice>{{make_blob("made", std::move(bytes)), 0, size}};
  };
  out.origin = Stored{{slice(std::move(codes)), slice(std::move(scales))}};
  return out;
}

void clear_block(Tensor& weight, uint64_t block) {
  auto& slice = std::get<Stored>(weight.origin).parts[0][0];
  const auto bytes = slice.source->memory();
  std::vector<std::byte> codes(bytes.begin(), bytes.end());
  std::fill_n(codes.begin() + static_cast<std::ptrdiff_t>(block * 16), 16, std::byte{0});
  slice.source = make_blob("made", std::move(codes));
}

Checkpoint mxfp4_model(std::vector<Tensor> weights) {
  Checkpoint out;
  out.format = "safetensors";
  out.set_document("config.json", std::string(kMxConfig));
  out.tensors = std::move(weights);
  return out;
}

const Options kWeightOnly = options({{"type", "nvfp4"}, {"preset", "weight-only"}});

// The values of a weight in the folder that `made` is written to.
std::vector<float> written_values(const Checkpoint& made, const std::string& name) {
  const TemporaryFolder folder;
  const Status status = write_folder(made, folder / "out");
  EXPECT_TRUE(status.has_value()) << status.error().text();
  const Checkpoint back = *open(folder / "out");
  const Tensor* found = back.find_tensor(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? std::vector<float>() : *read_values(*found, 1 << 20);
}

TEST(Mxfp4Cast, KeepsEveryValueInsideTheWindow) {
  // 17 powers of two apart, in two weights that share a scale; byte 0 does not count.
  Tensor gate = mxfp4_weight("model.layers.0.mlp.gate_proj.weight", 2, {127, 120, 125, 113});
  Tensor up = mxfp4_weight("model.layers.0.mlp.up_proj.weight", 2, {130, 129, 0, 128});
  clear_block(up, 2);
  std::vector<std::string> notes;
  for (const char* rounding : {"cpu", "gpu"}) {
    Options given = kWeightOnly;
    given.add("rounding", rounding);
    const auto made = run("export", mxfp4_model({gate, up}), given, &notes);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    for (const Tensor* weight : {&gate, &up}) {
      EXPECT_EQ(written_values(*made, weight->name), *read_values(*weight, 1 << 20)) << rounding;
      EXPECT_EQ(recoded(made, weight->name).stats->amax, std::ldexp(2688.0f, 3 - 8));
    }
    EXPECT_EQ(count_moved(made->tensors).tensors, 2u);
    EXPECT_EQ(count_moved(made->tensors).blocks, 8u);
  }
  EXPECT_EQ(notes[0], "2 weights of MXFP4: 8 of 8 blocks keep their values");
}

TEST(Mxfp4Cast, RoundsAndReportsBlocksBelowTheWindow) {
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  const Tensor weight = mxfp4_weight(name, 1, {127, 110, 109, 127});
  std::vector<std::string> notes;
  const auto made = run("export", mxfp4_model({weight}), kWeightOnly, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  ASSERT_GE(notes.size(), 2u);
  EXPECT_EQ(notes[0], "1 weights of MXFP4: 3 of 4 blocks keep their values");
  EXPECT_EQ(notes[1], "'" + name +
                          "': 3 of 4 blocks keep their values; the others lie more than 2^17 below "
                          "the largest and were rounded");
  EXPECT_EQ(count_moved(made->tensors).blocks, 3u);
  const std::vector<float> before = *read_values(weight, 1 << 20);
  const std::vector<float> after = written_values(*made, name);
  ASSERT_EQ(after.size(), before.size());
  bool is_other = false;
  for (size_t i = 0; i < before.size(); ++i) {
    const bool is_exact = i / 32 != 2;
    EXPECT_TRUE(!is_exact || after[i] == before[i]) << i;
    is_other = is_other || after[i] != before[i];
  }
  EXPECT_TRUE(is_other);
}

TEST(Mxfp4Cast, WhatStaysUnquantizedIsBf16) {
  const std::string kept = "model.layers.0.self_attn.o_proj.weight";
  const Tensor weight = mxfp4_weight(kept, 1, {127, 120});
  std::vector<std::string> notes;
  const auto made =
      run("export",
          mxfp4_model({weight, mxfp4_weight("model.layers.0.mlp.down_proj.weight", 1, {127, 127})}),
          options({{"type", "nvfp4"}, {"preset", "mlp-only-input-scale1"}}), &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(tensor(*made, kept).codec->name, "bf16");
  EXPECT_EQ(written_values(*made, kept), *read_values(weight, 1 << 20));
  EXPECT_EQ(notes[0],
            "1 weights of MXFP4 stay unquantized, as BF16 with the same values (the first: '" +
                kept + "')");
}

TEST(Mxfp4Cast, RefusesWhatCannotBeKept) {
  const auto of = [](const std::vector<uint8_t>& exponents) {
    return mxfp4_model({mxfp4_weight("model.layers.0.mlp.down_proj.weight", 1, exponents)});
  };
  expect_error(run("export", of({127, 255}), kWeightOnly), ErrorCode::kCorrupt,
               "1 of 2 block scales are NaN (byte 255)");
  expect_error(run("export", of({127, 247}), kWeightOnly), ErrorCode::kUnsupported,
               "a block scale of 2^120; expected 2^119 at most");
  Options searched = kWeightOnly;
  searched.add("search", "sweep");
  expect_error(run("export", of({127, 127}), searched), ErrorCode::kUsage,
               "is MXFP4, whose codes are kept; there is nothing to search");
  expect_error(run("export", of({127, 127}), options({{"type", "nvfp4"}})), ErrorCode::kUsage,
               "1 of 1 layers have no activation maximum");
}

// ---- FP8 ---------------------------------------------------------------------------------------

// FP8 with maxima of inputs for every layer of `weights`.
Result<Checkpoint> as_fp8(const std::vector<Tensor>& weights, std::vector<std::string>* notes) {
  const TemporaryFolder folder;
  std::string maxima;
  for (const Tensor& each : weights) {
    maxima += fmt::format("{}\"{}\": 448", maxima.empty() ? "{" : ", ", module_of(each.name));
  }
  write_file(folder / "amax.json", maxima + "}");
  return run("export", mxfp4_model(weights),
             options({{"type", "fp8"}, {"amax-from", (folder / "amax.json").string()}}), notes);
}

TEST(Mxfp4Cast, Fp8KeepsFourteenPowersOfTwo) {
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  for (const int largest : {-127, -126, -121, -120, -100, 0, 1, 124, 125}) {
    std::vector<uint8_t> exponents;
    for (int power = largest; power >= std::max(-127, largest - 15); --power) {
      exponents.push_back(static_cast<uint8_t>(power + 127));
    }
    const Tensor weight = mxfp4_weight(name, 1, exponents);
    std::vector<std::string> notes;
    const auto made = as_fp8({weight}, &notes);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    const int scale = std::max(largest - 6, -126);
    EXPECT_EQ(tensor(*made, name).codec->scheme, Scheme::kFp8Tensor);
    EXPECT_EQ(recoded(made, name).stats->amax, std::ldexp(448.0f, scale));
    const std::vector<float> before = *read_values(weight, 1 << 20);
    const std::vector<float> after = written_values(*made, name);
    uint64_t exact = 0;
    for (size_t block = 0; block < exponents.size(); ++block) {
      const bool is_same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(block * 32),
                                      before.begin() + static_cast<std::ptrdiff_t>(block * 32 + 32),
                                      after.begin() + static_cast<std::ptrdiff_t>(block * 32));
      EXPECT_EQ(is_same, exponents[block] - 127 >= scale - 8) << largest << ' ' << block;
      exact += is_same ? 1 : 0;
    }
    EXPECT_EQ(recoded(made, name).exact_blocks, exact);
    EXPECT_EQ(notes[0], fmt::format("1 weights of MXFP4: {} of {} blocks keep their values", exact,
                                    exponents.size()));
  }
}

TEST(Mxfp4Cast, Fp8SharesItsScaleWithinAnExpert) {
  const Tensor gate =
      mxfp4_weight("model.layers.0.mlp.experts.0.gate_proj.weight", 1, {127, 113, 112});
  const Tensor up = mxfp4_weight("model.layers.0.mlp.experts.0.up_proj.weight", 1, {120, 127, 110});
  std::vector<std::string> notes;
  const auto made = as_fp8({gate, up}, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(notes[0], "2 weights of MXFP4: 4 of 6 blocks keep their values");
  EXPECT_EQ(notes[1],
            "'model.layers.0.mlp.experts.0.gate_proj.weight': 2 of 3 blocks keep their values; the "
            "others lie more than 2^14 below the largest and were rounded");
  EXPECT_EQ(recoded(made, gate.name).stats->amax, recoded(made, up.name).stats->amax);
  expect_error(as_fp8({mxfp4_weight(gate.name, 1, {253})}, nullptr), ErrorCode::kUnsupported,
               "a block scale of 2^126; expected 2^125 at most");
}

// ---- stacks of gpt-oss -------------------------------------------------------------------------

TEST(Mxfp4Cast, ScalesOfStackedInputsAreTakenFromAnEarlierExport) {
  const TemporaryFolder folder;
  const auto source = [] { return *open(testdata("export/gpt-oss-nano")); };
  auto first = run("export", source(),
                   options({{"type", "nvfp4"}, {"preset", "experts-only-input-scale1"}}));
  ASSERT_TRUE(first.has_value()) << first.error().text();
  ASSERT_TRUE(write_folder(std::move(*first), folder / "first").has_value());
  const auto second = run("export", source(),
                          options({{"type", "nvfp4"},
                                   {"preset", "experts-only"},
                                   {"amax-from", (folder / "first").string()}}));
  ASSERT_TRUE(second.has_value()) << second.error().text();
  EXPECT_EQ(value_of(*second, "model.layers.1.mlp.experts.gate_up_proj_input_scale"), 1.0f);
}

TEST(Mxfp4Cast, StacksAreNamedWhereTheyCannotBeExported) {
  expect_error(run("export", *open(testdata("families/gpt-oss/hf")), options({{"type", "fp8"}})),
               ErrorCode::kUnsupported, "experts that stay stacked have no form in FP8");
  expect_error(run("export", *open(testdata("export/gpt-oss-nano")),
                   options({{"type", "nvfp4"},
                            {"preset", "experts-only-input-scale1"},
                            {"keep", "*.down_proj"}})),
               ErrorCode::kUsage, "gate_up_proj and down_proj can only be quantized together");
}

// Stacks without scales of inputs were shown as NVFP4 in a folder that declares W4A16_NVFP4.
TEST(Mxfp4Cast, StacksAreShownAsWhatTheFolderSays) {
  for (const auto& [preset, algorithm] :
       {std::pair("weight-only", "W4A16_NVFP4"), std::pair("experts-only-input-scale1", "NVFP4")}) {
    const Checkpoint made = settle(run("export", *open(testdata("export/gpt-oss-nano")),
                                       options({{"type", "nvfp4"}, {"preset", preset}})));
    const auto summary = summarize_quantization(made);
    ASSERT_TRUE(summary.has_value()) << summary.error().text();
    EXPECT_EQ(summary->stated, algorithm);
    EXPECT_TRUE(summary->disagreements.empty()) << summary->disagreements[0];
    size_t quantized = 0;
    for (const auto& group : summary->groups) {
      if (group.algorithm.find("NVFP4") == std::string::npos) continue;
      EXPECT_EQ(group.algorithm, fmt::format("{} (group 16)", algorithm));
      ++quantized;
    }
    EXPECT_EQ(quantized, 1u);
  }
}

}  // namespace
}  // namespace ckpt
