// Parameters that a model has because a field of config.json is true.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/checks/field_changes.h"
#include "tests/checks/tensors.h"

namespace ckpt {
namespace {

Checkpoint with_field(const std::string& name, const std::string& field) {
  const std::filesystem::path path =
      std::filesystem::path(CKPT_TESTDATA) / "families" / name / "hf";
  auto checkpoint = (*recognize(path))->read(path, all_codecs(), {});
  EXPECT_TRUE(checkpoint.has_value()) << name;
  SortedJson json = *parse_json(kConfig, checkpoint->find_document(kConfig)->text());
  if (!field.empty()) json[field] = true;
  checkpoint->set_document(kConfig, json.dump());
  return std::move(*checkpoint);
}

std::string severity_in(const Checkpoint& model, const char* profile, const std::string& check) {
  const auto diagnosis = diagnose(model, {{profile}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check == check) return std::string(severity_name(finding.severity));
  }
  return "";
}

struct SwitchedField {
  const char *family, *field;
};

TEST(SwitchedParameters, AreMissedInTransformers) {
  const SwitchedField switched[] = {{"cohere2", "attention_bias"},
                                    {"deepseek-v3", "attention_bias"},
                                    {"deepseek-v2", "attention_bias"},
                                    {"deepseek-v2", "mlp_bias"},
                                    {"glm4-moe-lite", "attention_bias"},
                                    {"glm-moe-dsa", "attention_bias"},
                                    {"qwen3-next", "attention_bias"},
                                    {"stablelm", "qk_layernorm"},
                                    {"phi2", "qk_layernorm"}};
  for (const auto& [family, field] : switched) {
    EXPECT_EQ(severity_in(with_field(family, ""), "transformers-5", "W02"), "") << family;
    const Checkpoint model = with_field(family, field);
    EXPECT_EQ(severity_in(model, "transformers-5", "W02"), "unsound") << family << field;
    for (const char* profile : {"vllm-0.17", "sglang", "llama.cpp"}) {  // have none
      EXPECT_EQ(severity_in(model, profile, "W02"), "") << family << field << profile;
    }
  }
  for (const char* field : {"use_bias", "mlp_bias"}) {
    EXPECT_EQ(severity_in(with_field("nemotron-h", field), "transformers-5", "W02"), "unsound");
  }
}

TEST(SwitchedParameters, OfErnieAreThoseOfSharedExpertsAndOfTheHeadToo) {
  Checkpoint model = with_field("ernie45-moe", "use_bias");
  EXPECT_EQ(severity_in(model, "transformers-5", "W10"), "");
  model.tensors.push_back(made_tensor("lm_head.bias", {320}, "bf16"));
  model.tensors.push_back(
      made_tensor("model.layers.1.mlp.shared_experts.down_proj.bias", {64}, "bf16"));
  EXPECT_EQ(severity_in(model, "transformers-5", "W10"), "");
  EXPECT_EQ(severity_in(model, "transformers-5", "W09"), "");
  EXPECT_EQ(severity_in(model, "llama.cpp", "W10"), "unloaded");
}

TEST(SwitchedParameters, OfTransformersAloneBelongToNoOtherModel) {
  Checkpoint model = with_field("cohere2", "attention_bias");
  for (const char* layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
    for (const auto& [part, rows] : {std::pair("q", 64), {"k", 32}, {"v", 32}, {"o", 64}}) {
      model.tensors.push_back(made_tensor(fmt::format("{}{}_proj.bias", layer, part),
                                          {static_cast<uint64_t>(rows)}, "bf16"));
    }
  }
  for (const char* check : {"W02", "W09", "W10"}) {
    EXPECT_EQ(severity_in(model, "transformers-5", check), "") << check;
  }
  EXPECT_EQ(severity_in(model, "llama.cpp", "W10"), "unloaded");
  EXPECT_EQ(severity_in(model, "vllm", "W10"), "unsound");
}

}  // namespace
}  // namespace ckpt
