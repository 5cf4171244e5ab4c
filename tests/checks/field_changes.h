// A model of testdata with one field of its documents changed, and what the doctor says of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checks/checks.h"
#include "core/base/words.h"
#include "core/json/json_read.h"

namespace ckpt {

using SortedJson = nlohmann::json;

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// The documents of a model in testdata, without its tensors.
inline Checkpoint documents(const std::string& model) {
  Checkpoint out;
  out.format = "safetensors";
  for (const char* name :
       {"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"}) {
    out.set_document(name, text_of_file(fmt::format(CKPT_TESTDATA "/{}/{}", model, name)));
  }
  return out;
}

inline bool is_asked(const std::string& id) {
  return has_word(
      " C17 C18 C19 C20 C21 C22 C23 C24 C25 C26 C27 C28 C29 C30 C31 C32 C33 C44 C45 C46"
      " Q25 Q26 Q27 Q28 T14 T15 T16 T17 T18 T21 F07 ",
      id);
}

// "ID severity", one each, in order, without doubles.
inline std::string value_findings(const Checkpoint& checkpoint,
                                  const std::string& profile = "vllm-0.17") {
  const auto diagnosis = diagnose(checkpoint, {{profile}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  std::string out;
  for (const Finding& finding : diagnosis->findings) {
    const std::string line = fmt::format("{} {}", finding.check, severity_name(finding.severity));
    if (!is_asked(finding.check) || out.find(line) != out.npos) continue;
    out += (out.empty() ? "" : ", ") + line;
  }
  return out;
}

// A field of a document, by JSON pointer, and what is put there: "" takes it away.
struct FieldChange {
  const char *model, *file, *pointer, *value, *expected;
};

inline std::string findings_of_change(const FieldChange& change,
                                      const std::string& profile = "vllm-0.17") {
  Checkpoint checkpoint = documents(change.model);
  SortedJson json = *parse_json(change.file, checkpoint.find_document(change.file)->text());
  const SortedJson::json_pointer pointer(change.pointer);
  if (std::string(change.value).empty()) {
    json[pointer.parent_pointer()].erase(pointer.back());
  } else {
    json[pointer] = SortedJson::parse(change.value);
  }
  checkpoint.set_document(change.file, json.dump());
  return value_findings(checkpoint, profile);
}

inline void expect_all(std::initializer_list<FieldChange> changes) {
  for (const FieldChange& change : changes) {
    EXPECT_EQ(findings_of_change(change), change.expected)
        << change.model << " " << change.file << " " << change.pointer << " = " << change.value;
  }
}

inline constexpr const char *kLlama = "llama-micro", *kQwen3 = "qwen3-micro",
                            *kVisionModel = "qwen35vl-micro";
inline constexpr const char *kConfig = "config.json", *kTokenizer = "tokenizer.json";
inline constexpr const char* kSettings = "tokenizer_config.json";

inline void expect_of(const char* profile, std::initializer_list<FieldChange> changes) {
  for (const FieldChange& change : changes) {
    EXPECT_EQ(findings_of_change(change, profile), change.expected)
        << profile << " " << change.file << " " << change.pointer << " = " << change.value;
  }
}

}  // namespace ckpt
