// mixed-to-nvfp4: what stays bit for bit, what equals an export, groups of two kinds, what is
// refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/chunks/evaluate.h"
#include "tests/support/files.h"
#include "tests/transforms/nvfp4/mixed_models.h"

namespace ckpt {
using namespace mixed_test;
namespace {

// ---- FP8 and NVFP4 -----------------------------------------------------------------------------

TEST(MixedToNvfp4, LayersThatAreNvfp4StayBitForBit) {
  for (const char* model : {"qwen3-micro", "qwen35-micro"}) {
    const Checkpoint source = mixed(model);
    for (const Options& given :
         {Options(), options({{"base", testdata(model).string()}}), options({{"fp8", "bf16"}})}) {
      const Checkpoint made = converted(source, given);
      uint64_t compared = 0;
      for (const Tensor& each : source.tensors) {
        if (in_attention(each.name)) continue;
        expect_same(made, source, each.name);
        ++compared;
      }
      EXPECT_GT(compared, 20u);
    }
  }
}

TEST(MixedToNvfp4, FromTheBaseEqualsAnExportOfTheBase) {
  for (const std::string model : {"qwen3-micro", "qwen35-micro"}) {
    const Checkpoint expected = exported(model, "nvfp4");
    const Checkpoint made =
        converted(mixed(model), options({{"base", testdata(model).string()}, {"search", "none"}}));
    ASSERT_EQ(made.tensors.size(), expected.tensors.size());
    for (const Tensor& each : expected.tensors) {
      if (each.name.ends_with("input_scale")) {
        EXPECT_NEAR(number(made, each.name) / number(expected, each.name), 1, 1e-6) << each.name;
      } else {
        expect_same(made, expected, each.name);
      }
    }
    for (const char* path : {"hf_quant_config.json", "config.json"}) {
      EXPECT_EQ(made.find_document(path)->text(), expected.find_document(path)->text()) << path;
    }
  }
}

TEST(MixedToNvfp4, LayersJoinedByServersShareTheirScales) {
  const Checkpoint made = converted(mixed("qwen3-micro"));
  for (const char* layer : {"0", "1", "2"}) {
    const auto name = [&](const char* which, const char* what) {
      return fmt::format("model.layers.{}.self_attn.{}_proj.{}", layer, which, what);
    };
    for (const char* other : {"k", "v"}) {
      EXPECT_EQ(tensor_scale(made, name("q", "weight")), tensor_scale(made, name(other, "weight")));
      EXPECT_EQ(number(made, name("q", "input_scale")), number(made, name(other, "input_scale")));
    }
  }
}

TEST(MixedToNvfp4, Fp8StaysPlainAndIsExcluded) {
  const Checkpoint source = mixed("qwen3-micro"), base = *open(testdata("qwen3-micro"));
  const std::string folder = testdata("qwen3-micro").string();
  for (const char* word : {"bf16", "exclude"}) {
    const Checkpoint made = converted(source, options({{"fp8", word}, {"base", folder}}));
    expect_same(made, base, "model.layers.1.self_attn.q_proj.weight");
    EXPECT_EQ(made.find_tensor("model.layers.1.self_attn.q_proj.input_scale"), nullptr);
    const auto config =
        nlohmann::json::parse(made.find_document("hf_quant_config.json")->text(), nullptr, false);
    EXPECT_EQ(config["quantization"]["quant_algo"], "NVFP4");
    const auto excluded = config["quantization"]["exclude_modules"];
    EXPECT_NE(std::find(excluded.begin(), excluded.end(), "model.layers.1.self_attn*"),
              excluded.end());
    const auto flat =
        nlohmann::json::parse(made.find_document("config.json")->text(), nullptr, false);
    EXPECT_EQ(flat["quantization_config"]["ignore"], excluded);
    EXPECT_EQ(flat["quantization_config"]["quant_algo"], "NVFP4");
  }
  // Without the base the FP8 values themselves.
  const Checkpoint made = converted(source, options({{"fp8", "bf16"}}));
  const char* name = "model.layers.1.self_attn.q_proj.weight";
  const auto error = measure_error(tensor(made, name), tensor(source, name));
  ASSERT_TRUE(error.has_value());
  EXPECT_GT(error->sqnr_db(), 45);
}

// ---- groups of two kinds -----------------------------------------------------------------------

bool is_query(std::string_view name) { return name.find("q_proj.") != name.npos; }

TEST(MixedToNvfp4, AnFp8PartnerAdoptsTheScaleThatIsThere) {
  const Checkpoint source =
      mix(exported("qwen3-micro", "nvfp4"), exported("qwen3-micro", "fp8"), is_query);
  const Checkpoint made = converted(source);
  for (const char* which : {"k", "v"}) {
    expect_same(made, source, fmt::format("model.layers.0.self_attn.{}_proj.weight", which));
  }
  EXPECT_EQ(tensor_scale(made, "model.layers.0.self_attn.q_proj.weight"),
            tensor_scale(source, "model.layers.0.self_attn.k_proj.weight"));
}

// k and v with a weight_scale_2 that is too small for q: theirs doubles until it fits, and their
// values are the same as before.
TEST(MixedToNvfp4, AScaleThatIsTooSmallIsRaisedExactly) {
  Checkpoint source =
      mix(exported("qwen3-micro", "nvfp4"), exported("qwen3-micro", "fp8"), is_query);
  const std::string k = "model.layers.0.self_attn.k_proj.weight";
  const float before = tensor_scale(source, k), small = before / 8;
  for (const char* which : {"k", "v"}) {
    Tensor& weight = tensor(source, fmt::format("model.layers.0.self_attn.{}_proj.weight", which));
    std::vector<std::byte> bytes(sizeof small);
    std::memcpy(bytes.data(), &small, sizeof small);
    std::get<Stored>(weight.origin).parts[2] = {{make_blob("scale", bytes), 0, sizeof small}};
  }
  const Checkpoint made = converted(source);
  const float shared = tensor_scale(made, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(tensor_scale(made, k), shared);
  EXPECT_GT(shared, small);
  EXPECT_EQ(std::exp2(std::round(std::log2(shared / small))), shared / small);
  EXPECT_EQ(values(tensor(made, k)), values(tensor(source, k)));
}

TEST(MixedToNvfp4, APlainLayerAmongNvfp4OnesJoinsThem) {
  const Checkpoint plain = *open(testdata("qwen3-micro"));
  Checkpoint source = mix(exported("qwen3-micro", "nvfp4"), plain, [](std::string_view name) {
    return name == "model.layers.0.mlp.up_proj.weight";
  });
  std::erase_if(source.tensors, [](const Tensor& each) {
    return each.name == "model.layers.0.mlp.up_proj.input_scale";
  });
  const Checkpoint made = converted(source);
  const char* up = "model.layers.0.mlp.up_proj.weight";
  EXPECT_EQ(tensor(made, up).codec->name, "nvfp4_modelopt");
  EXPECT_EQ(tensor_scale(made, up), tensor_scale(source, "model.layers.0.mlp.gate_proj.weight"));
  EXPECT_EQ(number(made, "model.layers.0.mlp.up_proj.input_scale"),
            number(source, "model.layers.0.mlp.gate_proj.input_scale"));
  // With FP8 left plain nothing changes there: it is quantized all the same.
  const Checkpoint other = converted(source, options({{"fp8", "bf16"}}));
  EXPECT_EQ(tensor(other, up).codec->name, "nvfp4_modelopt");
}

TEST(MixedToNvfp4, ExpertsOfALayerAreOneKind) {
  const auto takes = [](std::string_view name) {
    return name.find("layers.1.mlp.experts.3.") != name.npos;
  };
  const Checkpoint source =
      mix(exported("qwen35moe-micro", "nvfp4"), exported("qwen35moe-micro", "fp8"), takes);
  const Checkpoint made = converted(source);
  const std::string expert = "model.layers.1.mlp.experts.3.";
  EXPECT_EQ(tensor(made, expert + "up_proj.weight").codec->name, "nvfp4_modelopt");
  EXPECT_EQ(tensor_scale(made, expert + "up_proj.weight"),
            tensor_scale(made, expert + "gate_proj.weight"));
  EXPECT_EQ(number(made, expert + "up_proj.input_scale"),
            number(made, "model.layers.1.mlp.experts.0.gate_proj.input_scale"));
  expect_same(made, source, "model.layers.1.mlp.experts.2.up_proj.weight");
  const Checkpoint plain = converted(source, options({{"fp8", "bf16"}}));
  EXPECT_EQ(tensor(plain, "model.layers.1.mlp.experts.0.up_proj.weight").codec->name, "bf16");
  EXPECT_EQ(tensor(plain, "model.layers.2.mlp.experts.0.up_proj.weight").codec->name,
            "nvfp4_modelopt");
}

// ---- refusals ----------------------------------------------------------------------------------

void replace_text(Checkpoint& checkpoint, std::string_view from, std::string_view to) {
  std::string text = checkpoint.find_document("hf_quant_config.json")->text();
  const size_t at = text.find(from);
  ASSERT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  checkpoint.set_document("hf_quant_config.json", text);
}

TEST(MixedToNvfp4, RefusesWhatContradictsItself) {
  const Checkpoint source = mixed("qwen3-micro");
  Checkpoint bad = source;
  replace_text(bad, R"("FP8")", R"("INT3_NEW")");
  expect_error(convert_mixed(bad), ErrorCode::kUnsupported, "INT3_NEW");

  bad = source;
  replace_text(bad, "model.layers.0.self_attn.q_proj", "model.layers.9.self_attn.q_proj");
  expect_error(convert_mixed(bad), ErrorCode::kCorrupt, "model.layers.9.self_attn.q_proj");

  bad = source;
  std::erase_if(bad.tensors, [](const Tensor& each) {
    return each.name.starts_with("model.layers.1.mlp.up_proj.");
  });
  JsonValue lists = JsonValue::parse(bad.find_document("hf_quant_config.json")->text());
  lists["quantization"]["quantized_layers"].erase("model.layers.1.mlp.up_proj");
  bad.set_document("hf_quant_config.json", lists.dump());
  expect_error(convert_mixed(bad), ErrorCode::kCorrupt, "'model.layers.1.mlp.up_proj'");

  bad = source;
  bad.tensors.push_back(column_scale("model.layers.0.mlp.down_proj", powers_of_two(16)));
  expect_error(convert_mixed(bad), ErrorCode::kCorrupt, "its weight has 512 columns");

  bad = source;
  std::vector<float> scale = powers_of_two(512);
  scale[7] = 0;
  bad.tensors.push_back(column_scale("model.layers.0.mlp.down_proj", scale));
  expect_error(convert_mixed(bad), ErrorCode::kCorrupt, "value 7 is 0");

  // Block scales of another shape: the reader leaves the parts apart.
  bad = source;
  Tensor& weight = tensor(bad, "model.layers.0.mlp.down_proj.weight");
  weight = make_tensor(weight.name, {256, 256}, *find_codec(all_codecs(), "u8"),
                       std::vector<std::byte>(256 * 256));
  expect_error(convert_mixed(bad), ErrorCode::kCorrupt, "model.layers.0.mlp.down_proj.weight");

  bad = source;
  std::erase_if(bad.documents, [](const Document&) { return true; });
  expect_error(convert_mixed(bad), ErrorCode::kUnsupported, "hf_quant_config.json");
}

TEST(MixedToNvfp4, RefusesOptionsAndBases) {
  const Checkpoint source = mixed("qwen3-micro");
  expect_error(convert_mixed(source, options({{"fp8", "int8"}})), ErrorCode::kUsage, "int8");
  expect_error(convert_mixed(source, options({{"search", "hard"}})), ErrorCode::kUsage, "hard");
  expect_error(convert_mixed(source, options({{"fail-below", "x"}})), ErrorCode::kUsage,
               "fail-below");
  expect_error(convert_mixed(source, options({{"base", "nowhere"}})), ErrorCode::kUsage, "nowhere");
  expect_error(convert_mixed(source, options({{"fail-below", "60"}})), ErrorCode::kUnsupported,
               "60 dB");
  // Another model's weights are not a base, which is noticed layer by layer.
  std::vector<std::string> notes;
  const Checkpoint made =
      converted(source, options({{"base", testdata("llama-micro").string()}}), &notes);
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("have other weights there") != note.npos ||
           note.find("not there in this shape") != note.npos;
  })) << testing::PrintToString(notes);
  EXPECT_EQ(made.tensors.size(), exported("qwen3-micro", "nvfp4").tensors.size());
}

TEST(MixedToNvfp4, RefusesWhatAStepBeforeEncodes) {
  const std::string amax = testdata("export/modelopt/qwen3-micro/nvfp4").string();
  auto made = run("export", *open(testdata("qwen3-micro")),
                  options({{"type", "fp8"}, {"amax-from", amax}}));
  ASSERT_TRUE(made.has_value());
  expect_error(convert_mixed(std::move(*made)), ErrorCode::kUnsupported,
               "encoded by a step before");
}

TEST(MixedToNvfp4, PlainNvfp4StaysAsItIs) {
  const Checkpoint source = exported("qwen3-micro", "nvfp4");
  const auto made = convert_mixed(source);
  ASSERT_TRUE(made.has_value());
  for (const Tensor& each : source.tensors) expect_same(*made, source, each.name);
  EXPECT_EQ(made->find_document("config.json")->text(),
            source.find_document("config.json")->text());
}

}  // namespace
}  // namespace ckpt
