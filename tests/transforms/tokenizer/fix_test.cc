// tokenizer:for=transformers-4.57 on small tokenizers. What the real transformers make of the
// result: tests/interop/tokenizer_transformers.py.
#include <gtest/gtest.h>

#include "transforms/tokenizer/file.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+)"
                                    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)"
    R"(|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

JsonValue tokenizer(std::string_view split) {
  JsonValue out = JsonValue::parse(R"({
    "added_tokens": [
      {"id": 6, "content": "</s>", "special": true, "lstrip": false, "rstrip": true,
       "normalized": false, "single_word": false},
      {"id": 5, "content": "<｜s｜>", "special": true, "lstrip": false, "rstrip": false,
       "normalized": false, "single_word": false}],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
    "post_processor": null,
    "model": {"type": "BPE", "vocab": {"\"": 0, "é": 1, "a": 2, "b": 3, "ab": 4},
              "merges": [["a", "b"], ["é", "a"]]}})");
  out["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = std::string(split);
  return out;
}

struct Input {
  JsonValue file = tokenizer(kQwen35);
  std::string config = R"({
  "backend": "tokenizers",
  "eos_token": "</s>",
  "extra_special_tokens": [
    "<s>"
  ],
  "is_local": true,
  "merges_file": null,
  "model_max_length": 1000000000000000019884624838656,
  "tokenizer_class": "Qwen3_5Tokenizer"
}
)";
  JsonValue model = {{"model_type", "qwen3_5_text"}, {"architectures", {"Qwen3_5ForCausalLM"}}};
  std::vector<std::pair<std::string, std::string>> options = {{"for", "transformers-4.57"}};
  std::vector<std::pair<std::string, std::string>> files;
};

struct FixedFolder {
  Checkpoint checkpoint;
  std::vector<std::string> notes;
  std::string error;

  std::string text(std::string_view path) const {
    const Document* found = checkpoint.find_document(path);
    return found == nullptr ? "" : found->text();
  }
  JsonValue config() const { return JsonValue::parse(text(kTokenizerConfig), nullptr, false); }
  std::string named() const { return config().value("tokenizer_class", ""); }
  bool notes_say(std::string_view part) const {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(part) != std::string::npos;
    });
  }
};

FixedFolder fix_checkpoint(const Input& input) {
  Checkpoint checkpoint;
  checkpoint.format = "safetensors";
  if (!input.file.is_null()) checkpoint.set_document("tokenizer.json", input.file.dump());
  if (!input.config.empty()) checkpoint.set_document("tokenizer_config.json", input.config);
  checkpoint.set_document("config.json", input.model.dump());
  for (const auto& [path, text] : input.files) checkpoint.set_document(path, text);
  Options options;
  for (const auto& [key, value] : input.options) options.add(key, value);
  FixedFolder out;
  Context context;
  context.notes = &out.notes;
  auto result = find_transform("tokenizer")->apply(std::move(checkpoint), options, context);
  if (!result) {
    out.error = result.error().text();
    return out;
  }
  out.checkpoint = std::move(*result);
  return out;
}

FixedFolder good(const Input& input) {
  FixedFolder out = fix_checkpoint(input);
  EXPECT_EQ(out.error, "");
  return out;
}

TEST(TokenizerFixes, WholeFile) {
  const FixedFolder out = good({});
  EXPECT_EQ(out.text(kTokenizerConfig), R"({
  "added_tokens_decoder": {
    "5": {
      "content": "<｜s｜>",
      "lstrip": false,
      "normalized": false,
      "rstrip": false,
      "single_word": false,
      "special": true
    },
    "6": {
      "content": "</s>",
      "lstrip": false,
      "normalized": false,
      "rstrip": true,
      "single_word": false,
      "special": true
    }
  },
  "additional_special_tokens": [
    "<s>"
  ],
  "eos_token": "</s>",
  "model_input_names": [
    "input_ids",
    "attention_mask"
  ],
  "model_max_length": 1000000000000000019884624838656,
  "tokenizer_class": "PreTrainedTokenizerFast"
}
)");
  EXPECT_EQ(out.text("tokenizer.json"), tokenizer(kQwen35).dump());
  EXPECT_TRUE(out.notes_say("class Qwen3_5Tokenizer became PreTrainedTokenizerFast"));
}

TEST(TokenizerFixes, SecondRunChangesNothing) {
  Input input;
  const std::string once = good(input).text(kTokenizerConfig);
  input.config = once;
  const FixedFolder again = good(input);
  EXPECT_EQ(again.text(kTokenizerConfig), once);
  EXPECT_TRUE(again.notes.empty());
}

TEST(TokenizerFixes, ClassFollowsRulesNotNames) {
  Input input;
  input.model = {{"model_type", "qwen3"}, {"architectures", {"Qwen3ForCausalLM"}}};
  EXPECT_EQ(good(input).named(), "PreTrainedTokenizerFast");  // Qwen3's folder, Qwen3.5's rules
  input.file = tokenizer(kQwen2);
  EXPECT_EQ(good(input).named(), "Qwen2TokenizerFast");
  input.files = {{"vocab.json", "{}"}, {"merges.txt", ""}};
  EXPECT_EQ(good(input).named(), "Qwen2Tokenizer");
  input.file["model"]["ignore_merges"] = true;  // which the class of transformers 5 would lose
  EXPECT_EQ(good(input).named(), "PreTrainedTokenizerFast");
}

TEST(TokenizerFixes, ProcessorsTakeTheirClassAlone) {
  Input input;
  input.model = {{"model_type", "qwen3_5"},
                 {"architectures", {"Qwen3_5ForConditionalGeneration"}},
                 {"text_config", {{"model_type", "qwen3_5_text"}}}};
  const JsonValue wrapped = good(input).config();
  EXPECT_EQ(wrapped["tokenizer_class"], "Qwen2TokenizerFast");
  EXPECT_EQ(wrapped["trust_remote_code"], true);  // else transformers 5 cuts by Qwen2's rules
  // The class that an earlier fix wrote, before the model was wrapped, is replaced.
  input.config = R"({"tokenizer_class": "PreTrainedTokenizerFast"})";
  EXPECT_EQ(good(input).named(), "Qwen2TokenizerFast");
  input.model["model_type"] = "qwen3_vl";
  input.file = tokenizer(kQwen2);
  EXPECT_FALSE(good(input).config().contains("trust_remote_code"));
}

TEST(TokenizerFixes, KnownClassesStay) {
  Input input;
  input.config = R"({"tokenizer_class": "Qwen2Tokenizer", "extra_special_tokens": {}})";
  const FixedFolder out = good(input);
  EXPECT_EQ(out.named(), "Qwen2Tokenizer");
  EXPECT_TRUE(out.notes_say("class=PreTrainedTokenizerFast is right in both"));
  EXPECT_TRUE(out.config()["extra_special_tokens"].is_object());
  input.file = tokenizer(kQwen2);
  EXPECT_TRUE(good(input).notes.empty());
}

TEST(TokenizerFixes, GivenClass) {
  Input input;
  input.options.emplace_back("class", "Qwen2Tokenizer");
  const JsonValue config = good(input).config();
  EXPECT_EQ(config["tokenizer_class"], "Qwen2Tokenizer");
  EXPECT_EQ(config["trust_remote_code"], true);
  input.options.back().second = "Qwen3_5Tokenizer";
  EXPECT_EQ(fix_checkpoint(input).error,
            "class 'Qwen3_5Tokenizer'; expected one that transformers 4.57 has");
  input.options.back().second = "T5TokenizerFast";
  EXPECT_EQ(good(input).named(), "T5TokenizerFast");
  input.options.back().second = "SiglipTokenizerFast";  // of T5's kind, but slow only
  EXPECT_EQ(fix_checkpoint(input).error,
            "class 'SiglipTokenizerFast'; expected one that transformers 4.57 has");
}

TEST(TokenizerFixes, FramesAreSaid) {
  Input input;
  input.config = R"({"bos_token": "<b>", "tokenizer_class": "GemmaTokenizer"})";
  JsonValue config = good(input).config();
  EXPECT_EQ(config["add_bos_token"], false);
  EXPECT_EQ(config["add_eos_token"], false);
  input.file["post_processor"] = JsonValue::parse(R"({"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})");
  config = good(input).config();
  EXPECT_EQ(config["tokenizer_class"], "GemmaTokenizer");
  EXPECT_EQ(config["add_bos_token"], true);
  EXPECT_EQ(config["add_eos_token"], false);
  // A frame that the two flags cannot say.
  input.file["post_processor"]["single"].push_back({{"SpecialToken", {{"id", "<sep>"}}}});
  EXPECT_EQ(good(input).named(), "PreTrainedTokenizerFast");
  input.file["post_processor"] = {{"type", "RobertaProcessing"}};
  EXPECT_EQ(good(input).named(), "PreTrainedTokenizerFast");
}

TEST(TokenizerFixes, LlamaThatWouldBeRebuilt) {
  Input input;
  input.config = R"({"tokenizer_class": "LlamaTokenizer", "add_prefix_space": true})";
  EXPECT_EQ(good(input).named(), "PreTrainedTokenizerFast");
  input.files = {{"tokenizer.model", "x"}};
  EXPECT_EQ(good(input).named(), "LlamaTokenizer");
}

TEST(TokenizerFixes, NamedTokens) {
  Input input;
  input.config = R"({"tokenizer_class": "TokenizersBackend", "extra_special_tokens": ["<x>"],
                     "model_specific_special_tokens": {"image_token": "<i>"}})";
  const JsonValue config = good(input).config();
  EXPECT_EQ(config["extra_special_tokens"]["image_token"], "<i>");
  EXPECT_EQ(config["additional_special_tokens"][0], "<x>");
  EXPECT_FALSE(config.contains("model_specific_special_tokens"));
}

TEST(TokenizerFixes, PrefixSpaceIsTheFiles) {
  Input input;
  input.config = R"({"tokenizer_class": "TokenizersBackend"})";
  input.file["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}};
  EXPECT_EQ(good(input).config()["add_prefix_space"], true);
  input.file["pre_tokenizer"]["add_prefix_space"] = false;
  EXPECT_FALSE(good(input).config().contains("add_prefix_space"));
}

TEST(TokenizerFixes, SlowFiles) {
  Input input;
  input.model["model_type"] = "qwen3";
  input.file = tokenizer(kQwen2);
  input.options.emplace_back("slow", "yes");
  const FixedFolder out = good(input);
  EXPECT_EQ(out.text("vocab.json"), R"({"\"":0,"é":1,"a":2,"b":3,"ab":4})");
  EXPECT_EQ(out.text("merges.txt"), "#version: 0.2\na b\né a\n");
  EXPECT_EQ(out.named(), "Qwen2Tokenizer");
  input.file["model"]["type"] = "Unigram";
  EXPECT_NE(fix_checkpoint(input).error.find("not BPE"), std::string::npos);
}

TEST(TokenizerFixes, WhatIsMissing) {
  Input input;
  input.options = {};
  EXPECT_NE(fix_checkpoint(input).error.find("neither for nor from"), std::string::npos);
  input.options = {{"for", "transformers-3"}};
  EXPECT_EQ(fix_checkpoint(input).error,
            "tokenizer:for=transformers-3; expected transformers-4.57");
  input.options = Input().options;
  input.file = JsonValue();
  EXPECT_NE(fix_checkpoint(input).error.find("no tokenizer.json"), std::string::npos);
  input.config = "";
  EXPECT_NE(fix_checkpoint(input).error.find("no tokenizer_config.json"), std::string::npos);
}

TEST(TokenizerFixes, BrokenFiles) {
  for (const char* text : {"", "{", "[]", "{\"model\"", "{\"model\": {\"type\": \"BPE\"",
                           "{\"model\": 5}", "{\"model\": {\"type\": \"BPE", "{\"a\" 1}",
                           "{\"model\": {\"type\": \"BPE\"}, \"added_tokens\": [{}]}",
                           "{\"model\": {\"type\": \"BPE\"}, \"added_tokens\": 4}",
                           "{\"model\": {\"type\": \"BPE\"}, \"normalizer\": {\"a\" 3}}"}) {
    Input input;
    input.file = JsonValue();
    input.files = {{"tokenizer.json", text}};
    EXPECT_NE(fix_checkpoint(input).error.find("tokenizer.json"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace ckpt
