// Tokenizer files that come back from a GGUF which was made of a tokenizer.json alone.
#include <algorithm>

#include "tests/transforms/run_step.h"

namespace ckpt {
namespace {

Checkpoint without_piece_file(const char* family) {
  auto out = step_test::open(testdata("families") / family / "hf").value_or(Checkpoint());
  std::erase_if(out.documents, [](const Document& file) { return file.path == "tokenizer.model"; });
  return out;
}

Checkpoint after_step(std::string_view step, Checkpoint input, const Options& options = {},
                      std::vector<std::string>* notes = nullptr) {
  auto out = step_test::run(step, std::move(input), options, notes);
  EXPECT_TRUE(out.has_value()) << out.error().text();
  return out.value_or(Checkpoint());
}

JsonValue returned_json(const Checkpoint& folder, std::string_view path) {
  const Document* found = folder.find_document(path);
  EXPECT_NE(found, nullptr) << path;
  return found == nullptr ? JsonValue() : JsonValue::parse(found->text());
}

std::vector<MetaEntry> tokenizer_keys(const Checkpoint& file) {
  std::vector<MetaEntry> out;
  for (const MetaEntry& entry : file.metadata.entries) {
    if (entry.key.starts_with("tokenizer.ggml.")) out.push_back(entry);
  }
  std::ranges::sort(out, {}, &MetaEntry::key);
  return out;
}

std::vector<int32_t> token_types(const Checkpoint& file) {
  const auto& array = std::get<MetaArray>(file.metadata.find("tokenizer.ggml.token_type")->value);
  std::vector<int32_t> out;
  for (uint64_t i = 0; i < array.count(); ++i) {
    out.push_back(static_cast<int32_t>(number_at(array, i)));
  }
  return out;
}

TEST(GgufToVocabulary, PlacesOfMergesComeBackWithoutTokenizerModel) {
  for (const char* family : {"tinyllama", "gemma3"}) {
    const Checkpoint file = after_step("to-gguf", without_piece_file(family));
    const Checkpoint folder = after_step("from-gguf", step_test::as_gguf_file(file));
    EXPECT_EQ(folder.find_document("tokenizer.model"), nullptr) << family;
    const JsonValue model = returned_json(folder, "tokenizer.json")["model"];
    for (const JsonValue& merge : model["merges"]) {
      const auto left = merge[0].get<std::string>(), right = merge[1].get<std::string>();
      for (const std::string& piece : {left, right, left + right}) {
        EXPECT_TRUE(model["vocab"].contains(piece)) << family << ": " << piece;
      }
    }
    EXPECT_EQ(tokenizer_keys(after_step("to-gguf", folder)), tokenizer_keys(file)) << family;
  }
}

TEST(GgufToVocabulary, EqualScoresAreReported) {
  const Options as_converter = step_test::options({{"tokenizer-as", "converter"}});
  const Checkpoint file = after_step("to-gguf", without_piece_file("tinyllama"), as_converter);
  std::vector<std::string> notes;
  after_step("from-gguf", step_test::as_gguf_file(file), {}, &notes);
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("Try: --tokenizer DIR") != note.npos;
  }));
}

TEST(GgufToVocabulary, TokenOfPlainTextIsNotNamedSpecial) {
  Checkpoint file = after_step("to-gguf", without_piece_file("tinyllama"));
  const std::vector<int32_t> types = token_types(file);
  const auto plain = static_cast<uint32_t>(std::ranges::find(types, 1) - types.begin());
  file.metadata.set("tokenizer.ggml.padding_token_id", MetaValue::u32(plain));
  const Checkpoint folder = after_step("from-gguf", step_test::as_gguf_file(file));
  EXPECT_FALSE(returned_json(folder, "tokenizer_config.json").contains("pad_token"));
  EXPECT_EQ(returned_json(folder, "config.json").value("pad_token_id", 0u), plain);
}

TEST(GgufToVocabulary, AddedTokensBehindAHoleKeepTheirNumbers) {
  Checkpoint file =
      after_step("to-gguf", step_test::open(testdata("qwen3-micro")).value_or(Checkpoint()),
                 step_test::options({{"tokenizer-pre", "qwen2"}}));
  std::vector<int32_t> types = token_types(file);
  *std::ranges::find(types, 1) = 5;
  file.metadata.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array(types)));
  const JsonValue tokenizer =
      returned_json(after_step("from-gguf", step_test::as_gguf_file(file)), "tokenizer.json");
  const JsonValue& vocab = tokenizer["model"]["vocab"];
  EXPECT_FALSE(tokenizer["added_tokens"].empty());
  for (const JsonValue& token : tokenizer["added_tokens"]) {
    EXPECT_EQ(vocab.value(token["content"].get<std::string>(), JsonValue()), token["id"]);
  }
}

}  // namespace
}  // namespace ckpt
