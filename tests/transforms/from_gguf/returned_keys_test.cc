// Keys of the tokenizer and of sampling that a folder has no place for, or has another value for.
#include <algorithm>

#include "tests/transforms/run_step.h"

namespace ckpt {
namespace {

constexpr const char* kMicroFolder = "qwen3-micro";
constexpr uint64_t kEndOfTurn = 988, kStart = 993;  // <|endoftext|>, <|im_start|>

Checkpoint source_folder(const std::filesystem::path& path) {
  return step_test::open(path).value_or(Checkpoint());
}

Checkpoint micro_file(const std::filesystem::path& path = testdata(kMicroFolder)) {
  auto made = step_test::run("to-gguf", source_folder(path), {});
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return made.value_or(Checkpoint());
}

Checkpoint micro_file_with(const std::string& key, MetaValue value) {
  Checkpoint file = micro_file();
  file.metadata.set(key, std::move(value));
  return file;
}

struct ReturnedFile {
  Result<Checkpoint> folder;
  std::vector<std::string> notes;

  JsonValue json(std::string_view path) const {
    const Document* found = folder ? folder->find_document(path) : nullptr;
    EXPECT_NE(found, nullptr) << path;
    return found == nullptr ? JsonValue() : JsonValue::parse(found->text());
  }
  // The note that lists keys names `key`.
  bool lists(std::string_view key) const {
    return std::ranges::any_of(notes, [&](const std::string& note) {
      return note.starts_with("the folder does not give these keys of the file back: ") &&
             note.find(key) != note.npos;
    });
  }
};

ReturnedFile returned_file(Checkpoint file, const Options& given = {}) {
  ReturnedFile out{Checkpoint(), {}};
  Context context{all_codecs(), nullptr, &out.notes, step_test::open};
  context.documents = [](const std::filesystem::path& path) -> Result<std::vector<Document>> {
    CKPT_ASSIGN(const Checkpoint folder, step_test::open(path));
    return folder.documents;
  };
  out.folder =
      find_transform("from-gguf")->apply(step_test::as_gguf_file(std::move(file)), given, context);
  return out;
}

Options with(std::initializer_list<const char*> names) {
  Options out;
  for (const char* name : names) out.add(name, testdata(kMicroFolder).string());
  return out;
}

TEST(ReturnedKeys, AllKeysOfAConversionComeBack) {
  for (const auto& options : {Options(), with({"base"}), with({"tokenizer"})}) {
    const ReturnedFile made = returned_file(micro_file(), options);
    ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
    EXPECT_FALSE(made.lists("tokenizer."));
    EXPECT_FALSE(made.lists("general."));
  }
}

TEST(ReturnedKeys, EndsOfTurnsEndATextToo) {
  Checkpoint file = micro_file_with("tokenizer.ggml.eot_token_id", MetaValue::u32(kEndOfTurn));
  file.metadata.set("tokenizer.ggml.eom_token_id", MetaValue::u32(kStart));
  file.metadata.set("tokenizer.ggml.suppress_tokens", MetaValue::array(make_i32_array({5, 7})));
  const auto eos = file.metadata.find_unsigned("tokenizer.ggml.eos_token_id");
  ASSERT_TRUE(eos.has_value());
  const ReturnedFile made = returned_file(std::move(file));
  ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
  const JsonValue generation = made.json("generation_config.json");
  EXPECT_EQ(generation["eos_token_id"], JsonValue({*eos, kEndOfTurn, kStart}));
  EXPECT_EQ(generation["suppress_tokens"], JsonValue({5, 7}));
  EXPECT_EQ(made.json("config.json")["eos_token_id"], *eos);
  EXPECT_TRUE(made.lists("tokenizer.ggml.eot_token_id"));
  EXPECT_TRUE(made.lists("tokenizer.ggml.eom_token_id"));
}

TEST(ReturnedKeys, KeyWithoutAPlaceIsNamed) {
  for (const auto& [key, value] :
       {std::pair{"tokenizer.ggml.fim_pre_token_id", MetaValue::u32(994)},
        std::pair{"tokenizer.ggml.suppress_tokens", MetaValue::array(make_i32_array({5}))},
        std::pair{"tokenizer.ggml.remove_extra_whitespaces", MetaValue::boolean(true)},
        std::pair{"tokenizer.ggml.add_space_prefix", MetaValue::boolean(true)},
        std::pair{"tokenizer.ggml.unknown_token_id", MetaValue::u32(5)},
        std::pair{"tokenizer.huggingface.json", MetaValue::text("{}")}}) {
    const ReturnedFile made = returned_file(micro_file_with(key, value));
    ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
    EXPECT_TRUE(made.lists(key)) << key;
  }
}

TEST(ReturnedKeys, FlagThatLlamaCppTakesAnywayIsNotNamed) {
  const ReturnedFile made =
      returned_file(micro_file_with("tokenizer.ggml.add_space_prefix", MetaValue::boolean(false)));
  EXPECT_FALSE(made.lists("add_space_prefix"));
}

TEST(ReturnedKeys, FlagsOfTheFileAreInTokenizerJson) {
  const ReturnedFile made =
      returned_file(micro_file_with("tokenizer.ggml.ignore_merges", MetaValue::boolean(true)));
  EXPECT_EQ(made.json("tokenizer.json")["model"]["ignore_merges"], true);
  Checkpoint gemma = micro_file(testdata("families") / "gemma3" / "hf");
  gemma.metadata.set("tokenizer.ggml.add_space_prefix", MetaValue::boolean(true));
  const ReturnedFile prefixed = returned_file(std::move(gemma));
  EXPECT_NE(prefixed.json("tokenizer.json")["normalizer"].dump().find("Prepend"),
            std::string::npos);
  EXPECT_FALSE(prefixed.lists("tokenizer.ggml.add_space_prefix"));  // it comes back
}

// Converters copied types, scores and texts from the SentencePiece model until mid-2024.
TEST(ReturnedKeys, AddedTokensOfAnOlderConverterAreThoseOfTheBase) {
  const auto folder = testdata("families") / "gemma" / "hf";
  Checkpoint file = micro_file(folder);
  MetaArray types = *file.metadata.find_array("tokenizer.ggml.token_type");
  MetaArray tokens = *file.metadata.find_array("tokenizer.ggml.tokens");
  std::vector<int32_t> normal;
  std::vector<float> scores;
  size_t spaces = 0;
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    const bool is_added = number_at(types, id) == 4;  // user-defined
    normal.push_back(is_added ? 1 : static_cast<int32_t>(number_at(types, id)));
    scores.push_back(is_added ? 0 : static_cast<float>(number_at(
                                        *file.metadata.find_array("tokenizer.ggml.scores"), id)));
    if (!is_added || tokens.texts[id] != "  ") continue;
    tokens.texts[id] = "\u2581\u2581";
    ++spaces;
  }
  ASSERT_EQ(spaces, 1u);
  ASSERT_EQ(normal.back(), 5);  // a row without a token
  tokens.texts.back() = "[PAD1]";
  file.metadata.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array(normal)));
  file.metadata.set("tokenizer.ggml.scores", MetaValue::array(make_f32_array(scores)));
  file.metadata.set("tokenizer.ggml.tokens", MetaValue::array(tokens));
  Options base;
  base.add("base", folder.string());
  const ReturnedFile made = returned_file(file, base);
  ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
  EXPECT_TRUE(std::ranges::any_of(made.notes, [](const std::string& note) {
    return note.find("the file describes added tokens differently") != note.npos;
  }));
  tokens.texts[300] = "another";
  file.metadata.set("tokenizer.ggml.tokens", MetaValue::array(tokens));
  EXPECT_FALSE(returned_file(std::move(file), base).folder.has_value());
}

TEST(ReturnedKeys, KeysOfSamplingComeBack) {
  Checkpoint file = micro_file_with("general.sampling.temp", MetaValue::f32(0.1));
  file.metadata.set("general.sampling.mirostat", MetaValue::i32(2));
  const ReturnedFile made = returned_file(std::move(file));
  EXPECT_EQ(made.json("generation_config.json")["temperature"], 0.1);
  EXPECT_EQ(made.json("generation_config.json")["mirostat"], 2);
  EXPECT_FALSE(made.lists("general.sampling"));
}

// A key of the tokenizer that BASE contradicts is an error, unless --tokenizer states whose
// tokenizer is wanted.
TEST(ReturnedKeys, BaseThatContradictsAKeyIsRefused) {
  for (const auto& [key, value] :
       {std::pair{"tokenizer.chat_template", MetaValue::text("another")},
        std::pair{"tokenizer.ggml.eos_token_id", MetaValue::u32(kEndOfTurn)},
        std::pair{"tokenizer.ggml.padding_token_id", MetaValue::u32(kStart)}}) {
    const Checkpoint file = micro_file_with(key, value);
    const ReturnedFile refused = returned_file(file, with({"base"}));
    step_test::expect_error(refused.folder, ErrorCode::kUsage,
                            std::string("this file was made from: ") + key);
    const ReturnedFile made = returned_file(file, with({"base", "tokenizer"}));
    ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
    EXPECT_TRUE(made.lists(key)) << key;
  }
}

TEST(ReturnedKeys, KeyThatBaseLacksIsNamed) {
  for (const auto& [key, value] :
       {std::pair{"tokenizer.ggml.pre", MetaValue::text("llama-bpe")},
        std::pair{"tokenizer.ggml.bos_token_id", MetaValue::u32(kStart)},
        std::pair{"tokenizer.ggml.add_bos_token", MetaValue::boolean(true)},
        std::pair{"general.sampling.temp", MetaValue::f32(0.1)}}) {
    const ReturnedFile made = returned_file(micro_file_with(key, value), with({"base"}));
    ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
    EXPECT_TRUE(made.lists(key)) << key;
  }
}

// llama.cpp has several names for the same rules of splitting.
TEST(ReturnedKeys, PreTokenizerOfTheSameRulesIsNotNamed) {
  const Checkpoint granite = source_folder(testdata("families") / "granite" / "hf");
  auto file = step_test::run("to-gguf", granite, step_test::options({{"tokenizer-pre", "refact"}}));
  ASSERT_TRUE(file.has_value()) << file.error().text();
  const auto base = (testdata("families") / "granite" / "hf").string();
  const ReturnedFile made = returned_file(std::move(*file), step_test::options({{"base", base}}));
  ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
  EXPECT_FALSE(made.lists("tokenizer.ggml.pre"));
}

TEST(ReturnedKeys, ConfigFollowsTheTokenizerThatIsTaken) {
  const Checkpoint file =
      micro_file_with("tokenizer.ggml.eos_token_id", MetaValue::u32(kEndOfTurn));
  const ReturnedFile made = returned_file(file, with({"tokenizer"}));
  ASSERT_TRUE(made.folder.has_value()) << made.folder.error().text();
  EXPECT_TRUE(made.lists("tokenizer.ggml.eos_token_id"));
  for (const char* path : {"config.json", "generation_config.json"}) {
    EXPECT_EQ(made.json(path)["eos_token_id"], 987) << path;
  }
}

}  // namespace
}  // namespace ckpt
