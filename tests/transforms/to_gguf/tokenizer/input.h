// Shared by the tests of tokenizer keys: a small tokenizer, and checks of the keys made of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json_read.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"

namespace ckpt::tokenizer_test {

inline JsonValue tokenizer() {
  return JsonValue::parse(R"({
    "added_tokens": [{"id": 5, "content": "<s>", "special": true},
                     {"id": 6, "content": "</s>", "special": true},
                     {"id": 7, "content": "<tool>", "special": false},
                     {"id": 8, "content": "<|odd|>", "special": false},
                     {"id": 9, "content": "a▁b", "special": false}],
    "pre_tokenizer": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġa": 4},
              "merges": ["a b", "Ġ a"]}})");
}

struct Input {
  JsonValue tokenizer = tokenizer_test::tokenizer();
  JsonValue config = {{"bos_token", "<s>"}, {"eos_token", {{"content", "</s>"}}}};
  JsonValue model = JsonValue::object();
  TokenizerOptions options;
  std::vector<std::pair<std::string, std::string>> files;
};

inline Result<Metadata> read(const Input& input, const Context& context = {}) {
  Checkpoint checkpoint;
  if (!input.tokenizer.is_null()) {
    checkpoint.set_document("tokenizer.json", input.tokenizer.dump());
  }
  if (!input.config.is_null()) {
    checkpoint.set_document("tokenizer_config.json", input.config.dump());
  }
  checkpoint.set_document("config.json", input.model.dump());
  for (const auto& [path, text] : input.files) checkpoint.set_document(path, text);
  Metadata out;
  CKPT_TRY(add_tokenizer_keys(checkpoint, input.options, context, out));
  return out;
}

inline Metadata good(const Input& input) {
  auto out = read(input);
  EXPECT_TRUE(out.has_value()) << out.error().text();
  return out.value_or(Metadata());
}

inline std::vector<std::string> notes_of(const Input& input) {
  std::vector<std::string> out;
  Context context;
  context.notes = &out;
  EXPECT_TRUE(read(input, context).has_value());
  return out;
}

inline bool has_note(const Input& input, std::string_view part) {
  return std::ranges::any_of(notes_of(input),
                             [&](const std::string& note) { return note.find(part) != note.npos; });
}

inline std::string error_of(const Input& input) {
  const auto out = read(input);
  return out ? "" : out.error().text();
}

inline std::vector<std::string> texts(const Metadata& metadata, std::string_view key) {
  return std::get<MetaArray>(metadata.find(key)->value).texts;
}

inline std::vector<int> types(const Metadata& metadata) {
  const auto& array = std::get<MetaArray>(metadata.find("tokenizer.ggml.token_type")->value);
  std::vector<int> out;
  for (uint64_t i = 0; i < array.count(); ++i) out.push_back(static_cast<int>(number_at(array, i)));
  return out;
}

inline std::vector<std::string> keys(const Metadata& metadata) {
  std::vector<std::string> out;
  for (const MetaEntry& entry : metadata.entries) {
    out.push_back(entry.key.substr(std::string("tokenizer.").size()));
  }
  return out;
}

inline bool flag(const Metadata& metadata, std::string_view key) {
  const MetaValue* found = metadata.find(key);
  EXPECT_NE(found, nullptr) << key;
  return found != nullptr && std::get<uint64_t>(found->value) != 0;
}

}  // namespace ckpt::tokenizer_test
