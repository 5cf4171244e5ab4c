// T5: an encoder and a decoder with layers of their own, one embedding under several names, and
// unigram pieces from a file of SentencePiece or from tokenizer.json.
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "tests/transforms/run_step.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"

namespace ckpt {
using namespace step_test;
namespace {

Checkpoint t5(const char* changes = "{}") {
  auto opened = open(testdata("families/t5/hf"));
  CKPT_CHECK(opened.has_value());
  JsonValue config = JsonValue::parse(opened->find_document("config.json")->text());
  config.update(JsonValue::parse(changes));
  opened->set_document("config.json", config.dump());
  return std::move(*opened);
}

Result<Checkpoint> as_gguf(Checkpoint input) {
  return run("to-gguf", std::move(input), options({{"outtype", "bf16"}}));
}
std::string refusal_of(Checkpoint input) {
  const auto made = as_gguf(std::move(input));
  return made ? "" : made.error().text();
}

void expect_in(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

void rename(Checkpoint& input, std::string_view from, const char* to) {
  for (Tensor& tensor : input.tensors) {
    if (tensor.name == from) tensor.name = to;
  }
}

TEST(SecondStack, ItsLayersBeyondTheCountAreRefused) {
  expect_in(refusal_of(t5(R"({"num_decoder_layers": 1})")),
            "config.json: num_decoder_layers is 1, but the weights have 'decoder.block.1.");
  expect_in(refusal_of(t5(R"({"num_layers": 1, "num_decoder_layers": 1})")),
            "config.json: num_hidden_layers is 1, but the weights have 'encoder.block.1.");
}

TEST(SecondStack, ItsMissingTensorsAreRefused) {
  Checkpoint input = t5();
  std::erase_if(input.tensors, [](const Tensor& tensor) {
    return tensor.name.starts_with("decoder.block.1.layer.2.");
  });
  expect_in(refusal_of(std::move(input)), "tensor 'decoder.block.1.layer.2.");
  expect_in(refusal_of(t5(R"({"num_layers": 3, "num_decoder_layers": 2})")),
            "tensor 'encoder.block.2.");
}

TEST(SecondStack, MoreLayersThanTheFirstHasAreRefused) {
  expect_in(refusal_of(t5(R"({"num_decoder_layers": 3})")),
            "num_decoder_layers is 3, and the encoder has 2");
}

TEST(SecondStack, WithoutACountHasAsManyLayersAsTheFirst) {
  Checkpoint input = t5(R"({"num_decoder_layers": null})");
  const auto made = as_gguf(std::move(input));
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->metadata.find_unsigned("t5.decoder_block_count"), 2u);
}

TEST(SharedEmbedding, IsTakenOnceUnderAnyOfItsNames) {
  Checkpoint renamed = t5();
  rename(renamed, "shared.weight", "encoder.embed_tokens.weight");
  EXPECT_EQ(refusal_of(std::move(renamed)), "");
  Checkpoint twice = t5();
  twice.tensors.push_back(*twice.find_tensor("shared.weight"));
  twice.tensors.back().name = "decoder.embed_tokens.weight";
  const auto made = as_gguf(std::move(twice));
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_NE(made->find_tensor("token_embd.weight"), nullptr);
  EXPECT_EQ(made->find_tensor("token_embd.weight")->source_name, "decoder.embed_tokens.weight");
}

// The tokenizer.json that says what spiece.model says, its map of characters left out.
Checkpoint with_listed_pieces() {
  Checkpoint input = t5();
  const auto model = read_sentencepiece(input.find_document("spiece.model")->text()).value();
  JsonValue vocab = JsonValue::array(), added = JsonValue::array();
  uint64_t unknown = 0;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const TextPiece& piece = model.pieces[id];
    vocab.push_back({piece.text, piece.score});
    if (piece.type == PieceType::kUnknown) unknown = id;
    if (piece.type == PieceType::kControl) {
      added.push_back({{"id", id}, {"content", piece.text}, {"special", true}});
    }
  }
  const JsonValue space = {{"type", "Metaspace"}, {"replacement", "\u2581"}};
  const JsonValue steps = {{{"type", "WhitespaceSplit"}}, space};
  const JsonValue tokenizer = {
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
      {"model", {{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocab}}}};
  input.set_document("tokenizer.json", tokenizer.dump());
  std::erase_if(input.documents, [](const Document& each) { return each.path == "spiece.model"; });
  return input;
}

TEST(UnigramPieces, OfATokenizerJsonAreThoseOfItsSentencePieceFile) {
  const auto of_file = as_gguf(t5());
  const auto listed = as_gguf(with_listed_pieces());
  ASSERT_TRUE(of_file && listed) << (listed ? "" : listed.error().text());
  for (const MetaEntry& entry : of_file->metadata.entries) {
    if (entry.key == "tokenizer.ggml.precompiled_charsmap") continue;
    const MetaValue* other = listed->metadata.find(entry.key);
    ASSERT_NE(other, nullptr) << entry.key;
    EXPECT_TRUE(*other == entry.value) << entry.key;
  }
}

}  // namespace
}  // namespace ckpt
