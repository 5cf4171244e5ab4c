// Under which names programs find tensors, how layers hold their experts, and whose head is read.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "checks/subject/subject.h"
#include "formats/formats.h"
#include "tests/checks/tensors.h"

namespace ckpt {
namespace {

using Json = nlohmann::ordered_json;

const Json kSmall = {{"num_hidden_layers", 2},
                     {"hidden_size", 8},
                     {"intermediate_size", 8},
                     {"vocab_size", 16},
                     {"num_attention_heads", 2},
                     {"num_key_value_heads", 1},
                     {"head_dim", 4},
                     {"moe_intermediate_size", 8},
                     {"layer_group_size", 2},
                     {"short_conv_kernel_size", 4},
                     {"shared_expert_intermediate_size", 8},
                     {"num_experts", 2},
                     {"num_local_experts", 2},
                     {"n_routed_experts", 2},
                     {"n_shared_experts", 1},
                     {"first_k_dense_replace", 0},
                     {"num_nextn_predict_layers", 1},
                     {"mtp_num_hidden_layers", 1},
                     {"decoder_sparse_step", 1},
                     {"q_lora_rank", 4},
                     {"kv_lora_rank", 4},
                     {"qk_nope_head_dim", 4},
                     {"qk_rope_head_dim", 4},
                     {"v_head_dim", 4},
                     {"linear_key_head_dim", 4},
                     {"linear_value_head_dim", 4},
                     {"linear_num_key_heads", 1},
                     {"linear_num_value_heads", 2},
                     {"index_n_heads", 1},
                     {"index_head_dim", 4},
                     {"tie_word_embeddings", false}};

bool stacks_experts(const Family& family) {
  for (const auto& list : family.parameters) {
    for (const ParameterRule& rule : list) {
      if (has_word(rule.when, "stacked")) return true;
    }
  }
  return false;
}

// Names of the differences between a model of the family and its table; its layers hold their
// experts as stacks where `stacked` has them, one by one where not.
std::vector<std::string> differences(const Family& family, const std::set<std::string>& stacked) {
  std::string_view classes = family.architectures;
  Json config = kSmall;
  config["architectures"] = {take_word(classes)};
  config["model_type"] = family.text_type();
  Checkpoint model;
  model.format = "safetensors";
  model.set_document("config.json", config.dump());
  ModelForm form;
  form.has_mtp = family.drafts.are_outside || family.drafts.are_behind;
  for (const char* layer : {"model.layers.0", "model.layers.1", "model.layers.2", "mtp.layers.0"}) {
    (stacked.contains(layer) ? form.stacked : form.listed).insert(layer);
  }
  const JsonValue values = JsonValue::parse(config.dump());
  const auto expected = expected_parameters({family, family, values}, form);
  if (!expected) return {expected.error().text()};
  for (const Parameter& parameter : *expected) {
    model.tensors.push_back(made_tensor(parameter.name, parameter.shape, "bf16"));
  }
  const Subject on(model);
  std::vector<std::string> out;
  for (const Deviation& missing : on.parameters.missing) out.push_back("no " + missing.name);
  for (const Deviation& wrong : on.parameters.wrong) out.push_back("other " + wrong.name);
  for (const ExtraTensor& extra : on.parameters.extra) out.push_back("extra " + extra.name);
  return out;
}

TEST(SpelledNames, EachLayerMayHoldItsExpertsStackedOrOneByOne) {
  size_t families_seen = 0;
  for (const Family* family : families()) {
    if (!stacks_experts(*family) || family->is_partial) continue;
    ++families_seen;
    const std::string draft = family->drafts.are_behind ? "model.layers.2" : "mtp.layers.0";
    for (const bool is_draft_stacked : {false, true}) {
      for (const std::set<std::string>& main :
           {std::set<std::string>{}, std::set<std::string>{"model.layers.0"},
            std::set<std::string>{"model.layers.0", "model.layers.1"}}) {
        std::set<std::string> stacked = main;
        if (is_draft_stacked) stacked.insert(draft);
        EXPECT_EQ(differences(*family, stacked), std::vector<std::string>())
            << family->architectures << " " << stacked.size() << is_draft_stacked;
      }
    }
  }
  EXPECT_GE(families_seen, 10u);
}

Checkpoint family_folder(const std::string& name) {
  const auto path = std::filesystem::path(CKPT_TESTDATA) / "families" / name / "hf";
  const auto format = recognize(path);
  EXPECT_TRUE(format.has_value());
  auto read = (*format)->read(path, all_codecs(), {});
  EXPECT_TRUE(read.has_value());
  return std::move(*read);
}

void rename(Checkpoint& model, const std::string& from, const std::string& to) {
  size_t renamed = 0;
  for (Tensor& tensor : model.tensors) {
    if (!tensor.name.starts_with(from)) continue;
    tensor.name = to + tensor.name.substr(from.size());
    ++renamed;
  }
  EXPECT_NE(renamed, 0u) << from;
}

// The profiles of `asked` in which the check finds an error.
std::string errors(const Checkpoint& model, const char* check,
                   const std::vector<std::string>& asked) {
  std::string out;
  for (const std::string& profile : asked) {
    const auto diagnosis = diagnose(model, {{profile}, false, {}, nullptr});
    EXPECT_TRUE(diagnosis.has_value());
    const bool is_found = std::ranges::any_of(diagnosis->findings, [&](const Finding& finding) {
      const bool is_error =
          finding.severity == Severity::kUnloaded || finding.severity == Severity::kUnsound;
      return finding.check == check && is_error;
    });
    if (is_found) out += (out.empty() ? "" : " ") + profile;
  }
  return out;
}

TEST(SpelledNames, AreThoseThatTheProgramsClassReads) {
  struct Case {
    const char *family, *from, *to, *errors;
  };
  const Case kCases[] = {
      {"gemma3", "model.", "language_model.model.", "vllm-0.17 vllm sglang transformers-5"},
      {"gemma3", "model.", "model.language_model.", "vllm-0.17 vllm sglang transformers-5"},
      {"gemma3", "model.", "", "vllm-0.17 vllm sglang"},
      {"gemma3", "model.", "transformer.", "vllm-0.17 vllm sglang transformers-5"},
      {"gemma3", "model.", "model.model.", "vllm-0.17 vllm sglang"},
      {"qwen3-vl", "model.language_model.", "model.", "vllm-0.17 vllm transformers-5"},
      {"qwen3-vl", "model.language_model.", "language_model.", "vllm-0.17 vllm sglang"},
      {"qwen3-vl", "model.language_model.", "language_model.model.", "sglang transformers-5"},
      {"qwen3-vl", "model.visual.", "visual.", ""},
      {"qwen3-vl", "model.visual.", "model.language_model.visual.",
       "vllm-0.17 vllm transformers-5"},
      {"gemma3-vl", "vision_tower.", "model.vision_tower.", "sglang"},
      {"gemma3-vl", "vision_tower.", "language_model.vision_tower.",
       "vllm-0.17 vllm sglang transformers-5"},
      {"mistral3", "language_model.model.", "model.", "vllm-0.17 sglang transformers-5"},
      {"nemotron-h", "backbone.", "model.", ""},
      {"gpt-neox", "gpt_neox.", "", "vllm-0.17"},
  };
  for (const Case& entry : kCases) {
    Checkpoint model = family_folder(entry.family);
    const std::vector<std::string> asked = {"vllm-0.17", "vllm", "sglang", "transformers-5"};
    ASSERT_EQ(errors(model, "W01", asked), "") << entry.family;
    rename(model, entry.from, entry.to);
    EXPECT_EQ(errors(model, "W01", asked), entry.errors) << entry.family << " " << entry.to;
  }
}

TEST(SpelledNames, OfAModelThatGivesEmbeddingsMayLackTheOuterWord) {
  Checkpoint model = family_folder("gemma3");
  rename(model, "model.", "");
  model.set_document("modules.json", "[]");
  EXPECT_EQ(errors(model, "W01", {"vllm-0.17", "vllm", "transformers-5"}), "");
}

TEST(SpelledNames, OfAHeadAreReadWhereTheProgramReadsThem) {
  struct Case {
    const char* family;
    Json outer, inner;  // null: absent
    bool has_head;
    const char* errors;
  };
  const Case kCases[] = {
      {"qwen3-vl", true, false, true, ""},
      {"qwen3-vl", true, false, false, "vllm-0.17 transformers-4.57"},
      {"qwen3-vl", false, true, true, ""},
      {"qwen3-vl", false, true, false, "vllm transformers-5"},
      {"qwen3-vl", nullptr, true, false, "vllm transformers-5"},
      {"mistral3", nullptr, false, false, "vllm-0.17 transformers-4.57"},
      {"mistral3", false, nullptr, false, "vllm-0.17 vllm transformers-4.57 transformers-5"},
  };
  for (const Case& entry : kCases) {
    Checkpoint model = family_folder(entry.family);
    Json config = Json::parse(model.find_document("config.json")->text());
    config.erase("tie_word_embeddings");
    config["text_config"].erase("tie_word_embeddings");
    if (!entry.outer.is_null()) config["tie_word_embeddings"] = entry.outer;
    if (!entry.inner.is_null()) config["text_config"]["tie_word_embeddings"] = entry.inner;
    model.set_document("config.json", config.dump());
    std::erase_if(model.tensors, [](const Tensor& tensor) {
      return tensor.name.ends_with("lm_head.weight");
    });
    if (entry.has_head) {
      const bool is_inside = std::string_view(entry.family) == "mistral3";
      Tensor head = *std::ranges::find_if(model.tensors, [](const Tensor& tensor) {
        return tensor.name.ends_with("embed_tokens.weight");
      });
      head.name = is_inside ? "language_model.lm_head.weight" : "lm_head.weight";
      model.tensors.push_back(std::move(head));
    }
    EXPECT_EQ(errors(model, "C10", {"vllm-0.17", "vllm", "transformers-4.57", "transformers-5"}),
              entry.errors)
        << entry.family << entry.outer << entry.inner << entry.has_head;
  }
}

}  // namespace
}  // namespace ckpt
