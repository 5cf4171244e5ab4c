// A codec defines how values are stored: floats to parts and back, and the size rule of each part.
//
// A part is a grid with one element per tile of the tensor. Most codecs have one part (a BF16
// tensor is a grid of BF16 elements; a Q6_K tensor a grid of 256-value blocks); NVFP4 has three
// (codes, block scales, tensor scale). The rules determine which entries of a file belong together,
// how large they are and where a tensor may be split; formats know no codec by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/dtype.h"

namespace ckpt {

struct PartRule {
  std::string_view suffix;  // appended to the tensor's name: "" or "_scale"
  Dtype dtype;
  uint32_t tile_rows;      // rows per element; 0 = all rows
  uint32_t tile_values;    // values of a row per element; 0 = all values
  bool is_vector = false;  // shape [1] instead of [] (tiles 0, 0), [N] instead of [N, 1] (1, 0)
  bool is_spread = false;  // shape [R, 1, C, 1] instead of [R, C], [] for a single element
};

// Entire rows, row-major.
struct FloatRows {
  std::span<float> values;
  uint64_t row_values;
  uint64_t rows() const { return row_values == 0 ? 0 : values.size() / row_values; }
};
struct ConstFloatRows {
  std::span<const float> values;
  uint64_t row_values;
  uint64_t rows() const { return row_values == 0 ? 0 : values.size() / row_values; }
};

using Parts = std::span<const std::span<std::byte>>;
using ConstParts = std::span<const std::span<const std::byte>>;

// Facts about an entire tensor that are needed to encode its first row. They combine exactly in any
// order, so that a tensor may be scanned in pieces.
struct Stats {
  float amax = 0;      // largest magnitude, ignoring non-finite values
  float own_amax = 0;  // of this tensor alone, if peers share amax; not combined
};
void combine(Stats& into, const Stats& other);

// How to encode if a codec has a choice. The default is that of the reference program.
enum class ScaleSearch : uint8_t {
  kNone,         // scales from the largest magnitude, as in the reference
  kFourOverSix,  // NVFP4: scales each block to 6 or to 4, whichever has the lower error
  kSweep,        // NVFP4: best of all E4M3 block scales
  kBest,         // the best that this program has, for any codec
};
struct EncodeOptions {
  bool cpu_rounding = false;  // NVFP4, FP8: divide instead of multiplying by a reciprocal as a GPU
  ScaleSearch search = ScaleSearch::kNone;
  bool searches_alone = false;  // four over six: choose by Stats::own_amax, scale by amax
};

// How later columns compensate for the rounding error of a column (core/chunks/error_feedback.h).
// Columns are processed in runs of `run_values`, a divisor of the row length. Each run has a
// matrix, row by row: right of the diagonal the amount to subtract from column k for an error of 1
// in column i, on the diagonal the cost of the squared error.
struct ErrorFeedback {
  uint32_t run_values = 0;
  std::vector<float> factors;
  std::vector<float> weights;  // mean square of each column's inputs
};

// The input of encode() in addition to the rows.
struct EncodeContext {
  Stats stats;                            // set if the codec needs_stats
  std::span<const float> column_weights;  // importance of each value in a row; empty = none
  EncodeOptions options = {};
  std::span<const float> block_amax = {};  // magnitudes to scale blocks by, row by row, stored by a
                                           // calibration; empty = the rows' own
  const ErrorFeedback* feedback = nullptr;  // may be null
};

struct Codec;

// Moves the bits of another codec's parts into this codec, without decoding and rounding.
struct Repack {
  const Codec* from;
  // Moves entire rows. Parts that belong to the entire tensor are passed completely and need not be
  // used. Returns the index of the first row with a value that `refused` describes, or `rows`;
  // moves all rows in either case.
  uint64_t (*move)(ConstParts from, uint64_t rows, uint64_t row_values, Parts to);
  std::string_view refused;  // "a block scale that is NaN"
  // Advice about such a row. If empty, the row has values that are not finite, which callers may
  // allow.
  std::string_view advice = {};
};

// The kind of a codec's numbers, independent of the names and shapes of its parts: one per
// quantization of checkpoints. Plain numbers and ggml's blocks are identified by their dtype.
enum class Scheme : uint8_t {
  kPlain,
  kNvfp4,       // E2M1, an E4M3 scale per 16 values, a scale per tensor
  kFp8Tensor,   // E4M3, a scale per tensor
  kFp8Channel,  // E4M3, a scale per row
  kFp8Block,    // E4M3, a scale per 128 x 128 values
  kMxfp4,       // E2M1, a power of two per 32 values
  kMxfp8,       // E4M3, a power of two per 32 values
  kPackedInt4,  // 4-bit integers, a scale per group of a row
};
// The program whose names and shapes the parts have, if several programs write the same scheme.
enum class Dialect : uint8_t {
  kModelopt,
  kCompressedTensors,
  kGguf,
  kVector,         // ModelOpt's, with the scale of the tensor as a list
  kModeloptStack,  // ModelOpt's for stacked experts, inputs before outputs
  kSpread,         // ModelOpt's exported FP8 blocks, with scales on four axes
  kOther,          // one of several others, distinguished by the parts
};

struct Codec {
  std::string_view name;  // "q6_k"; for a one-part codec the name of its dtype
  std::string_view help;
  Scheme scheme = Scheme::kPlain;
  Dialect dialect = Dialect::kOther;
  std::span<const PartRule> parts;
  uint32_t band_rows;             // rows that must be coded together: the largest tile_rows
  uint32_t block_values;          // rows consist of complete blocks
  bool decodes_any_rows = false;  // decode() also accepts some rows of one band, with its elements
  bool needs_stats = false;       // scan() sees every row before encode() sees any
  void (*scan)(ConstFloatRows, Stats&) = nullptr;
  // Encodes complete bands into parts of exactly the right sizes. Cannot fail. Null: the codec
  // cannot encode.
  void (*encode)(ConstFloatRows, const EncodeContext&, Parts) = nullptr;
  // Decodes complete bands, or see decodes_any_rows. Null: the codec cannot decode (integers, types
  // that are only copied).
  void (*decode)(ConstParts, FloatRows) = nullptr;
  // Shortcuts for plain bf16 values in memory: one pass with the results of decoding followed by
  // scan or encode. They return false, with unusable results, if a magnitude is not below `end`
  // (Inf and NaN never are) or the codec needs floats for the request; first_overflow is called
  // afterwards. Null: no shortcut.
  bool (*scan_bf16)(std::span<const std::byte>, Stats&) = nullptr;
  bool (*encode_bf16)(std::span<const std::byte>, const EncodeContext&, Parts) = nullptr;
  // Magnitudes from here on do not fit; encode() gets none, unless Inf and NaN are allowed. The
  // value is from the dtype's row.
  float end = kNoEnd;
  // The index of the first encoded row whose scales are Inf or NaN although its values were below
  // `end` (a minimum may need more than they do), or `rows` if there is none. Null: cannot happen.
  uint64_t (*first_overflow)(ConstParts, uint64_t rows, uint64_t row_values) = nullptr;
  // Codecs whose bits this codec can hold.
  std::span<const Repack> repacks = {};
  // How many of the `values` values in the parts have the smallest or largest code, so that they
  // may have been clipped. Null: plain numbers, or unknown.
  uint64_t (*count_extreme)(ConstParts, uint64_t values) = nullptr;
};

using Codecs = std::span<const Codec* const>;

const Codec* find_codec(Codecs codecs, std::string_view name);  // nullptr if unknown
// The codec of a scheme in a dialect that is not kOther. Requires: the list has one.
const Codec& scheme_codec(Codecs codecs, Scheme scheme, Dialect dialect);
inline bool is_fp8(Scheme scheme) {
  return scheme == Scheme::kFp8Tensor || scheme == Scheme::kFp8Channel ||
         scheme == Scheme::kFp8Block;
}
// The dtype stored by a codec of plain numbers or ggml's blocks; nullopt for several parts.
std::optional<Dtype> plain_dtype(const Codec& codec);
// F32, F16 or BF16: the types of weights before they are quantized.
bool is_plain_float(const Codec& codec);
// The repack from `from` to `to`; nullptr if this is impossible.
const Repack* find_repack(const Codec& from, const Codec& to);
// The one-part codec that stores `dtype` unchanged. Requires: the list has one for every Dtype.
const Codec& plain_codec(Codecs codecs, Dtype dtype);

// The number of elements in a part along each axis: tiles of `rows` x `row_values`.
struct PartShape {
  uint64_t rows;
  uint64_t elements;  // per row
  uint64_t size_bytes;
};
// Requires: the shape was checked (check_shape of checkpoint.h), so no product overflows.
PartShape part_shape(const PartRule& rule, uint64_t rows, uint64_t row_values);

}  // namespace ckpt
