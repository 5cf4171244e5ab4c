// Rules that hold for each family, asked about configurations that have only what a rule reads.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "models/models.h"

namespace ckpt {
namespace {

using Json = nlohmann::json;

// The severity of what `check` says of a configuration of the family; "" where it is silent.
std::string said_of(const Family& family, const std::string& profile, const std::string& check,
                    const Json& fields) {
  std::string_view classes = family.architectures;
  Json config = {{"model_type", family.text_type()}, {"architectures", {take_word(classes)}}};
  config.update(fields);
  Checkpoint model;
  model.format = "safetensors";
  model.set_document("config.json", config.dump());
  const auto diagnosis = diagnose(model, {{profile}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check == check) return std::string(severity_name(finding.severity));
  }
  return "";
}

TEST(EveryFamily, HasOneActivationThatOtherProgramsTakeForGranted) {
  for (const Family* family : families()) {
    const Activation& own = family->activation;
    ASSERT_FALSE(own.name.empty()) << family->architectures;
    const auto said = [&](const char* profile, std::string_view field, const Json& value) {
      return said_of(*family, profile, "C27", {{std::string(field), value}});
    };
    for (const std::string_view field : words_after(own.fields, "")) {
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
      for (const Json& value : {Json("no-such"), Json(nullptr), Json(7)}) {
        if (read.empty()) continue;
        EXPECT_EQ(said(profile, read, value), "unloaded") << family->architectures << value;
      }
    }
    const std::string_view unread = read == "hidden_act" ? "mlp_hidden_act" : "hidden_act";
    EXPECT_EQ(said("llama.cpp", unread, "mish"), "") << family->architectures;
  }
}

}  // namespace
}  // namespace ckpt
