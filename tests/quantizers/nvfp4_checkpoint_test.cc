// The codecs of NVFP4, FP8 and MX checkpoints: rows of real exports, and the rules one by one.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "core/simd/dispatch.h"
#include "quantizers/fp8/scaled.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "quantizers/quantizers.h"
#include "tests/quantizers/common.h"
#include "tests/quantizers/parts.h"

namespace ckpt {
namespace {

// ---- real exports -------------------------------------------------------------------------------

Bytes from_hex(const std::string& text) {
  Bytes out;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return out;
}

// One row of an exported tensor.
struct ExportedRow {
  std::string kind, codec, where;
  float amax = 0;
  std::vector<float> values;
  std::vector<Bytes> parts;
};

std::vector<ExportedRow> load_exported_rows() {
  std::ifstream file(std::string(CKPT_TESTDATA) + "/codecs/nvfp4_exports.tsv");
  std::vector<ExportedRow> out;
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
    if (fields.size() != 9) {
      ADD_FAILURE() << "a line of " << fields.size() << " fields";
      continue;
    }
    ExportedRow row{fields[0], fields[1], fields[2] + " row " + fields[3], 0, {}, {}};
    row.amax = std::bit_cast<float>(static_cast<uint32_t>(std::stoul(fields[4], nullptr, 16)));
    const Bytes source = from_hex(fields[5]);
    row.values.resize(source.size() / 2);
    const std::span<const std::byte> part(source);
    find_codec(all_codecs(), "bf16")->decode({&part, 1}, {row.values, row.values.size()});
    row.parts.push_back(from_hex(fields[6]));
    if (fields[7] != "-") row.parts.push_back(from_hex(fields[7]));
    row.parts.push_back(from_hex(fields[8]));
    out.push_back(std::move(row));
  }
  return out;
}

TEST(ExportedRows, AreEncodedToTheSameBytesOnEveryTarget) {
  std::map<std::string, int> checked;
  for (const ExportedRow& row : load_exported_rows()) {
    const Codec& codec = *find_codec(all_codecs(), row.codec);
    EncodeContext context{{row.amax}, {}};
    if (row.kind == "four over six") context.options.search = ScaleSearch::kFourOverSix;
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      const PartBuffers encoded = encode_with(codec, row.values, row.values.size(), context);
      for (size_t part = 0; part < row.parts.size(); ++part) {
        EXPECT_EQ(encoded.bytes(part), row.parts[part])
            << row.kind << ": " << row.where << ", part " << part << ", "
            << simd_target_name(target);
      }
    }
    ++checked[row.kind];
  }
  const std::map<std::string, int> expected = {{"four over six", 9},
                                               {"fp8", 4},
                                               {"fp8 in mixed", 2},
                                               {"llm-compressor", 12},
                                               {"modelopt gpu", 12},
                                               {"outliers", 4},
                                               {"stored amax, weights moved", 6},
                                               {"weights only", 2}};
  EXPECT_EQ(checked, expected);
}

// Rows decode as near to their source as the bits allow, and no nearer, so the limit says
// something.
TEST(ExportedRows, DecodeNearTheirSource) {
  for (const ExportedRow& row : load_exported_rows()) {
    const Codec& codec = *find_codec(all_codecs(), row.codec);
    std::vector<std::span<const std::byte>> parts(row.parts.begin(), row.parts.end());
    std::vector<float> decoded(row.values.size());
    codec.decode(parts, {decoded, decoded.size()});
    double error = 0, power = 0;
    for (size_t i = 0; i < decoded.size(); ++i) {
      error += std::pow(static_cast<double>(decoded[i] - row.values[i]), 2);
      power += std::pow(static_cast<double>(row.values[i]), 2);
    }
    const double limit = row.codec == "fp8_tensor" ? 0.04 : 0.13;
    EXPECT_LT(std::sqrt(error / power), limit) << row.where;
    EXPECT_GT(std::sqrt(error / power), limit / 4) << row.where;
  }
}

// ---- the rules of NVFP4 -------------------------------------------------------------------------

Bytes bytes_of(std::initializer_list<int> numbers) {
  Bytes out;
  for (const int number : numbers) out.push_back(static_cast<std::byte>(number));
  return out;
}

float float_at(const Bytes& bytes) {
  float out = 0;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

// Exact ties, both signs, -0, and a block of another size (A = 5.25: the tensor scale is 2^-9).
TEST(Nvfp4Modelopt, EncodesTiesToEven) {
  const std::vector<uint16_t> source = {
      0x0000, 0x3E60, 0x3F28, 0x3F8C, 0x3FC4, 0x400C, 0x4044, 0x408C, 0xBE60, 0xBF28, 0xBF8C,
      0x40A8, 0xC0A8, 0x3EE0, 0x8000, 0x3E61, 0x3E9A, 0xBE9A, 0x3C24, 0x3CA4, 0x3D24, 0x3D76,
      0x3DA4, 0x3DCD, 0xBDF6, 0x3E1A, 0xBE38, 0x3E57, 0x3E80, 0xBE8A, 0x3BA4, 0xBC55};
  std::vector<float> values;
  for (const uint16_t code : source) values.push_back(std::bit_cast<float>(uint32_t{code} << 16));
  const EncodeContext context{{5.25f}, {}, {.cpu_rounding = true}};
  const PartBuffers encoded = encode_with(codec_named("nvfp4_modelopt"), values, 32, context);
  EXPECT_EQ(encoded.bytes(0), bytes_of({0x00, 0x22, 0x44, 0x66, 0xA8, 0x7A, 0x1F, 0x10, 0xF7, 0x10,
                                        0x22, 0x43, 0x5C, 0x6E, 0xF6, 0x90}));
  EXPECT_EQ(encoded.bytes(1), bytes_of({0x7E, 0x5D}));
  EXPECT_EQ(float_at(encoded.bytes(2)), 0x1p-9f);
  std::vector<float> decoded(32);
  codec_named("nvfp4_modelopt").decode(encoded.const_parts(), {decoded, 32});
  EXPECT_EQ(decoded[16], 0.3046875f);
  EXPECT_EQ(decoded[17], -0.3046875f);
  EXPECT_EQ(decoded[19], 0.025390625f);
  EXPECT_EQ(decoded[26], -0.203125f);
}

TEST(Nvfp4Modelopt, DividesOnlyForTheCpu) {
  int different = 0;
  for (int i = 1; i <= 200; ++i) {
    const float amax = 0.01f * static_cast<float>(i);
    const std::vector<float> values(16, amax);
    const Codec& codec = codec_named("nvfp4_modelopt");
    EncodeContext context{{amax}, {}};
    const float gpu = float_at(encode_with(codec, values, 16, context).bytes(2));
    context.options.cpu_rounding = true;
    const float cpu = float_at(encode_with(codec, values, 16, context).bytes(2));
    EXPECT_EQ(cpu, amax / 2688.0f);
    EXPECT_EQ(gpu, amax * (1.0f / 2688.0f));
    different += cpu != gpu;
  }
  EXPECT_GT(different, 20);
  EXPECT_LT(different, 80);
}

TEST(Nvfp4Modelopt, ZeroBlocksHaveScaleOneAndTinyOnesTheSmallest) {
  std::vector<float> values(64, 0.0f);
  values[16] = 1.0f;
  values[32] = 1e-7f;
  values[48] = -1e-30f;
  const PartBuffers encoded =
      encode_with(codec_named("nvfp4_modelopt"), values, 64, EncodeContext{{1.0f}, {}});
  EXPECT_EQ(encoded.bytes(1), bytes_of({0x38, 0x7E, 0x01, 0x01}));
  EXPECT_EQ(encoded.bytes(0)[24], std::byte{0x08});  // below zero, rounds to zero
}

TEST(Nvfp4Modelopt, ATensorOfZerosGetsValidScales) {
  const std::vector<float> zeros(32, 0.0f);
  for (const bool cpu : {false, true}) {
    const EncodeContext context{{0.0f}, {}, {.cpu_rounding = cpu}};
    const PartBuffers encoded = encode_with(codec_named("nvfp4_modelopt"), zeros, 32, context);
    EXPECT_EQ(encoded.bytes(1), bytes_of({0x38, 0x38}));
    EXPECT_EQ(float_at(encoded.bytes(2)), 1.0f);
  }
}

TEST(Nvfp4Modelopt, ValuesAboveTheStoredMagnitudeSaturate) {
  std::vector<float> values(16, 0.5f);
  values[3] = -8.0f;
  const PartBuffers encoded =
      encode_with(codec_named("nvfp4_modelopt"), values, 16, EncodeContext{{1.0f}, {}});
  EXPECT_EQ(encoded.bytes(1), bytes_of({0x7E}));
  EXPECT_EQ(encoded.bytes(0)[1], std::byte{0xF5});
}

// A stored magnitude decides, not the block's own; the scale of zero stands for 6.
TEST(Nvfp4Modelopt, StoredMagnitudesDecide) {
  const std::vector<float> values(48, 0.25f);
  const std::vector<float> stored = {3.0f, 0.75f, 0.0f};
  EncodeContext context{{3.0f}, {}};
  context.block_amax = stored;
  const PartBuffers encoded = encode_with(codec_named("nvfp4_modelopt"), values, 48, context);
  // 448, 112 and min(448, 448 / 0.5)
  EXPECT_EQ(encoded.bytes(1), bytes_of({0x7E, 0x6E, 0x7E}));
  context.options.search = ScaleSearch::kFourOverSix;
  const PartBuffers four_six = encode_with(codec_named("nvfp4_modelopt"), values, 48, context);
  EXPECT_EQ(four_six.bytes(1), bytes_of({0x78, 0x68, 0x7E}));  // 256, 64 and 448
  EXPECT_EQ(float_at(four_six.bytes(2)), 3.0f * (1.0f / 1536.0f));
}

TEST(Nvfp4Modelopt, NanAndInfStayInTheirBlock) {
  std::vector<float> values(48, 1.0f);
  values[20] = std::numeric_limits<float>::quiet_NaN();
  values[40] = -std::numeric_limits<float>::infinity();
  Stats stats;
  const Codec& codec = codec_named("nvfp4_modelopt");
  codec.scan({values, 48}, stats);
  EXPECT_EQ(stats.amax, 1.0f);
  const PartBuffers encoded = encode_with(codec, values, 48, EncodeContext{stats, {}});
  EXPECT_EQ(encoded.bytes(1), bytes_of({0x7E, 0x7F, 0x7E}));
  EXPECT_EQ(encoded.bytes(0)[20], std::byte{0x7F});  // 1 is code 7, its neighbor -Inf code 15
}

TEST(Nvfp4Ct, SmallScalesBecomeAnEighthAndTheGlobalOneIsABfloat16) {
  std::vector<float> values(48, 0.0f);
  values[0] = 0.294921875f;
  values[16] = 1e-7f;
  const PartBuffers encoded =
      encode_with(codec_named("nvfp4_ct"), values, 48, EncodeContext{{0.294921875f}, {}});
  EXPECT_EQ(float_at(encoded.bytes(2)), 9088.0f);  // bf16(1 / A) is 3.390625; 2688 / A is 9114.28
  EXPECT_EQ(encoded.bytes(1)[1], std::byte{0x20});
  EXPECT_EQ(encoded.bytes(1)[2], std::byte{0x20});
  const std::vector<float> zeros(16, 0.0f);
  const PartBuffers of_zeros = encode_with(codec_named("nvfp4_ct"), zeros, 16, EncodeContext{});
  EXPECT_EQ(float_at(of_zeros.bytes(2)), 1.0f);
}

// ---- searches -----------------------------------------------------------------------------------

double error_of(const Codec& codec, const PartBuffers& encoded, const std::vector<float>& values,
                std::span<const float> weights) {
  std::vector<float> decoded(values.size());
  codec.decode(encoded.const_parts(), {decoded, weights.size()});
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += static_cast<double>(weights[i % weights.size()]) *
           std::pow(static_cast<double>(decoded[i]) - static_cast<double>(values[i]), 2);
  }
  return sum;
}

// Blocks of many shapes, among them near zeros and one large value.
std::vector<float> searched_values() {
  Random random(3);
  std::vector<float> values(64 * 256);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto block = static_cast<int>(i / 16);
    const float size = std::ldexp(1.0f, -(block % 23));
    values[i] = random.normal() * size * (random.below(30) == 0 ? 9.0f : 1.0f);
    if (block % 31 == 7) values[i] = 0;
  }
  return values;
}

// Against a search over all codes with errors in double, block by block.
TEST(Nvfp4Search, SweepFindsTheBestOfAllScales) {
  const std::vector<float> values = searched_values();
  std::vector<float> weights(256);
  for (const bool weighted : {false, true}) {
    Random random(8);
    for (float& weight : weights) weight = weighted ? random.unit() * random.unit() : 1.0f;
    for (size_t first = 0; first < values.size(); first += 16) {
      const std::vector<float> block(values.begin() + static_cast<int64_t>(first),
                                     values.begin() + static_cast<int64_t>(first) + 16);
      const float* block_weights = weights.data() + first % 256;
      const float amax = largest_finite(block.data(), 16);
      if (amax == 0) continue;
      const float tensor_scale = 30.0f / 2688;
      std::vector<float> divisors, errors(126);
      for (int code = 1; code <= 126; ++code) {
        divisors.push_back(float_from_e4m3(static_cast<uint8_t>(code)) * tensor_scale);
      }
      find_e2m1_errors_scalar({block.data(), block_weights}, divisors.data(), 126, errors.data());
      const auto best = std::min_element(errors.begin(), errors.end()) - errors.begin() + 1;
      ASSERT_EQ(best_nvfp4_scale({block.data(), block_weights}, tensor_scale, amax), best)
          << first << " weighted " << weighted;
    }
  }
}

TEST(Nvfp4Search, EachSearchErrsLessThanTheOneBefore) {
  const std::vector<float> values = make_rows(kDataSets[1], 4, 64, 256);
  const Codec& codec = codec_named("nvfp4_modelopt");
  Stats stats;
  codec.scan({values, 256}, stats);
  const std::vector<float> ones(256, 1.0f);
  double before = std::numeric_limits<double>::infinity();
  for (const ScaleSearch search :
       {ScaleSearch::kNone, ScaleSearch::kFourOverSix, ScaleSearch::kSweep}) {
    EncodeContext context{stats, {}};
    context.options.search = search;
    const double error = error_of(codec, encode_with(codec, values, 256, context), values, ones);
    EXPECT_LT(error, before * 0.92) << static_cast<int>(search);
    before = error;
  }
  EncodeContext context{stats, {}};
  context.options.search = ScaleSearch::kBest;
  const PartBuffers best = encode_with(codec, values, 256, context);
  EXPECT_LT(error_of(codec, best, values, ones), before);
  EXPECT_EQ(float_at(best.bytes(2)), stats.amax * (1.0f / 1536.0f));
}

TEST(Nvfp4Search, ColumnWeightsMoveErrorToWhereItCountsLess) {
  const std::vector<float> values = searched_values();
  const Codec& codec = codec_named("nvfp4_modelopt");
  Stats stats;
  codec.scan({values, 256}, stats);
  std::vector<float> weights(256, 1e-3f);
  for (size_t i = 0; i < weights.size(); i += 3) weights[i] = 1.0f;
  EncodeContext context{stats, {}};
  context.options.search = ScaleSearch::kSweep;
  const double plain = error_of(codec, encode_with(codec, values, 256, context), values, weights);
  context.column_weights = weights;
  const double with = error_of(codec, encode_with(codec, values, 256, context), values, weights);
  EXPECT_LT(with, plain * 0.9);
}

}  // namespace
}  // namespace ckpt
