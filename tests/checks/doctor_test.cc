// Each check against a model that has the fault and one that has not: small made-up checkpoints, a
// change away from sound ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const Codec& codec(std::string_view name) { return *find_codec(all_codecs(), name); }

// A tensor whose parts are bytes of `fill`.
Tensor tensor(std::string name, std::vector<uint64_t> shape, std::string_view type,
              uint8_t fill = 0x38) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.codec = &codec(type);
  Stored stored;
  for (size_t part = 0; part < out.codec->parts.size(); ++part) {
    const uint64_t size = part_size_bytes(out, part);
    std::vector<std::byte> bytes(size, std::byte{fill});
    stored.parts.push_back({{make_blob(out.name, std::move(bytes)), 0, size}});
  }
  out.origin = std::move(stored);
  return out;
}

void set_json(Checkpoint& checkpoint, const std::string& path, const Json& json) {
  checkpoint.set_document(path, json.dump(2));
}
Json get_json(const Checkpoint& checkpoint, std::string_view path) {
  return Json::parse(checkpoint.find_document(path)->text());
}
template <class Change>
void edit(Checkpoint& checkpoint, const std::string& path, const Change& change) {
  Json json = get_json(checkpoint, path);
  change(json);
  set_json(checkpoint, path, json);
}

void add_linear(Checkpoint& checkpoint, const std::string& module, std::string_view type) {
  checkpoint.tensors.push_back(tensor(module + ".weight", {64, 64}, type));
  if (type == "nvfp4_modelopt") {
    checkpoint.tensors.push_back(tensor(module + ".input_scale", {}, "f32"));
  }
}

// A Llama of one layer; linears in `type`, as ModelOpt exports it.
Checkpoint llama(std::string_view type) {
  Checkpoint out;
  out.format = "safetensors";
  out.tensors.push_back(tensor("model.embed_tokens.weight", {256, 64}, "bf16"));
  out.tensors.push_back(tensor("model.norm.weight", {64}, "bf16"));
  out.tensors.push_back(tensor("lm_head.weight", {256, 64}, "bf16"));
  for (const char* name : {"input_layernorm", "post_attention_layernorm"}) {
    out.tensors.push_back(tensor(fmt::format("model.layers.0.{}.weight", name), {64}, "bf16"));
  }
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                           "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    add_linear(out, fmt::format("model.layers.0.{}", name), type);
  }
  Json config = {{"architectures", {"LlamaForCausalLM"}},
                 {"model_type", "llama"},
                 {"dtype", "bfloat16"},
                 {"hidden_size", 64},
                 {"intermediate_size", 64},
                 {"num_attention_heads", 4},
                 {"vocab_size", 256},
                 {"num_hidden_layers", 1},
                 {"tie_word_embeddings", false}};
  if (type != "bf16") {
    config["quantization_config"] = {
        {"config_groups", {{"group_0", {{"weights", {{"group_size", 16}}}}}}},
        {"ignore", {"lm_head"}},
        {"quant_algo", "NVFP4"},
        {"quant_method", "modelopt"}};
  }
  set_json(out, "config.json", config);
  set_json(out, "tokenizer_config.json",
           {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"chat_template", "{{ messages }}"}});
  set_json(out, "tokenizer.json",
           {{"model", {{"vocab", {{"a", 0}}}}}, {"added_tokens", Json::array()}});
  return out;
}

Diagnosis look(const Checkpoint& checkpoint, const std::string& profile, bool deep = false) {
  const auto diagnosis = diagnose(checkpoint, {{profile}, deep, {}, nullptr});
  EXPECT_TRUE(diagnosis.has_value());
  return diagnosis ? *diagnosis : Diagnosis{};
}

const Finding* find(const Diagnosis& diagnosis, std::string_view check) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.check == check) return &finding;
  }
  return nullptr;
}

void expect(const Checkpoint& checkpoint, const std::string& profile, std::string_view check,
            Severity severity, bool deep = false) {
  const Diagnosis diagnosis = look(checkpoint, profile, deep);
  const Finding* finding = find(diagnosis, check);
  ASSERT_NE(finding, nullptr) << check << " for " << profile;
  EXPECT_EQ(finding->severity, severity) << check << " for " << profile;
  EXPECT_EQ(diagnosis.verdicts.at(0).loads, severity != Severity::kUnloaded);
  EXPECT_TRUE(severity != Severity::kUnsound || !diagnosis.verdicts.at(0).sound);
}

Result<Checkpoint> open(const std::string& name) {
  const fs::path path = fs::path(CKPT_TESTDATA) / name;
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs(), {});
}

const std::vector<std::string> kServers = {"vllm-0.16", "vllm-0.17", "vllm", "sglang"};

TEST(Doctor, AcceptsSoundModelsInEveryProfile) {
  for (const char* type : {"bf16", "nvfp4_modelopt"}) {
    const auto diagnosis = diagnose(llama(type), {{}, true, {}, nullptr});
    ASSERT_TRUE(diagnosis.has_value());
    EXPECT_EQ(diagnosis->verdicts.size(), 5u);  // current releases; Ollama is checked only for GGUF
    for (const Verdict& verdict : diagnosis->verdicts) {
      // transformers does not know ModelOpt's method.
      const bool is_skipped =
          verdict.profile.starts_with("transformers") && std::string_view(type) != "bf16";
      EXPECT_EQ(verdict.loads && verdict.sound, !is_skipped) << type << " " << verdict.profile;
    }
  }
}

TEST(Doctor, EveryRatingHasALetterForEveryProfile) {
  for (const CheckInfo& check : all_checks()) {
    EXPECT_EQ(check.severities.size(), all_profiles().size()) << check.id;
  }
}

TEST(Doctor, UnknownProfilesAreRefused) {
  EXPECT_EQ(diagnose(llama("bf16"), {{"vllm-9"}, false, {}, nullptr}).error().code,
            ErrorCode::kUsage);
}

TEST(Doctor, TextModelsOfQwen35AreKnownToVllmAlone) {
  const auto model = open("qwen35-micro");
  ASSERT_TRUE(model.has_value());
  expect(*model, "vllm-0.17", "C02", Severity::kUnloaded);
  expect(*model, "sglang-0.5.12", "C03", Severity::kUnloaded);
  EXPECT_TRUE(look(*model, "vllm").is_good());
  EXPECT_EQ(find(look(*model, "vllm-0.17"), "C02")->fix.step, "vl-wrap");
  EXPECT_EQ(find(look(*model, "vllm-0.16"), "C02")->fix.step, "");
}

TEST(Doctor, TokenizersOfTransformers5AreRefusedBy4) {
  Checkpoint model = llama("bf16");
  edit(model, "tokenizer_config.json", [](Json& json) {
    json["tokenizer_class"] = "TokenizersBackend";
    json["extra_special_tokens"] = {"<x>"};
  });
  for (const std::string profile : {"vllm-0.17", "transformers-4.57"}) {
    expect(model, profile, "T02", Severity::kUnloaded);
    expect(model, profile, "T03", Severity::kUnloaded);
  }
  for (const std::string profile : {"vllm", "sglang", "transformers-5"}) {
    EXPECT_TRUE(look(model, profile).is_good()) << profile;
  }
}

TEST(Doctor, HalfWrappedConfigurationsAreUnsound) {
  auto model = open("qwen35-micro");
  ASSERT_TRUE(model.has_value());
  edit(*model, "config.json", [](Json& json) { json["model_type"] = "qwen3_5"; });
  expect(*model, "transformers-5", "C04", Severity::kUnsound);
}

TEST(Doctor, WrappersNeedTheIntervalForSglang) {
  auto model = open("qwen35vl-micro");
  ASSERT_TRUE(model.has_value());
  expect(*model, "sglang", "C16", Severity::kUnloaded);
  expect(*model, "vllm", "P01", Severity::kUnsound);
  edit(*model, "config.json",
       [](Json& json) { json["text_config"]["full_attention_interval"] = 4; });
  EXPECT_EQ(find(look(*model, "sglang"), "C16"), nullptr);
}

TEST(Doctor, ReportsNumbersThatContradictTheTensors) {
  Checkpoint model = llama("bf16");
  edit(model, "config.json", [](Json& json) { json["num_hidden_layers"] = 2; });
  expect(model, "vllm", "W02", Severity::kUnloaded);
  model = llama("bf16");
  edit(model, "config.json", [](Json& json) { json["vocab_size"] = 300; });
  expect(model, "vllm", "W09", Severity::kUnloaded);
  model = llama("bf16");
  for (const char* type : {"bf16", "nvfp4_modelopt"}) {
    model = llama(type);
    std::erase_if(model.tensors, [](const Tensor& t) { return t.name == "lm_head.weight"; });
    // vLLM looks for parameters that nothing filled where the model is not quantized.
    const bool is_plain = type == std::string_view("bf16");
    expect(model, "vllm", "C10", is_plain ? Severity::kUnloaded : Severity::kUnsound);
    expect(model, "sglang", "C10", Severity::kUnsound);
    edit(model, "config.json", [](Json& json) { json.erase("tie_word_embeddings"); });
    expect(model, "sglang", "C10", Severity::kUnsound);
  }
}

TEST(Doctor, ListsMustSayWhatTheTensorsAre) {
  Checkpoint model = llama("nvfp4_modelopt");
  // Floats that nobody excluded.
  for (Tensor& each : model.tensors) {
    if (each.name == "model.layers.0.mlp.down_proj.weight") {
      each = tensor(each.name, each.shape, "bf16");
    }
  }
  for (const std::string& profile : kServers) expect(model, profile, "Q07", Severity::kUnloaded);
  // Excluded by its whole name, by a pattern, by a part of its name, which is vLLM's way alone.
  for (const char* entry : {"model.layers.0.mlp.down_proj", "*.down_proj"}) {
    edit(model, "config.json",
         [&](Json& json) { json["quantization_config"]["ignore"] = {"lm_head", entry}; });
    for (const std::string& profile : kServers) {
      EXPECT_TRUE(look(model, profile).verdicts.at(0).loads) << profile << ' ' << entry;
    }
  }
  edit(model, "config.json",
       [&](Json& json) { json["quantization_config"]["ignore"] = {"lm_head", "mlp.down"}; });
  EXPECT_TRUE(look(model, "vllm").verdicts.at(0).loads);
  expect(model, "sglang", "Q07", Severity::kUnloaded);
}

TEST(Doctor, PartsThatRunAsOneAreListedTogether) {
  Checkpoint model = llama("nvfp4_modelopt");
  edit(model, "config.json", [&](Json& json) {
    json["quantization_config"]["ignore"] = {"lm_head", "model.layers.0.self_attn.q_proj"};
  });
  expect(model, "vllm", "Q11", Severity::kUnloaded);
}

TEST(Doctor, AlgorithmsByProgram) {
  Checkpoint model = llama("nvfp4_modelopt");
  const auto says = [&](const char* algo) {
    edit(model, "config.json",
         [&](Json& json) { json["quantization_config"]["quant_algo"] = algo; });
  };
  says("NVFP4_AWQ");
  for (const char* profile : {"vllm-0.16", "vllm-0.17", "vllm", "sglang-0.5.12"}) {
    expect(model, profile, "Q02", Severity::kUnloaded);
  }
  EXPECT_TRUE(look(model, "tensorrt-llm").verdicts.at(0).loads);
  EXPECT_TRUE(look(model, "sglang").verdicts.at(0).loads);
  says("W4A16_NVFP4");
  expect(model, "vllm-0.17", "Q02", Severity::kUnloaded);
  for (const char* profile : {"vllm", "sglang"}) {
    EXPECT_TRUE(look(model, profile).verdicts.at(0).loads) << profile;
  }
  says("MIXED_PRECISION");
  edit(model, "config.json", [](Json& json) {
    for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
      json["quantization_config"]["quantized_layers"][fmt::format("model.layers.0.{}", name)] = {
          {"quant_algo", "NVFP4"}};
    }
  });
  for (const char* profile : {"vllm", "sglang"}) {
    EXPECT_TRUE(look(model, profile).verdicts.at(0).loads) << profile;
  }
  expect(model, "sglang-0.5.12", "Q03", Severity::kUnloaded);
  expect(model, "vllm-0.16", "Q02", Severity::kUnloaded);
  edit(model, "config.json", [](Json& json) {
    json["quantization_config"]["quantized_layers"]["model.layers.0.self_attn.o_proj"] = {
        {"quant_algo", "NVFP4_AWQ"}};
  });
  expect(model, "vllm", "Q07", Severity::kUnloaded);
}

TEST(Doctor, ReportsMissingDeclarations) {
  Checkpoint model = llama("nvfp4_modelopt");
  edit(model, "config.json", [](Json& json) { json["quantization_config"].erase("quant_method"); });
  expect(model, "vllm", "Q05", Severity::kUnloaded);
  edit(model, "config.json", [](Json& json) { json.erase("quantization_config"); });
  for (const std::string& profile : kServers) expect(model, profile, "Q01", Severity::kUnloaded);
}

TEST(Doctor, ReportsTrainingCheckpoints) {
  Checkpoint model = llama("bf16");
  model.tensors.push_back(tensor("model.layers.0.mlp.up_proj.weight_quantizer._amax", {}, "bf16"));
  for (const std::string& profile : kServers) expect(model, profile, "Q16", Severity::kUnloaded);
}

TEST(Doctor, ScalesThatAreMissingAreUnsound) {
  Checkpoint model = llama("nvfp4_modelopt");
  std::erase_if(model.tensors, [](const Tensor& t) { return t.name.ends_with("input_scale"); });
  expect(model, "vllm", "Q09", Severity::kUnsound);
}

TEST(Doctor, AQuantizedHeadIsWhereTheListAllowsIt) {
  Checkpoint model = llama("nvfp4_modelopt");
  std::erase_if(model.tensors, [](const Tensor& t) { return t.name == "lm_head.weight"; });
  model.tensors.push_back(tensor("lm_head.weight", {256, 64}, "nvfp4_modelopt"));
  model.tensors.push_back(tensor("lm_head.input_scale", {}, "f32"));
  for (const char* entry : {"lm_head", "lm_head*", "*lm_head*", "*head"}) {
    edit(model, "config.json",
         [&](Json& config) { config["quantization_config"]["ignore"] = {entry}; });
    expect(model, "vllm", "Q07", Severity::kUnloaded);
    expect(model, "vllm-0.17", "Q15", Severity::kUnloaded);
  }
  edit(model, "config.json",
       [](Json& config) { config["quantization_config"]["ignore"] = {"model.embed_tokens"}; });
  EXPECT_TRUE(look(model, "vllm").is_good());
}

TEST(Doctor, TensorsAreReadWhenAsked) {
  Checkpoint model = llama("bf16");
  for (Tensor& each : model.tensors) {
    if (each.name == "model.norm.weight") each = tensor(each.name, each.shape, "bf16", 0xff);
  }
  EXPECT_TRUE(look(model, "vllm").is_good());
  expect(model, "vllm", "W07", Severity::kUnsound, true);
  model = llama("nvfp4_modelopt");
  for (Tensor& each : model.tensors) {
    if (each.name.ends_with("up_proj.weight"))
      each = tensor(each.name, each.shape, "nvfp4_modelopt", 0x39);
    if (each.name.ends_with("down_proj.input_scale")) each = tensor(each.name, {}, "f32", 0);
  }
  expect(model, "vllm", "Q12", Severity::kUnsound, true);
  expect(model, "vllm", "Q24", Severity::kUnsound, true);
}

TEST(Doctor, ReportsEachFixOnceAndInOrder) {
  DiagnosisOptions all;
  all.profiles = {"vllm-0.17", "vllm", "sglang", "transformers-4.57", "transformers-5"};
  const auto model = open("qwen35-micro");
  ASSERT_TRUE(model.has_value());
  const auto diagnosis = diagnose(*model, all);
  ASSERT_TRUE(diagnosis.has_value());
  std::vector<std::string> steps;
  for (const Fix& fix : fixes(*diagnosis, false)) steps.push_back(fix.step);
  EXPECT_EQ(steps, (std::vector<std::string>{"vl-wrap", "tokenizer:for=transformers-4.57"}));
}

TEST(Doctor, DocumentsOfAnyKindAreRead) {
  for (const char* text : {"[]", "{", "null", R"({"model_type": 3, "architectures": {}})",
                           R"({"text_config": [], "quantization_config": 4})",
                           R"({"quantization_config": {"ignore": {}, "quantized_layers": []}})"}) {
    for (const char* path :
         {"config.json", "tokenizer.json", "tokenizer_config.json", "hf_quant_config.json",
          "generation_config.json", "preprocessor_config.json"}) {
      Checkpoint model = llama("nvfp4_modelopt");
      model.set_document(path, text);
      EXPECT_TRUE(diagnose(model, {{}, true, {}, nullptr}).has_value()) << path << ' ' << text;
    }
  }
}

TEST(Doctor, ServeCommandsFollowTheFiles) {
  auto model = open("qwen35-micro");
  ASSERT_TRUE(model.has_value());
  EXPECT_TRUE(serve_command("vllm", *model, "x").starts_with("vllm serve x"));
  EXPECT_EQ(serve_command("llama.cpp", *model, "x"), "");  // it takes no folder
  model->format = "gguf";
  EXPECT_EQ(serve_command("llama.cpp", *model, "x.gguf"), "llama-server -m x.gguf");
  EXPECT_EQ(serve_command("vllm", *model, "x.gguf"), "");
}

}  // namespace
}  // namespace ckpt
