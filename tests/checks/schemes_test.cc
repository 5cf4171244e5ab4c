// Schemes of quantization against what each program has, as its own source answered
// (testdata/doctor/schemes.tsv).
#include "checks/subject/subject.h"
#include "tests/checks/field_changes.h"
#include "tests/checks/tensors.h"

namespace ckpt {
namespace {

// 'y', 'n', or '?' where it was not checked.
char answer_for(const std::string& statement, const char* parent, const char* profile) {
  Checkpoint checkpoint = documents(kQwen3);
  SortedJson config = *parse_json(kConfig, checkpoint.find_document(kConfig)->text());
  config["quantization_config"] = SortedJson::parse(statement);
  config["dtype"] = "bfloat16";
  checkpoint.set_document(kConfig, config.dump());
  for (const char* module : {"gate_proj", "down_proj"}) {
    checkpoint.tensors.push_back(
        made_tensor(fmt::format("{}.{}.weight", parent, module), {64, 64}, "u8"));
  }
  const auto diagnosis = diagnose(checkpoint, {{profile}, false, {}, nullptr});
  if (!diagnosis) return '!';
  const bool is_refused = std::ranges::any_of(diagnosis->findings, [](const Finding& finding) {
    return finding.check == "Q39" && finding.severity == Severity::kUnloaded;
  });
  if (is_refused) return 'n';
  return scheme_not_checked(Subject(checkpoint), *find_profile(profile)).empty() ? 'y' : '?';
}

TEST(Schemes, EveryProgramAnswersAsItsSourceDoes) {
  constexpr const char* kProfiles[] = {"vllm-0.17", "vllm-0.32", "sglang-0.5.12", "sglang"};
  std::istringstream lines(text_of_file(CKPT_TESTDATA "/doctor/schemes.tsv"));
  std::string line;
  size_t count = 0, unclear = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name, linear, experts, statement;
    std::getline(fields, name, '\t');
    std::getline(fields, linear, '\t');
    std::getline(fields, experts, '\t');
    std::getline(fields, statement);
    for (size_t i = 0; i < std::size(kProfiles); ++i) {
      const char of_linear = answer_for(statement, "model.layers.0.mlp", kProfiles[i]);
      const char of_experts =
          answer_for(statement, "model.layers.0.mlp.experts.0", kProfiles[i]);
      EXPECT_EQ(of_linear, linear[i]) << name << " of linear modules in " << kProfiles[i];
      EXPECT_EQ(of_experts, experts[i]) << name << " of experts in " << kProfiles[i];
      unclear += (of_linear == '?' ? 1 : 0) + (of_experts == '?' ? 1 : 0);
      count += 2;
    }
  }
  EXPECT_GT(count, 700u);
  EXPECT_LE(unclear * 20, count);
}

// vLLM counts the bits of a row; compressed-tensors before 0.18 left bits of each word unused.
TEST(Schemes, AskHowNumbersOfThreeBitsArePacked) {
  const auto answer = [](uint64_t words, const char* profile) {
    Checkpoint checkpoint = documents(kQwen3);
    SortedJson config = *parse_json(kConfig, checkpoint.find_document(kConfig)->text());
    config["quantization_config"] = SortedJson::parse(R"({"quant_method": "compressed-tensors",
        "format": "pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"],
        "weights": {"num_bits": 3, "type": "int", "strategy": "channel", "symmetric": true}}}})");
    config["dtype"] = "bfloat16";
    checkpoint.set_document(kConfig, config.dump());
    const std::string weight = "model.layers.0.mlp.gate_proj.weight";
    checkpoint.tensors.push_back(made_tensor(weight + "_packed", {64, words}, "i32"));
    DiagnosisOptions options{{profile}, false, {}, nullptr};
    options.packed_forms = [](const Checkpoint& from) {
      const std::string& codes = from.tensors.back().name;
      PackedForms forms;
      forms.by_codes[codes] = {codes.substr(0, codes.rfind('_')), {64, 256}, {codes}};
      return forms;
    };
    const auto diagnosis = diagnose(checkpoint, options);
    EXPECT_TRUE(diagnosis);
    return std::ranges::any_of(diagnosis->findings, [](const Finding& finding) {
      return finding.check == "Q39" && finding.severity == Severity::kUnloaded;
    });
  };
  for (const char* profile : {"vllm-0.32", "vllm-0.33"}) {
    EXPECT_FALSE(answer(24, profile)) << profile;  // 256 numbers of 3 bits
    EXPECT_TRUE(answer(26, profile)) << profile;   // ten in each word
  }
}

}  // namespace
}  // namespace ckpt
