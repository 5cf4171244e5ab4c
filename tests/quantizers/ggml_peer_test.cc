// Held against the real thing: every encoder and decoder gives the bytes of ggml's library.
//
// Needs CKPT_GGML_LIB, the path of a libggml-base.so built for x86-64 without fused multiply-adds
// (llama.cpp v0.5.0). CKPT_GGML_WEIGHTS is how many values each type is tried on; 400,000 if unset.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <string>

#include "quantizers/quantizers.h"
#include "tests/quantizers/data_sets.h"

namespace ckpt {
namespace {

// The library's results for numbers whose squares overflow, and without column weights.
enum class LibraryStops : uint8_t { kNever, kAtOverflow, kAtOverflowAndWithoutWeights };

struct GgmlType {
  int id;
  const char* codec;
  const char* decoder;  // name of the library's function
  LibraryStops stops = LibraryStops::kNever;
};

void PrintTo(const GgmlType& type, std::ostream* out) { *out << type.codec; }

constexpr GgmlType kPeerTypes[] = {
    {2, "q4_0", "dequantize_row_q4_0"},
    {3, "q4_1", "dequantize_row_q4_1"},
    {6, "q5_0", "dequantize_row_q5_0"},
    {7, "q5_1", "dequantize_row_q5_1"},
    {8, "q8_0", "dequantize_row_q8_0"},
    {10, "q2_k", "dequantize_row_q2_K"},
    {11, "q3_k", "dequantize_row_q3_K"},
    {12, "q4_k", "dequantize_row_q4_K"},
    {13, "q5_k", "dequantize_row_q5_K"},
    {14, "q6_k", "dequantize_row_q6_K"},
    {20, "iq4_nl", "dequantize_row_iq4_nl"},
    {23, "iq4_xs", "dequantize_row_iq4_xs"},
    {39, "mxfp4", "dequantize_row_mxfp4"},
    {40, "nvfp4", "dequantize_row_nvfp4"},
    {1, "f16", "ggml_fp16_to_fp32_row"},
    {30, "bf16", "ggml_bf16_to_fp32_row"},
    {34, "tq1_0", "dequantize_row_tq1_0"},
    {35, "tq2_0", "dequantize_row_tq2_0"},
    {19, "iq1_s", "dequantize_row_iq1_s", LibraryStops::kAtOverflowAndWithoutWeights},
    {29, "iq1_m", "dequantize_row_iq1_m", LibraryStops::kAtOverflow},
    {16, "iq2_xxs", "dequantize_row_iq2_xxs", LibraryStops::kAtOverflowAndWithoutWeights},
    {17, "iq2_xs", "dequantize_row_iq2_xs", LibraryStops::kAtOverflowAndWithoutWeights},
    {22, "iq2_s", "dequantize_row_iq2_s", LibraryStops::kAtOverflow},
    {18, "iq3_xxs", "dequantize_row_iq3_xxs", LibraryStops::kAtOverflow},
    {21, "iq3_s", "dequantize_row_iq3_s", LibraryStops::kAtOverflow},
};

// False for sets that the library would end the process at.
bool may_be_given(const GgmlType& type, std::string_view set) {
  if (type.stops == LibraryStops::kNever) return true;
  return set != "constants" && set != "scaled_blocks" && set != "random_bits";
}

using QuantizeChunk = size_t (*)(int, const float*, void*, int64_t, int64_t, int64_t, const float*);
using DecodeRow = void (*)(const void*, float*, int64_t);

constexpr uint64_t kPeerRows = 4;
constexpr uint64_t kPeerValues = 2048;

uint64_t weights_per_type() {
  const char* text = std::getenv("CKPT_GGML_WEIGHTS");
  return text == nullptr ? 400'000 : std::strtoull(text, nullptr, 10);
}

class GgmlPeer : public testing::TestWithParam<GgmlType> {
 protected:
  void SetUp() override {
    const char* path = std::getenv("CKPT_GGML_LIB");
    if (path == nullptr) GTEST_SKIP() << "peer missing: set CKPT_GGML_LIB";
    library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    quantize_ = reinterpret_cast<QuantizeChunk>(dlsym(library_, "ggml_quantize_chunk"));
    decode_ = reinterpret_cast<DecodeRow>(dlsym(library_, GetParam().decoder));
    ASSERT_NE(quantize_, nullptr);
    ASSERT_NE(decode_, nullptr);
    codec_ = find_codec(all_codecs(), GetParam().codec);
    ASSERT_NE(codec_, nullptr);
  }

  uint64_t size_bytes(uint64_t rows) const {
    return part_shape(codec_->parts[0], rows, kPeerValues).size_bytes;
  }

  std::vector<std::byte> ours(const std::vector<float>& values, const std::vector<float>& weights) {
    std::vector<std::byte> out(size_bytes(values.size() / kPeerValues), std::byte{0xAB});
    const std::span<std::byte> part(out);
    codec_->encode({values, kPeerValues}, {{}, weights}, {&part, 1});
    return out;
  }

  std::vector<std::byte> theirs(const std::vector<float>& values,
                                const std::vector<float>& weights) {
    const auto rows = static_cast<int64_t>(values.size() / kPeerValues);
    std::vector<std::byte> out(size_bytes(values.size() / kPeerValues), std::byte{0xCD});
    const size_t size = quantize_(GetParam().id, values.data(), out.data(), 0, rows, kPeerValues,
                                  weights.empty() ? nullptr : weights.data());
    EXPECT_EQ(size, out.size());
    return out;
  }

  // Expects equal bytes, or reports where they first differ.
  void expect_equal_encoding(const std::vector<float>& values, const std::vector<float>& weights,
                             const std::string& what) {
    const auto mine = ours(values, weights);
    const auto reference = theirs(values, weights);
    const auto at = std::mismatch(mine.begin(), mine.end(), reference.begin()).first - mine.begin();
    const auto block = static_cast<uint64_t>(at) / ckpt::size_bytes(codec_->parts[0].dtype);
    ASSERT_EQ(mine, reference) << what << ": byte " << at << ", block " << block;
  }

  void run_sets(bool weighted) {
    const uint64_t rounds =
        weights_per_type() / (std::size(kDataSets) * kPeerRows * kPeerValues) + 1;
    for (uint64_t round = 0; round < rounds; ++round) {
      for (const DataSet& set : kDataSets) {
        if (!may_be_given(GetParam(), set.name)) continue;
        const auto values = make_rows(set, round * 31 + 7, kPeerRows, kPeerValues);
        const auto weights = weighted ? make_weights(round, kPeerValues) : std::vector<float>{};
        expect_equal_encoding(values, weights,
                              std::string(set.name) + ", round " + std::to_string(round));
        if (HasFatalFailure()) return;
      }
    }
    RecordProperty("values",
                   std::to_string(rounds * std::size(kDataSets) * kPeerRows * kPeerValues));
  }

  void* library_ = nullptr;
  QuantizeChunk quantize_ = nullptr;
  DecodeRow decode_ = nullptr;
  const Codec* codec_ = nullptr;
};

TEST_P(GgmlPeer, EncodesToTheSameBytes) {
  if (codec_->encode == nullptr) GTEST_SKIP() << "decoded only";
  if (GetParam().stops == LibraryStops::kAtOverflowAndWithoutWeights)
    GTEST_SKIP() << "weighted only";
  run_sets(false);
}

TEST_P(GgmlPeer, EncodesWithColumnWeightsToTheSameBytes) {
  if (codec_->encode == nullptr) GTEST_SKIP() << "decoded only";
  run_sets(true);
}

TEST_P(GgmlPeer, EncodesHostileWeightsToTheSameBytes) {
  if (codec_->encode == nullptr) GTEST_SKIP() << "decoded only";
  for (const float weight : {0.0f, 1e-30f, 1e30f, 3e-45f}) {
    std::vector<float> weights(kPeerValues, weight);
    for (uint64_t i = 0; i < kPeerValues; i += 37) weights[i] = 1.0f;
    for (const DataSet& set : kDataSets) {
      if (!may_be_given(GetParam(), set.name)) continue;
      expect_equal_encoding(make_rows(set, 99, kPeerRows, kPeerValues), weights,
                            std::string(set.name) + ", weight " + std::to_string(weight));
    }
  }
}

// A NaN in the output could carry another sign, so only rows with Inf and the codes count.
TEST_P(GgmlPeer, EncodesInfAndNaNToTheSameBytes) {
  if (codec_->encode == nullptr) GTEST_SKIP() << "decoded only";
  if (GetParam().stops != LibraryStops::kNever) GTEST_SKIP() << "the library ends the process";
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {inf, -inf, nan, -nan}) {
    for (const uint64_t stride : {uint64_t{1}, uint64_t{7}, uint64_t{256}, uint64_t{300}}) {
      auto values = make_rows(kDataSets[0], stride, kPeerRows, kPeerValues);
      for (uint64_t i = 0; i < values.size(); i += stride) values[i] = bad;
      expect_equal_encoding(values, {}, std::to_string(bad) + " every " + std::to_string(stride));
      expect_equal_encoding(values, make_weights(3, kPeerValues),
                            std::to_string(bad) + " weighted, every " + std::to_string(stride));
    }
  }
}

// Random bytes are every block there is: any codes, any scales.
TEST_P(GgmlPeer, DecodesToTheSameBits) {
  const uint64_t rounds = weights_per_type() / (kPeerRows * kPeerValues) + 1;
  const uint64_t count = kPeerRows * kPeerValues;
  std::vector<std::byte> stored(size_bytes(kPeerRows));
  for (uint64_t round = 0; round < rounds; ++round) {
    Random random(round + 1);
    for (std::byte& byte : stored) byte = static_cast<std::byte>(random.bits() >> 13);
    std::vector<float> mine(count), reference(count);
    const std::span<const std::byte> part(stored);
    if (codec_->decode == nullptr) GTEST_SKIP() << "not decoded";
    codec_->decode({&part, 1}, {mine, kPeerValues});
    decode_(stored.data(), reference.data(), static_cast<int64_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      if (std::isnan(reference[i]) && std::isnan(mine[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(mine[i]), std::bit_cast<uint32_t>(reference[i]))
          << "value " << i << " of round " << round << ": " << mine[i] << ", " << reference[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, GgmlPeer, testing::ValuesIn(kPeerTypes),
                         [](const auto& type) { return std::string(type.param.codec); });

}  // namespace
}  // namespace ckpt
