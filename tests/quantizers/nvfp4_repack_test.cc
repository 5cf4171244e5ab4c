// NVFP4 moved into ggml's blocks: every bit where it belongs, and none made up.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/codec_list.h"
#include "quantizers/nvfp4/repack.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

struct Stock {
  std::vector<std::byte> codes, scales;
};

// `blocks` x 64 values of any codes, with scales that are numbers.
Stock random_stock(uint64_t blocks, uint32_t seed) {
  std::mt19937 random(seed);
  Stock out;
  for (uint64_t i = 0; i < blocks * 32; ++i) out.codes.push_back(std::byte(random() & 0xFF));
  for (uint64_t i = 0; i < blocks * 4; ++i) out.scales.push_back(std::byte(random() % 0x7F));
  return out;
}

std::vector<std::byte> packed(const Stock& stock) {
  std::vector<std::byte> out(stock.scales.size() / 4 * sizeof(BlockNvfp4));
  pack_nvfp4_blocks(stock.codes.data(), stock.scales.data(), stock.scales.size() / 4,
                    reinterpret_cast<BlockNvfp4*>(out.data()));
  return out;
}

uint64_t move(const Repack& repack, const Stock& stock, uint64_t rows, std::vector<std::byte>& to) {
  const std::span<const std::byte> from[] = {stock.codes, stock.scales, {}};
  const std::span<std::byte> parts[] = {to};
  return repack.move(ConstParts(from), rows, stock.codes.size() * 2 / rows, Parts(parts));
}

TEST(Nvfp4Repack, PutsEachCodeAndScaleAtItsPlace) {
  Stock stock;
  for (int i = 0; i < 32; ++i) {
    stock.codes.push_back(std::byte(0x10 * ((2 * i + 1) % 16) + 2 * i % 16));
  }
  for (const int scale : {0x38, 0x01, 0x7E, 0x00}) stock.scales.push_back(std::byte(scale));
  const std::vector<std::byte> out = packed(stock);
  ASSERT_EQ(out.size(), 36u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], stock.scales[i]);
  // Values of a sub-block are 0 to 15 here, so byte j holds j and j + 8.
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[4 + i], std::byte((i % 8) | (i % 8 + 8) << 4)) << i;
  }
}

TEST(Nvfp4Repack, ComesBack) {
  const Stock stock = random_stock(100, 5);
  std::vector<std::byte> blocks = packed(stock);
  Stock back{std::vector<std::byte>(3200), std::vector<std::byte>(400)};
  const auto unpack = [&] {
    return unpack_nvfp4_blocks(reinterpret_cast<const BlockNvfp4*>(blocks.data()), 100,
                               back.codes.data(), back.scales.data());
  };
  EXPECT_EQ(unpack(), 100u);
  EXPECT_EQ(back.codes, stock.codes);
  EXPECT_EQ(back.scales, stock.scales);
  for (const int scale : {0x7F, 0x80, 0xFF}) {
    blocks[36 * 77 + 3] = std::byte(scale);
    EXPECT_EQ(unpack(), 77u);
    blocks[36 * 77 + 3] = std::byte(0x7E);
  }
}

TEST(Nvfp4RepackSimd, EqualsItsScalarTwin) {
  for (const uint64_t blocks : {1, 2, 3, 7, 64, 1000}) {
    const Stock stock = random_stock(blocks, static_cast<uint32_t>(blocks));
    std::vector<std::byte> twin(blocks * sizeof(BlockNvfp4));
    pack_nvfp4_blocks_scalar(stock.codes.data(), stock.scales.data(), blocks,
                             reinterpret_cast<BlockNvfp4*>(twin.data()));
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      EXPECT_EQ(packed(stock), twin) << blocks << " " << simd_target_name(target);
    }
  }
}

TEST(Nvfp4Repack, DecodesToTheSameValuesBeforeTheTensorScale) {
  const Stock stock = random_stock(40, 5);
  const float one = 1;
  const std::span<const std::byte> from[] = {stock.codes, stock.scales,
                                             std::as_bytes(std::span(&one, 1))};
  std::vector<float> wanted(40 * 64), found(40 * 64);
  kNvfp4ModeloptCodec.decode(ConstParts(from), {wanted, 640});
  const std::vector<std::byte> blocks = packed(stock);
  const std::span<const std::byte> part = blocks;
  kNvfp4BlockCodec.decode(std::span(&part, 1), {found, 640});
  EXPECT_EQ(found, wanted);  // -0 equals 0: ggml has but one zero
}

TEST(Nvfp4Repack, ReportsTheFirstRowWithANanScale) {
  const Repack* repack = find_repack(kNvfp4ModeloptCodec, kNvfp4BlockCodec);
  ASSERT_NE(repack, nullptr);
  EXPECT_EQ(find_repack(kNvfp4CtCodec, kNvfp4BlockCodec)->move, repack->move);
  EXPECT_EQ(find_repack(kNvfp4BlockCodec, kNvfp4ModeloptCodec), nullptr);
  Stock stock = random_stock(12, 9);
  std::vector<std::byte> out(12 * sizeof(BlockNvfp4));
  EXPECT_EQ(move(*repack, stock, 4, out), 4u);
  for (const int bad : {0x7F, 0xFF, 0x80, 0xB8}) {
    Stock spoilt = stock;
    spoilt.scales[2 * 12 + 11] = std::byte(bad);  // the last of the third row
    EXPECT_EQ(move(*repack, spoilt, 4, out), 2u) << bad;
  }
}

TEST(Nvfp4Repack, EncoderEqualsModeloptsMoved) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(6 * 320);
  for (float& value : values) value = normal(random);
  EncodeContext context;
  kNvfp4ModeloptCodec.scan({values, 320}, context.stats);
  Stats scanned;
  kNvfp4GgufCodec.scan({values, 320}, scanned);
  EXPECT_EQ(scanned.amax, context.stats.amax);
  Stock stock{std::vector<std::byte>(values.size() / 2),
              std::vector<std::byte>(values.size() / 16)};
  float scale = 0, gguf_scale = 0;
  const std::span<std::byte> parts[] = {stock.codes, stock.scales,
                                        std::as_writable_bytes(std::span(&scale, 1))};
  kNvfp4ModeloptCodec.encode({values, 320}, context, Parts(parts));
  std::vector<std::byte> blocks(values.size() / 64 * sizeof(BlockNvfp4));
  const std::span<std::byte> gguf_parts[] = {blocks,
                                             std::as_writable_bytes(std::span(&gguf_scale, 1))};
  kNvfp4GgufCodec.encode({values, 320}, context, Parts(gguf_parts));
  EXPECT_EQ(blocks, packed(stock));
  EXPECT_EQ(gguf_scale, scale);
  EXPECT_GT(scale, 0);
}

}  // namespace
}  // namespace ckpt
