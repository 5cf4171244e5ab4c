// How vLLM 0.17.1 handles configurations, towers and scales, as observed in its loader.
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

Checkpoint open_folder(const std::string& name) {
  const fs::path path = fs::path(CKPT_TESTDATA) / name;
  const auto format = recognize(path);
  EXPECT_TRUE(format.has_value());
  auto checkpoint = (*format)->read(path, all_codecs(), {});
  EXPECT_TRUE(checkpoint.has_value());
  return std::move(*checkpoint);
}
Checkpoint family(const std::string& name) { return open_folder("families/" + name + "/hf"); }

// Sets the field at a path of names between slashes, as "vision_config/depth".
void set_at(Checkpoint& model, const std::string& path, const Json& value) {
  Json json = Json::parse(model.find_document("config.json")->text());
  json[Json::json_pointer("/" + path)] = value;
  model.set_document("config.json", json.dump(2));
}

// Checks that say no, between blanks.
std::string refusals(const Checkpoint& model) {
  const auto diagnosis = diagnose(model, {{"vllm-0.17"}, false, {}, nullptr});
  EXPECT_TRUE(diagnosis.has_value());
  std::string out = " ";
  for (const Finding& finding : diagnosis->findings) {
    if (finding.severity == Severity::kUnloaded) out += finding.check + " ";
  }
  return out;
}

bool says(const Checkpoint& model, const std::string& check) {
  return refusals(model).find(" " + check + " ") != std::string::npos;
}

std::string severity_of(const Checkpoint& model, const std::string& check) {
  const auto diagnosis = diagnose(model, {{"vllm-0.17"}, false, {}, nullptr});
  EXPECT_TRUE(diagnosis.has_value());
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check == check) return std::string(severity_name(finding.severity));
  }
  return "";
}

Tensor& tensor_of_rule(Checkpoint& model, std::string_view name) {
  const auto found = std::find_if(model.tensors.begin(), model.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  EXPECT_NE(found, model.tensors.end()) << name;
  return *found;
}

struct Tower {
  const char *family, *tensor, *field;
};
const Tower kTowers[] = {
    {"qwen3-vl", "model.visual.deepstack_merger_list.0.norm.weight", "depth"},
    {"qwen3-vl-moe", "model.visual.blocks.2.attn.proj.weight", "num_position_embeddings"},
    {"qwen25-vl", "visual.blocks.0.mlp.down_proj.weight", "intermediate_size"},
    {"mistral3", "multi_modal_projector.linear_1.weight", "num_hidden_layers"},
    {"gemma3-vl", "vision_tower.vision_model.encoder.layers.0.layer_norm1.weight", "image_size"},
    {"llama4", "vision_model.vision_adapter.mlp.fc2.weight", "projector_output_dim"},
};

TEST(VllmRules, TowersAreComparedWithTheirConfiguration) {
  for (const Tower& tower : kTowers) {
    const Checkpoint good = family(tower.family);
    EXPECT_FALSE(says(good, "W02") || says(good, "W09") || says(good, "W10")) << tower.family;
    Checkpoint renamed = good;
    tensor_of_rule(renamed, tower.tensor).name += "s";
    EXPECT_TRUE(says(renamed, "W02") && says(renamed, "W10")) << tower.family;
    Checkpoint halved = good;
    Tensor& tensor = tensor_of_rule(halved, tower.tensor);
    ASSERT_FALSE(tensor.shape.empty());
    tensor.shape.back() /= 2;
    EXPECT_TRUE(says(halved, "W09")) << tower.family;
    Checkpoint other = good;
    set_at(other, std::string("vision_config/") + tower.field, 1000);
    EXPECT_TRUE(says(other, "W02") || says(other, "W09")) << tower.family;
    set_at(other, std::string("vision_config/") + tower.field, "seven");
    EXPECT_TRUE(says(other, "C42")) << tower.family;
  }
}

TEST(VllmRules, HeadsOfATowerDivideItsWidth) {
  Checkpoint model = family("qwen3-vl");
  for (const Json& value : {Json(3), Json(0), Json(-2), Json("two"), Json(nullptr)}) {
    set_at(model, "vision_config/num_heads", value);
    EXPECT_TRUE(says(model, "C42")) << value;
  }
}

TEST(VllmRules, ActivationsAreOnesThatTheClassLooksUp) {
  const std::pair<const char*, const char*> kFields[] = {
      {"deepseek-v3", "hidden_act"},
      {"glm4-moe", "hidden_act"},
      {"granite4-h", "hidden_act"},
      {"starcoder2", "hidden_act"},
      {"gpt-neox", "hidden_act"},
      {"qwen3-vl", "text_config/hidden_act"},
      {"qwen3-vl", "vision_config/hidden_act"},
      {"gemma3-vl", "text_config/hidden_activation"},
      {"mistral3", "projector_hidden_act"},
      {"mistral3", "vision_config/hidden_act"},
  };
  for (const auto& [name, field] : kFields) {
    Checkpoint model = family(name);
    EXPECT_FALSE(says(model, "C27")) << name;
    set_at(model, field, "no-such-thing");
    EXPECT_TRUE(says(model, "C27")) << name << " " << field;
  }
}

TEST(VllmRules, RejectsInvalidShapeNumbersForEveryFamily) {
  for (const char* name : {"olmo2", "mixtral", "phi3", "seed-oss", "exaone4", "gpt-oss"}) {
    for (const Json& value : {Json("seven"), Json::array({64}), Json(64.5), Json(nullptr)}) {
      Checkpoint model = family(name);
      set_at(model, "hidden_size", value);
      EXPECT_TRUE(says(model, "C42")) << name << " " << value;
    }
  }
  Checkpoint model = family("olmo2");
  set_at(model, "num_key_value_heads", 3);
  EXPECT_TRUE(says(model, "C42"));
}

TEST(VllmRules, RopeIsAskedForAsTheClassAsks) {
  const Json yarn = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}};
  const Json old_name = {{"type", "linear"}, {"factor", 2.0}};
  Checkpoint model = family("olmo2");
  set_at(model, "rope_scaling", yarn);
  EXPECT_TRUE(says(model, "C17"));
  set_at(model, "rope_scaling", old_name);
  EXPECT_FALSE(says(model, "C17"));
  model = family("qwen3-vl");
  set_at(model, "text_config/rope_scaling", old_name);
  EXPECT_TRUE(says(model, "C17"));
  model = family("deepseek-v3");
  set_at(model, "rope_scaling", Json{{"rope_type", "linear"}, {"factor", 2.0}});
  EXPECT_TRUE(says(model, "C17"));
  Json wrong = yarn;
  wrong["mscale"] = Json::array({1});
  set_at(model, "rope_scaling", wrong);
  EXPECT_TRUE(says(model, "C17"));
  set_at(model, "rope_scaling", yarn);
  EXPECT_FALSE(says(model, "C17"));
}

TEST(VllmRules, MethodsThatStoreCodesHaveSome) {
  const std::pair<const char*, const char*> kMethods[] = {
      {"gptq", "unloaded"}, {"awq", "unloaded"},          {"compressed-tensors", "unloaded"},
      {"fp8", "unsound"},   {"bitsandbytes", "unloaded"}, {"mxfp4", "unloaded"}};
  for (const auto& [method, expected] : kMethods) {
    for (const char* name : {"gpt-oss", "mixtral", "olmo2"}) {
      Checkpoint model = family(name);
      const bool is_of_experts = std::string(method) == "mxfp4";
      const bool has = !is_of_experts || std::string(name) != "olmo2";
      set_at(model, "quantization_config", Json{{"quant_method", method}});
      EXPECT_EQ(severity_of(model, "Q28"), has ? expected : "") << method << " " << name;
      set_at(model, "quantization_config/modules_to_not_convert", Json::array({"layers"}));
      EXPECT_EQ(severity_of(model, "Q28"), "") << method << " " << name;
    }
  }
  EXPECT_EQ(severity_of(family("gpt-oss-mxfp4"), "Q28"), "");
  EXPECT_EQ(severity_of(family("deepseek-v3-fp8"), "Q28"), "");
  EXPECT_EQ(severity_of(family("kimi-int4"), "Q28"), "");
}

TEST(VllmRules, PartsOfAWrapperAreOfTypesThatAreKnown) {
  for (const char* part : {"text_config/model_type", "vision_config/model_type"}) {
    Checkpoint model = family("mistral3");
    EXPECT_FALSE(says(model, "C31"));
    set_at(model, part, "no-such-thing");
    EXPECT_TRUE(says(model, "C31")) << part;
  }
}

TEST(VllmRules, NumbersThatOnlyConstructorsComputeWithAreOnesThatTheyTake) {
  struct Case {
    const char *family, *field;
    Json value;
  };
  const Case kRefused[] = {
      {"deepseek-v3", "moe_layer_freq", 0},
      {"deepseek-v3", "moe_layer_freq", "1"},
      {"deepseek-v3", "n_group", nullptr},
      {"deepseek-v2", "topk_group", nullptr},
      {"glm4-moe", "n_group", "1"},
      {"ernie45-moe", "moe_layer_end_index", nullptr},
      {"gemma3", "query_pre_attn_scalar", -16},
      {"gemma3", "rope_local_base_freq", nullptr},
      {"seed-oss", "head_dim", 0},
      {"granite4", "mamba_n_heads", 0},
      {"granite4", "mamba_d_head", 5},
      {"granite4", "logits_scaling", 0},
      {"llama4", "text_config/no_rope_layer_interval", "4"},
      {"llama4", "vision_config/pixel_shuffle_ratio", Json::object()},
      {"mistral3", "vision_config/image_size", "1540"},
      {"olmo", "num_key_value_heads", 2},
      {"stablelm", "use_parallel_residual", true},
  };
  for (const Case& entry : kRefused) {
    Checkpoint model = family(entry.family);
    EXPECT_FALSE(says(model, "C43")) << entry.family;
    set_at(model, entry.field, entry.value);
    EXPECT_TRUE(says(model, "C43")) << entry.family << " " << entry.field << " " << entry.value;
  }
  Checkpoint model = family("cohere2");
  set_at(model, "logit_scale", "seven");  // not computed with before a request comes
  EXPECT_FALSE(says(model, "C43"));
}

TEST(VllmRules, LayersOfDeepseekAreSparseAsItsFrequencySays) {
  Checkpoint model = family("deepseek-v3");
  ASSERT_FALSE(says(model, "W02"));
  set_at(model, "moe_layer_freq", 2);  // layer 1 is dense then
  EXPECT_TRUE(says(model, "W02"));
  model = family("ernie45-moe");
  set_at(model, "moe_layer_end_index", 0);
  EXPECT_TRUE(says(model, "W02"));
}

TEST(VllmRules, AHeadIsTiedAsTheClassTiesIt) {
  for (const char* name : {"gpt-oss", "phi2"}) {  // have a head of their own
    Checkpoint model = family(name);
    EXPECT_FALSE(says(model, "C10")) << name;
    set_at(model, "tie_word_embeddings", true);
    EXPECT_TRUE(says(model, "C10")) << name;
  }
  for (const Json& value : {Json(nullptr), Json(false), Json("")}) {  // all untied in Python
    Checkpoint model = family("gemma3");
    set_at(model, "tie_word_embeddings", value);
    EXPECT_TRUE(says(model, "C10")) << value;
  }
}

TEST(VllmRules, BiasesAreAskedForByTheClassAlone) {
  Checkpoint model = family("granite4");
  set_at(model, "attention_bias", true);
  EXPECT_TRUE(says(model, "W02"));
  model = family("olmoe");  // vLLM's class has none
  set_at(model, "attention_bias", true);
  EXPECT_FALSE(says(model, "W02"));
  model = family("mistral3");  // vLLM's class has them, transformers' has not
  set_at(model, "text_config/mlp_bias", true);
  EXPECT_TRUE(says(model, "W02"));
}

TEST(VllmRules, OtherTensorsAreRefusedOrPassedOverAsTheClassReadsThem) {
  struct Case {
    const char *family, *tensor, *name;
    bool is_refused;
  };
  const Case kCases[] = {
      {"gpt-oss", "model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.k_proj.x",
       true},
      {"gpt-oss", "model.norm.weight", "model.layers.0.no_such.weight", false},
      {"granite4-h", "model.norm.weight", "model.layers.0.mamba.no_such.bias", true},
      {"ernie45-moe", "model.norm.weight", "model.mtp_block.0.weight", false},
      {"smollm3", "model.norm.weight", "model.layers.0.self_attn.q_proj.bias", true},
      {"qwen3-next", "model.norm.weight", "model.layers.0.mlp.experts.0.up_proj.weight_2", false},
  };
  for (const Case& entry : kCases) {
    Checkpoint model = family(entry.family);
    Tensor other = tensor_of_rule(model, entry.tensor);
    other.name = entry.name;
    model.tensors.push_back(std::move(other));
    EXPECT_EQ(says(model, "W10"), entry.is_refused) << entry.name;
  }
}

TEST(VllmRules, YarnNeedsItsLengthWhateverIsRotated) {
  Checkpoint model = family("granite4");  // rotates nothing
  set_at(model, "rope_scaling", Json{{"rope_type", "yarn"}, {"factor", 4.0}});
  EXPECT_TRUE(says(model, "C17"));
  model = family("gpt-oss");  // always computes yarn
  set_at(model, "rope_scaling", Json{{"rope_type", "default"}});
  EXPECT_TRUE(says(model, "C17"));
}

TEST(VllmRules, RulesFollowTheClassAndNotTheType) {
  Checkpoint model = family("gemma");
  set_at(model, "model_type", "llama");
  EXPECT_FALSE(says(model, "C27"));
  model = family("gpt-oss");
  set_at(model, "model_type", "llama");
  EXPECT_FALSE(says(model, "W12"));
}

TEST(VllmRules, HalfASurrogateIsReadAsPythonReadsIt) {
  Checkpoint model = family("olmo");
  std::string text(model.find_document("config.json")->text());
  text.insert(text.find('{') + 1, "\"x\": \"\\ud800\", \"\\\\ud800\": \"\\ud83d\\ude00\",");
  model.set_document("config.json", std::move(text));
  EXPECT_FALSE(says(model, "C01"));
}

TEST(VllmRules, ClassesThatChangeANormalizerNeedOne) {
  Checkpoint model = family("granite4");
  Json json = Json::parse(model.find_document("tokenizer_config.json")->text());
  json["tokenizer_class"] = "BertTokenizer";
  model.set_document("tokenizer_config.json", json.dump());
  Json tokenizer = Json::parse(model.find_document("tokenizer.json")->text());
  tokenizer["normalizer"] = nullptr;
  model.set_document("tokenizer.json", tokenizer.dump());
  EXPECT_TRUE(says(model, "T17"));
  tokenizer["normalizer"] = {{"type", "NFC"}};
  model.set_document("tokenizer.json", tokenizer.dump());
  EXPECT_FALSE(says(model, "T17"));
}

TEST(VllmRules, AcceptsTensorsOfMultiTokenPrediction) {
  Checkpoint model = family("glm4-moe");
  ASSERT_FALSE(says(model, "W10"));
  tensor_of_rule(model, "model.layers.2.enorm.weight").name += "s";
  EXPECT_FALSE(says(model, "W10"));
  tensor_of_rule(model, "model.layers.0.input_layernorm.weight").name += "s";
  EXPECT_TRUE(says(model, "W10"));
  Json json = Json::parse(model.find_document("config.json")->text());
  json.erase("num_nextn_predict_layers");  // the class of 4.57 has no default
  model = family("glm4-moe");
  model.set_document("config.json", json.dump());
  EXPECT_TRUE(says(model, "W10"));
}

// If there is one expert, vLLM takes a shape [1, out, in] for the stack of all.
TEST(VllmRules, AnExpertAsAStackOfOneLoadsAndIsUnsound) {
  Checkpoint model = family("olmoe");
  Tensor& expert = tensor_of_rule(model, "model.layers.0.mlp.experts.3.gate_proj.weight");
  expert.shape.insert(expert.shape.begin(), 1);
  EXPECT_FALSE(says(model, "W09"));
  const auto diagnosis = diagnose(model, {{"vllm-0.17"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis.has_value());
  EXPECT_FALSE(diagnosis->verdicts.front().sound);
}

// vLLM 0.17.1 fills two of in_proj_qkvz's four scales; 0.32 fills all.
TEST(VllmRules, ScalesOfLinearAttentionThatNothingFillsAreUnsound) {
  for (const char* name : {"nvfp4/qwen35-micro-ct", "nvfp4/qwen35-micro-mixed"}) {
    const Checkpoint model = open_folder(name);
    const auto diagnosis = diagnose(model, {{"vllm-0.17", "vllm"}, false, {}, nullptr});
    ASSERT_TRUE(diagnosis.has_value());
    size_t found = 0;
    for (const Finding& finding : diagnosis->findings) {
      if (finding.check != "Q34") continue;
      ++found;
      EXPECT_EQ(finding.profile, "vllm-0.17");
      EXPECT_EQ(finding.severity, Severity::kUnsound);
      EXPECT_NE(finding.fix.advice.find("--keep '*.linear_attn.in_proj_qkv' "
                                        "--keep '*.linear_attn.in_proj_z'"),
                std::string::npos)
          << finding.fix.advice;
    }
    EXPECT_EQ(found, 1U) << name;
  }
}

struct FieldCase {
  const char *family, *field;
  Json value;
  const char* check;
  bool is_refused;
};

TEST(VllmRules, FieldsAreAskedForAsTheClassReadsThem) {
  const FieldCase cases[] = {
      {"gpt-neox", "rotary_pct", 0, "C19", true},
      {"gpt-neox", "partial_rotary_factor", -1, "C19", false},
      {"phi3", "original_max_position_embeddings", 0, "C17", true},
      {"cohere2", "intermediate_size", 0, "W09", true},
      {"cohere", "head_dim", 32, "W09", false},
      {"qwen3-moe", "head_dim", 64, "W09", true},
      {"granite", "layer_types", Json::array({"full_attention"}), "C11", false},
      {"cohere2", "layer_types", Json::array({"full_attention"}), "C11", true},
      {"seed-oss", "attention_bias", false, "C43", true},
      {"lfm2", "conv_dim", nullptr, "C43", true},
      {"starcoder2", "sliding_window", 64.5, "C43", true},
      {"starcoder2", "sliding_window", 64.0, "C43", false},
      {"smollm3", "initializer_range", Json::array({0.02}), "C43", true},
      {"smollm3", "initializer_range", -1, "C43", true},
      {"qwen3-moe", "initializer_range", Json::array({0.02}), "C43", false},
      {"olmo2", "model_type", "llama", "C30", true},
      {"olmo3", "model_type", "olmo2", "C30", false},
  };
  for (const FieldCase& entry : cases) {
    Checkpoint model = family(entry.family);
    set_at(model, entry.field, entry.value);
    EXPECT_EQ(says(model, entry.check), entry.is_refused)
        << entry.family << " " << entry.field << " " << entry.value << refusals(model);
  }
}

TEST(VllmRules, TheTypeOfTheConfigurationDecidesWhetherTheHeadIsTied) {
  Checkpoint model = family("cohere2");
  Json json = Json::parse(model.find_document("config.json")->text());
  json.erase("tie_word_embeddings");
  model.set_document("config.json", json.dump());
  EXPECT_FALSE(says(model, "C10"));
  set_at(model, "model_type", "mistral");
  EXPECT_TRUE(says(model, "C10"));
}

TEST(VllmRules, WindowsAreInAllLayersOrInNone) {
  Checkpoint model = open_folder("qwen3-micro");
  set_at(model, "use_sliding_window", true);
  set_at(model, "sliding_window", 64);
  set_at(model, "layer_types", nullptr);
  set_at(model, "max_window_layers", 1);
  EXPECT_TRUE(says(model, "C43"));
  set_at(model, "max_window_layers", 0);
  EXPECT_FALSE(says(model, "C43"));
}

TEST(VllmRules, ATokenizerWithoutAddedTokensNeedsThemInItsConfiguration) {
  Checkpoint model = family("qwen3-moe");
  Json config = Json::parse(model.find_document("tokenizer_config.json")->text());
  config.erase("added_tokens_decoder");
  model.set_document("tokenizer_config.json", config.dump());
  const bool is_refused = says(model, "T06");
  Json json = Json::parse(model.find_document("tokenizer.json")->text());
  json.erase("added_tokens");
  model.set_document("tokenizer.json", json.dump());
  EXPECT_FALSE(is_refused);
  EXPECT_NE(refusals(model), refusals(family("qwen3-moe")));
}

}  // namespace
}  // namespace ckpt
