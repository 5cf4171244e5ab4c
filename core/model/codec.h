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
  float own_amax = 0;  // of the tensor alone, where peers share amax; not combined
};
void combine(Stats& into, const Stats& other);

// How a codec that has a choice encodes; the default is what the reference program does.
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

// How the rounding error of a column is made up for in later ones (core/chunks/error_feedback.h).
// Columns are taken in runs of `run_values`, a divisor of the row. For each run a matrix, row after
// row: right of the diagonal what column k loses for an error of 1 in column i, on it the cost of
// that error squared.
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

// How the bits of another codec's parts become those of this one: nothing is decoded, so nothing
// rounds.
struct Repack {
  const Codec* from;
  // Moves whole rows. Parts that belong to the whole tensor are passed whole and need not be used.
  // Index of the first row that holds what `refused` says, or `rows`; all rows are moved anyway.
  uint64_t (*move)(ConstParts from, uint64_t rows, uint64_t row_values, Parts to);
  std::string_view refused;  // "a block scale that is NaN"
  // Advice about such a row. Empty: it holds no finite number, and callers may have it
  // moved as it is.
  std::string_view advice = {};
};

// The kind of a codec's numbers, however its parts are named and shaped. One a quantization of
// checkpoints; plain numbers and ggml's blocks are known by their dtype.
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
// Whose names and shapes the parts have, where several write the same scheme.
enum class Dialect : uint8_t {
  kModelopt,
  kCompressedTensors,
  kGguf,
  kVector,         // ModelOpt's, the one scale of a tensor as a list
  kModeloptStack,  // ModelOpt's of stacked experts, inputs before outputs
  kSpread,         // ModelOpt's blocks of FP8 as it exports them, their scales on four axes
  kOther,          // one of several more, told apart by the codec's parts
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
  // Shortcuts for values that are plain bf16 in memory: the results of scan and encode for them
  // decoded, in one pass. False, with no use in what was done, when an Inf or NaN is among them, or
  // for what the codec only does with floats; first_overflow is asked afterwards. Null: none.
  bool (*scan_bf16)(std::span<const std::byte>, Stats&) = nullptr;
  bool (*encode_bf16)(std::span<const std::byte>, const EncodeContext&, Parts) = nullptr;
  // Index of the first encoded row whose scales are Inf or NaN although its values were finite
  // (they are too large for the codec), or `rows` when all is well. Null: cannot happen.
  uint64_t (*first_overflow)(ConstParts, uint64_t rows, uint64_t row_values) = nullptr;
  // Codecs whose values this one holds bit for bit.
  std::span<const Repack> repacks = {};
  // How many of `values` values, all that the parts hold, have the code at either end of the
  // codec's codes: those that may have been cut off. Null: plain numbers, or not known.
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
// F32, F16 or BF16: what weights are stored in before they are quantized.
bool is_plain_float(const Codec& codec);
// How `to` takes over the bits of `from`; nullptr when it cannot.
const Repack* find_repack(const Codec& from, const Codec& to);
// The one-part codec that stores `dtype` as it is. Requires: the list has one for every Dtype.
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
