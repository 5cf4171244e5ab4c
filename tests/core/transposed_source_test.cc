// Rows and columns of a stack exchanged, wherever the reading starts and ends.
#include "core/computed/transposed_source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/computed/decoded_source.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

// Bytes of no meaning under a codec, cut into two slices a part.
Tensor stack_of(const char* codec, std::vector<uint64_t> shape) {
  std::mt19937 random(3);
  Tensor out;
  out.name = "experts";
  out.shape = std::move(shape);
  out.codec = find_codec(all_codecs(), codec);
  Stored stored;
  for (size_t part = 0; part < out.codec->parts.size(); ++part) {
    std::vector<std::byte> bytes(part_size_bytes(out, part));
    for (std::byte& each : bytes) each = std::byte(random() % 0x78);  // no NaN in any codec
    const uint64_t size = bytes.size();
    const SharedSource blob = make_blob("b", std::move(bytes));
    stored.parts.push_back({Slice{blob, 0, size / 2}, Slice{blob, size / 2, size - size / 2}});
  }
  out.origin = std::move(stored);
  return out;
}

std::vector<float> read_all(const ByteSource& source) {
  std::vector<float> out(source.size_bytes() / sizeof(float));
  EXPECT_TRUE(source.read(0, std::as_writable_bytes(std::span(out))).has_value());
  return out;
}

// Transposes values that were read in their own order.
std::vector<float> turned_by_hand(const Tensor& tensor) {
  const std::vector<float> values = read_all(DecodedTensor(tensor));
  const uint64_t rows = tensor.shape[1], columns = tensor.shape[2];
  std::vector<float> out(values.size());
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint64_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
    out[(matrix * columns + column) * rows + row] = values[i];
  }
  return out;
}

TEST(TransposedSource, ExchangesRowsAndColumnsOfEveryMatrix) {
  for (const char* codec : {"mxfp4_ct", "bf16", "q8_0"}) {
    const Tensor stack = stack_of(codec, {3, 37, 160});
    ASSERT_TRUE(TransposedSource::takes(stack)) << codec;
    EXPECT_EQ(read_all(TransposedSource(stack)), turned_by_hand(stack)) << codec;
  }
}

TEST(TransposedSource, AnyRangeIsThatOfTheWhole) {
  const TransposedSource source(stack_of("mxfp4_ct", {2, 50, 96}));
  const std::vector<float> whole = read_all(source);
  const auto bytes = std::as_bytes(std::span(whole));
  for (const uint64_t offset : {0, 1, 199, 200, 6'350, 19'100, 19'200, 38'399}) {
    for (const uint64_t size : {0, 1, 4, 203, 6'401, 19'300}) {
      if (offset + size > bytes.size()) continue;
      std::vector<std::byte> part(size);
      ASSERT_TRUE(source.read(offset, part).has_value());
      EXPECT_EQ(std::memcmp(part.data(), bytes.data() + offset, size), 0) << offset << ' ' << size;
    }
  }
  std::vector<std::byte> two(2);
  EXPECT_FALSE(source.read(bytes.size() - 1, two).has_value());
}

TEST(TransposedSource, ManyRowsAndColumnsTakeSeveralReads) {
  const Tensor stack = stack_of("mxfp4_ct", {1, 5'000, 1'024});  // 20 MB of floats
  EXPECT_EQ(read_all(TransposedSource(stack)), turned_by_hand(stack));
}

TEST(TransposedSource, TakesStacksWhoseScalesLieInARow) {
  EXPECT_FALSE(TransposedSource::takes(stack_of("mxfp4_ct", {40, 96})));
  EXPECT_FALSE(TransposedSource::takes(stack_of("fp8_block", {2, 256, 256})));
  EXPECT_FALSE(TransposedSource::takes(stack_of("nvfp4_modelopt", {2, 16, 32})));
}

}  // namespace
}  // namespace ckpt
