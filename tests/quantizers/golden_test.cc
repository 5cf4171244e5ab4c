// Encoded and decoded bytes against hashes of what llama.cpp's library gives
// (testdata/codecs/golden.tsv; how it was made is in testdata/README.md).
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint32_t kGoldenRows = 16;
constexpr uint32_t kGoldenValues = 4096;

std::string hex(const unsigned char* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

std::string sha256(const void* data, size_t size_bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(data, size_bytes, digest, &length, EVP_sha256(), nullptr);
  return hex(digest, length);
}

std::string sha256(const std::vector<float>& values) {
  return sha256(values.data(), values.size() * sizeof(float));
}

uint32_t hash_of(uint32_t index) {
  uint32_t s = index * 2654435761u + 12345u;
  s ^= s >> 15;
  s *= 2246822519u;
  return s ^ s >> 13;
}

int32_t signed_of(uint32_t hash) { return static_cast<int32_t>(hash >> 8 & 0xFFFF) - 32768; }

std::vector<float> plain_input() {
  std::vector<float> out(kGoldenRows * kGoldenValues);
  for (uint32_t i = 0; i < out.size(); ++i) {
    const int32_t factor = 1 + static_cast<int32_t>(i / 256 % 7);
    out[i] = std::ldexp(static_cast<float>(signed_of(hash_of(i)) * factor), -20);
  }
  return out;
}

// Row kinds: zeros, -0, a constant, random finite bits, denormals, a lattice, outliers, negatives.
float edge_value(uint32_t kind, uint32_t column, uint32_t hash) {
  const int32_t u = signed_of(hash);
  const bool finite = (hash & 0x7F800000u) != 0x7F800000u;
  switch (kind) {
    case 1: return -0.0f;
    case 2: return 1.5f;
    case 3: return std::bit_cast<float>(finite ? hash : hash & 0xBFFFFFFFu);
    case 4: return std::bit_cast<float>(hash & 0x807FFFFFu);
    case 5: return static_cast<float>((u % 31 + 31) % 31 - 15) / 16;
    case 6: return column % 97 == 13 ? static_cast<float>(u) / 4 : 0.0f;
    case 7: return std::ldexp(-std::fabs(static_cast<float>(u)), -20);
    default: return 0.0f;
  }
}

std::vector<float> edge_input() {
  std::vector<float> out(kGoldenRows * kGoldenValues);
  for (uint32_t i = 0; i < out.size(); ++i) {
    out[i] = edge_value(i / kGoldenValues % 8, i % kGoldenValues, hash_of(i));
  }
  return out;
}

// The edge input for types whose searches overflow: random numbers are between 2^-31 and 2.
std::vector<float> mild_input() {
  std::vector<float> out = edge_input();
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t bits = (hash_of(i) & 0x8FFFFFFFu) | 0x30000000u;
    if (i / kGoldenValues % 8 == 3) out[i] = std::bit_cast<float>(bits);
  }
  return out;
}

std::vector<float> column_weights() {
  std::vector<float> out(kGoldenValues);
  for (uint32_t i = 0; i < kGoldenValues; ++i) out[i] = static_cast<float>(1 + 37 * i % 101);
  return out;
}

struct GoldenLine {
  std::string codec, input, weighted, encoded, decoded, start;
};

std::vector<GoldenLine> read_golden() {
  std::ifstream file(CKPT_TESTDATA "/codecs/golden.tsv");
  std::vector<GoldenLine> out;
  std::string text;
  while (std::getline(file, text)) {
    std::istringstream fields(text);
    GoldenLine line;
    fields >> line.codec >> line.input >> line.weighted >> line.encoded >> line.decoded >>
        line.start;
    out.push_back(line);
  }
  return out;
}

const std::vector<float>& input_named(const std::string& name) {
  static const std::vector<float> plain = plain_input();
  static const std::vector<float> edge = edge_input();
  static const std::vector<float> mild = mild_input();
  return name == "plain" ? plain : name == "edge" ? edge : mild;
}

void check_line(const GoldenLine& line) {
  SCOPED_TRACE(line.codec + ", " + line.input + ", weighted: " + line.weighted);
  const Codec* codec = find_codec(all_codecs(), line.codec);
  ASSERT_NE(codec, nullptr);
  const std::vector<float>& values = input_named(line.input);
  const std::vector<float> weights =
      line.weighted == "yes" ? column_weights() : std::vector<float>{};
  std::vector<std::byte> stored(part_shape(codec->parts[0], kGoldenRows, kGoldenValues).size_bytes);
  const std::span<std::byte> part(stored);
  codec->encode({values, kGoldenValues}, {{}, weights}, {&part, 1});
  EXPECT_EQ(hex(reinterpret_cast<const unsigned char*>(stored.data()), 16), line.start);
  EXPECT_EQ(sha256(stored.data(), stored.size()), line.encoded);

  std::vector<float> decoded(values.size());
  const std::span<const std::byte> same_part(stored);
  codec->decode({&same_part, 1}, {decoded, kGoldenValues});
  for (float& value : decoded) {
    if (std::isnan(value)) value = std::bit_cast<float>(0x7FC00000u);
  }
  EXPECT_EQ(sha256(decoded), line.decoded);
}

TEST(Golden, InputsAreWhatTheLibraryWasGiven) {
  EXPECT_EQ(sha256(input_named("plain")),
            "234b8cf6063657934f6204187f75381c900ebfa4d5015bce8e76671d6d317800");
  EXPECT_EQ(sha256(input_named("edge")),
            "b8e41ea8d7eb8ab583b258d1e4e868f822c2f18309e92442782ede276917eac0");
}

TEST(Golden, EveryTypeGivesTheLibrarysBytes) {
  int checked = 0;
  for (const GoldenLine& line : read_golden()) {
    if (line.codec == "input") continue;
    check_line(line);
    ++checked;
  }
  EXPECT_EQ(checked, 25 * 4 - 3 * 2)
      << "25 types, two inputs, with and without weights where three "
         "have no way without";
}

// The hashes that the file must hold whoever made it: a published set for the same input.
TEST(Golden, FileHoldsTheKnownHashes) {
  constexpr const char* kKnown[][3] = {
      {"q4_k", "no", "d9aaa0b65aff3e58db4ea4600134d32fd435865675d84b339735ac2f84692bfc"},
      {"q4_k", "yes", "240f0b8992ccfc5642ecc646e93d6b04fdd04c21104bb640bea1084aefce74d4"},
      {"q5_k", "no", "dac20fc76d40485b923fd11940266c83fcc98478f0a9d334436f9f091bcd3bea"},
      {"q5_k", "yes", "dcb564066f681b7eaa0916f949bb0cd501e4bea3840bf1ece0796cc75de974a2"},
      {"q6_k", "no", "92ecc822de0be7f5dcfd9090cdbbcaf75e02f660a72ce74dc746d3d07806675d"},
      {"q6_k", "yes", "a240d76a244940e7b5c0a756c968d5235678e9231742c29a9fb216df0142d5c6"},
      {"q8_0", "no", "37f99c84582b51dc986084d9d0a4984fbc975041a9940115d892af4053cf497a"},
      {"q4_0", "no", "aa86a751ddb2828527cfff65e0461c69bf9d3785f7aca06ce16f0dfff9caa57d"},
      {"q4_0", "yes", "963cd327a9605f37f5f54f02a917415b75991b8127170b5170befe667711cdc3"},
      {"q5_1", "yes", "f08c9795c8b412a3474b6f378c145e4c73a60ec0eb186b2442e225a266421a24"},
      {"iq4_nl", "no", "343dd8a8c6530dc7cdcaa6e94379bbc85b814d225fae8ad72bd648aa64b98363"},
      {"nvfp4", "no", "662bdf59087d2214ea48fada0806415996dd8bb8f909c0649a93804b9aca3c3b"},
      {"mxfp4", "no", "0722ff10b86715f1e8cec124a3b84cf33ce30af9dc827a349b43a44797d14e31"},
  };
  const auto lines = read_golden();
  for (const auto& known : kKnown) {
    bool found = false;
    for (const GoldenLine& line : lines) {
      if (line.codec != known[0] || line.input != "plain" || line.weighted != known[1]) continue;
      EXPECT_EQ(line.encoded, known[2]) << known[0];
      found = true;
    }
    EXPECT_TRUE(found) << known[0];
  }
}

}  // namespace
}  // namespace ckpt
