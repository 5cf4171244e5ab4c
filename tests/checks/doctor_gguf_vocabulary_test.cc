// Findings of the doctor for the tokens of a GGUF: their kind, and those of the chat template.
#include <gtest/gtest.h>

#include "checks/checks.h"
#include "core/model/checkpoint.h"

namespace ckpt {
namespace {

struct TestVocabulary {
  std::string model = "llama";
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;
  std::string chat;

  void add(std::string text, int32_t type) {
    tokens.push_back(std::move(text));
    types.push_back(type);
  }
  int32_t& type(std::string_view text) {
    return types[static_cast<size_t>(std::ranges::find(tokens, text) - tokens.begin())];
  }
};

TestVocabulary made_pieces(std::string model = "llama") {
  TestVocabulary out;
  out.model = std::move(model);
  out.add("<unk>", 2);
  for (int byte = 0; byte < 256; ++byte) out.add(fmt::format("<0x{:02X}>", byte), 6);
  for (const char* text : {"<|turn|>", "\u2581"}) out.add(text, text[0] == '<' ? 3 : 1);
  for (const char* text : {"a", "b", "ab", "\u2581a"}) out.add(text, 1);
  out.merges = {"a b", "\u2581 a"};
  out.chat = "{{ '<|turn|>' + messages[0].content }}ab";
  return out;
}

TestVocabulary made_letters() {
  TestVocabulary out;
  out.model = "gpt2";
  for (const char* text : {"a", "b", "\u0120", "ab", "\u0120a"}) out.add(text, 1);
  out.add("<|turn|>", 3);
  out.merges = {"a b", "\u0120 a"};
  out.chat = "<|turn|>{{ messages[0].content }}ab";
  return out;
}

// The findings of G12, a line each.
std::string vocabulary_findings(const TestVocabulary& vocabulary, std::string_view without = "") {
  Checkpoint file;
  file.format = "gguf";
  Metadata& keys = file.metadata;
  keys.set("general.architecture", MetaValue::text("llama"));
  keys.set("tokenizer.ggml.model", MetaValue::text(vocabulary.model));
  keys.set("tokenizer.ggml.tokens", MetaValue::array(make_text_array(vocabulary.tokens)));
  keys.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array(vocabulary.types)));
  keys.set("tokenizer.ggml.scores",
           MetaValue::array(make_f32_array(std::vector<float>(vocabulary.tokens.size()))));
  keys.set("tokenizer.ggml.merges", MetaValue::array(make_text_array(vocabulary.merges)));
  keys.set("tokenizer.chat_template", MetaValue::text(vocabulary.chat));
  keys.remove(without);
  const auto diagnosis = diagnose(file, {{"llama.cpp"}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  std::string out;
  for (const Finding& each : diagnosis->findings) {
    if (each.check == "G12") out += fmt::format("{}: {}\n", each.place, each.found);
  }
  return out;
}

TEST(DoctorGgufVocabulary, AcceptsVocabulariesOfEachKind) {
  EXPECT_EQ(vocabulary_findings(made_pieces()), "");
  EXPECT_EQ(vocabulary_findings(made_pieces("gemma4")), "");
  EXPECT_EQ(vocabulary_findings(made_letters()), "");
}

TEST(DoctorGgufVocabulary, OtherKindsAreNamed) {
  for (const char* model : {"llama", "gemma4"}) {
    TestVocabulary wrong = made_letters();
    wrong.model = model;
    EXPECT_EQ(vocabulary_findings(wrong),
              fmt::format("tokenizer.ggml.tokens: {} of 256 bytes have no token, the first <0x00>; "
                          "the model is '{}'\ntokenizer.ggml.tokens: 0 have U+2581, as which "
                          "spaces are looked up; 2 have '\u0120'\n",
                          std::string_view(model) == "llama" ? 254 : 256, model));
  }
  EXPECT_EQ(vocabulary_findings(made_pieces("gpt2")),
            "tokenizer.ggml.tokens: 2 tokens, the first '\u2581', are not of letters that stand "
            "for bytes; the model is 'gpt2'\n");
}

TEST(DoctorGgufVocabulary, EveryByteHasAToken) {
  TestVocabulary lacks = made_pieces();
  *std::ranges::find(lacks.tokens, "<0x0A>") = "<0x0a>";
  EXPECT_EQ(vocabulary_findings(lacks),
            "tokenizer.ggml.tokens: 1 of 256 bytes have no token, the first <0x0A>; the model is "
            "'llama'\n");
  TestVocabulary untyped = made_pieces();
  untyped.type("<0x0A>") = 1;
  EXPECT_EQ(vocabulary_findings(untyped),
            "tokenizer.ggml.token_type: '<0x0A>' is not of type byte\n");
}

TEST(DoctorGgufVocabulary, MostTokensDecide) {
  TestVocabulary odd = made_letters();
  odd.add("x y", 1);
  EXPECT_EQ(vocabulary_findings(odd), "");
  odd = made_pieces();
  odd.add("\u0120", 1);
  EXPECT_EQ(vocabulary_findings(odd), "");
}

TEST(DoctorGgufVocabulary, ListsThatLlamaCppDoesWithout) {
  EXPECT_EQ(vocabulary_findings(made_pieces(), "tokenizer.ggml.scores"),
            "tokenizer.ggml.scores: missing; nothing tells which tokens join first\n");
  EXPECT_EQ(vocabulary_findings(made_letters(), "tokenizer.ggml.token_type"),
            "tokenizer.ggml.token_type: missing; llama.cpp takes every token for text\n"
            "tokenizer.ggml.token_type[5]: '<|turn|>' is 1, neither control nor user-defined, and "
            "nothing joins it; the chat template has it\n");
  TestVocabulary none = made_letters();
  none.merges.clear();
  EXPECT_EQ(vocabulary_findings(none).substr(0, 28), "tokenizer.ggml.merges: none;");
}

TEST(DoctorGgufVocabulary, TokensOfTheChatTemplateAreSearchedFor) {
  for (TestVocabulary vocabulary : {made_pieces(), made_pieces("gemma4"), made_letters()}) {
    for (const int32_t type : {3, 4, 2}) {
      vocabulary.type("<|turn|>") = type;
      EXPECT_EQ(vocabulary_findings(vocabulary), "") << vocabulary.model;
    }
    vocabulary.type("<|turn|>") = 1;
    EXPECT_NE(vocabulary_findings(vocabulary).find("'<|turn|>' is 1, neither"), std::string::npos);
    vocabulary.chat = "{{ messages[0].content }}ab";  // whose tokens are joined
    EXPECT_EQ(vocabulary_findings(vocabulary), "") << vocabulary.model;
    // llama.cpp makes it a control token by its name.
    vocabulary.add("<|im_end|>", 1);
    vocabulary.chat = "<|im_end|>";
    EXPECT_EQ(vocabulary_findings(vocabulary), "") << vocabulary.model;
  }
}

TEST(DoctorGgufVocabulary, FillersInThePlaceOfAddedTokensAreAWarning) {
  TestVocabulary lost = made_pieces();
  *std::ranges::find(lost.tokens, "<|turn|>") = "[PAD257]";
  lost.type("[PAD257]") = 5;
  EXPECT_EQ(vocabulary_findings(lost),
            "tokenizer.ggml.tokens: the chat template has '<|turn|>', which is not a token; ID 257 "
            "is a filler\n");
  lost.chat = "{{ messages[0].content }}";
  EXPECT_EQ(vocabulary_findings(lost), "");
}

}  // namespace
}  // namespace ckpt
