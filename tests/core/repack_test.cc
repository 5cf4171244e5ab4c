// The planning half of repack, and the laws that tensors with parts of the whole keep.
#include "core/chunks/repack.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/chunks/recode_chunk.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

const Codec& codec(std::string_view name) { return *find_codec(all_codecs(), name); }

Tensor nvfp4(uint64_t rows, uint64_t row_values, float scale, std::byte code = std::byte{0x21}) {
  Tensor out;
  out.name = "w";
  out.shape = {rows, row_values};
  out.codec = &codec("nvfp4_modelopt");
  Stored stored;
  for (size_t part = 0; part < 3; ++part) {
    std::vector<std::byte> bytes(part_size_bytes(out, part), part == 0 ? code : std::byte{0x38});
    for (size_t i = 0; part == 1 && i < bytes.size(); ++i) bytes[i] = std::byte(0x30 + i % 16);
    if (part == 2) std::memcpy(bytes.data(), &scale, sizeof scale);
    const uint64_t size = bytes.size();
    stored.parts.push_back({Slice{make_blob("w", std::move(bytes)), 0, size}});
  }
  out.origin = std::move(stored);
  return out;
}

PermuteColumns swapped(uint32_t columns, uint32_t run) {
  auto index = std::make_shared<std::vector<uint32_t>>();
  for (uint32_t i = 0; i < columns; ++i) index->push_back(i / run % 2 == 0 ? i + run : i - run);
  return {index};
}

TEST(Repack, KeepsTheShapeAndChangesTheCodec) {
  const auto made = repack(nvfp4(4, 128, 1), codec("nvfp4"));
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->codec, &codec("nvfp4"));
  EXPECT_EQ(made->shape, (std::vector<uint64_t>{4, 128}));
  EXPECT_NE(made->recoded().repack, nullptr);
  EXPECT_EQ(size_bytes(*made), 4u * 2 * 36);
}

TEST(Repack, RejectsRowsThatAreNotWholeBlocks) {
  const auto made = repack(nvfp4(4, 80, 1), codec("nvfp4"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text(), "tensor 'w': rows of 80 values; nvfp4 needs a multiple of 64");
}

TEST(Repack, RefusesCodecsThatDoNotHoldTheBits) {
  const auto made = repack(nvfp4(4, 128, 1), codec("mxfp4"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text(), "tensor 'w': bits of nvfp4_modelopt cannot be moved into mxfp4");
}

TEST(Repack, WholeBlocksChangeColumnsAndPartsOfThemDoNot) {
  const auto whole = with_op(nvfp4(4, 128, 1), swapped(128, 16));
  EXPECT_TRUE(repack(*whole, codec("nvfp4")));
  const auto halves = with_op(nvfp4(4, 128, 1), swapped(128, 8));
  const auto made = repack(*halves, codec("nvfp4"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text().find("not whole blocks of 16 values"), std::string::npos);
  const auto added = with_op(nvfp4(4, 128, 1), AddScalar{1});
  EXPECT_FALSE(repack(*added, codec("nvfp4")));
}

// A scale that is not an F16 number is finite: it must not be rounded silently.
TEST(Repack, ScalesThatWouldBeRoundedAreRefusedWhateverIsAllowed) {
  Tensor int4;
  int4.name = "w";
  int4.shape = {2, 32};
  int4.codec = &codec("int4_g32");
  std::vector<std::byte> codes(32), scales(4), out(36);
  scales[3] = std::byte{0x48};  // 131072
  int4.origin =
      Stored{{{Slice{make_blob("w", codes), 0, 32}}, {Slice{make_blob("w", scales), 0, 4}}}};
  const auto made = repack(int4, codec("q4_0"));
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(moved_scheme(*made), Scheme::kPackedInt4);
  EXPECT_EQ(count_moved({*made, int4}).tensors, 1u);
  EXPECT_EQ(count_moved({*made, int4}).blocks, 2u);
  const std::span<const std::byte> from[] = {codes, scales};
  const std::span<std::byte> to[] = {out};
  for (const bool allows : {false, true}) {
    const RecodeInput input{*made, grain(*made), 7, 2, from, {}, allows};
    RecodeScratch scratch;
    const auto moved = recode_chunk(input, scratch, to);
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().text(),
              "tensor 'w': row 8 has a scale that is not an F16 number; q4_0 has none. Try: the "
              "same without --keep-codes, which decodes the weights and rounds them again");
  }
}

TEST(Repack, ChunkMovesPermutedBlocks) {
  const auto tensor = repack(*with_op(nvfp4(2, 64, 1), swapped(64, 16)), codec("nvfp4"));
  ASSERT_TRUE(tensor);
  std::vector<std::byte> codes(64, std::byte{0x21}), scales(8), scale(4), out(72);
  for (size_t i = 0; i < 8; ++i) scales[i] = std::byte(0x30 + i);
  const std::span<const std::byte> from[] = {codes, scales, scale};
  const std::span<std::byte> to[] = {out};
  RecodeInput input{*tensor, grain(*tensor), 0, 2, from, {}, false};
  RecodeScratch scratch;
  ASSERT_TRUE(recode_chunk(input, scratch, to));
  for (size_t row = 0; row < 2; ++row) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(out[row * 36 + i], std::byte(0x30 + row * 4 + (i ^ 1))) << row << " " << i;
    }
  }
  scales[6] = std::byte{0x7F};
  const Status refused = recode_chunk(input, scratch, to);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "tensor 'w': row 1 has a block scale that is NaN or negative; nvfp4 has none");
  input.allow_nonfinite = true;
  EXPECT_TRUE(recode_chunk(input, scratch, to));
}

TEST(Repack, LeavesNoValuesToChange) {
  const auto made = repack(nvfp4(4, 128, 1), codec("nvfp4"));
  EXPECT_FALSE(with_op(*made, AddScalar{1}));
  const auto other = recode(*made, codec("q8_0"));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text().find("moved from nvfp4_modelopt to nvfp4"), std::string::npos);
  EXPECT_TRUE(recode(*made, codec("nvfp4")));
}

TEST(Repack, TensorsWithDifferentScalesAreNotJoined) {
  const Tensor a = nvfp4(4, 128, 1), b = nvfp4(4, 128, 2);
  const auto joined = concatenate_rows({a, b});
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().text().find("belongs to the whole tensor"), std::string::npos);
  EXPECT_TRUE(concatenate_rows({a, a}));
}

}  // namespace
}  // namespace ckpt
