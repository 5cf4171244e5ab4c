// FP8 with a scale for 128 x 128 values becomes NVFP4 and FP8 with a scale a tensor as ModelOpt's
// script for DeepSeek-V3 makes it, whatever its shards; what is not chosen is BF16, or stays.
#include <map>
#include <sstream>

#include "core/base/sha256.h"
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

Checkpoint deepseek() { return *open(testdata("export/deepseek-v3-nano")); }

Options of_script(std::initializer_list<std::pair<std::string, std::string>> more = {}) {
  Options out =
      options({{"type", "nvfp4"}, {"preset", "mlp-only-input-scale1"}, {"rounding", "cpu"}});
  for (const auto& [key, value] : more) out.add(key, value);
  return out;
}
const Options kBesideFp8 =
    options({{"type", "nvfp4"}, {"preset", "experts-only-input-scale1"}, {"rest", "fp8"}});

// SHA-256 by the names of a file of safetensors, as `made` is written.
std::map<std::string, std::string> hashes_of(const Checkpoint& made) {
  std::map<std::string, std::string> out;
  for (const Tensor& tensor : made.tensors) {
    for (size_t i = 0; i < tensor.codec->parts.size(); ++i) {
      Sha256 hash;
      for (const Slice& slice : tensor.stored().parts[i]) {
        std::vector<std::byte> bytes(slice.size_bytes);
        EXPECT_TRUE(slice.source->read(slice.offset_bytes, bytes).has_value());
        hash.add(bytes);
      }
      out[tensor.name + std::string(tensor.codec->parts[i].suffix)] = hash.finish();
    }
  }
  return out;
}

std::map<std::string, std::string> hashes_of_script(std::string_view kind) {
  std::istringstream lines(read_file(testdata("export/deepseek_v3_tensors.tsv")));
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string of, name, hash;
    words >> of >> name >> hash;
    if (of == kind) out[name] = hash;
  }
  return out;
}

TEST(Fp8Source, EveryTensorEqualsThatOfModeloptsScript) {
  const auto nvfp4 = hashes_of_script("nvfp4"), mixed = hashes_of_script("mixed-o-fp8");
  ASSERT_EQ(nvfp4.size(), 95u);
  ASSERT_EQ(mixed.size(), 99u);
  EXPECT_EQ(hashes_of(settle(run("export", deepseek(), of_script()))), nvfp4);
  EXPECT_EQ(hashes_of(settle(run("export", deepseek(), of_script({{"fp8", "*.o_proj"}})))), mixed);
}

// The script lists what its own classes could have quantized, and deletes the statement in
// config.json; ModelOpt's exporter for transformers lists embeddings and routers too.
TEST(Fp8Source, DocumentsAreThoseOfTheScriptAndOfTheExporter) {
  const auto plain = run("export", deepseek(), of_script());
  ASSERT_TRUE(plain.has_value()) << plain.error().text();
  EXPECT_NE(quant_config(plain).find(R"("exclude_modules": [
            "lm_head",
            "model.embed_tokens",
            "model.layers.0.self_attn*",
            "model.layers.1.mlp.gate",
            "model.layers.1.self_attn*"
        ])"),
            std::string::npos);
  EXPECT_EQ(plain->find_document("config.json")->text().find("weight_block_size"),
            std::string::npos);
  const auto mixed = run("export", deepseek(), of_script({{"fp8", "*.o_proj"}}));
  ASSERT_TRUE(mixed.has_value()) << mixed.error().text();
  EXPECT_EQ(quant_config(mixed), read_file(testdata("export/deepseek_v3_mixed_o_fp8.json")));
}

TEST(Fp8Source, WhatStaysFp8KeepsItsBytesAndItsStatement) {
  std::vector<std::string> notes;
  const auto made = run("export", deepseek(), kBesideFp8, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto before = hashes_of(deepseek()), after = hashes_of(settle(made));
  uint64_t same = 0;
  for (const auto& [name, hash] : before) {
    const bool is_expert = name.find(".experts.") != std::string::npos;
    const auto found = after.find(name);
    EXPECT_EQ(found != after.end() && found->second == hash, !is_expert) << name;
    same += is_expert ? 0 : 1;
  }
  EXPECT_EQ(same, 45u);
  const std::string_view config = made->find_document("config.json")->text();
  EXPECT_NE(config.find(R"("quant_method": "fp8")"), config.npos);
  EXPECT_NE(config.find(R"("moe_quant_algo": "NVFP4")"), config.npos);
  EXPECT_NE(quant_config(made).find(R"("quant_algo": "MIXED_PRECISION")"), std::string::npos);
  ASSERT_GE(notes.size(), 2u);
  EXPECT_EQ(notes[0],
            "16 weights of FP8 stay unquantized, as FP8 with the same bytes (the first: "
            "'model.layers.0.mlp.down_proj.weight')");
  EXPECT_NE(notes[1].find("vLLM 0.17 does not load it"), std::string::npos);
}

TEST(Fp8Source, BesideFp8ThatStaysOnlyAllRoutedExpertsAreNvfp4) {
  expect_error(run("export", deepseek(), of_script({{"rest", "fp8"}})), ErrorCode::kUnsupported,
               "'model.layers.0.mlp.down_proj' is not a routed expert; with FP8 that stays");
  Options some = kBesideFp8;
  some.add("keep", "*.experts.2.*");
  expect_error(run("export", deepseek(), some), ErrorCode::kUnsupported,
               "'model.layers.1.mlp.experts.2.down_proj.weight' would stay FP8");
  expect_error(run("export", small_export_model(), of_script({{"rest", "fp8"}})), ErrorCode::kUsage,
               "rest=fp8: the checkpoint has no FP8 weights");
}

// Experts' gates and ups share a scale, so that of one alone would be another number.
TEST(Fp8Source, HowFarEachWeightMovesIsMeasured) {
  std::vector<std::string> notes;
  const auto made = run("export", deepseek(), of_script({{"fp8", "*.o_proj"}}), &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Checkpoint written = settle(made);
  const Checkpoint floats = settle(run("dequantize", deepseek(), options({{"type", "f32"}})));
  uint64_t measured = 0, plain = 0;
  for (const Tensor& each : made->tensors) {
    if (each.is_stored() || !each.recoded().second_error) continue;
    ++measured;
    plain += each.is_plain_float() ? 1 : 0;
    const double error = *each.recoded().second_error;
    EXPECT_NEAR(error, written_error(written, floats, each.name), error * 1e-6) << each.name;
    const bool is_nvfp4 = each.codec->scheme == Scheme::kNvfp4;
    EXPECT_EQ(error > 1e-4, is_nvfp4) << each.name;  // BF16 and FP8 have most of these values
  }
  EXPECT_EQ(measured, 28u);
  EXPECT_EQ(plain, 8u);
  ASSERT_GE(notes.size(), 3u);
  EXPECT_EQ(notes[0].substr(0, 49), "8 weights of FP8 stay unquantized, as BF16 (the f")
      << notes[0];
  EXPECT_EQ(notes[1].substr(0, 57), "20 weights of FP8 were decoded and rounded a second time:")
      << notes[1];
  EXPECT_EQ(notes[1].find("measured on"), std::string::npos) << notes[1];
}

TEST(Fp8Source, ScalesWithFewBitsKeepEveryValueInBf16) {
  Checkpoint input = deepseek();
  const std::string name = "model.layers.0.self_attn.o_proj.weight";
  auto& slice = std::get<Stored>(tensor(input, name).origin).parts[1][0];
  const std::vector<float> scales(slice.size_bytes / sizeof(float), 0x1.8p-9f);
  const auto bytes = std::as_bytes(std::span(scales));
  slice = {make_blob("made", {bytes.begin(), bytes.end()}), 0, slice.size_bytes};
  const auto made = run("export", input, of_script());
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(recoded(made, name).second_error, 0.0);
}

TEST(Fp8Source, DoesNotMeasureNonFiniteValues) {
  Checkpoint input = deepseek();
  auto& slice =
      std::get<Stored>(tensor(input, "model.layers.0.self_attn.o_proj.weight").origin).parts[1][0];
  const std::vector<float> scales(slice.size_bytes / sizeof(float), NAN);
  const auto bytes = std::as_bytes(std::span(scales));
  slice = {make_blob("made", {bytes.begin(), bytes.end()}), 0, slice.size_bytes};
  std::vector<std::string> notes;
  const auto made = run("export", input, of_script(), &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_FALSE(recoded(made, "model.layers.0.self_attn.o_proj.weight").second_error.has_value());
  for (const std::string& note : notes) EXPECT_EQ(note.find("nan"), note.npos) << note;
}

TEST(Fp8Source, ScalesOfWhatStaysAreNumbers) {
  const std::string name = "model.layers.0.self_attn.o_proj.weight";
  for (const float scale : {NAN, INFINITY, -1.0f}) {
    Checkpoint input = deepseek();
    auto& slice = std::get<Stored>(tensor(input, name).origin).parts[1][0];
    const std::vector<float> scales(slice.size_bytes / sizeof(float), scale);
    const auto bytes = std::as_bytes(std::span(scales));
    slice = {make_blob("made", {bytes.begin(), bytes.end()}), 0, slice.size_bytes};
    expect_error(run("export", input, kBesideFp8), ErrorCode::kCorrupt,
                 fmt::format("tensor '{}_scale_inv': value 0 is {}; expected a finite number of at "
                             "least 0, because it scales FP8",
                             name, scale));
  }
}

TEST(Fp8Source, WhatLacksAPartIsNamed) {
  Checkpoint input = deepseek();
  Tensor& weight = tensor(input, "model.layers.0.self_attn.o_proj.weight");
  weight = make_tensor(weight.name, {32, 32}, plain_codec(all_codecs(), Dtype::kF8E4M3),
                       std::vector<std::byte>(32 * 32));
  expect_error(run("export", input, of_script()), ErrorCode::kUnsupported,
               "'model.layers.0.self_attn.o_proj.weight' is stored as f8_e4m3 [32, 32] and belongs "
               "to a quantized weight that cannot be decoded here (config.json says 'fp8')");
  for (const char* expert : {"2", "3"}) {
    input = deepseek();
    const std::string up = fmt::format("model.layers.1.mlp.experts.{}.up_proj.weight", expert);
    drop(input, up);
    expect_error(run("export", input, of_script()), ErrorCode::kCorrupt,
                 fmt::format("tensor '{}' is missing; expert", up));
  }
  input = deepseek();
  std::erase_if(input.tensors, [](const Tensor& each) {
    return each.name.find(".experts.3.") != std::string::npos;
  });
  std::vector<std::string> notes;
  ASSERT_TRUE(run("export", input, of_script(), &notes).has_value());
  EXPECT_EQ(notes[0], "'model.layers.1.mlp.experts.*': 3 experts; config.json says 4");
  input = deepseek();
  tensor(input, "model.layers.1.mlp.experts.3.up_proj.weight").name =
      "model.layers.1.mlp.experts.02.up_proj.weight";
  expect_error(run("export", input, of_script()), ErrorCode::kCorrupt,
               "expert 2 has another 'up_proj.weight'; expected one");
}

// In the released file, layers behind the last are those of MTP, and servers read their experts by
// the same word.
TEST(Fp8Source, ExpertsForMultiTokenPredictionGoWithTheOthers) {
  Checkpoint input = deepseek();
  for (Tensor& tensor : input.tensors) {
    const size_t at = tensor.name.find("layers.1.");
    if (at != std::string::npos) tensor.name[at + 7] = '2';
  }
  const auto made = run("export", input, kBesideFp8);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(tensor(*made, "model.layers.2.mlp.experts.0.up_proj.weight").codec->scheme,
            Scheme::kNvfp4);
}

TEST(Fp8Source, LayersThatServersJoinAreOfOneType) {
  const auto refused = [](const char* glob) {
    return run("export", deepseek(), of_script({{"fp8", glob}}));
  };
  expect_error(refused("*.experts.2.*"), ErrorCode::kUsage,
               "are of two types, and servers join them. Try: --fp8 "
               "'model.layers.1.mlp.experts.*'");
  expect_error(refused("*layers.0.mlp.up_proj"), ErrorCode::kUsage,
               "Try: --fp8 'model.layers.0.mlp.*'");
  expect_error(run("export", deepseek(), of_script({{"fp8", "*.o_proj"}, {"rest", "fp8"}})),
               ErrorCode::kUsage, "no server takes both in one folder");
  expect_error(run("export", deepseek(), options({{"type", "nvfp4-w4a16"}, {"fp8", "*.o_proj"}})),
               ErrorCode::kUsage, "layers have no activation maximum");
  expect_error(run("export", deepseek(), options({{"type", "fp8"}, {"fp8", "*.o_proj"}})),
               ErrorCode::kUsage, "fp8 goes with type nvfp4 or nvfp4-w4a16; found fp8");
}

TEST(Fp8Source, MixedFoldersComeFromFloatsToo) {
  std::vector<std::string> notes;
  const auto made = run("export", small_export_model(),
                        of_script({{"fp8", "*self_attn*"}, {"fp8", "typo*"}}), &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(value_of(*made, "model.layers.0.self_attn.o_proj.input_scale"), 6.0f);
  EXPECT_EQ(value_of(*made, "model.layers.0.mlp.up_proj.input_scale"), 1.0f);
  EXPECT_NE(quant_config(made).find(R"("model.layers.0.self_attn.q_proj": {
                "quant_algo": "FP8"
            })"),
            std::string::npos);
  EXPECT_EQ(
      std::count(notes.begin(), notes.end(), "fp8=typo* matches no layer that could be quantized"),
      1);
}

}  // namespace
}  // namespace ckpt
