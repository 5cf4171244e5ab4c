// Rules that classes of transformers 5 build instead of tokenizer.json's, and files that contradict
// tokenizer.json.
#include "core/model/checkpoint.h"
#include "tests/checks/field_changes.h"

namespace ckpt {
namespace {

constexpr const char *kTinyLlama = "families/tinyllama/hf", *kGemma = "families/gemma/hf",
                     *kSmollm3 = "families/smollm3/hf", *kMinimax = "families/minimax-m2/hf";

// The severity that the check `id` reports last; empty if it reports nothing.
std::string told(const Checkpoint& checkpoint, const char* profile, const std::string& id) {
  const auto diagnosis = diagnose(checkpoint, {{profile}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  std::string out;
  for (const Finding& finding : diagnosis->findings) {
    if (finding.check == id) out = severity_name(finding.severity);
  }
  return out;
}

// `more` are members that tokenizer_config.json gets too.
Checkpoint named(const char* model, const char* name, const char* more = "{}") {
  Checkpoint out = documents(model);
  SortedJson json = *parse_json(kSettings, out.find_document(kSettings)->text());
  json["tokenizer_class"] = name;
  json.erase("add_prefix_space");
  json.update(SortedJson::parse(more));
  out.set_document(kSettings, json.dump());
  return out;
}

struct ClassCase {
  const char *model, *name, *expected;
};

TEST(TokenizerClass, RulesThatAClassBuildsAreThoseOfTheFile) {
  for (const auto& [model, name, expected] : std::initializer_list<ClassCase>{
           {kQwen3, "LlamaTokenizer", "unsound"},
           {kQwen3, "LlamaTokenizerFast", "unsound"},
           {kQwen3, "GemmaTokenizer", "unsound"},
           {kQwen3, "BertTokenizer", "unsound"},
           {kQwen3, "T5Tokenizer", "unloaded"},
           {kQwen3, "XGLMTokenizer", "unloaded"},
           {kQwen3, "Qwen3_5Tokenizer", ""},
           {kQwen3, "PreTrainedTokenizerFast", ""},
           {kQwen3, "NobodyKnowsTokenizer", ""},
           {kSmollm3, "LlamaTokenizer", "unsound"},
           {kSmollm3, "GPT2Tokenizer", "warning"},
           {kTinyLlama, "LlamaTokenizer", "warning"},
           {kTinyLlama, "GemmaTokenizer", "unsound"},
           {kTinyLlama, "GPT2Tokenizer", "unsound"},
           {kGemma, "GemmaTokenizer", ""},
           {kGemma, "LlamaTokenizer", "unsound"},
           {kMinimax, "LlamaTokenizer", ""},  // goes by its model_type
       }) {
    for (const char* profile : {"transformers-5.19", "sglang"}) {
      EXPECT_EQ(told(named(model, name), profile, "T24"), expected) << model << " " << name;
    }
    EXPECT_EQ(told(named(model, name), "transformers-4.57", "T24"), "") << model << " " << name;
  }
  // 5.24 keeps the rules of bytes under Llama's class.
  EXPECT_EQ(told(named(kQwen3, "LlamaTokenizerFast"), "transformers-5", "T24"), "");
  EXPECT_EQ(told(named(kGemma, "LlamaTokenizer"), "transformers-5", "T24"), "unsound");
}

TEST(TokenizerClass, FieldsDecideWhatAClassBuilds) {
  const auto of = [](const char* model, const char* name, const char* more) {
    return told(named(model, name, more), "transformers-5.19", "T24");
  };
  EXPECT_EQ(of(kGemma, "LlamaTokenizer", R"({"add_prefix_space": false})"), "");
  EXPECT_EQ(of(kTinyLlama, "LlamaTokenizer", R"({"add_prefix_space": false})"), "unsound");
  EXPECT_EQ(of(kSmollm3, "RobertaTokenizer", R"({"add_prefix_space": null})"), "unloaded");
  EXPECT_EQ(of(kSmollm3, "LlamaTokenizer", R"({"add_prefix_space": null})"), "unsound");
  EXPECT_EQ(of(kQwen3, "LlamaTokenizer", R"({"trust_remote_code": true})"), "");
}

TEST(TokenizerClass, DigitsThatAClassCutsShowInTheVocabulary) {
  Checkpoint model = named(kSmollm3, "GPT2Tokenizer");
  SortedJson json = *parse_json(kTokenizer, model.find_document(kTokenizer)->text());
  SortedJson& vocabulary = json["model"]["vocab"];
  for (const char* token : {"12", "123", "1234"}) vocabulary.erase(token);
  json["pre_tokenizer"] = SortedJson::parse(
      R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
          {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
           "use_regex": true}]})");
  const uint64_t next = vocabulary.size() + json["added_tokens"].size();
  vocabulary["12"] = next;
  model.set_document(kTokenizer, json.dump());
  EXPECT_EQ(told(model, "transformers-5", "T24"), "unsound");
}

TEST(TokenizerClass, CodeOfTheFolderIsNotChecked) {
  const Checkpoint model =
      named(kQwen3, "LlamaTokenizer", R"({"auto_map": {"AutoTokenizer": ["a.B", null]}})");
  const auto diagnosis = diagnose(model, {{"transformers-5"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis);
  EXPECT_NE(diagnosis->verdicts.at(0).not_checked.find("Python code"), std::string::npos);
  EXPECT_EQ(told(model, "transformers-5", "T24"), "");
}

TEST(TokenizerFiles, TokensAreThoseOfTokenizerJson) {
  // Of a class that takes all of tokenizer.json, or adds the tokens again.
  const auto with = [](const char* path, const char* text, const char* more = "{}",
                       const char* name = "Qwen3_5Tokenizer") {
    Checkpoint out = named(kQwen3, name, more);
    out.set_document(path, text);
    return told(out, "transformers-5", "T25");
  };
  constexpr const char *kMap = "special_tokens_map.json", *kAdded = "added_tokens.json";
  constexpr const char* kPlain = "PreTrainedTokenizerFast";
  constexpr const char *kOne = R"({"added_tokens_decoder": {"3": {"content": "<zz>"}}})",
                       *kNone = R"({"added_tokens_decoder": {}})";
  EXPECT_EQ(with(kMap, R"({"eos_token": "<think>"})"), "unsound");
  EXPECT_EQ(with(kMap, R"({"eos_token": {"content": "<think>"}})"), "unsound");
  EXPECT_EQ(with(kMap, R"({"eos_token": "<|im_end|>"})"), "");
  EXPECT_EQ(with(kMap, R"({"pad_token": "<think>"})"), "warning");
  EXPECT_EQ(with(kMap, R"({"eos_token": "<think>"})", kNone, kPlain), "");
  EXPECT_EQ(with(kAdded, R"({"<zz>": 5})"), "unsound");
  EXPECT_EQ(with(kAdded, R"({"<zz>": 5})", "{}", kPlain), "warning");
  EXPECT_EQ(with(kAdded, R"({"<zz>": 5})", kNone, kPlain), "");
  EXPECT_EQ(with(kAdded, R"({"<zz>": 100000})"), "");
  EXPECT_EQ(with("x.json", "{}", kOne), "unsound");
  EXPECT_EQ(with("x.json", "{}", kOne, kPlain), "warning");
  EXPECT_EQ(with("x.json", "{}", kNone), "unsound");  // the file's added tokens are lost
}

}  // namespace
}  // namespace ckpt
