// A codec says how values are stored: floats to parts and back, and the size rule of each part.
//
// A part is a grid with one element for each tile of the tensor. Most codecs have one part (a BF16
// tensor is a grid of BF16 elements; a Q6_K tensor a grid of 256-value blocks); NVFP4 has three
// (codes, block scales, tensor scale). Which entries of a file belong together, how large they are
// and where a tensor may be cut follow from the rules; no format knows a codec by name.
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
  uint32_t tile_rows;      // rows that share one element; 0 = all of them
  uint32_t tile_values;    // values of a row that share one element; 0 = all of them
  bool is_vector = false;  // shape [1] instead of [] (tiles 0, 0), [N] instead of [N, 1] (1, 0)
  bool is_spread = false;  // shape [R, 1, C, 1] instead of [R, C], [] of a single element
};

// Whole rows, row-major.
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

// Facts about an entire tensor that encoding its first row needs. Combines exactly in
// any order, so that a tensor may be scanned in pieces.
struct Stats {
  float amax = 0;      // largest magnitude, non-finite values left out
  float own_amax = 0;  // only of this tensor, if peers share amax; not combined
};
void combine(Stats& into, const Stats& other);

// How to encode if a codec has a choice; the default is that of the reference program.
enum class ScaleSearch : uint8_t {
  kNone,         // scales from the largest magnitude, as the reference
  kFourOverSix,  // NVFP4: each block scaled to 6 or to 4, whichever has the lower error
  kSweep,        // NVFP4: best of all E4M3 block scales
  kBest,         // the best this program has, whatever the codec
};
struct EncodeOptions {
  bool cpu_rounding = false;  // NVFP4, FP8: divide where the GPU multiplies by a reciprocal
  ScaleSearch search = ScaleSearch::kNone;
  bool searches_alone = false;  // four over six: choose by Stats::own_amax, scale by amax
};

// How later columns compensate for the rounding error of a column (core/chunks/error_feedback.h).
// Columns are processed in runs of `run_values`, a divisor of the row length. Each run has a
// matrix, row after row: right of the diagonal the amount to subtract from column k for an error of
// 1 in column i, on the diagonal the cost of the squared error.
struct ErrorFeedback {
  uint32_t run_values = 0;
  std::vector<float> factors;
  std::vector<float> weights;  // mean square of what each column is multiplied with
};

// Input of encode() in addition to the rows.
struct EncodeContext {
  Stats stats;                            // set when the codec needs_stats
  std::span<const float> column_weights;  // importance of each value of a row; empty = none
  EncodeOptions options = {};
  std::span<const float> block_amax = {};  // magnitudes to scale each block by, row after row, as a
                                           // calibration stored them; empty = the rows' own
  const ErrorFeedback* feedback = nullptr;  // may be null
};

struct Codec;

// How the bits of another codec's parts become those of this codec, without decoding and rounding.
struct Repack {
  const Codec* from;
  // Moves entire rows. Parts that belong to the entire tensor are passed completely and need not be
  // used. Returns the index of the first row with a value that `refused` describes, or `rows`;
  // moves all rows in either case.
  uint64_t (*move)(ConstParts from, uint64_t rows, uint64_t row_values, Parts to);
  std::string_view refused;  // "a block scale that is NaN"
  // Advice about such a row. If empty, the row has values that are not finite, and callers may
  // allow them.
  std::string_view advice = {};
};

// The kind of a codec's numbers, independent of the names and shapes of its parts: one for each
// quantization of checkpoints. Plain numbers and ggml's blocks are identified by their dtype.
enum class Scheme : uint8_t {
  kPlain,
  kNvfp4,       // E2M1, an E4M3 scale for 16 values, a scale a tensor
  kFp8Tensor,   // E4M3, a scale a tensor
  kFp8Channel,  // a scale a row
  kFp8Block,    // a scale for 128 x 128 values
  kMxfp4,       // E2M1, a power of two for 32 values
  kMxfp8,       // E4M3, the same
  kPackedInt4,  // whole numbers of 4 bits, a scale for a group of a row
};
// The program whose names and shapes the parts have, if several programs write the same scheme.
enum class Dialect : uint8_t {
  kModelopt,
  kCompressedTensors,
  kGguf,
  kVector,         // ModelOpt's, the one scale of a tensor as a list
  kModeloptStack,  // ModelOpt's of stacked experts, inputs before outputs
  kSpread,         // ModelOpt's blocks of FP8 as it exports them, their scales on four axes
  kOther,          // one of several others, distinguished by the codec's parts
};

struct Codec {
  std::string_view name;  // "q6_k"; for a one-part codec the name of its dtype
  std::string_view help;
  Scheme scheme = Scheme::kPlain;
  Dialect dialect = Dialect::kOther;
  std::span<const PartRule> parts;
  uint32_t band_rows;             // rows that must be coded together: the largest tile_rows
  uint32_t block_values;          // a row holds a whole number of blocks
  bool decodes_any_rows = false;  // decode() also takes some rows of one band, with its elements
  bool needs_stats = false;       // scan() sees every row before encode() sees any
  void (*scan)(ConstFloatRows, Stats&) = nullptr;
  // Encodes whole bands into parts of exactly the right sizes. Cannot fail; null: cannot be
  // encoded.
  void (*encode)(ConstFloatRows, const EncodeContext&, Parts) = nullptr;
  // Decodes whole bands, see decodes_any_rows; null: cannot be decoded (integers, types that are
  // only copied).
  void (*decode)(ConstParts, FloatRows) = nullptr;
  // Shortcuts for plain bf16 values in memory: one pass with the results of decoding followed by
  // scan or encode. They return false, and the results are not usable, if a magnitude is not below
  // `end` (Inf and NaN never are) or the codec needs floats for the request; first_overflow is
  // called afterwards. Null: no shortcut.
  bool (*scan_bf16)(std::span<const std::byte>, Stats&) = nullptr;
  bool (*encode_bf16)(std::span<const std::byte>, const EncodeContext&, Parts) = nullptr;
  // Magnitudes from here on do not fit; encode() sees none, unless Inf and NaN are allowed. That of
  // the row of the dtype.
  float end = kNoEnd;
  // Index of the first encoded row whose scales are Inf or NaN although its values were below `end`
  // (a minimum may need more than they do), or `rows` when all is well. Null: cannot happen.
  uint64_t (*first_overflow)(ConstParts, uint64_t rows, uint64_t row_values) = nullptr;
  // Codecs whose bits this codec can hold.
  std::span<const Repack> repacks = {};
  // How many of `values` values (all that the parts hold) have the smallest or largest code, so
  // that they may have been clipped. Null: plain numbers, or unknown.
  uint64_t (*count_extreme)(ConstParts, uint64_t values) = nullptr;
};

using Codecs = std::span<const Codec* const>;

const Codec* find_codec(Codecs codecs, std::string_view name);  // nullptr when unknown
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
// How the bits of `from` become those of `to`; nullptr if this is impossible.
const Repack* find_repack(const Codec& from, const Codec& to);
// The one-part codec that stores `dtype` unchanged. Requires: the list has one for every Dtype.
const Codec& plain_codec(Codecs codecs, Dtype dtype);

// Elements in one part along each axis: tiles of `rows` x `row_values`.
struct PartShape {
  uint64_t rows;
  uint64_t elements;  // in a row
  uint64_t size_bytes;
};
// Requires: the shape was checked (checkpoint.h check_shape): no product overflows.
PartShape part_shape(const PartRule& rule, uint64_t rows, uint64_t row_values);

}  // namespace ckpt
