// The export step: files equal to ModelOpt's, and what it refuses.
#include "transforms/export.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/compare.h"
#include "core/execute.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/export_groups.h"
#include "transforms/export_tensors.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;
using JsonValue = nlohmann::ordered_json;

Result<Checkpoint> open(const fs::path& path) {
  CKPT_ASSIGN(const Format* format, recognise(path));
  return format->read(path, all_codecs());
}

Options options(std::initializer_list<std::pair<std::string, std::string>> pairs) {
  Options out;
  for (const auto& [key, value] : pairs) out.add(key, value);
  return out;
}

Result<Checkpoint> run(std::string_view step, Checkpoint input, const Options& given,
                       std::vector<std::string>* notes = nullptr) {
  return find_transform(step)->apply(std::move(input), given,
                                     Context{all_codecs(), nullptr, notes, open});
}

// SHA-256 of every file that the checkpoint is written to.
Result<std::map<std::string, std::string>> written(Checkpoint checkpoint) {
  const TemporaryFolder folder;
  CKPT_ASSIGN(Layout layout,
              find_format("safetensors")->lay_out(checkpoint, {.out_name = "out"}, all_codecs()));
  Plan plan;
  plan.outputs.push_back({folder.path() / "out", std::move(checkpoint), std::move(layout)});
  CKPT_TRY(check(plan));
  CKPT_ASSIGN(const ExecuteReport report, execute(plan, {}));
  std::map<std::string, std::string> hashes;
  for (const auto& entry : fs::directory_iterator(folder.path() / "out")) {
    CKPT_ASSIGN(hashes[entry.path().filename().string()], hash_file(entry.path()));
  }
  return hashes;
}

void expect_error(const Result<Checkpoint>& made, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(made.has_value()) << part;
  EXPECT_EQ(made.error().code, code) << made.error().text();
  EXPECT_NE(made.error().text().find(part), std::string::npos) << made.error().text();
}

// ---- whole files -------------------------------------------------------------------------------

JsonValue expected_cases() {
  return JsonValue::parse(read_file(testdata("export/expected.json")), nullptr, false)["cases"];
}

Options options_of(const JsonValue& row) {
  Options out;
  for (const auto& [key, value] : row["options"].items()) {
    const std::string text = value.get<std::string>();
    out.add(key, key == "amax-from" ? testdata(text).string() : text);
  }
  return out;
}

void expect_files(Result<Checkpoint> made, const JsonValue& row) {
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto hashes = written(std::move(*made));
  ASSERT_TRUE(hashes.has_value()) << hashes.error().text();
  for (const auto& [name, hash] : row["files"].items()) {
    ASSERT_EQ(hashes->count(name), 1u) << name;
    EXPECT_EQ(hashes->at(name), hash.get<std::string>()) << row["reference"] << " " << name;
  }
  EXPECT_EQ(hashes->count("modelopt_state.pth"), 0u);
}

TEST(ExportFiles, EqualThoseOfModelopt) {
  const JsonValue cases = expected_cases();
  ASSERT_EQ(cases.size(), 11u);
  for (const JsonValue& row : cases) {
    expect_files(run("export", *open(testdata(row["in"].get<std::string>())), options_of(row)),
                 row);
  }
}

// The hub's form of this model: all experts of a layer in two tensors.
Result<Checkpoint> stack_experts(Checkpoint checkpoint) {
  std::map<std::string, std::vector<Tensor>> stacks;
  std::vector<Tensor> out;
  for (Tensor& tensor : checkpoint.tensors) {
    if (!is_expert(tensor.name)) out.push_back(tensor);
  }
  for (int layer = 0; layer < 4; ++layer) {
    const std::string container = fmt::format("model.layers.{}.mlp.experts", layer);
    std::vector<Tensor> gate_up, down;
    for (int e = 0; e < 8; ++e) {
      for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
        const Tensor* found =
            checkpoint.find_tensor(fmt::format("{}.{}.{}.weight", container, e, part));
        CKPT_CHECK(found != nullptr);
        (std::string_view(part) == "down_proj" ? down : gate_up).push_back(*found);
      }
    }
    const uint64_t inner = gate_up[0].rows(), outer = down[0].rows();
    CKPT_ASSIGN(Tensor up_stack, concatenate_rows(gate_up));
    CKPT_ASSIGN(Tensor down_stack, concatenate_rows(down));
    CKPT_ASSIGN(up_stack, reshape(std::move(up_stack), {8, 2 * inner, outer}));
    CKPT_ASSIGN(down_stack, reshape(std::move(down_stack), {8, outer, inner}));
    up_stack.name = container + ".gate_up_proj";
    down_stack.name = container + ".down_proj";
    out.push_back(std::move(up_stack));
    out.push_back(std::move(down_stack));
  }
  checkpoint.tensors = std::move(out);
  return checkpoint;
}

TEST(ExportFiles, StackedExpertsGiveTheSameFiles) {
  for (const JsonValue& row : expected_cases()) {
    if (row["in"] != "qwen35moe-micro") continue;
    auto stacked = stack_experts(*open(testdata("qwen35moe-micro")));
    ASSERT_TRUE(stacked.has_value()) << stacked.error().text();
    expect_files(run("export", std::move(*stacked), options_of(row)), row);
  }
}

// ---- a model in memory -------------------------------------------------------------------------

Tensor floats(std::string name, std::vector<uint64_t> shape, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor(std::move(name), std::move(shape), plain_codec(all_codecs(), Dtype::kF32),
                     std::move(bytes));
}

Tensor weight(std::string name, uint64_t rows, uint64_t columns) {
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 29) - 14;
  return floats(std::move(name), {rows, columns}, values);
}

Checkpoint small_model() {
  Checkpoint out;
  out.format = "safetensors";
  out.set_document("config.json", R"({"model_type": "llama", "dtype": "float32"})");
  out.tensors.push_back(weight("lm_head.weight", 4, 32));
  out.tensors.push_back(weight("model.embed_tokens.weight", 4, 32));
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                           "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    out.tensors.push_back(weight(fmt::format("model.layers.0.{}.weight", name), 8, 32));
  }
  out.tensors.push_back(floats("model.norm.weight", {4}, {1, 2, 3, 4}));
  return out;
}

// Maxima as a trainer stores them; q, k and v differ.
Checkpoint qat_model() {
  Checkpoint out = small_model();
  float amax = 1;
  for (const Tensor& tensor : small_model().tensors) {
    if (tensor.name.find("_proj.") == std::string::npos) continue;
    const std::string module = tensor.name.substr(0, tensor.name.size() - 7);
    out.tensors.push_back(floats(module + ".weight_quantizer._amax", {}, {amax}));
    out.tensors.push_back(floats(module + ".input_quantizer._amax", {}, {amax * 2}));
    amax += 1;
  }
  return out;
}

void set_value(Checkpoint& checkpoint, std::string_view name, float value) {
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.name == name) tensor = floats(tensor.name, {}, {value});
  }
}

void drop(Checkpoint& checkpoint, std::string_view name) {
  std::erase_if(checkpoint.tensors, [&](const Tensor& tensor) { return tensor.name == name; });
}

float value_of(const Checkpoint& checkpoint, std::string_view name) {
  const Tensor* tensor = checkpoint.find_tensor(name);
  EXPECT_NE(tensor, nullptr) << name;
  if (tensor == nullptr) return 0;
  return read_values(*tensor, 1)->at(0);
}

const Recoded& recoded(const Result<Checkpoint>& made, std::string_view name) {
  const Tensor* tensor = made->find_tensor(name);
  CKPT_CHECK(tensor != nullptr && !tensor->is_stored());
  return tensor->recoded();
}

std::string quant_config(const Result<Checkpoint>& made) {
  return *made->find_document("hf_quant_config.json")->content;
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
  const auto hashes = written(*made);
  EXPECT_TRUE(hashes.has_value()) << hashes.error().text();

  input.tensors.back() = floats(quantizer + "_amax", {8, 1}, std::vector<float>(8, 1));
  expect_error(run("export", input, options({{"type", "nvfp4"}})), ErrorCode::kUnsupported,
               "8 stored maxima; nvfp4 needs one, or 16 for blocks of 16");
}

TEST(Export, MaximaThatAreNoneAreRefused) {
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
  const auto made = run("export", small_model(), options({{"type", "nvfp4"}}));
  expect_error(made, ErrorCode::kUsage, "7 of 7 layers have no activation maximum");
  for (const char* way : {"--amax-from DIR", "--amax-from FILE.json", "a QAT checkpoint as IN"}) {
    EXPECT_NE(made.error().hint.find(way), std::string::npos) << made.error().hint;
  }
  EXPECT_TRUE(run("export", small_model(), options({{"type", "nvfp4-w4a16"}})).has_value());
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
  const auto made = run("export", small_model(), given);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(value_of(*made, "model.layers.0.mlp.up_proj.input_scale"), 5.5f * (1.0f / 2688));
  EXPECT_EQ(value_of(*made, "model.layers.0.mlp.down_proj.input_scale"), 10.0f * (1.0f / 2688));
  for (const char* bad : {"{\"a\": 0}", "{\"a\": \"1\"}", "{\"a\": [1]}", "[]", "{\"a\": 1e99}"}) {
    write_file(list, bad);
    expect_error(run("export", small_model(), given), ErrorCode::kCorrupt, "amax.json");
  }
}

// ---- which layers ------------------------------------------------------------------------------

TEST(Export, KeepAndOnlyAndPresetChoose) {
  const auto excluded = [](std::initializer_list<std::pair<std::string, std::string>> pairs) {
    Options given = options(pairs);
    given.add("type", "nvfp4-w4a16");
    const auto made = run("export", small_model(), given);
    EXPECT_TRUE(made.has_value()) << made.error().text();
    const auto json = JsonValue::parse(quant_config(made), nullptr, false);
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
  expect_error(run("export", small_model(), options({{"type", "nvfp4-w4a16"}, {"keep", "*"}})),
               ErrorCode::kUsage, "no layer is left");
}

TEST(Export, TiedHeadsRoutersAndTokensAheadStay) {
  Checkpoint input = small_model();
  drop(input, "lm_head.weight");
  input.set_document("config.json", R"({"model_type": "deepseek_v3", "num_hidden_layers": 1,
    "num_nextn_predict_layers": 1, "tie_word_embeddings": true})");
  input.tensors.push_back(weight("model.layers.1.mlp.up_proj.weight", 8, 32));
  input.tensors.push_back(weight("model.layers.0.moe.gate.weight", 8, 32));
  input.tensors.push_back(weight("model.layers.0.moe.experts.0.up_proj.weight", 8, 32));
  input.tensors.push_back(weight("model.layers.0.moe.experts.0.gate_proj.weight", 8, 32));
  const auto made = run("export", input, options({{"type", "nvfp4-w4a16"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto json = JsonValue::parse(quant_config(made), nullptr, false);
  EXPECT_EQ(json["quantization"]["exclude_modules"].dump(),
            R"(["lm_head","model.embed_tokens","model.layers.0.moe.gate","model.layers.1*"])");
}

TEST(Export, RowsThatAreNoBlocksAreNamed) {
  Checkpoint input = small_model();
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
  Checkpoint input = small_model();
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

TEST(Export, WhatIsQuantisedAlreadyIsRefused) {
  Checkpoint input = small_model();
  input.set_document("config.json", R"({"quantization_config": {}})");
  expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kUnsupported,
               "dequantize");
  input = small_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.weight_scale", {}, {1}));
  expect_error(run("export", input, options({{"type", "nvfp4-w4a16"}})), ErrorCode::kUnsupported,
               "quantised already");
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
            "1 layers have a stored maximum and stay all the same|1 activation maxima are not used|"
            "1 layers stay although those that servers join them with are quantised (the first: "
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
  Checkpoint input = small_model();
  input.set_document("generation_config.json", "{\n  \"eos_token_id\": 1,\n  \"top_k\": 20\n}\n");
  const auto made = run("export", input, options({{"type", "nvfp4-w4a16"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(*made->find_document("generation_config.json")->content,
            "{\n  \"do_sample\": true,\n  \"eos_token_id\": 1,\n  \"top_k\": 20\n}\n");
}

TEST(Export, OptionsAreChecked) {
  const auto refused = [](std::initializer_list<std::pair<std::string, std::string>> pairs) {
    const auto made = run("export", small_model(), options(pairs));
    EXPECT_FALSE(made.has_value());
    return made ? ErrorCode::kIo : made.error().code;
  };
  EXPECT_EQ(refused({}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "nvfp8"}}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "fp8"}, {"search", "sweep"}}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "fp8"}, {"preset", "all"}}), ErrorCode::kUsage);
  EXPECT_EQ(refused({{"type", "fp8"}, {"tensor-type", "*=q8_0"}}), ErrorCode::kUsage);
}

// ---- back --------------------------------------------------------------------------------------

TEST(Dequantize, UndoesAnExport) {
  auto made = run("export", qat_model(), options({{"type", "nvfp4"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const TemporaryFolder folder;
  auto layout = find_format("safetensors")->lay_out(*made, {.out_name = "out"}, all_codecs());
  ASSERT_TRUE(layout.has_value());
  Plan plan;
  plan.outputs.push_back({folder.path() / "out", std::move(*made), std::move(*layout)});
  ASSERT_TRUE(execute(plan, {}).has_value());
  auto packed = open(folder.path() / "out");
  ASSERT_TRUE(packed.has_value()) << packed.error().text();
  // Columns were divided by these before they were packed.
  packed->tensors.push_back(
      floats("model.layers.0.mlp.down_proj.pre_quant_scale", {32}, std::vector<float>(32, 4)));
  const auto back = run("dequantize", std::move(*packed), {});
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_EQ(back->tensors.size(), small_model().tensors.size());
  for (const Tensor& tensor : small_model().tensors) {
    const Tensor* found = back->find_tensor(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->shape, tensor.shape);
    if (tensor.name.find("_proj") != std::string::npos) {
      EXPECT_EQ(found->codec->name, "bf16");
    }
  }
  const auto& down = back->find_tensor("model.layers.0.mlp.down_proj.weight")->recoded();
  ASSERT_EQ(down.ops.size(), 1u);
  EXPECT_EQ(std::get<ScaleColumns>(down.ops[0]).factors->at(31), 4);
  EXPECT_EQ(back->find_document("hf_quant_config.json"), nullptr);
  EXPECT_EQ(back->find_document("config.json")->content->find("quantization_config"),
            std::string::npos);
}

TEST(Dequantize, RefusesWhatItDoesNotKnow) {
  Checkpoint input = small_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.qweight", {1}, {1}));
  expect_error(run("dequantize", input, {}), ErrorCode::kUnsupported, "up_proj.qweight");
  input = small_model();
  input.tensors.push_back(floats("model.layers.0.mlp.up_proj.pre_quant_scale", {2}, {1, 1}));
  expect_error(run("dequantize", input, {}), ErrorCode::kCorrupt, "2 values; its weight has 32");
  expect_error(run("dequantize", small_model(), options({{"type", "q8_0"}})), ErrorCode::kUsage,
               "bf16");
}

// ---- files ----------------------------------------------------------------------------------

TEST(ExportFiles, AreCutAtTenGigabytesInTheOrderOfLayers) {
  std::vector<Tensor> tensors;
  const auto add = [&](std::string name, uint64_t gigabytes) {
    Tensor& tensor = tensors.emplace_back();
    tensor.name = std::move(name);
    tensor.shape = {gigabytes * 250'000'000};  // of 4 bytes; never read
    tensor.codec = &plain_codec(all_codecs(), Dtype::kF32);
    tensor.home = "model-00001-of-00001.safetensors";
  };
  add("lm_head.weight", 1);
  add("model.layers.10.a", 2);
  add("model.layers.3.a", 11);
  add("model.layers.2.a", 3);
  add("model.layers.2.b", 1);
  add("model.embed_tokens.weight", 6);
  assign_export_files(tensors);
  std::string files;
  for (const Tensor& tensor : tensors) {
    files += fmt::format("{} {}\n", tensor.home.substr(6, 5), tensor.name);
  }
  EXPECT_EQ(files,
            "00002 model.embed_tokens.weight\n00002 model.layers.2.a\n00002 model.layers.2.b\n"
            "00001 model.layers.3.a\n00003 model.layers.10.a\n00003 lm_head.weight\n");
  tensors.resize(1);
  assign_export_files(tensors);
  EXPECT_EQ(tensors[0].home, "model.safetensors");
}

// ---- groups ------------------------------------------------------------------------------------

TEST(ExportGroups, FollowTheInput) {
  const auto key = [](std::string_view module, std::string_view family = "llama") {
    return find_group(module, family).key;
  };
  EXPECT_EQ(key("a.self_attn.q_proj"), key("a.self_attn.v_proj"));
  EXPECT_NE(key("a.self_attn.q_proj"), key("b.self_attn.q_proj"));
  EXPECT_NE(key("a.self_attn.q_proj"), key("a.self_attn.o_proj"));
  EXPECT_EQ(key("a.linear_attn.in_proj_qkv"), key("a.linear_attn.in_proj_z"));
  EXPECT_NE(key("a.linear_attn.in_proj_qkv"), key("a.linear_attn.out_proj"));
  EXPECT_EQ(key("a.experts.3.w1"), key("a.experts.3.w3"));
  EXPECT_NE(key("a.experts.3.w1"), key("a.experts.4.w1"));
  EXPECT_EQ(key("a.self_attn.q_a_proj"), key("a.self_attn.kv_a_proj_with_mqa"));
  EXPECT_NE(key("a.cross_attn.q_proj"), key("a.cross_attn.k_proj"));
  EXPECT_NE(key("a.self_attn.q_proj"), key("a.mlp.up_proj"));
  EXPECT_EQ(key("a.self_attn.q_proj", "cohere2"), key("a.mlp.up_proj", "cohere2"));
  EXPECT_EQ(without_expert("a.experts.12.up_proj"), "a.experts.*.up_proj");
  EXPECT_EQ(without_expert("a.shared_experts.up_proj"), "a.shared_experts.up_proj");
}

}  // namespace
}  // namespace ckpt
