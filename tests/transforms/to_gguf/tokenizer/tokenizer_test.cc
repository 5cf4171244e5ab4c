// Tokenizer keys on small tokenizers made here. Whole files: tests/pipeline and tests/interop.
#include <gtest/gtest.h>

#include "tests/transforms/to_gguf/tokenizer/input.h"

namespace ckpt {
using namespace tokenizer_test;
namespace {

TEST(GgufTokenizer, TokensAndTypes) {
  Input input;
  input.options.vocab_size = 12;
  const Metadata out = good(input);
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"a", "b", "Ġ", "ab", "Ġa", "<s>", "</s>", "<tool>", "<|odd|>",
                                      "a b", "[PAD10]", "[PAD11]"}));
  EXPECT_EQ(types(out), (std::vector<int>{1, 1, 1, 1, 1, 3, 3, 4, 3, 4, 5, 5}));
  EXPECT_EQ(keys(out),
            (std::vector<std::string>{"ggml.model", "ggml.pre", "ggml.tokens", "ggml.token_type",
                                      "ggml.merges", "ggml.bos_token_id", "ggml.eos_token_id"}));
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.eos_token_id"), 6u);
  EXPECT_EQ(*out.find_text("tokenizer.ggml.pre"), "gpt-2");
}

TEST(GgufTokenizer, RejectsTwoTokensWithOneId) {
  Input input;
  input.tokenizer["model"]["vocab"]["b"] = 0;
  EXPECT_NE(error_of(input).find("tokens 'a' and 'b' both have id 0"), std::string::npos)
      << error_of(input);
}

TEST(GgufTokenizer, MergesInBothSpellings) {
  Input input;
  input.tokenizer["model"]["merges"] = JsonValue::parse(R"([["a", "b"], [" ", "a"]])");
  EXPECT_EQ(texts(good(input), "tokenizer.ggml.merges"), (std::vector<std::string>{"a b", "Ġ a"}));
  input.tokenizer["model"]["merges"] = JsonValue::array();
  input.files = {{"merges.txt", "#version: 0.2\na b\n\none two three\nĠ a\r\n"}};
  EXPECT_EQ(texts(good(input), "tokenizer.ggml.merges"), (std::vector<std::string>{"a b", "Ġ a"}));
  input.tokenizer["model"]["merges"] = {3};
  EXPECT_NE(error_of(input).find("merge 0"), std::string::npos);
}

TEST(GgufTokenizer, NamedTokensAreSpecial) {
  Input input;
  input.config["pad_token"] = "<tool>";
  input.config["unk_token"] = "b";
  input.config["additional_special_tokens"] = {"<new>"};
  const Metadata out = good(input);
  EXPECT_EQ(types(out), (std::vector<int>{1, 3, 1, 1, 1, 3, 3, 3, 3, 4, 3}));
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens").back(), "<new>");
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.padding_token_id"), 7u);
  EXPECT_EQ(out.find("tokenizer.ggml.unknown_token_id"), nullptr);  // not an added token
  // Where there is a table, a token that was added before but is not in it stays what it was.
  input.config["added_tokens_decoder"] = {{"8", {{"content", "<|odd|>"}, {"special", false}}}};
  EXPECT_EQ(types(good(input)), (std::vector<int>{1, 3, 1, 1, 1, 3, 3, 4, 3, 4, 3}));
}

TEST(GgufTokenizer, NumbersFillWhatNamesLeftOpen) {
  Input input;
  input.config = {{"eos_token", "</s>"}};
  input.model = {{"bos_token_id", nullptr},
                 {"eos_token_id", 1},
                 {"pad_token_id", {1, 2}},
                 {"text_config", {{"bos_token_id", 4}, {"mask_token_id", 3}}}};
  const Metadata out = good(input);
  EXPECT_EQ(keys(out),
            (std::vector<std::string>{"ggml.model", "ggml.pre", "ggml.tokens", "ggml.token_type",
                                      "ggml.merges", "ggml.eos_token_id", "ggml.bos_token_id",
                                      "ggml.mask_token_id"}));
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.eos_token_id"), 6u);
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.bos_token_id"), 4u);
  input.model = {{"eos_token_id", 1}, {"bos_token_id", -1}};
  EXPECT_NE(error_of(input).find("bos"), std::string::npos);
}

JsonValue item(const char* special) {
  return special == nullptr ? JsonValue{{"Sequence", {{"id", "A"}}}}
                            : JsonValue{{"SpecialToken", {{"id", special}}}};
}

TEST(GgufTokenizer, TemplatesSayWhatIsAdded) {
  Input input;
  input.tokenizer["post_processor"] = {{"type", "TemplateProcessing"},
                                       {"single", {item("<s>"), item(nullptr)}}};
  Metadata out = good(input);
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_bos_token"));
  EXPECT_EQ(out.find("tokenizer.ggml.add_eos_token"), nullptr);
  // Another last token than EOS: that one becomes EOS, and the old one EOT.
  input.tokenizer["post_processor"]["single"] = {item(nullptr), item("<tool>")};
  input.config["eos_token"] = "</s>";
  input.config["add_bos_token"] = false;
  out = good(input);
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_eos_token"));
  EXPECT_FALSE(flag(out, "tokenizer.ggml.add_bos_token"));
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.eos_token_id"), 7u);
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.eot_token_id"), 6u);
  // The template may be in a sequence of processors, and have a separator between two texts.
  input = Input();
  JsonValue b = {{"Sequence", {{"id", "B"}}}};
  JsonValue inner = {{"type", "TemplateProcessing"},
                     {"single", {item("<s>"), item(nullptr)}},
                     {"pair", {item("<s>"), item(nullptr), item("</s>"), b}}};
  input.config["eos_token"] = "</s>";
  input.tokenizer["post_processor"] = {{"type", "Sequence"},
                                       {"processors", {{{"type", "ByteLevel"}}, inner}}};
  out = good(input);
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_sep_token"));
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.seperator_token_id"), 6u);
}

TEST(GgufTokenizer, RobertaAddsAllThree) {
  Input input;
  input.tokenizer["post_processor"] = {
      {"type", "RobertaProcessing"}, {"sep", {"</s>", 6}}, {"cls", {"<s>", 5}}};
  const Metadata out = good(input);
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_bos_token"));
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_eos_token"));
  EXPECT_TRUE(flag(out, "tokenizer.ggml.add_sep_token"));
  EXPECT_EQ(out.find_unsigned("tokenizer.ggml.seperator_token_id"), 6u);
}

TEST(GgufTokenizer, ChatTemplates) {
  Input input;
  input.files = {{"chat_template.jinja", "from jinja"},
                 {"chat_template.json", R"({"chat_template": "from json"})"}};
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "from jinja");
  input.files.erase(input.files.begin());
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "from json");
  input.config["chat_template"] = "from config";
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "from config");
  input.config["chat_template"] = nullptr;
  EXPECT_EQ(good(input).find("tokenizer.chat_template"), nullptr);
  input.config["chat_template"] = {{{"name", "tool use"}, {"template", "T"}},
                                   {{"name", "default"}, {"template", "D"}},
                                   {{"name", "b"}, {"template", "B"}}};
  Metadata out = good(input);
  EXPECT_EQ(*out.find_text("tokenizer.chat_template"), "D");
  EXPECT_EQ(*out.find_text("tokenizer.chat_template.tool_use"), "T");
  EXPECT_EQ(texts(out, "tokenizer.chat_templates"), (std::vector<std::string>{"b", "tool_use"}));
  // One _ for a letter, whatever its bytes.
  input.config["chat_template"] = {{{"name", "n\u00e9\u4e2d\U0001f600-1"}, {"template", "N"}}};
  EXPECT_EQ(texts(good(input), "tokenizer.chat_templates"), (std::vector<std::string>{"n____1"}));
  input.config.erase("chat_template");
  input.files = {{"additional_chat_templates/rag.jinja", "R"}, {"chat_template.jinja", "J"}};
  out = good(input);
  EXPECT_EQ(*out.find_text("tokenizer.chat_template"), "J");
  EXPECT_EQ(*out.find_text("tokenizer.chat_template.rag"), "R");
}

TEST(GgufTokenizer, TemplateFilesGoBeforeTokenizerConfig) {
  Input input;
  input.files = {{"chat_template.jinja", "new"}};
  input.config["chat_template"] = "old";
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "new");
  ASSERT_EQ(notes_of(input).size(), 1u);
  EXPECT_NE(notes_of(input)[0].find("is that of chat_template.jinja"), std::string::npos);
  input.config["chat_template"] = {{{"name", "default"}, {"template", "new"}}};
  EXPECT_TRUE(notes_of(input).empty());
  input.config["chat_template"] = "old";
  input.options.as_converter = true;
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "old");
  EXPECT_TRUE(notes_of(input).empty());
  // The default of tokenizer_config.json stays where files have none.
  input.options.as_converter = false;
  input.files = {{"additional_chat_templates/rag.jinja", "R"}};
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "old");
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template.rag"), "R");
  input.config = JsonValue();
  input.files = {{"chat_template.jinja", "new"}};
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "new");
}

TEST(GgufTokenizer, TemplateFilesAreReadAsLines) {
  Input input;
  input.files = {{"chat_template.jinja", "a\r\nb\rc\n\r\r\n"},
                 {"additional_chat_templates/rag.jinja", "R\r\n"}};
  Metadata out = good(input);
  EXPECT_EQ(*out.find_text("tokenizer.chat_template"), "a\nb\nc\n\n\n");
  EXPECT_EQ(*out.find_text("tokenizer.chat_template.rag"), "R\n");
  input.config["chat_template"] = "a\r\nb";  // a text of JSON stays as it is
  input.options.as_converter = true;
  EXPECT_EQ(*good(input).find_text("tokenizer.chat_template"), "a\r\nb");
  input.files[0].second = "\xff\xfe";
  EXPECT_NE(error_of(input).find("chat_template.jinja: not UTF-8"), std::string::npos);
}

TEST(GgufTokenizer, NormalizerFlags) {
  Input input;
  input.tokenizer["normalizer"] = {{"type", "Sequence"},
                                   {"normalizers", {{{"type", "NFC"}}, {{"type", "Lowercase"}}}}};
  EXPECT_TRUE(flag(good(input), "tokenizer.ggml.normalizer.lowercase"));
  input.tokenizer["normalizer"] = {
      {"type", "BertNormalizer"}, {"lowercase", false}, {"strip_accents", nullptr}};
  const Metadata out = good(input);
  EXPECT_FALSE(flag(out, "tokenizer.ggml.normalizer.lowercase"));
  EXPECT_EQ(out.find("tokenizer.ggml.normalizer.strip_accents"), nullptr);
}

TEST(GgufTokenizer, AddSpacePrefixOnlyWhereTheFamilyWritesIt) {
  Input input;
  input.config["add_prefix_space"] = true;
  EXPECT_EQ(good(input).find("tokenizer.ggml.add_space_prefix"), nullptr);
  input.options.rules.is_llama = true;
  EXPECT_EQ(good(input).entries[0].key, "tokenizer.ggml.add_space_prefix");
  input.config["add_prefix_space"] = nullptr;
  EXPECT_EQ(good(input).find("tokenizer.ggml.add_space_prefix"), nullptr);
  input.options.vocab_size = 49152;
  EXPECT_FALSE(flag(good(input), "tokenizer.ggml.add_bos_token"));
}

TEST(GgufTokenizer, RefusesOtherKinds) {
  Input input;
  input.tokenizer["model"]["type"] = "Unigram";
  EXPECT_NE(error_of(input).find("Unigram"), std::string::npos);
  input = Input();
  input.tokenizer["model"]["byte_fallback"] = true;
  EXPECT_NE(error_of(input).find("SentencePiece"), std::string::npos);
  input = Input();
  input.tokenizer = nullptr;
  EXPECT_NE(error_of(input).find("--tokenizer DIR"), std::string::npos);
  input.files = {{"tokenizer.model", "x"}};
  EXPECT_NE(error_of(input).find("tokenizer.model without tokenizer.json"), std::string::npos);
  input = Input();
  input.options.vocab_size = 9;
  EXPECT_NE(error_of(input).find("vocab_size is 9"), std::string::npos);
}

TEST(GgufTokenizer, HostileTokenizersAreErrors) {
  Input input;
  for (const JsonValue& id :
       {JsonValue(-1), JsonValue("x"), JsonValue(1e18), JsonValue(1.5), JsonValue(16'000'000)}) {
    input.tokenizer["model"]["vocab"]["a"] = id;
    EXPECT_NE(error_of(input), "") << id;
  }
  input = Input();
  input.tokenizer["added_tokens"] = {3};
  EXPECT_NE(error_of(input), "");
  input = Input();
  input.tokenizer["model"] = {3};
  EXPECT_NE(error_of(input), "");
  input = Input();
  input.config["added_tokens_decoder"] = {{"x", 3}};
  EXPECT_NE(error_of(input), "");
  input = Input();
  input.options.vocab_size = uint64_t{1} << 40;
  EXPECT_NE(error_of(input), "");
  input = Input();
  input.tokenizer["post_processor"] = {{"type", 3}, {"processors", 4}};
  input.tokenizer["pre_tokenizer"] = {{"type", 3}};
  EXPECT_NE(error_of(input), "");
}

JsonValue split(const char* regex, const char* behavior = "Isolated") {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}};
}

JsonValue sequence(std::vector<JsonValue> steps) {
  steps.push_back({{"type", "ByteLevel"}, {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

TEST(GgufTokenizer, PreTokenizersByTheirRules) {
  Input input;
  input.tokenizer["pre_tokenizer"] = sequence({split(kLlama3)});
  EXPECT_EQ(*good(input).find_text("tokenizer.ggml.pre"), "smaug-bpe");
  input.tokenizer["model"]["ignore_merges"] = true;
  EXPECT_EQ(*good(input).find_text("tokenizer.ggml.pre"), "llama-bpe");
  // Line ends may be spelled as such.
  std::string real = kLlama3;
  for (size_t at; (at = real.find("\\r")) != std::string::npos;) real.replace(at, 2, "\r");
  for (size_t at; (at = real.find("\\n")) != std::string::npos;) real.replace(at, 2, "\n");
  input.tokenizer["pre_tokenizer"] = sequence({split(real.c_str())});
  EXPECT_EQ(*good(input).find_text("tokenizer.ggml.pre"), "llama-bpe");
  input.tokenizer["pre_tokenizer"] = sequence({split(kLlama3, "Removed")});
  EXPECT_NE(error_of(input).find("Removed"), std::string::npos);
  input.tokenizer["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Digits"}, {"individual_digits", true}}, {{"type", "ByteLevel"}}}}};
  input.config["clean_up_tokenization_spaces"] = false;
  EXPECT_EQ(*good(input).find_text("tokenizer.ggml.pre"), "smollm");
}

TEST(GgufTokenizer, UnknownRulesAreShownAndMayBeNamed) {
  Input input;
  input.tokenizer["pre_tokenizer"] = sequence({split("[a-z]+odd")});
  const std::string error = error_of(input);
  EXPECT_NE(error.find("[a-z]+odd"), std::string::npos) << error;
  EXPECT_NE(error.find("--tokenizer-pre NAME"), std::string::npos) << error;
  input.options.pre_name = "mine";
  EXPECT_EQ(*good(input).find_text("tokenizer.ggml.pre"), "mine");
}

}  // namespace
}  // namespace ckpt
