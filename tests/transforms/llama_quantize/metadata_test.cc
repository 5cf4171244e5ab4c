// The quantize step writes a file's metadata in a fixed order.
#include <gtest/gtest.h>

#include "tests/transforms/llama_quantize/models.h"

namespace ckpt {
using namespace quantize_test;
using step_test::expect_error;
using step_test::options;
namespace {

std::vector<std::string> metadata_keys(const Metadata& metadata) {
  std::vector<std::string> out;
  for (const MetaEntry& entry : metadata.entries) out.push_back(entry.key);
  return out;
}

TEST(QuantizeMetadata, VersionAndTypeMoveToTheEnd) {
  Checkpoint input = small_float_model();
  for (const char* key : {"split.no", "split.count", "split.tensors.count", "split.other"}) {
    input.metadata.append(key, MetaValue::u16(1));
  }
  input.metadata.append("general.alignment", MetaValue::u32(64));
  const auto made = run(std::move(input), options({{"type", "q4_k_m"}}));
  ASSERT_TRUE(made.has_value());
  const std::vector<std::string> expected{"general.architecture",
                                          "llama.block_count",
                                          "llama.attention.head_count",
                                          "general.name",
                                          "split.other",
                                          "general.alignment",
                                          "general.quantization_version",
                                          "general.file_type"};
  EXPECT_EQ(metadata_keys(made->metadata), expected);
  EXPECT_EQ(*made->metadata.find("general.file_type"), MetaValue::u32(15));
  EXPECT_EQ(*made->metadata.find("general.quantization_version"), MetaValue::u32(2));
}

TEST(QuantizeMetadata, FileTypesAreThoseOfLlamaCpp) {
  const std::pair<const char*, uint32_t> types[] = {
      {"f32", 0},     {"f16", 1},     {"q4_0", 2},    {"q4_1", 3},    {"q8_0", 7},
      {"q5_0", 8},    {"q5_1", 9},    {"q2_k", 10},   {"q3_k_s", 11}, {"q3_k", 12},
      {"q3_k_l", 13}, {"q4_k_s", 14}, {"Q4_K", 15},   {"q5_k_s", 16}, {"q5_k", 17},
      {"q6_k", 18},   {"iq4_nl", 25}, {"iq4_xs", 30}, {"mxfp4", 38},  {"bf16", 32}};
  for (const auto& [name, number] : types) {
    const auto made = run(small_float_model(), options({{"type", name}}));
    ASSERT_TRUE(made.has_value()) << name << made.error().text();
    EXPECT_EQ(made->metadata.find_unsigned("general.file_type"), number) << name;
  }
}

TEST(QuantizeMetadata, AnImportanceMatrixLeavesItsName) {
  Imatrix imatrix = matrix_for("blk.0.attn_q.weight", 256);
  imatrix.file = std::string(126, 'f') + "\xc3\xa9.dat";  // cut in the middle of a character
  imatrix.datasets = {std::string(200, 'd'), "second"};
  imatrix.chunk_count = 9;
  Checkpoint input = small_float_model();
  input.metadata.append("quantize.imatrix.file", MetaValue::text("old"));
  input.metadata.append("last", MetaValue::u32(1));
  const auto made = run(std::move(input), options({{"type", "q4_k_m"}}), &imatrix);
  ASSERT_TRUE(made.has_value());
  const auto all = metadata_keys(made->metadata);
  const std::vector<std::string> end(all.end() - 6, all.end());
  const std::vector<std::string> expected{
      "general.quantization_version",   "general.file_type",
      "quantize.imatrix.file",          "quantize.imatrix.dataset",
      "quantize.imatrix.entries_count", "quantize.imatrix.chunks_count"};
  EXPECT_EQ(end, expected);
  EXPECT_EQ(*made->metadata.find_text("quantize.imatrix.file"), std::string(126, 'f') + "\xc3");
  EXPECT_EQ(*made->metadata.find_text("quantize.imatrix.dataset"), std::string(127, 'd'));
  EXPECT_EQ(*made->metadata.find("quantize.imatrix.entries_count"), MetaValue::u32(1));
  EXPECT_EQ(*made->metadata.find("quantize.imatrix.chunks_count"), MetaValue::u32(9));
}

TEST(QuantizeMetadata, OmitsUnknownFactsOfAMatrix) {
  const Imatrix imatrix = matrix_for("blk.0.attn_q.weight", 256);
  const auto made = run(small_float_model(), options({{"type", "q4_k_m"}}), &imatrix);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->metadata.find("quantize.imatrix.dataset"), nullptr);
  EXPECT_EQ(made->metadata.find("quantize.imatrix.chunks_count"), nullptr);
  const Imatrix empty;
  const auto without = run(small_float_model(), options({{"type", "q4_k_m"}}), &empty);
  ASSERT_TRUE(without.has_value());
  EXPECT_EQ(without->metadata.find("quantize.imatrix.file"), nullptr);
}

TEST(QuantizeMetadata, TextsEndAtTheirFirstNul) {
  Checkpoint input = small_float_model();
  input.metadata.append("a", MetaValue::text(std::string("x\0y", 3)));
  input.metadata.append("b", MetaValue::array(make_text_array({std::string("\0z", 2), "w"})));
  const auto made = run(std::move(input), options({{"type", "q8_0"}}));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(*made->metadata.find_text("a"), "x");
  EXPECT_EQ(*made->metadata.find("b"), MetaValue::array(make_text_array({"", "w"})));
}

TEST(QuantizeMetadata, FloatTypesNeedNoModelFacts) {
  Checkpoint input = small_float_model();
  input.metadata = {};
  EXPECT_TRUE(run(input, options({{"type", "f16"}})).has_value());
  expect_error(run(input, options({{"type", "q8_0"}})), ErrorCode::kCorrupt,
               "general.architecture");
}

}  // namespace
}  // namespace ckpt
