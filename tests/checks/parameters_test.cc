// Every parameter of the class against every tensor: names and shapes follow from config.json
// alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "checks/subject/subject.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Checkpoint open_model(const std::string& name) {
  const fs::path path = fs::path(CKPT_TESTDATA) / name;
  const auto format = recognize(path);
  EXPECT_TRUE(format.has_value());
  auto checkpoint = (*format)->read(path, all_codecs(), {});
  EXPECT_TRUE(checkpoint.has_value());
  return std::move(*checkpoint);
}

template <class Change>
void edit(Checkpoint& model, const Change& change) {
  Json json = Json::parse(model.find_document("config.json")->text());
  change(json);
  model.set_document("config.json", json.dump(2));
}

void set(Checkpoint& model, const char* field, const Json& value) {
  edit(model, [&](Json& json) {
    Json& text = json.contains("text_config") ? json["text_config"] : json;
    if (value.is_null()) {
      text.erase(field);
    } else {
      text[field] = value;
    }
  });
}

void drop(Checkpoint& model, std::string_view end) {
  const size_t before = model.tensors.size();
  std::erase_if(model.tensors, [&](const Tensor& tensor) { return tensor.name.ends_with(end); });
  EXPECT_LT(model.tensors.size(), before) << end;
}

void copy(Checkpoint& model, std::string_view from, const std::string& to) {
  const auto found = std::find_if(model.tensors.begin(), model.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == from; });
  ASSERT_NE(found, model.tensors.end()) << from;
  Tensor added = *found;
  added.name = to;
  model.tensors.push_back(std::move(added));
}

// 'U', 'S', 'W' or, with nothing found, '-'.
char rated(const Checkpoint& model, const std::string& profile, std::string_view check) {
  const auto diagnosis = diagnose(model, {{profile}, false, {}, nullptr});
  EXPECT_TRUE(diagnosis.has_value());
  char out = '-';
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check != check || out == 'U') continue;
    out = finding.severity == Severity::kUnloaded  ? 'U'
          : finding.severity == Severity::kUnsound ? 'S'
                                                   : 'W';
  }
  return out;
}

// For vLLM 0.17, vLLM 0.32, SGLang, llama.cpp, transformers 5.
std::string ratings(const Checkpoint& model, std::string_view check) {
  std::string out;
  for (const char* profile : {"vllm-0.17", "vllm", "sglang", "llama.cpp", "transformers-5"}) {
    out += rated(model, profile, check);
  }
  return out;
}

const char* const kModels[] = {"llama-micro",
                               "qwen3-micro",
                               "qwen35-micro",
                               "qwen35moe-micro",
                               "qwen35vl-micro",
                               "nvfp4/qwen35-micro-ct",
                               "nvfp4/qwen35-micro-mixed"};

TEST(Parameters, RealModelsHaveAllTheirParametersAndNoOthers) {
  for (const char* name : kModels) {
    const Checkpoint model = open_model(name);
    const Subject on(model);
    ASSERT_TRUE(on.parameters.is_compared()) << name;
    EXPECT_EQ(on.parameters.bad_field, "") << name;
    for (const Deviation& entry : on.parameters.missing) ADD_FAILURE() << name << entry.name;
    for (const Deviation& entry : on.parameters.wrong) ADD_FAILURE() << name << entry.name;
    for (const ExtraTensor& entry : on.parameters.extra) ADD_FAILURE() << name << entry.name;
    EXPECT_FALSE(on.parameters.has_unknown_codes) << name;
  }
}

// Each field that shapes depend on, doubled and (where the class's default is another) absent.
TEST(Parameters, EveryFieldThatShapesDependOnIsHeldAgainstTheTensors) {
  const std::pair<const char*, std::vector<const char*>> kFields[] = {
      {"llama-micro",
       {"hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers",
        "num_key_value_heads", "head_dim"}},
      {"qwen3-micro",
       {"hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers",
        "num_attention_heads", "num_key_value_heads", "head_dim"}},
      {"qwen35-micro",
       {"hidden_size", "intermediate_size", "vocab_size", "num_attention_heads",
        "num_key_value_heads", "head_dim", "linear_conv_kernel_dim", "linear_key_head_dim",
        "linear_value_head_dim", "linear_num_key_heads", "linear_num_value_heads"}},
      {"qwen35moe-micro",
       {"moe_intermediate_size", "shared_expert_intermediate_size", "num_experts"}}};
  for (const auto& [name, fields] : kFields) {
    for (const char* field : fields) {
      for (const double factor : {0.5, 2.0, 0.0}) {
        Checkpoint model = open_model(name);
        Json config = Json::parse(model.find_document("config.json")->text());
        const auto now = config[field].get<uint64_t>();
        const bool is_quotient = std::string(field) == "head_dim" && now == 64 &&
                                 std::string(name) == "llama-micro";  // of sizes that are there
        if (factor == 0.0 && is_quotient) continue;
        if (factor == 0.0 && std::string(field) == "linear_conv_kernel_dim") continue;  // 4
        const auto changed = static_cast<uint64_t>(static_cast<double>(now) * factor);
        set(model, field, factor == 0.0 ? Json() : Json(changed));
        const Subject on(model);
        const size_t deviating =
            on.parameters.missing.size() + on.parameters.wrong.size() + on.parameters.extra.size();
        EXPECT_NE(deviating, 0u) << name << ' ' << field << ' ' << factor;
        const auto diagnosis = diagnose(model, {{"llama.cpp"}, false, {}, nullptr});
        ASSERT_TRUE(diagnosis.has_value());
        EXPECT_FALSE(diagnosis->is_good()) << name << ' ' << field << ' ' << factor;
      }
    }
  }
}

TEST(Parameters, RatesMissingTensorsForEachProgram) {
  Checkpoint model = open_model("qwen3-micro");
  drop(model, "layers.1.self_attn.q_norm.weight");
  EXPECT_EQ(ratings(model, "W02"), "UUSUS");
  // A piece of what servers run as one: nothing notices.
  model = open_model("qwen3-micro");
  drop(model, "layers.1.self_attn.k_proj.weight");
  EXPECT_EQ(ratings(model, "W02"), "SSSUS");
  model = open_model("qwen35moe-micro");
  drop(model, "experts.3.down_proj.weight");
  EXPECT_EQ(rated(model, "vllm", "W02"), 'S');
  // Quantized models are not checked for it at all.
  model = open_model("nvfp4/qwen35-micro-ct");
  drop(model, "layers.0.input_layernorm.weight");
  EXPECT_EQ(rated(model, "vllm", "W02"), 'S');
}

TEST(Parameters, OnlyServersTruncateLargerTensors) {
  Checkpoint model = open_model("llama-micro");
  set(model, "intermediate_size", 256);  // the tensors have 512
  EXPECT_EQ(ratings(model, "W09"), "SSSUU");
  model = open_model("llama-micro");
  set(model, "intermediate_size", 1024);
  EXPECT_EQ(ratings(model, "W09"), "UUUUU");
  model = open_model("llama-micro");
  set(model, "vocab_size", 512);  // never cut
  EXPECT_EQ(ratings(model, "W09"), "UUUUU");
}

TEST(Parameters, QuantizedWeightsAreComparedByTheShapeOfTheirValues) {
  for (const char* name : {"nvfp4/qwen35-micro-ct", "nvfp4/qwen35-micro-mixed"}) {
    Checkpoint model = open_model(name);
    set(model, "intermediate_size", 1024);
    EXPECT_EQ(rated(model, "vllm", "W09"), 'U') << name;
  }
}

TEST(Parameters, RatesExtraTensorsForEachProgram) {
  constexpr const char* kNorm = "model.layers.0.input_layernorm.weight";
  Checkpoint model = open_model("llama-micro");
  copy(model, kNorm, "model.layers.0.self_attn.q_norm.weight");
  EXPECT_EQ(ratings(model, "W10"), "UUSUS");
  model = open_model("qwen3-micro");  // vLLM 0.17 ignores tensors outside of fused parts
  copy(model, kNorm, "model.layers.0.stray.weight");
  EXPECT_EQ(ratings(model, "W10"), "SUSUS");
  copy(model, kNorm, "model.layers.0.mlp.up_proj.stray");
  EXPECT_EQ(ratings(model, "W10"), "UUUUS");
  model = open_model("llama-micro");
  copy(model, kNorm, "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(ratings(model, "W10"), "SSSUS");
  model = open_model("llama-micro");
  copy(model, kNorm, "stray.weight");
  EXPECT_EQ(ratings(model, "W10"), "UUWUW");
  model = open_model("qwen35vl-micro");
  copy(model, "model.visual.merger.norm.weight", "model.visual.stray.weight");
  EXPECT_EQ(rated(model, "vllm-0.17", "W10"), 'U');
  EXPECT_EQ(rated(model, "llama.cpp", "W10"), 'W');
}

TEST(Parameters, FindingsCountAndNameTheFirst) {
  Checkpoint model = open_model("llama-micro");
  set(model, "hidden_size", 512);
  const auto diagnosis = diagnose(model, {{"vllm"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis.has_value());
  size_t found = 0;
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check != "W09") continue;
    ++found;
    EXPECT_NE(finding.found.find("30 tensors are not of the shape"), std::string::npos)
        << finding.found;
    EXPECT_LT(finding.found.size(), 400u);
  }
  EXPECT_EQ(found, 1u);
}

TEST(Parameters, ModelsWithoutATableAreNotChecked) {
  Checkpoint model = open_model("llama-micro");
  edit(model, [](Json& json) {
    json["architectures"] = {"NemotronForCausalLM"};
    json["model_type"] = "nemotron";
  });
  const auto diagnosis = diagnose(model, {{"vllm"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis.has_value());
  EXPECT_TRUE(diagnosis->is_good());
  EXPECT_NE(diagnosis->verdicts.at(0).not_checked.find("NemotronForCausalLM"), std::string::npos);
}

TEST(Parameters, NumbersBeyondAnyModelAreAnAnswer) {
  for (const char* field : {"num_hidden_layers", "num_experts"}) {
    Checkpoint model = open_model("qwen35moe-micro");
    set(model, field, 4'000'000'000u);
    EXPECT_EQ(rated(model, "vllm", "W09"), 'U') << field;
  }
}

}  // namespace
}  // namespace ckpt
