// Elements in another order, wherever the reading starts and ends.
#include "core/computed/strided_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

std::vector<std::byte> bytes_of(const std::vector<uint16_t>& values) {
  std::vector<std::byte> out(values.size() * sizeof(uint16_t));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::vector<uint16_t> counting_up(size_t count) {
  std::vector<uint16_t> out(count);
  std::iota(out.begin(), out.end(), uint16_t{0});
  return out;
}

// The content of the grid, element by element.
std::vector<uint16_t> picked(const std::vector<uint16_t>& from, const StridedGrid& grid) {
  std::vector<uint16_t> out;
  for (uint64_t i = 0; i < grid.sizes[0]; ++i) {
    for (uint64_t j = 0; j < grid.sizes[1]; ++j) {
      for (uint64_t k = 0; k < grid.sizes[2]; ++k) {
        out.push_back(
            from[grid.first + i * grid.strides[0] + j * grid.strides[1] + k * grid.strides[2]]);
      }
    }
  }
  return out;
}

// Swapped axes, every second row of them, halves, every second value, a matrix that is sparse.
const StridedGrid kGrids[] = {
    {0, {3, 40, 50}, {2000, 1, 40}},  {1, {3, 20, 50}, {2000, 2, 40}},
    {20, {3, 20, 50}, {2000, 1, 40}}, {1, {1, 60, 50}, {0, 100, 2}},
    {7, {2, 2, 5}, {3000, 1, 500}},   {40, {3, 10, 20}, {2000, 100, 1}},
};

TEST(StridedSource, AnyRangeIsThatOfTheGrid) {
  const std::vector<uint16_t> values = counting_up(6000);
  for (const StridedGrid& grid : kGrids) {
    std::vector<std::byte> bytes = bytes_of(values);
    const uint64_t size = bytes.size();
    bytes.insert(bytes.begin(), 3, std::byte{0xFF});  // slices may be at odd offsets
    const StridedSource source({make_blob("b", std::move(bytes)), 3, size}, 2, grid);
    const std::vector<std::byte> expected = bytes_of(picked(values, grid));
    ASSERT_EQ(source.size_bytes(), expected.size());
    for (uint64_t offset : {0, 1, 2, 5, 17, 39}) {
      for (uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{4}, expected.size() - offset}) {
        if (offset + length > expected.size()) continue;
        std::vector<std::byte> out(length);
        ASSERT_TRUE(source.read(offset, out).has_value()) << offset << ' ' << length;
        EXPECT_TRUE(
            std::equal(out.begin(), out.end(), expected.begin() + static_cast<long>(offset)))
            << grid.first << ' ' << offset << ' ' << length;
      }
    }
    std::vector<std::byte> two(2);
    EXPECT_FALSE(source.read(expected.size() - 1, two).has_value());
  }
}

// More than is read at a time, in both directions.
TEST(StridedSource, LargeMatricesAreReadInPieces) {
  constexpr uint64_t kManyRows = 1500;
  constexpr uint64_t kManyColumns = 2100;
  const std::vector<uint16_t> values = counting_up(kManyRows * kManyColumns);
  const Slice slice{make_blob("b", bytes_of(values)), 0, values.size() * 2};
  for (const StridedGrid& grid :
       {StridedGrid{0, {1, kManyColumns, kManyRows}, {0, 1, kManyColumns}},
        StridedGrid{1, {1, kManyRows, kManyColumns / 2}, {0, kManyColumns, 2}}}) {
    const StridedSource source(slice, 2, grid);
    std::vector<std::byte> out(source.size_bytes());
    ASSERT_TRUE(source.read(0, out).has_value());
    EXPECT_EQ(out, bytes_of(picked(values, grid)));
  }
}

TEST(StridedSource, GridsThatLeaveTheTensorAreRefused) {
  const Codec& bf16 = *find_codec(all_codecs(), "bf16");
  const Tensor tensor = make_tensor("t", {2, 3}, bf16, bytes_of(counting_up(6)));
  EXPECT_TRUE(take_grid(tensor, {0, {1, 3, 2}, {0, 1, 3}}).has_value());
  const auto beyond = take_grid(tensor, {1, {1, 3, 2}, {0, 1, 3}});
  ASSERT_FALSE(beyond.has_value());
  EXPECT_NE(beyond.error().text().find("tensor 't' has shape [2, 3]"), std::string::npos);
  EXPECT_FALSE(take_grid(tensor, {0, {2, 3, 2}, {UINT64_MAX, 1, 3}}).has_value());
}

TEST(StridedSource, EverySecondRowOfAnyCodec) {
  const Codec& codec = *find_codec(all_codecs(), "mxfp4_ct");
  std::vector<std::byte> codes(4 * 16), scales(4);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::byte>(100 + i);
  Tensor tensor;
  tensor.name = "t";
  tensor.shape = {4, 32};
  tensor.codec = &codec;
  tensor.origin =
      Stored{{{Slice{make_blob("c", codes), 0, 64}}, {Slice{make_blob("s", scales), 0, 4}}}};
  const auto odd = take_every(tensor, 1, 2);
  ASSERT_TRUE(odd.has_value()) << odd.error().text();
  EXPECT_EQ(odd->shape, (std::vector<uint64_t>{2, 32}));
  std::vector<std::byte> read(2);
  const Slice& slice = odd->stored().parts[1][0];
  ASSERT_TRUE(slice.source->read(slice.offset_bytes, read).has_value());
  EXPECT_EQ(read, (std::vector<std::byte>{std::byte{101}, std::byte{103}}));
  std::vector<std::byte> row(16);
  ASSERT_TRUE(odd->stored().parts[0][0].source->read(16, row).has_value());
  EXPECT_EQ(row[0], std::byte{48});
  EXPECT_FALSE(take_every(tensor, 4, 2).has_value());
}

}  // namespace
}  // namespace ckpt
