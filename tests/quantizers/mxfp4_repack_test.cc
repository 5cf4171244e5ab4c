// MXFP4 of safetensors moved into ggml's blocks: every bit where it belongs.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

struct MxParts {
  std::vector<std::byte> codes, scales;
};

MxParts random_parts(uint64_t blocks) {
  std::mt19937 random(5);
  MxParts out;
  for (uint64_t i = 0; i < blocks * 16; ++i) out.codes.push_back(std::byte(random() & 0xFF));
  for (uint64_t i = 0; i < blocks; ++i) out.scales.push_back(std::byte(random() % 0xFF));
  return out;
}

uint64_t move_into(const MxParts& parts, uint64_t rows, std::vector<std::byte>& to) {
  const Codec& from = *find_codec(all_codecs(), "mxfp4_ct");
  const Repack* repack = find_repack(from, *find_codec(all_codecs(), "mxfp4"));
  const std::span<const std::byte> have[] = {parts.codes, parts.scales};
  const std::span<std::byte> made[] = {to};
  return repack->move(ConstParts(have), rows, parts.codes.size() * 2 / rows, Parts(made));
}

TEST(Mxfp4Repack, PutsEachCodeAndExponentAtItsPlace) {
  MxParts parts;
  for (int i = 0; i < 16; ++i) {
    parts.codes.push_back(std::byte(0x10 * ((2 * i + 1) % 16) + 2 * i % 16));
  }
  parts.scales.push_back(std::byte{0x7B});
  std::vector<std::byte> out(17);
  EXPECT_EQ(move_into(parts, 1, out), 1u);
  EXPECT_EQ(out[0], std::byte{0x7B});
  for (size_t j = 0; j < 16; ++j) EXPECT_EQ(out[1 + j], std::byte(0x11 * j)) << j;
}

TEST(Mxfp4Repack, DecodesToTheSameValues) {
  const MxParts parts = random_parts(12);
  std::vector<std::byte> blocks(12 * 17);
  EXPECT_EQ(move_into(parts, 3, blocks), 3u);
  std::vector<float> before(12 * 32), after(12 * 32);
  const std::span<const std::byte> have[] = {parts.codes, parts.scales};
  const std::span<const std::byte> made[] = {blocks};
  find_codec(all_codecs(), "mxfp4_ct")->decode(ConstParts(have), {before, 128});
  find_codec(all_codecs(), "mxfp4")->decode(ConstParts(made), {after, 128});
  EXPECT_EQ(before, after);
}

TEST(Mxfp4Repack, ReportsTheFirstRowWithANanExponent) {
  MxParts parts = random_parts(12);
  parts.scales[5] = parts.scales[11] = std::byte{0xFF};
  std::vector<std::byte> blocks(12 * 17);
  EXPECT_EQ(move_into(parts, 3, blocks), 1u);
  EXPECT_EQ(move_into(parts, 12, blocks), 5u);
}

TEST(Mxfp4Repack, ComesBackBitForBit) {
  const MxParts parts = random_parts(12);
  std::vector<std::byte> blocks(12 * 17);
  ASSERT_EQ(move_into(parts, 3, blocks), 3u);
  const Repack* back =
      find_repack(*find_codec(all_codecs(), "mxfp4"), *find_codec(all_codecs(), "mxfp4_ct"));
  ASSERT_NE(back, nullptr);
  MxParts again{std::vector<std::byte>(12 * 16), std::vector<std::byte>(12)};
  const std::span<const std::byte> have[] = {blocks};
  const std::span<std::byte> made[] = {again.codes, again.scales};
  EXPECT_EQ(back->move(ConstParts(have), 3, 128, Parts(made)), 3u);
  EXPECT_EQ(again.codes, parts.codes);
  EXPECT_EQ(again.scales, parts.scales);
}

}  // namespace
}  // namespace ckpt
