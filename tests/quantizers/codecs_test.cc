// Walks the list of codecs: what must hold for each, whatever it stores.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/codebook/iq4.h"
#include "quantizers/ggml/codebook/iq_quants.h"
#include "quantizers/ggml/k/k_layout.h"
#include "quantizers/ggml/ternary/tq.h"
#include "quantizers/nvfp4/fp4.h"
#include "quantizers/quantizers.h"
#include "tests/quantizers/data_sets.h"

namespace ckpt {
namespace {

// The parts of an encoded tensor, each in a buffer that starts at an odd address.
class Encoded {
 public:
  Encoded(const Codec& codec, uint64_t rows, uint64_t row_values) {
    for (const PartRule& rule : codec.parts) {
      const uint64_t size = part_shape(rule, rows, row_values).size_bytes;
      buffers_.emplace_back(size + 2, std::byte{0x5A});
      sizes_.push_back(size);
    }
    for (size_t i = 0; i < buffers_.size(); ++i) {
      spans_.emplace_back(buffers_[i].data() + 1, sizes_[i]);
      const_spans_.emplace_back(buffers_[i].data() + 1, sizes_[i]);
    }
  }
  Parts parts() const { return spans_; }
  ConstParts const_parts() const { return const_spans_; }
  std::vector<std::byte> bytes(size_t part) const {
    return {spans_[part].begin(), spans_[part].end()};
  }
  bool has_written_outside() const {
    for (const auto& buffer : buffers_) {
      if (buffer.front() != std::byte{0x5A} || buffer.back() != std::byte{0x5A}) return true;
    }
    return false;
  }

 private:
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<uint64_t> sizes_;
  std::vector<std::span<std::byte>> spans_;
  std::vector<std::span<const std::byte>> const_spans_;
};

Encoded encode(const Codec& codec, const std::vector<float>& values, uint64_t row_values,
               std::span<const float> weights = {}) {
  Encoded out(codec, values.size() / row_values, row_values);
  EncodeContext context{{}, weights};
  if (codec.needs_stats) codec.scan({values, row_values}, context.stats);
  codec.encode({values, row_values}, context, out.parts());
  return out;
}

std::vector<float> decode(const Codec& codec, const Encoded& encoded, uint64_t rows,
                          uint64_t row_values) {
  std::vector<float> out(rows * row_values);
  codec.decode(encoded.const_parts(), {out, row_values});
  return out;
}

std::vector<float> weights_like(uint64_t rows, uint64_t row_values) {
  return make_rows(kDataSets[1], 5, rows, row_values);
}

TEST(Codecs, NamesAreUniqueAndEveryDtypeHasAPlainOne) {
  std::set<std::string_view> names;
  for (const Codec* codec : all_codecs()) {
    EXPECT_TRUE(names.insert(codec->name).second) << codec->name;
    EXPECT_FALSE(codec->help.empty()) << codec->name;
  }
  for (uint32_t i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const Codec& codec = plain_codec(all_codecs(), dtype);
    EXPECT_EQ(codec.block_values, element_values(dtype)) << codec.name;
    EXPECT_EQ(codec.parts[0].tile_values, element_values(dtype)) << codec.name;
    EXPECT_EQ(codec.parts[0].tile_rows, 1u) << codec.name;
    EXPECT_EQ(codec.band_rows, 1u) << codec.name;
    EXPECT_EQ(codec.parts[0].suffix, "") << codec.name;
  }
}

TEST(Codecs, RulesAgreeWithThemselves) {
  for (const Codec* codec : all_codecs()) {
    SCOPED_TRACE(std::string(codec->name));
    ASSERT_FALSE(codec->parts.empty());
    EXPECT_GE(codec->band_rows, 1u);
    EXPECT_GE(codec->block_values, 1u);
    for (const PartRule& rule : codec->parts) {
      EXPECT_TRUE(rule.tile_rows == 0 || codec->band_rows % rule.tile_rows == 0);
      // Rows of the ragged ones end inside of a tile; codecs of several parts take whole rows.
      const bool may_end_anywhere = codec->parts.size() > 1 && codec->block_values == 1;
      EXPECT_TRUE(rule.tile_values == 0 || may_end_anywhere ||
                  codec->block_values % rule.tile_values == 0);
    }
    EXPECT_EQ(codec->needs_stats, codec->scan != nullptr);
    EXPECT_TRUE(codec->encode == nullptr || codec->decode != nullptr);
  }
}

template <class Block>
void check_block(Dtype dtype) {
  EXPECT_EQ(sizeof(Block), size_bytes(dtype)) << info(dtype).name;
  EXPECT_EQ(Block::kValues, element_values(dtype)) << info(dtype).name;
}

TEST(Codecs, BlocksHaveTheSizesOfTheirDtypes) {
  check_block<BlockQ4_0>(Dtype::kQ4_0);
  check_block<BlockQ4_1>(Dtype::kQ4_1);
  check_block<BlockQ5_0>(Dtype::kQ5_0);
  check_block<BlockQ5_1>(Dtype::kQ5_1);
  check_block<BlockQ8_0>(Dtype::kQ8_0);
  check_block<BlockQ2K>(Dtype::kQ2K);
  check_block<BlockQ3K>(Dtype::kQ3K);
  check_block<BlockQ4K>(Dtype::kQ4K);
  check_block<BlockQ5K>(Dtype::kQ5K);
  check_block<BlockQ6K>(Dtype::kQ6K);
  check_block<BlockIq4Nl>(Dtype::kIq4Nl);
  check_block<BlockIq4Xs>(Dtype::kIq4Xs);
  check_block<BlockTq1_0>(Dtype::kTq1_0);
  check_block<BlockTq2_0>(Dtype::kTq2_0);
  check_block<BlockIq1S>(Dtype::kIq1S);
  check_block<BlockIq1M>(Dtype::kIq1M);
  check_block<BlockIq2Xxs>(Dtype::kIq2Xxs);
  check_block<BlockIq2Xs>(Dtype::kIq2Xs);
  check_block<BlockIq2S>(Dtype::kIq2S);
  check_block<BlockIq3Xxs>(Dtype::kIq3Xxs);
  check_block<BlockIq3S>(Dtype::kIq3S);
  check_block<BlockMxfp4>(Dtype::kMxfp4);
  check_block<BlockNvfp4>(Dtype::kNvfp4);
}

// Root mean square error over root mean square value, for a bell curve.
double relative_error(const std::vector<float>& values, const std::vector<float>& decoded) {
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error += std::pow(static_cast<double>(decoded[i]) - static_cast<double>(values[i]), 2);
    power += std::pow(static_cast<double>(values[i]), 2);
  }
  return std::sqrt(error / power);
}

TEST(Codecs, RoundTripLosesWhatTheBitsAllow) {
  const std::map<std::string_view, double> kLimits = {
      {"f32", 0},       {"f16", 3e-4},     {"bf16", 2.5e-3}, {"f8_e4m3", 0.09}, {"f8_e5m2", 0.08},
      {"q8_0", 0.007},  {"q6_k", 0.02},    {"q5_k", 0.04},   {"q5_0", 0.055},   {"q5_1", 0.045},
      {"q4_k", 0.08},   {"q4_0", 0.11},    {"q4_1", 0.09},   {"q3_k", 0.19},    {"q2_k", 0.33},
      {"iq4_nl", 0.08}, {"iq4_xs", 0.08},  {"mxfp4", 0.13},  {"nvfp4", 0.11},   {"tq1_0", 0.9},
      {"tq2_0", 0.9},   {"iq1_s", 0.65},   {"iq1_m", 0.6},   {"iq2_xxs", 0.5},  {"iq2_xs", 0.4},
      {"iq2_s", 0.35},  {"iq3_xxs", 0.25}, {"iq3_s", 0.2}};
  const double kEightBits = 0.04;  // of all that have 8 bits and scales
  const auto values = weights_like(8, 1024);
  for (const Codec* codec : all_codecs()) {
    if (codec->encode == nullptr) continue;
    const Encoded encoded = encode(*codec, values, 1024);
    const double error = relative_error(values, decode(*codec, encoded, 8, 1024));
    const auto limit = kLimits.find(codec->name);
    const bool eight_bits = codec->name.starts_with("fp8_") || codec->name.starts_with("mxfp8");
    const double most = limit != kLimits.end() ? limit->second : eight_bits ? kEightBits : 0.15;
    EXPECT_LE(error, most) << codec->name;
    EXPECT_GE(error, most / 3) << codec->name << ": the limit says nothing";
  }
}

// Rows of `count` bands of the codec, of several lengths.
TEST(Codecs, AnyNumberOfRowsAndBlocksStaysInsideItsParts) {
  for (const Codec* codec : all_codecs()) {
    if (codec->encode == nullptr) continue;
    for (const uint64_t bands : {0u, 1u, 2u, 5u}) {
      for (const uint64_t blocks : {1u, 2u, 3u, 7u, 17u}) {
        const uint64_t row_values = blocks * codec->block_values;
        const auto values = weights_like(bands * codec->band_rows, row_values);
        const Encoded encoded = encode(*codec, values, row_values);
        EXPECT_FALSE(encoded.has_written_outside())
            << codec->name << " " << bands << " x " << blocks;
        decode(*codec, encoded, bands * codec->band_rows, row_values);
      }
    }
  }
}

// The engine decodes a band of such a codec a few rows at a time.
TEST(Codecs, RowsOfABandDecodedApartAreThoseOfTheWholeBand) {
  constexpr uint64_t kRowValues = 384;
  size_t tested = 0;
  for (const Codec* codec : all_codecs()) {
    if (!codec->decodes_any_rows || codec->encode == nullptr) continue;
    ++tested;
    const Encoded encoded = encode(*codec, weights_like(codec->band_rows, kRowValues), kRowValues);
    const auto whole = decode(*codec, encoded, codec->band_rows, kRowValues);
    for (uint64_t row = 0; row < codec->band_rows; row += 5) {
      const uint64_t rows = std::min<uint64_t>(5, codec->band_rows - row);
      std::vector<std::span<const std::byte>> parts;
      for (size_t i = 0; i < codec->parts.size(); ++i) {
        const PartRule& rule = codec->parts[i];
        const uint64_t size = part_shape(rule, rows, kRowValues).size_bytes;
        const uint64_t first = rule.tile_rows == 1 ? row : 0;
        const uint64_t start = part_shape(rule, first, kRowValues).size_bytes;
        parts.push_back(encoded.const_parts()[i].subspan(start, size));
      }
      std::vector<float> out(rows * kRowValues);
      codec->decode(parts, {out, kRowValues});
      const auto* expected = whole.data() + row * kRowValues;
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected)) << codec->name << " " << row;
    }
  }
  EXPECT_GE(tested, 5u);
}

// The engine cuts tensors into runs of rows; the bytes must not show it.
TEST(Codecs, RowsEncodedApartGiveTheSameBytes) {
  constexpr uint64_t kRowValues = 1024;
  const auto weights = make_weights(3, kRowValues);
  for (const Codec* codec : all_codecs()) {
    if (codec->encode == nullptr || codec->needs_stats) continue;
    const uint64_t rows = codec->band_rows;
    const auto values = weights_like(3 * rows, kRowValues);
    for (const bool weighted : {false, true}) {
      const std::span<const float> used = weighted ? weights : std::span<const float>{};
      const Encoded together = encode(*codec, values, kRowValues, used);
      std::vector<std::vector<std::byte>> joined(codec->parts.size());
      const auto join = [&](const Encoded& apart) {
        for (size_t part = 0; part < joined.size(); ++part) {
          const auto bytes = apart.bytes(part);
          joined[part].insert(joined[part].end(), bytes.begin(), bytes.end());
        }
      };
      for (uint64_t band = 0; band < 3; ++band) {
        const auto* first = values.data() + band * rows * kRowValues;
        join(encode(*codec, {first, first + rows * kRowValues}, kRowValues, used));
      }
      for (size_t part = 0; part < joined.size(); ++part) {
        EXPECT_EQ(joined[part], together.bytes(part)) << codec->name << " weighted " << weighted;
      }
    }
  }
}

TEST(Codecs, ColumnWeightsMoveErrorToWhereItCountsLess) {
  constexpr uint64_t kRowValues = 1024;
  std::vector<float> weights(kRowValues, 1e-4f);
  for (uint64_t i = 0; i < kRowValues; i += 4) weights[i] = 1.0f;
  const auto values = weights_like(8, kRowValues);
  const auto important_error = [&](const std::vector<float>& decoded) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); i += 4) {
      sum += std::pow(static_cast<double>(values[i]) - static_cast<double>(decoded[i]), 2);
    }
    return sum;
  };
  for (const char* name :
       {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "iq4_xs",
        "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s"}) {
    const Codec& codec = *find_codec(all_codecs(), name);
    const auto plain = decode(codec, encode(codec, values, kRowValues), 8, kRowValues);
    const auto weighted = decode(codec, encode(codec, values, kRowValues, weights), 8, kRowValues);
    EXPECT_LT(important_error(weighted), important_error(plain) * 0.95) << name;
  }
}

TEST(Codecs, OverflowNamesTheFirstRowAndNothingElseDoes) {
  constexpr uint64_t kRowValues = 512;
  int with_overflow = 0;
  for (const Codec* codec : all_codecs()) {
    if (codec->encode == nullptr || codec->first_overflow == nullptr) continue;
    // Much larger values make the sums of the searches overflow instead of the scale; `end` stops
    // them.
    const float too_large = 1e11f;
    const auto values = weights_like(5, kRowValues);
    const auto fine = encode(*codec, values, kRowValues);
    EXPECT_EQ(codec->first_overflow(fine.const_parts(), 5, kRowValues), 5u) << codec->name;
    for (const uint64_t column : {uint64_t{0}, uint64_t{300}, kRowValues - 1}) {
      auto large = values;
      large[3 * kRowValues + column] = too_large;
      large[4 * kRowValues + column] = too_large;
      const auto overflown = encode(*codec, large, kRowValues);
      EXPECT_EQ(codec->first_overflow(overflown.const_parts(), 5, kRowValues), 3u) << codec->name;
    }
    ++with_overflow;
  }
  EXPECT_GE(with_overflow, 14);
}

// A value below the end comes back, or its scale is reported.
TEST(Codecs, TheEndIsTheMagnitudeFromWhichOnValuesDoNotFit) {
  int with_end = 0;
  for (const Codec* codec : all_codecs()) {
    if (codec->encode == nullptr || codec->end == kNoEnd) continue;
    ++with_end;
    const uint64_t columns = codec->block_values;
    const auto value_back = [&](float value) {
      const std::vector<float> values(columns, value);
      const Encoded encoded = encode(*codec, values, columns);
      const bool is_reported = codec->first_overflow != nullptr &&
                               codec->first_overflow(encoded.const_parts(), 1, columns) == 0;
      if (is_reported) return std::numeric_limits<float>::infinity();
      return decode(*codec, encoded, 1, columns)[0];
    };
    const float below = std::nextafter(codec->end, 0.0f), back = value_back(below);
    if (codec->block_values == 1) {
      EXPECT_TRUE(std::isfinite(back)) << codec->name;
      EXPECT_TRUE(std::isinf(value_back(codec->end))) << codec->name;
      continue;
    }
    EXPECT_TRUE(std::isinf(back) || std::fabs(back - below) < 0.5f * below)
        << codec->name << ": " << back << " of " << below;
    // Twice as much is reported as an infinite scale, or lost: only the end stops it.
    const float more = value_back(2 * codec->end);
    EXPECT_TRUE(std::isinf(more) || more < 1.2f * codec->end) << codec->name << ": " << more;
  }
  EXPECT_GE(with_end, 23);
}

TEST(Codecs, OverflowSeesTheMinimumToo) {
  const std::vector<float> low(256, -1e9f);  // a constant below 0 is all minimum
  for (const char* name : {"q4_1", "q5_1", "q2_k", "q4_k", "q5_k"}) {
    const Codec& codec = *find_codec(all_codecs(), name);
    const auto encoded = encode(codec, low, 256);
    EXPECT_EQ(codec.first_overflow(encoded.const_parts(), 1, 256), 0u) << name;
  }
}

TEST(Codecs, ZerosDecodeToZeros) {
  const std::vector<float> zeros(512, 0.0f);
  for (const Codec* codec : all_codecs()) {
    if (codec->encode == nullptr) continue;
    const auto encoded = encode(*codec, zeros, 512);
    for (const float value : decode(*codec, encoded, 1, 512)) ASSERT_EQ(value, 0.0f) << codec->name;
  }
}

std::byte first_code(const char* name, const std::vector<float>& values, size_t offset,
                     std::span<const float> weights = {}) {
  return encode(*find_codec(all_codecs(), name), values, values.size(), weights).bytes(0)[offset];
}

// Zero blocks are stored as the comments describe.
TEST(Codecs, ZeroBlocksStoreTheDocumentedCodes) {
  const std::vector<float> zeros(256, 0.0f);
  const std::vector<float> ones(256, 1.0f);
  EXPECT_EQ(first_code("q4_0", zeros, 2), std::byte{0x88});
  EXPECT_EQ(first_code("q4_0", zeros, 2, ones), std::byte{0});
  EXPECT_EQ(first_code("iq4_nl", zeros, 2), std::byte{0x88});
  for (const char* name : {"q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "mxfp4", "nvfp4"}) {
    const Codec& codec = *find_codec(all_codecs(), name);
    for (const std::byte byte : encode(codec, zeros, 256).bytes(0)) ASSERT_EQ(byte, std::byte{0});
  }
  // A zero sub-block next to a live one: code 0, which stands for -32, times a scale of 0.
  std::vector<float> half(256, 0.0f);
  for (size_t i = 128; i < 256; ++i) half[i] = static_cast<float>(i) - 200;
  EXPECT_EQ(first_code("q6_k", half, 0), std::byte{0});
  const Codec& q6_k = *find_codec(all_codecs(), "q6_k");
  EXPECT_EQ(decode(q6_k, encode(q6_k, half, 256), 1, 256)[0], 0.0f);
}

TEST(Codecs, F64IsDecodedWithOneRounding) {
  const double stored[] = {1.0, 0.1, -1e-60, 1.0 + 0x1p-24, 1.0 + 0x1p-24 + 0x1p-50};
  std::vector<std::byte> bytes(sizeof(stored));
  std::memcpy(bytes.data(), stored, sizeof(stored));
  const std::span<const std::byte> part(bytes);
  float out[5];
  find_codec(all_codecs(), "f64")->decode({&part, 1}, {out, 5});
  const float expected[] = {1.0f, 0.1f, -0.0f, 1.0f, 1.0f + 0x1p-23f};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

TEST(Codecs, OfSeveralPartsHaveASchemeAndAreFoundByIt) {
  std::set<std::pair<Scheme, Dialect>> found;
  for (const Codec* codec : all_codecs()) {
    EXPECT_EQ(codec->scheme == Scheme::kPlain, codec->parts.size() == 1) << codec->name;
    EXPECT_EQ(plain_dtype(*codec).has_value(), codec->parts.size() == 1) << codec->name;
    if (codec->parts.size() == 1) {
      EXPECT_EQ(&plain_codec(all_codecs(), codec->parts[0].dtype), codec) << codec->name;
    } else if (codec->dialect != Dialect::kOther) {
      EXPECT_TRUE(found.emplace(codec->scheme, codec->dialect).second) << codec->name;
      EXPECT_EQ(&scheme_codec(all_codecs(), codec->scheme, codec->dialect), codec) << codec->name;
    }
  }
  EXPECT_EQ(scheme_codec(all_codecs(), Scheme::kNvfp4, Dialect::kModelopt).name, "nvfp4_modelopt");
  EXPECT_EQ(scheme_codec(all_codecs(), Scheme::kFp8Tensor, Dialect::kVector).name,
            "fp8_tensor_vector");
}

}  // namespace
}  // namespace ckpt
