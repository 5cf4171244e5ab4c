// Packed INT4 moved into Q4_0: every bit where it belongs, and no scale rounded.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "core/model/float_convert.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

struct Int4Parts {
  std::vector<std::byte> codes, scales;

  void set_scale(uint64_t index, float value) {
    const uint16_t code = bf16_from_float(value);
    std::memcpy(scales.data() + index * sizeof code, &code, sizeof code);
  }
};

Int4Parts random_int4(uint64_t values, uint64_t group) {
  std::mt19937 random(7);
  Int4Parts out;
  for (uint64_t i = 0; i < values / 2; ++i) out.codes.push_back(std::byte(random() & 0xFF));
  out.scales.resize(values / group * sizeof(uint16_t));
  for (uint64_t i = 0; i < values / group; ++i) {
    out.set_scale(i, static_cast<float>(random() % 200 + 1) / 4096);
  }
  return out;
}

uint64_t move_int4(const Int4Parts& parts, uint64_t group, uint64_t rows,
                   std::vector<std::byte>& to) {
  const Codec& from = *find_codec(all_codecs(), fmt::format("int4_g{}", group));
  const Repack* repack = find_repack(from, *find_codec(all_codecs(), "q4_0"));
  to.resize(parts.codes.size() * 2 / 32 * 18);
  const std::span<const std::byte> have[] = {parts.codes, parts.scales};
  const std::span<std::byte> made[] = {to};
  return repack->move(ConstParts(have), rows, parts.codes.size() * 2 / rows, Parts(made));
}

TEST(Int4Repack, DecodesToTheSameValues) {
  for (const uint64_t group : {32, 128}) {
    const Int4Parts parts = random_int4(3 * 256, group);
    std::vector<std::byte> blocks;
    EXPECT_EQ(move_int4(parts, group, 3, blocks), 3u);
    std::vector<float> before(3 * 256), after(3 * 256);
    const std::span<const std::byte> have[] = {parts.codes, parts.scales};
    const std::span<const std::byte> made[] = {blocks};
    find_codec(all_codecs(), fmt::format("int4_g{}", group))
        ->decode(ConstParts(have), {before, 256});
    find_codec(all_codecs(), "q4_0")->decode(ConstParts(made), {after, 256});
    EXPECT_EQ(before, after) << group;
  }
}

TEST(Int4Repack, PutsEachCodeAtItsPlace) {
  Int4Parts parts = random_int4(32, 32);
  for (size_t i = 0; i < 16; ++i) {
    parts.codes[i] = std::byte(0x10 * ((2 * i + 1) % 16) + 2 * i % 16);
  }
  std::vector<std::byte> block;
  EXPECT_EQ(move_int4(parts, 32, 1, block), 1u);
  for (size_t j = 0; j < 16; ++j) EXPECT_EQ(block[2 + j], std::byte(0x11 * j)) << j;
}

TEST(Int4Repack, TellsTheFirstRowWhoseScaleF16DoesNotHold) {
  for (const float scale : {131072.0f, 1.0078125f / 131072 / 2, 0x1p-30f}) {
    Int4Parts parts = random_int4(4 * 64, 32);
    parts.set_scale(5, scale);
    std::vector<std::byte> blocks;
    EXPECT_EQ(move_int4(parts, 32, 4, blocks), 2u) << scale;
  }
  for (const float scale : {0.0f, -0.0f, 65280.0f, 1.9921875f / 131072, 0x1p-24f}) {
    Int4Parts parts = random_int4(4 * 64, 32);
    parts.set_scale(5, scale);
    std::vector<std::byte> blocks;
    EXPECT_EQ(move_int4(parts, 32, 4, blocks), 4u) << scale;
  }
}

}  // namespace
}  // namespace ckpt
