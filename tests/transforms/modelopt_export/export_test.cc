// The export step on a small model: whose maxima it takes, which layers it quantizes, what becomes
// of documents and state, and what it refuses.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

using OrderedJson = nlohmann::ordered_json;

void set_value(Checkpoint& checkpoint, std::string_view name, float value) {
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.name == name) tensor = floats(tensor.name, {}, {value});
  }
}

// ---- maxima ------------------------------------------------------------------------------------

TEST(Export, StoredMaximaAreSharedByLayersOfOneInput) {
  const auto made = run("export", qat_model(), options({{"type", "nvfp4"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    const std::string module = fmt::format("model.layers.0.self_attn.{}", name);
    EXPECT_EQ(recoded(made, module + ".weight").stats->amax, 3);
    EXPECT_EQ(value_of(*made, module + ".input_scale"), 6 * (1.0f / 2688));
  }
  EXPECT_EQ(recoded(made, "model.layers.0.self_attn.o_proj.weight").stats->amax, 4);
  EXPECT_EQ(recoded(made, "model.layers.0.mlp.gate_proj.weight").stats->amax, 6);
  for (const Tensor& tensor : made->tensors) {
    EXPECT_EQ(tensor.name.find("_quantizer"), std::string::npos) << tensor.name;
  }
}

TEST(Export, Fp8IsNotShared) {
  const auto made = run("export", qat_model(), options({{"type", "fp8"}, {"rounding", "cpu"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(recoded(made, "model.layers.0.self_attn.q_proj.weight").stats->amax, 1);
  EXPECT_TRUE(recoded(made, "model.layers.0.self_attn.q_proj.weight").options.cpu_rounding);
  EXPECT_EQ(value_of(*made, "model.layers.0.self_attn.k_proj.input_scale"), 4.0f / 448);
}

TEST(Export, FreshMaximaAreScannedWithPeers) {
  const auto made =
      run("export", qat_model(), options({{"type", "nvfp4"}, {"fresh-weight-amax", "yes"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Recoded& q = recoded(made, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_FALSE(q.stats.has_value());
  EXPECT_EQ(q.peers.size(), 2u);
  EXPECT_EQ(recoded(made, "model.layers.0.self_attn.o_proj.weight").peers.size(), 0u);
}

TEST(Export, BlockMaximaGoWithTheWeight) {
  Checkpoint input = qat_model();
  const std::string quantizer = "model.layers.0.mlp.down_proj.weight_quantizer.";
  drop(input, quantizer + "_amax");
  input.tensors.push_back(floats(quantizer + "_amax", {16, 1}, std::vector<float>(16, 2.5f)));
  const auto made = run("export", input, options({{"type", "nvfp4"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Recoded& down = recoded(made, "model.layers.0.mlp.down_proj.weight");
  ASSERT_NE(down.block_amax, nullptr);
  EXPECT_EQ(down.block_amax->shape, (std::vector<uint64_t>{8, 2}));
  EXPECT_EQ(down.stats->amax, 2.5f);  // no _global_amax: the largest block's
  const TemporaryFolder folder;
  const auto written = write_folder(*made, folder / "out");
  EXPECT_TRUE(written.has_value()) << written.error().text();

  input.tensors.back() = floats(quantizer + "_amax", {8, 1}, std::vector<float>(8, 1));
  expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kUnsupported,
               "8 stored maxima; nvfp4 needs one, or 16 for blocks of 16");
}

TEST(Export, RejectsInvalidMaxima) {
  const std::string up = "model.layers.0.mlp.up_proj";
  for (const float bad : {0.0f, -1.0f, INFINITY, NAN}) {
    Checkpoint input = qat_model();
    set_value(input, up + ".weight_quantizer._amax", bad);
    expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kCorrupt, up);
    input = qat_model();
    set_value(input, up + ".input_quantizer._amax", bad);
    expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kCorrupt, up);
  }
}

TEST(Export, MaximaMustFitTheWeights) {
  Checkpoint input = qat_model();
  drop(input, "model.layers.0.mlp.up_proj.weight");
  expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kCorrupt,
               "'model.layers.0.mlp.up_proj' has the maximum of a weight; the weight itself is "
               "missing");
  input = qat_model();
  drop(input, "model.layers.0.mlp.up_proj.weight_quantizer._amax");
  expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kUnsupported,
               "'model.layers.0.mlp.up_proj', which servers join with it, has none");
  input = qat_model();
  input.tensors.push_back(
      floats("model.layers.0.mlp.up_proj.weight_quantizer._global_amax", {}, {99}));
  expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kCorrupt,
               "two maxima");
}

TEST(Export, ActivationMaximaAreAskedForWithTheThreeWays) {
  const auto made = run("export", small_export_model(), options({{"type", "nvfp4"}}));
  expect_error(made, ErrorCode::kUsage, "7 of 7 layers have no activation maximum");
  for (const char* way : {"--amax-from DIR", "--amax-from FILE.json", "a QAT checkpoint as IN"}) {
    EXPECT_NE(made.error().hint.find(way), std::string::npos) << made.error().hint;
  }
  EXPECT_TRUE(run("export", small_export_model(), options({{"type", "nvfp4-w4a16"}})).has_value());
}

TEST(Export, ActivationMaximaFromAList) {
  const TemporaryFolder folder;
  const std::string list = (folder.path() / "amax.json").string();
  std::string text = "{";
  for (const char* name : {"self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj"}) {
    text += fmt::format("\"model.layers.0.{}\": 5.5, ", name);
  }
  write_file(list, text + "\"model.layers.0.mlp.down_proj\": 1e1}");
  const Options given = options({{"type", "nvfp4"}, {"amax-from", list}});
  const auto made = run("export", small_export_model(), given);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(value_of(*made, "model.layers.0.mlp.up_proj.input_scale"), 5.5f * (1.0f / 2688));
  EXPECT_EQ(value_of(*made, "model.layers.0.mlp.down_proj.input_scale"), 10.0f * (1.0f / 2688));
  for (const char* bad : {"{\"a\": 0}", "{\"a\": \"1\"}", "{\"a\": [1]}", "[]", "{\"a\": 1e99}"}) {
    write_file(list, bad);
    expect_error(run("export", small_export_model(), given), ErrorCode::kCorrupt, "amax.json");
  }
}

// ---- which layers ------------------------------------------------------------------------------

TEST(Export, KeepAndOnlyAndPresetChoose) {
  const auto excluded = [](std::initializer_list<std::pair<std::string, std::string>> pairs) {
    Options given = options(pairs);
    given.add("type", "nvfp4-w4a16");
    const auto made = run("export", small_export_model(), given);
    EXPECT_TRUE(made.has_value()) << made.error().text();
    const auto json = OrderedJson::parse(quant_config(made), nullptr, false);
    return json["quantization"]["exclude_modules"].dump();
  };
  EXPECT_EQ(excluded({}), R"(["lm_head","model.embed_tokens"])");
  EXPECT_EQ(excluded({{"preset", "mlp-only"}}),
            R"(["lm_head","model.embed_tokens","model.layers.0.self_attn*"])");
  EXPECT_EQ(excluded({{"keep", "*.o_proj"}}),
            R"(["lm_head","model.embed_tokens","model.layers.0.self_attn.o_proj"])");
  EXPECT_EQ(excluded({{"keep", "*.o_proj.weight"}, {"keep", "*down_proj*"}}),
            R"(["lm_head","model.embed_tokens","model.layers.0.mlp.down_proj",)"
            R"("model.layers.0.self_attn.o_proj"])");
  EXPECT_EQ(excluded({{"only", "*mlp*"}}),
            R"(["lm_head","model.embed_tokens","model.layers.0.self_attn*"])");
  // Its full name overrules the default.
  EXPECT_EQ(excluded({{"only", "lm_head"}, {"only", "*mlp*"}}),
            R"(["model.embed_tokens","model.layers.0.self_attn*"])");
  expect_error(
      run("export", small_export_model(), options({{"type", "nvfp4-w4a16"}, {"keep", "*"}})),
      ErrorCode::kUsage, "no layer is left");
}

// Nothing would write the scale of such a weight.
TEST(Export, WeightsWithoutValuesAreRefusedByName) {
  for (const char* type : {"nvfp4-w4a16", "fp8"}) {
    Checkpoint input = small_export_model();
    tensor(input, "model.layers.0.self_attn.o_proj.weight") =
        weight("model.layers.0.self_attn.o_proj.weight", 0, 32);
    expect_error(run("export", input, options({{"type", type}})), ErrorCode::kUnsupported,
                 "tensor 'model.layers.0.self_attn.o_proj.weight' is [0, 32]: it has no values to "
                 "quantize");
  }
}

// Layers behind num_hidden_layers predict further tokens and stay; without it that would be all.
TEST(Export, LayersBehindACountThatIsNoneAreRefused) {
  Checkpoint input = small_export_model();
  for (const char* layers : {"", R"("num_hidden_layers": "2", )", R"("num_hidden_layers": 0, )"}) {
    input.set_document(
        "config.json",
        fmt::format(R"({{"model_type": "deepseek_v3", {}"num_nextn_predict_layers": 1}})", layers));
    expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kCorrupt,
                 "num_nextn_predict_layers is 1, and num_hidden_layers is not a whole number");
  }
}

TEST(Export, TiedHeadsRoutersAndTokensAheadStay) {
  Checkpoint input = small_export_model();
  drop(input, "lm_head.weight");
  input.set_document("config.json", R"({"model_type": "deepseek_v3", "num_hidden_layers": 1,
    "num_nextn_predict_layers": 1, "tie_word_embeddings": true})");
  input.tensors.push_back(weight("model.layers.1.mlp.up_proj.weight", 8, 32));
  input.tensors.push_back(weight("model.layers.0.moe.gate.weight", 8, 32));
  input.tensors.push_back(weight("model.layers.0.moe.experts.0.up_proj.weight", 8, 32));
  input.tensors.push_back(weight("model.layers.0.moe.experts.0.gate_proj.weight", 8, 32));
  const auto made = run("export", input, options({{"type", "nvfp4-w4a16"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto json = OrderedJson::parse(quant_config(made), nullptr, false);
  EXPECT_EQ(json["quantization"]["exclude_modules"].dump(),
            R"(["lm_head","model.embed_tokens","model.layers.0.moe.gate","model.layers.1*"])");
}

TEST(Export, RejectsRowsThatAreNotWholeBlocks) {
  Checkpoint input = small_export_model();
  input.tensors.push_back(weight("model.layers.1.mlp.down_proj.weight", 8, 24));
  expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kUnsupported,
               "'model.layers.1.mlp.down_proj.weight': rows of 24 values");
  const auto kept =
      run("export", input,
          options({{"type", "nvfp4-w4a16"}, {"keep", "model.layers.1.mlp.down_proj"}}));
  ASSERT_TRUE(kept.has_value()) << kept.error().text();
  EXPECT_TRUE(kept->find_tensor("model.layers.1.mlp.down_proj.weight")->is_stored());
}

TEST(Export, StacksOfAnotherShapeAreRefused) {
  Checkpoint input = small_export_model();
  const auto stack = [](std::string name, std::vector<uint64_t> shape) {
    return floats(std::move(name), shape, std::vector<float>(shape[0] * shape[1] * shape[2], 0.5f));
  };
  input.tensors.push_back(stack("model.layers.0.mlp.experts.gate_up_proj", {2, 32, 96}));
  input.tensors.push_back(stack("model.layers.0.mlp.experts.down_proj", {2, 48, 32}));
  expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kUnsupported,
               "gate_up_proj [2, 32, 96] and down_proj [2, 48, 32]; expected [E, 2I, H]");
  const auto kept =
      run("export", input, options({{"type", "nvfp4-w4a16"}, {"keep", "*.experts.*"}}));
  ASSERT_TRUE(kept.has_value()) << kept.error().text();
  EXPECT_NE(quant_config(kept).find("\"model.layers.0.mlp.experts\""), std::string::npos)
      << quant_config(kept);
}

TEST(Export, RejectsQuantizedWeights) {
  Checkpoint input = small_export_model();
  input.set_document("config.json", R"({"quantization_config": {}})");
  expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kUnsupported,
               "dequantize");
  input = small_export_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.weight_scale", {}, {1}));
  expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kUnsupported,
               "belongs to a quantized weight");
}

// ---- documents and state -----------------------------------------------------------------------

TEST(Export, TheStateMustAgreeWithTheType) {
  Checkpoint input = qat_model();
  input.set_document("modelopt_state.pth", read_file(testdata("export/states/qwen3-micro.pth")));
  const auto made = run("export", input, options({{"type", "nvfp4"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->find_document("modelopt_state.pth"), nullptr);
  const auto refused = run("export", input, options({{"type", "fp8"}}));
  expect_error(refused, ErrorCode::kUsage, "is NVFP4; --to fp8 makes it FP8");
}

TEST(Export, TheStateTellsBlocksOfFourOverSix) {
  Checkpoint input = qat_model();
  const std::string quantizer = "model.layers.0.mlp.down_proj.weight_quantizer.";
  drop(input, quantizer + "_amax");
  input.tensors.push_back(floats(quantizer + "_amax", {16, 1}, std::vector<float>(16, 2.5f)));
  for (const auto& [state, search] :
       {std::pair("llama-micro-four-over-six", ScaleSearch::kFourOverSix),
        std::pair("qwen3-micro", ScaleSearch::kNone)}) {
    input.set_document("modelopt_state.pth",
                       read_file(testdata(fmt::format("export/states/{}.pth", state))));
    const auto made = run("export", input, options({{"type", "nvfp4"}}));
    ASSERT_TRUE(made.has_value()) << made.error().text();
    EXPECT_EQ(recoded(made, "model.layers.0.mlp.down_proj.weight").options.search, search);
    EXPECT_EQ(recoded(made, "model.layers.0.mlp.up_proj.weight").options.search,
              ScaleSearch::kNone);
  }
}

TEST(Export, KeyAndValueScalesComeFromTheirQuantizers) {
  Checkpoint input = qat_model();
  input.tensors.push_back(floats("model.layers.0.self_attn.k_bmm_quantizer._amax", {}, {7}));
  input.tensors.push_back(floats("model.layers.0.self_attn.v_bmm_quantizer._amax", {}, {9}));
  auto made = run("export", input, options({{"type", "nvfp4"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(value_of(*made, "model.layers.0.self_attn.k_proj.k_scale"), 7 * (1.0f / 448));
  EXPECT_EQ(value_of(*made, "model.layers.0.self_attn.v_proj.v_scale"), 9 * (1.0f / 448));
  EXPECT_NE(quant_config(made).find(R"("kv_cache_quant_algo": "FP8")"), std::string::npos);
  made = run("export", input, options({{"type", "nvfp4"}, {"kv-cache", "none"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->find_tensor("model.layers.0.self_attn.k_proj.k_scale"), nullptr);
  EXPECT_NE(quant_config(made).find(R"("kv_cache_quant_algo": null)"), std::string::npos);
}

TEST(Export, WhatIsNotUsedIsNoted) {
  const auto notes_of = [](Checkpoint input, const Options& given) {
    std::vector<std::string> notes;
    const auto made = run("export", std::move(input), given, &notes);
    EXPECT_TRUE(made.has_value()) << made.error().text();
    return fmt::format("{}", fmt::join(notes, "|"));
  };
  EXPECT_EQ(notes_of(qat_model(), options({{"type", "nvfp4"}})), "");
  EXPECT_EQ(notes_of(qat_model(), options({{"type", "nvfp4-w4a16"}})),
            "7 activation maxima are not used");
  EXPECT_EQ(notes_of(qat_model(), options({{"type", "nvfp4"}, {"keep", "*.k_proj"}})),
            "1 layers are calibrated but left unquantized|1 activation maxima are not used|"
            "1 layers stay although those that servers join them with are quantized (the first: "
            "'model.layers.0.self_attn.k_proj')");
  Checkpoint input = qat_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.output_quantizer._amax", {}, {1}));
  EXPECT_EQ(notes_of(input, options({{"type", "nvfp4"}})),
            "1 quantizer tensors have no place in an export and are left out (the first: "
            "'model.layers.0.mlp.up_proj.output_quantizer._amax')");
}

TEST(Export, QuantizersOfAnotherKindAreRefused) {
  for (const char* leaf : {"input_quantizer._pre_quant_scale", "weight_quantizer._amax_post",
                           "weight_quantizer._double_scale"}) {
    Checkpoint input = qat_model();
    input.tensors.push_back(floats(fmt::format("model.layers.0.mlp.up_proj.{}", leaf), {}, {1}));
    expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kUnsupported, leaf);
  }
}

TEST(Export, SamplingIsDeclaredAsTransformersDoes) {
  Checkpoint input = small_export_model();
  input.set_document("generation_config.json", "{\n  \"eos_token_id\": 1,\n  \"top_k\": 20\n}\n");
  const auto made = run("export", input, options({{"type", "nvfp4-w4a16"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->find_document("generation_config.json")->text(),
            "{\n  \"do_sample\": true,\n  \"eos_token_id\": 1,\n  \"top_k\": 20\n}\n");
}

TEST(Export, OptionsAreChecked) {
  const auto refused = [](std::initializer_list<std::pair<std::string, std::string>> pairs) {
    const auto made = run("export", small_export_model(), options(pairs));
    EXPECT_FALSE(made.has_value());
    return made ? ErrorCode::kIo : made.error().code;
  };
  EXPECT_EQ(refused({}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "nvfp8"}}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "fp8"}, {"search", "sweep"}}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "fp8"}, {"preset", "all"}}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "fp8"}, {"tensor-type", "*=q8_0"}}), ErrorCode::kUsage);
}

}  // namespace
}  // namespace ckpt
