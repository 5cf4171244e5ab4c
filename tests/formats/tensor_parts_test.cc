// Which entries of a safetensors file become one tensor, and the shapes their parts have.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/arithmetic.h"
#include "formats/formats.h"
#include "formats/safetensors.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

using Shape = std::vector<uint64_t>;

struct Case {
  const char* codec;  // of X, or of the first entry where nothing is recognized
  std::vector<SafetensorsEntry> entries;
  Shape shape;  // of the tensor
};

SafetensorsEntry entry(const char* name, Dtype dtype, Shape shape) {
  return {name, dtype, std::move(shape), 0, 0};
}

constexpr Dtype kU8 = Dtype::kU8, kF8 = Dtype::kF8E4M3, kF32 = Dtype::kF32, kBF16 = Dtype::kBF16;

std::vector<Case> exact_cases() {
  return {
      {"nvfp4_modelopt",
       {entry("X", kU8, {6, 32}), entry("X_scale", kF8, {6, 4}), entry("X_scale_2", kF32, {})},
       {6, 64}},
      {"nvfp4_ct",
       {entry("X_packed", kU8, {6, 32}), entry("X_scale", kF8, {6, 4}),
        entry("X_global_scale", kF32, {1})},
       {6, 64}},
      {"fp8_tensor", {entry("X", kF8, {6, 32}), entry("X_scale", kF32, {})}, {6, 32}},
      {"fp8_tensor_vector", {entry("X", kF8, {6, 32}), entry("X_scale", kF32, {1})}, {6, 32}},
      {"fp8_tensor_ct", {entry("X", kF8, {6, 32}), entry("X_scale", kBF16, {1})}, {6, 32}},
      {"fp8_channel", {entry("X", kF8, {6, 32}), entry("X_scale", kF32, {6})}, {6, 32}},
      {"fp8_channel_column", {entry("X", kF8, {6, 32}), entry("X_scale", kF32, {6, 1})}, {6, 32}},
      {"fp8_channel_ct", {entry("X", kF8, {6, 32}), entry("X_scale", kBF16, {6, 1})}, {6, 32}},
      {"fp8_channel", {entry("X", kF8, {3, 6, 32}), entry("X_scale", kF32, {3, 6})}, {3, 6, 32}},
      {"fp8_block", {entry("X", kF8, {300, 256}), entry("X_scale_inv", kF32, {3, 2})}, {300, 256}},
      {"fp8_block_bf16",
       {entry("X", kF8, {300, 256}), entry("X_scale_inv", kBF16, {3, 2})},
       {300, 256}},
      {"fp8_block_scale",
       {entry("X", kF8, {256, 256}), entry("X_scale", kF32, {2, 2})},
       {256, 256}},
      {"fp8_block_spread",
       {entry("X", kF8, {300, 200}), entry("X_scale", kF32, {3, 1, 2, 1})},
       {300, 200}},
      {"fp8_block_ct", {entry("X", kF8, {256, 256}), entry("X_scale", kBF16, {2, 2})}, {256, 256}},
      {"mxfp8", {entry("X", kF8, {6, 64}), entry("X_scale", kU8, {6, 2})}, {6, 64}},
      {"mxfp8_e8m0", {entry("X", kF8, {6, 64}), entry("X_scale", Dtype::kF8E8M0, {6, 2})}, {6, 64}},
      {"mxfp4_ct", {entry("X_packed", kU8, {6, 32}), entry("X_scale", kU8, {6, 2})}, {6, 64}},
      {"mxfp4_modelopt", {entry("X", kU8, {6, 32}), entry("X_scale", kU8, {6, 2})}, {6, 64}},
  };
}

std::vector<Tensor> assemble(const std::vector<SafetensorsEntry>& entries) {
  std::vector<SafetensorsFile> files = {{"model.safetensors", nullptr, {{}, entries, 8}}};
  const auto index = index_entries(files);
  EXPECT_TRUE(index.has_value());
  if (!index) return {};
  auto tensors = assemble_tensors(files, *index, all_codecs());
  EXPECT_TRUE(tensors.has_value());
  return tensors ? std::move(*tensors) : std::vector<Tensor>{};
}

TEST(TensorParts, AWeightWithTwoClaimsIsRefusedByName) {
  const std::vector<SafetensorsEntry> entries = {entry("X.weight", Dtype::kF8E4M3, {2, 64}),
                                                 entry("X.weight_packed", kU8, {2, 32}),
                                                 entry("X.weight_scale", Dtype::kF8E4M3, {2, 4}),
                                                 entry("X.weight_global_scale", Dtype::kF32, {1})};
  std::vector<SafetensorsFile> files = {{"model.safetensors", nullptr, {{}, entries, 8}}};
  const auto index = index_entries(files);
  ASSERT_TRUE(index.has_value());
  const auto tensors = assemble_tensors(files, *index, all_codecs());
  ASSERT_FALSE(tensors.has_value());
  EXPECT_NE(tensors.error().text().find("'X.weight_packed' and 'X.weight'"), std::string::npos)
      << tensors.error().text();
}

TEST(TensorParts, ShapesThatFitExactlyAreOneTensor) {
  for (Case& each : exact_cases()) {
    for (const bool reversed : {false, true}) {  // the order in the file says nothing
      if (reversed) std::reverse(each.entries.begin(), each.entries.end());
      const auto tensors = assemble(each.entries);
      ASSERT_EQ(tensors.size(), 1u) << each.codec;
      EXPECT_EQ(tensors[0].codec->name, each.codec);
      EXPECT_EQ(tensors[0].name, "X") << each.codec;
      EXPECT_EQ(tensors[0].shape, each.shape) << each.codec;
    }
  }
}

// Writing the tensor gives the same shapes again.
TEST(TensorParts, PartsAreWrittenAsTheyWereRead) {
  for (const Case& each : exact_cases()) {
    const Codec& codec = *find_codec(all_codecs(), each.codec);
    ASSERT_EQ(codec.parts.size(), each.entries.size());
    for (size_t i = 0; i < codec.parts.size(); ++i) {
      EXPECT_EQ(part_entry_shape(codec.parts[i], each.shape), each.entries[i].shape)
          << each.codec << " part " << i;
      EXPECT_EQ("X" + std::string(codec.parts[i].suffix), each.entries[i].name);
    }
  }
}

TEST(TensorParts, ScalesOfColumnsAreNotThoseOfRows) {
  for (const Dtype dtype : {kF32, kBF16}) {
    for (const char* scale : {"X_scale", "X_scale_inv"}) {
      EXPECT_EQ(assemble({entry("X", kF8, {6, 6}), entry(scale, dtype, {1, 6})}).size(), 2u);
      EXPECT_EQ(assemble({entry("X", kF8, {3, 6, 6}), entry(scale, dtype, {3, 1, 6})}).size(), 2u);
    }
  }
  // A stack of one: its scales are of rows.
  EXPECT_EQ(assemble({entry("X", kF8, {1, 6, 6}), entry("X_scale", kF32, {1, 6})}).size(), 1u);
}

TEST(TensorParts, AxesOfLengthOneMayDiffer) {
  const std::vector<Case> cases = {
      {"nvfp4_modelopt",
       {entry("X", kU8, {6, 32}), entry("X_scale", kF8, {6, 4}), entry("X_scale_2", kF32, {1})},
       {6, 64}},
      {"nvfp4_ct",
       {entry("X_packed", kU8, {6, 32}), entry("X_scale", kF8, {6, 4}),
        entry("X_global_scale", kF32, {})},
       {6, 64}},
  };
  for (const Case& each : cases) {
    const auto tensors = assemble(each.entries);
    ASSERT_EQ(tensors.size(), 1u) << each.codec;
    EXPECT_EQ(tensors[0].codec->name, each.codec);
    EXPECT_EQ(tensors[0].shape, each.shape) << each.codec;
  }
}

TEST(TensorParts, WhatDoesNotFitStaysAsItIs) {
  const std::vector<Case> cases = {
      {"f8_e4m3", {entry("X", kF8, {6, 32})}, {6, 32}},
      {"f8_e4m3", {entry("X", kF8, {6, 32}), entry("X_scale", kF32, {5})}, {6, 32}},
      {"f8_e4m3", {entry("X", kF8, {6, 32}), entry("X_scale", Dtype::kF16, {})}, {6, 32}},
      {"f8_e4m3", {entry("X", kF8, {6, 32}), entry("Y_scale", kF32, {})}, {6, 32}},
      // block scales of 32 values; no tensor scale; a row that is not a whole number of blocks
      {"u8",
       {entry("X", kU8, {6, 32}), entry("X_scale", kF8, {6, 2}), entry("X_scale_2", kF32, {})},
       {6, 32}},
      {"u8", {entry("X", kU8, {6, 32}), entry("X_scale", kF8, {6, 4})}, {6, 32}},
      {"u8",
       {entry("X", kU8, {6, 4}), entry("X_scale", kF8, {6, 1}), entry("X_scale_2", kF32, {})},
       {6, 4}},
  };
  for (const Case& each : cases) {
    const auto tensors = assemble(each.entries);
    ASSERT_EQ(tensors.size(), each.entries.size()) << each.codec;
    EXPECT_EQ(tensors[0].codec->name, each.codec);
    EXPECT_EQ(tensors[0].shape, each.shape) << each.codec;
  }
}

// ModelOpt writes the scales of 128 x 128 blocks as [N/128, 1, K/128, 1].
TEST(TensorParts, AxesOfOneAreWrittenAsTheyWereRead) {
  const TemporaryFolder folder;
  std::string header = R"({"w":{"dtype":"F8_E4M3","shape":[256,128],"data_offsets":[8,32776]},)"
                       R"("w_scale":{"dtype":"F32","shape":[2,1,1,1],"data_offsets":[0,8]}})";
  header.resize(round_up(header.size(), 8), ' ');
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  ASSERT_LT(header.size(), 256u);
  const auto path = folder.path() / "model.safetensors";
  write_file(path, file + header + std::string(32776, 'x'));
  const Format* format = *recognize(path);
  Checkpoint checkpoint = *format->read(path, all_codecs(), {});
  ASSERT_EQ(checkpoint.tensors.size(), 1u);
  EXPECT_EQ(checkpoint.tensors[0].codec->name, "fp8_block_spread");
  checkpoint.tensors[0].name = "model.w";
  const auto header_of = [&] {
    const Layout layout = *format->lay_out(checkpoint, {"out.safetensors", 0, 0}, all_codecs());
    const auto& bytes = layout.files[0].header;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_NE(header_of().find(R"("shape":[2,1,1,1])"), std::string::npos) << header_of();
  // Other rows have other scales; a single one has no axes.
  checkpoint.tensors[0] = *take_rows(checkpoint.tensors[0], 128, 128);
  EXPECT_NE(header_of().find(R"("shape":[])"), std::string::npos) << header_of();
}

}  // namespace
}  // namespace ckpt
