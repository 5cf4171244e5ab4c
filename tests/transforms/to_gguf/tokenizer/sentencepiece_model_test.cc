// Reading tokenizer.model: what is taken from it, and what is refused, in one sentence.
#include <gtest/gtest.h>

#include "tests/transforms/to_gguf/tokenizer/sentencepiece.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"

namespace ckpt {
using namespace sentencepiece_test;
namespace {

std::string error_of(std::string_view file) {
  const auto model = read_sentencepiece(file);
  return model ? "" : model.error().text();
}

TEST(SentencePieceModel, PiecesHaveTextScoreAndType) {
  const auto model = read_sentencepiece(small_model());
  ASSERT_TRUE(model.has_value()) << model.error().text();
  ASSERT_EQ(model->pieces.size(), 5u);
  EXPECT_EQ(model->pieces[0].text, "<unk>");
  EXPECT_EQ(model->pieces[0].type, PieceType::kUnknown);
  EXPECT_EQ(model->pieces[1].type, PieceType::kControl);
  EXPECT_EQ(model->pieces[2].type, PieceType::kNormal);
  EXPECT_EQ(model->pieces[3].score, -2.5f);
  EXPECT_EQ(model->pieces[4].type, PieceType::kUserDefined);
  EXPECT_EQ(model->model, PieceModel::kBpe);
}

TEST(SentencePieceModel, AbsentFieldsHaveTheDefaultsOfTheFormat) {
  const auto model = read_sentencepiece(piece("<unk>", 0, 2) + bytes(1, bytes(1, "a")));
  ASSERT_TRUE(model.has_value()) << model.error().text();
  EXPECT_EQ(model->pieces[1].score, 0);
  EXPECT_EQ(model->pieces[1].type, PieceType::kNormal);
  EXPECT_EQ(model->model, PieceModel::kUnigram);
  EXPECT_TRUE(model->adds_dummy_prefix);
}

TEST(SentencePieceModel, MergesRepeatedMessages) {
  const auto model =
      read_sentencepiece(small_model() + bytes(3, number(3, 0)) + bytes(2, number(4, 7)));
  ASSERT_TRUE(model.has_value()) << model.error().text();
  EXPECT_EQ(model->model, PieceModel::kBpe);
  EXPECT_FALSE(model->adds_dummy_prefix);
}

TEST(SentencePieceModel, FieldsOfOtherUsesArePassedOver) {
  const std::string others =
      number(9, 1) + bytes(10, "text") + key(11, 1) + "12345678" + key(12, 5) + "1234";
  const auto model = read_sentencepiece(small_model() + others + bytes(2, others) +
                                        bytes(3, others) + bytes(1, bytes(1, "b") + others));
  ASSERT_TRUE(model.has_value()) << model.error().text();
  EXPECT_EQ(model->pieces.back().text, "b");
}

TEST(SentencePieceModel, EveryPrefixIsReadOrRefused) {
  const std::string whole = small_model();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string error = error_of(whole.substr(0, size));
    EXPECT_EQ(error.find('\n'), error.npos) << size;
  }
}

TEST(SentencePieceModel, LengthBeyondTheFile) {
  EXPECT_NE(error_of(key(1, 2) + varint(UINT64_MAX) + "a").find("bytes are left of the message"),
            std::string::npos);
}

TEST(SentencePieceModel, LengthBeyondThePiece) {
  const std::string inner = key(1, 2) + varint(100) + "a";
  EXPECT_NE(error_of(bytes(1, inner) + std::string(200, 'x'))
                .find("piece 0: at byte 4: 1 bytes are "
                      "left of the message; expected 100"),
            std::string::npos)
      << error_of(bytes(1, inner) + std::string(200, 'x'));
}

TEST(SentencePieceModel, NumbersWithoutEnd) {
  EXPECT_NE(error_of(std::string(20, '\xff')).find("a number of more than 10 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("\x0a\xff").find("0 bytes are left"), std::string::npos);
}

TEST(SentencePieceModel, WireTypes) {
  EXPECT_NE(error_of(number(1, 5)).find("pieces (field 1) has wire type 0; expected 2"),
            std::string::npos);
  EXPECT_NE(error_of(key(1, 3)).find("wire type 3"), std::string::npos);
  EXPECT_NE(error_of(bytes(1, number(2, 1))).find("its score (field 2) has wire type 0"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(1, '\2')).find("field number 0"), std::string::npos);
}

TEST(SentencePieceModel, TypesBeyondTheKnown) {
  EXPECT_NE(error_of(piece("a", 0, 7)).find("type 7; expected 1 to 6"), std::string::npos);
  EXPECT_NE(error_of(bytes(2, number(3, 9))).find("model_type 9"), std::string::npos);
}

TEST(SentencePieceModel, WhatSentencePieceRefuses) {
  EXPECT_NE(error_of(piece("", 0)).find("piece 0 has no text"), std::string::npos);
  EXPECT_NE(error_of(piece("a", 0) + piece("a", 0)).find("pieces 0 and 1 are both 'a'"),
            std::string::npos);
  EXPECT_NE(error_of(piece("\xff", 0)).find("not UTF-8"), std::string::npos);
  EXPECT_NE(error_of("").find("0 pieces for unknown text among 0"), std::string::npos);
  EXPECT_NE(error_of(small_model() + piece("<0x0A>", 0, 6)).find("has no byte_fallback"),
            std::string::npos);
  EXPECT_NE(error_of(small_model() + piece("<0x0g>", 0, 6)).find("expected <0x00> to <0xFF>"),
            std::string::npos);
  EXPECT_NE(
      error_of(small_model() + bytes(2, number(35, 1))).find("0 pieces for bytes; expected 256"),
      std::string::npos);
}

TEST(SentencePieceModel, TextsHaveALimit) {
  EXPECT_NE(error_of(piece(std::string(kMaxPieceBytes + 1, 'a'), 0)).find("at most 65536"),
            std::string::npos);
}

TEST(SentencePieceModel, TenMillionPiecesAreOneSentence) {
  std::string many;
  const std::string one = bytes(1, "");
  many.reserve(one.size() * 10'000'000);
  for (int i = 0; i < 10'000'000; ++i) many += one;
  EXPECT_NE(error_of(many).find("more than 4000000 pieces"), std::string::npos);
}

}  // namespace
}  // namespace ckpt
