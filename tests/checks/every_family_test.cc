// Rules that hold for each family, asked about configurations that have only what a rule reads.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "checks/gguf/gguf_rules.h"
#include "models/models.h"
#include "tests/checks/tensors.h"

namespace ckpt {
namespace {

using AnyJson = nlohmann::json;

// The severity of what `check` says of a configuration of the family; "" where it is silent.
std::string reported_severity(const Family& family, const std::string& profile,
                              const std::string& check, const AnyJson& fields,
                              bool has_head = false) {
  std::string_view classes = family.architectures;
  AnyJson config = {{"model_type", family.text_type()},
                    {"architectures", {take_word(classes)}},
                    {"num_hidden_layers", 1}};  // the parameters of all would be listed each time
  config.update(fields);
  Checkpoint model;
  model.format = "safetensors";
  model.set_document("config.json", config.dump());
  if (has_head) model.tensors.push_back(made_tensor("lm_head.weight", {1, 1}, "bf16"));
  const auto diagnosis = diagnose(model, {{profile}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check == check) return std::string(severity_name(finding.severity));
  }
  return "";
}

TEST(EveryFamily, WithoutAHeadInAGgufMayNotBringAnother) {
  for (const Family* family : families()) {
    if (family->head.is_in_gguf) continue;
    const auto said = [&](const AnyJson& tie, bool has_head) {
      return reported_severity(*family, "llama.cpp", "C10", {{"tie_word_embeddings", tie}},
                               has_head);
    };
    EXPECT_EQ(said(false, true), "unloaded") << family->name;
    EXPECT_EQ(said(true, true), "") << family->name;
  }
}

TEST(EveryFamily, HasAGgufTable) {
  for (const Family* family : families()) {
    EXPECT_NE(find_gguf_architecture(family->name), nullptr) << family->name;
  }
}

// Models that make embeddings have no head.
constexpr std::string_view kEncoders = "bert eurobert jina-bert-v2 modern-bert nomic-bert";

TEST(EveryFamily, GivesAGgufAHeadExactlyWhereLlamaCppReadsOne) {
  for (const Family* family : families()) {
    const GgufArchitecture* file = find_gguf_architecture(family->name);
    if (file == nullptr || has_word(kEncoders, family->name)) continue;
    const bool reads_head = std::ranges::any_of(file->rows, [](std::span<const GgufRow> rows) {
      return std::ranges::find(rows, "output.weight", &GgufRow::name) != rows.end();
    });
    EXPECT_EQ(family->head.is_in_gguf, reads_head) << family->name;
  }
}

TEST(EveryFamily, HasOneActivationThatOtherProgramsTakeForGranted) {
  for (const Family* family : families()) {
    const Activation& own = family->activation;
    ASSERT_FALSE(own.name.empty()) << family->architectures;
    const auto said = [&](const char* profile, std::string_view field, const AnyJson& value) {
      return reported_severity(*family, profile, "C27", {{std::string(field), value}});
    };
    for (const std::string_view field : split_words(own.fields)) {
      SCOPED_TRACE(fmt::format("{} {}", family->architectures, field));
      EXPECT_EQ(said("llama.cpp", field, "mish"), "unsound");
      EXPECT_NE(said("vllm-0.17", field, "mish"), "");
      EXPECT_NE(said("sglang", field, "mish"), "");
      EXPECT_EQ(said("transformers-5", field, "mish"), "");
      for (const char* profile : {"llama.cpp", "vllm-0.17", "transformers-5"}) {
        EXPECT_EQ(said(profile, field, own.name), "") << profile;
      }
    }
    std::string_view fields = own.fields;
    const std::string_view read = take_word(fields);
    for (const char* profile : {"transformers-4.57", "transformers-5"}) {
      for (const AnyJson& value : {AnyJson("no-such"), AnyJson(nullptr), AnyJson(7)}) {
        if (read.empty()) continue;
        EXPECT_EQ(said(profile, read, value), "unloaded") << family->architectures << value;
      }
    }
    const std::string_view unread = read == "hidden_act" ? "mlp_hidden_act" : "hidden_act";
    EXPECT_EQ(said("llama.cpp", unread, "mish"), "") << family->architectures;
  }
}

TEST(EveryFamily, HasOnlyTypesOfRopeThatTheProgramHas) {
  for (const Family* family : families()) {
    const bool rotates = !family->traits.text.has(ModelTrait::kMayRotateNothing);
    const auto said = [&](const char* profile, const char* place, const AnyJson& rope) {
      return reported_severity(*family, profile, "C17", {{place, rope}});
    };
    SCOPED_TRACE(family->architectures);
    for (const char* type : {"ntk", "foo", "xdrope"}) {
      const AnyJson rope = {{"rope_type", type}, {"factor", 2.0}, {"rope_theta", 10000.0}};
      const char* refused = rotates ? "unloaded" : "";
      EXPECT_EQ(said("transformers-5", "rope_parameters", rope), refused) << type;
      EXPECT_EQ(said("transformers-5", "rope_scaling", rope), refused) << type;
      EXPECT_EQ(said("transformers-4.57", "rope_scaling", rope), refused) << type;
      EXPECT_EQ(said("sglang", "rope_scaling", rope), refused) << type;
      EXPECT_EQ(said("llama.cpp", "rope_scaling", rope), rotates ? "warning" : "") << type;
    }
    const AnyJson rope = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
    for (const char* profile : {"transformers-5", "sglang", "llama.cpp"}) {
      EXPECT_EQ(said(profile, "rope_parameters", rope), "") << profile;
    }
  }
}

TEST(EveryFamily, NeedsABaseOfItsRope) {
  for (const Family* family : families()) {
    const bool reads_none = family->traits.text.has(ModelTrait::kMayRotateNothing) ||
                            family->traits.text.has(ModelTrait::kOtherTheta);
    for (const char* profile : {"transformers-4.57", "transformers-5"}) {
      EXPECT_EQ(reported_severity(*family, profile, "C25", {{"rope_theta", nullptr}}),
                reads_none ? "" : "unloaded")
          << family->architectures;
      EXPECT_EQ(reported_severity(*family, profile, "C25", {{"rope_theta", 10000.0}}), "");
    }
  }
}

// Fields of config.json that a key of the family's GGUF comes from.
std::vector<std::string_view> fields_of_key(const Family& family, std::string_view key) {
  for (const auto list : {family.keys, kCommonKeys}) {
    for (const KeyRule& rule : list) {
      if (rule.key == key) return split_words(rule.fields);
    }
  }
  return {};
}

void expect_of_experts(const Family& family, std::string_view count, std::string_view chosen) {
  const auto said = [&](const char* profile, const AnyJson& value) {
    return reported_severity(family, profile, "C24",
                             {{std::string(count), 4}, {std::string(chosen), value}});
  };
  SCOPED_TRACE(fmt::format("{} {} {}", family.architectures, count, chosen));
  for (const char* profile : {"vllm-0.17", "sglang", "llama.cpp", "transformers-4.57"}) {
    for (const AnyJson& value :
         {AnyJson(0), AnyJson(5), AnyJson(-1), AnyJson("two"), AnyJson(1.5)}) {
      EXPECT_EQ(said(profile, value), "unsound") << profile << value;
    }
    EXPECT_EQ(said(profile, 4), "") << profile;
  }
  EXPECT_EQ(said("transformers-5", 5), "unsound");
  EXPECT_EQ(said("transformers-5", 1.5), "unloaded");
  EXPECT_EQ(said("transformers-5", 2), "");
}

TEST(EveryFamily, ChoosesAsManyExpertsAsItHas) {
  for (const Family* family : families()) {
    for (const std::string_view count : fields_of_key(*family, "expert_count")) {
      for (const std::string_view chosen : fields_of_key(*family, "expert_used_count")) {
        expect_of_experts(*family, count, chosen);
      }
    }
  }
}

}  // namespace
}  // namespace ckpt
