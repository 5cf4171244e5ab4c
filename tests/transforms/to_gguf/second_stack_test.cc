// T5: an encoder and a decoder with layers of their own, one embedding under several names, and
// unigram pieces.
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "tests/transforms/run_step.h"

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

TEST(UnigramPieces, WithoutTheirFileAreRefusedByItsName) {
  Checkpoint input = t5();
  std::erase_if(input.documents, [](const Document& each) { return each.path == "spiece.model"; });
  input.set_document("tokenizer.json", R"({"model": {"type": "Unigram"}})");
  expect_in(refusal_of(std::move(input)), "tokenizer.json: a Unigram model without spiece.model");
}

}  // namespace
}  // namespace ckpt
