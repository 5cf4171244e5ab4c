// The element types that a part of a tensor may be stored in, and their sizes.
//
// An element is the smallest item with its own address: one number, or one block of a ggml type (an
// element of kQ6K is 256 values in 210 bytes), or the entire bytes that sub-byte numbers fill (an
// element of kF4 is 2 values in 1 byte).
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace ckpt {

// Whether llama-quantize uses an importance matrix for a block type.
enum class ImportanceUse : uint8_t { kIgnored, kUsed, kNeeded };
// The effect of --search best: it improves scales, or only codes if second moments are known.
enum class SearchUse : uint8_t { kNoSearch, kFeedback, kScales };

inline constexpr float kNoEnd = std::numeric_limits<float>::infinity();
inline constexpr float kHalfEnd = 65520;  // rounds to Inf as a half float; smaller numbers do not

// One row per type: enumerator, name on the command line, numbers per element, bytes per element,
// number in a GGUF (ggml/include/ggml.h `enum ggml_type`; -1: GGUF has none), the type for tensors
// whose rows are not complete blocks (llama.cpp src/llama-quant.cpp; itself: none), use of an
// importance matrix, what a search improves, its place in the order of types that a size target
// chooses from, which decides ties (0: not chosen; above 100: only for rows that are not complete
// blocks of 256), and the smallest magnitude that does not fit. The name in a safetensors file is
// the same in capitals (safetensors/src/tensor.rs `enum Dtype`).
//
// A block holds magnitudes up to its largest scale times its largest code, and what rounds to that:
// 65504 times a factor; for nvfp4 448 times 6, because 464 rounds to the next scale. llama.cpp
// writes larger ones as Inf, clipped, or as zeros.
// clang-format off
#define CKPT_DTYPES_OF_NUMBERS(ROW) \
  ROW(kBool, "bool", 1, 1, -1, kBool, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF4, "f4", 2, 1, -1, kF4, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF6E2M3, "f6_e2m3", 4, 3, -1, kF6E2M3, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF6E3M2, "f6_e3m2", 4, 3, -1, kF6E3M2, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kU8, "u8", 1, 1, -1, kU8, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kI8, "i8", 1, 1, 24, kI8, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF8E5M2, "f8_e5m2", 1, 1, -1, kF8E5M2, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF8E4M3, "f8_e4m3", 1, 1, -1, kF8E4M3, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF8E8M0, "f8_e8m0", 1, 1, -1, kF8E8M0, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF8E4M3Fnuz, "f8_e4m3fnuz", 1, 1, -1, kF8E4M3Fnuz, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF8E5M2Fnuz, "f8_e5m2fnuz", 1, 1, -1, kF8E5M2Fnuz, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kI16, "i16", 1, 2, 25, kI16, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kU16, "u16", 1, 2, -1, kU16, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF16, "f16", 1, 2, 1, kF16, kIgnored, kNoSearch, 17, kHalfEnd) \
  ROW(kBF16, "bf16", 1, 2, 30, kBF16, kIgnored, kNoSearch, 16, 0x1.FFp127f) \
  ROW(kI32, "i32", 1, 4, 26, kI32, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kU32, "u32", 1, 4, -1, kU32, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF32, "f32", 1, 4, 0, kF32, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kC64, "c64", 1, 8, -1, kC64, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kF64, "f64", 1, 8, 28, kF64, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kI64, "i64", 1, 8, 27, kI64, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kU64, "u64", 1, 8, -1, kU64, kIgnored, kNoSearch, 0, kNoEnd)
#define CKPT_DTYPES_OF_BLOCKS(ROW) \
  ROW(kQ4_0, "q4_0", 32, 18, 2, kQ4_0, kUsed, kNoSearch, 101, 8 * kHalfEnd) \
  ROW(kQ4_1, "q4_1", 32, 20, 3, kQ4_1, kUsed, kNoSearch, 102, 16 * kHalfEnd) \
  ROW(kQ5_0, "q5_0", 32, 22, 6, kQ5_0, kUsed, kNoSearch, 103, 16 * kHalfEnd) \
  ROW(kQ5_1, "q5_1", 32, 24, 7, kQ5_1, kUsed, kNoSearch, 104, 32 * kHalfEnd) \
  ROW(kQ8_0, "q8_0", 32, 34, 8, kQ8_0, kIgnored, kNoSearch, 15, 127 * kHalfEnd) \
  ROW(kQ8_1, "q8_1", 32, 36, 9, kQ8_1, kUsed, kNoSearch, 0, kNoEnd) \
  ROW(kQ2K, "q2_k", 256, 84, 10, kQ4_0, kUsed, kFeedback, 7, 45 * kHalfEnd) \
  ROW(kQ3K, "q3_k", 256, 110, 11, kQ4_0, kUsed, kFeedback, 8, 128 * kHalfEnd) \
  ROW(kQ4K, "q4_k", 256, 144, 12, kQ5_0, kUsed, kScales, 12, 945 * kHalfEnd) \
  ROW(kQ5K, "q5_k", 256, 176, 13, kQ5_1, kUsed, kScales, 13, 1953 * kHalfEnd) \
  ROW(kQ6K, "q6_k", 256, 210, 14, kQ8_0, kUsed, kScales, 14, 4096 * kHalfEnd) \
  ROW(kQ8K, "q8_k", 256, 292, 15, kQ8K, kUsed, kNoSearch, 0, kNoEnd) \
  ROW(kIq2Xxs, "iq2_xxs", 256, 66, 16, kIq4Nl, kNeeded, kNoSearch, 3, 166.625f * kHalfEnd) \
  ROW(kIq2Xs, "iq2_xs", 256, 74, 17, kIq4Nl, kNeeded, kNoSearch, 4, 166.625f * kHalfEnd) \
  ROW(kIq3Xxs, "iq3_xxs", 256, 98, 18, kIq4Nl, kNeeded, kNoSearch, 6, 480.5f * kHalfEnd) \
  ROW(kIq1S, "iq1_s", 256, 50, 19, kIq4Nl, kNeeded, kNoSearch, 1, 16.875f * kHalfEnd) \
  ROW(kIq4Nl, "iq4_nl", 32, 18, 20, kIq4Nl, kUsed, kNoSearch, 11, 127 * kHalfEnd) \
  ROW(kIq3S, "iq3_s", 256, 110, 21, kIq4Nl, kUsed, kNoSearch, 9, 465 * kHalfEnd) \
  ROW(kIq2S, "iq2_s", 256, 82, 22, kIq4Nl, kNeeded, kNoSearch, 5, 166.625f * kHalfEnd) \
  ROW(kIq4Xs, "iq4_xs", 256, 136, 23, kIq4Nl, kUsed, kNoSearch, 10, 4064 * kHalfEnd) \
  ROW(kIq1M, "iq1_m", 256, 56, 29, kIq4Nl, kNeeded, kNoSearch, 2, 16.875f * kHalfEnd) \
  ROW(kTq1_0, "tq1_0", 256, 54, 34, kQ4_0, kIgnored, kNoSearch, 0, kHalfEnd) \
  ROW(kTq2_0, "tq2_0", 256, 66, 35, kQ4_0, kIgnored, kNoSearch, 0, kHalfEnd) \
  ROW(kMxfp4, "mxfp4", 32, 17, 39, kMxfp4, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kNvfp4, "nvfp4", 64, 36, 40, kNvfp4, kIgnored, kNoSearch, 0, 2784) \
  ROW(kQ1_0, "q1_0", 128, 18, 41, kQ1_0, kIgnored, kNoSearch, 0, kNoEnd) \
  ROW(kQ2_0, "q2_0", 64, 18, 42, kQ4_0, kIgnored, kNoSearch, 0, kNoEnd)
// clang-format on

enum class Dtype : uint8_t {
#define CKPT_ENUMERATOR(name, ...) name,
  CKPT_DTYPES_OF_NUMBERS(CKPT_ENUMERATOR) CKPT_DTYPES_OF_BLOCKS(CKPT_ENUMERATOR)
#undef CKPT_ENUMERATOR
};

struct DtypeInfo {
  std::string_view name;  // as on the command line: "bf16", "q4_k"
  uint32_t values;        // numbers per element
  uint32_t size_bytes;    // bytes per element
  int32_t ggml_type;      // -1: none
  Dtype in_short_rows;
  ImportanceUse importance;
  SearchUse search;
  uint32_t target_place;
  float end;  // the smallest magnitude that does not fit
};

// The rows above, indexed by Dtype; a test compares the sizes with ggml-common.h.
inline constexpr DtypeInfo kDtypeInfos[] = {
#define CKPT_ROW(enumerator, name, values, size_bytes, ggml, short_rows, weights, search, place,  \
                 end)                                                                             \
  {name,  values, size_bytes, ggml, Dtype::short_rows, ImportanceUse::weights, SearchUse::search, \
   place, end},
    CKPT_DTYPES_OF_NUMBERS(CKPT_ROW) CKPT_DTYPES_OF_BLOCKS(CKPT_ROW)
#undef CKPT_ROW
};
const DtypeInfo& info(Dtype dtype);
inline uint32_t size_bytes(Dtype dtype) { return info(dtype).size_bytes; }
inline uint32_t element_values(Dtype dtype) { return info(dtype).values; }
#define CKPT_COUNTED(...) +1
inline constexpr uint32_t kNumberDtypeCount = 0 CKPT_DTYPES_OF_NUMBERS(CKPT_COUNTED);
inline constexpr uint32_t kDtypeCount = kNumberDtypeCount CKPT_DTYPES_OF_BLOCKS(CKPT_COUNTED);
#undef CKPT_COUNTED

// Whether it is a block type of ggml, whose values were rounded to a grid before.
inline constexpr bool is_block_type(Dtype dtype) {
  return static_cast<uint32_t>(dtype) >= kNumberDtypeCount;
}

}  // namespace ckpt
