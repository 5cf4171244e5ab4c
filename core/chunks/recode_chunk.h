// Turns a run of rows of one tensor from stored bytes into stored bytes: decode, apply the
// operations, check for NaN and Inf, encode. Pure: bytes in, bytes out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/io/buffers.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// How a tensor may be cut into chunks. A "flat" tensor is cut between any two blocks, as if it were
// one row after another of `row_values` each; this also cuts a single huge row.
struct Grain {
  uint64_t rows = 0;  // of the (possibly flattened) tensor
  uint64_t row_values = 0;
  uint64_t band_rows = 1;  // cuts are at multiples of this
};
// Requires: the tensor passed check().
Grain grain(const Tensor& tensor);

// Bytes of `rule`'s part that rows [first, first + rows) of the grain take up.
struct PartRange {
  uint64_t first_bytes, size_bytes;
};
PartRange part_range(const PartRule& rule, const Grain& grain, uint64_t first, uint64_t rows);

// Memory of one thread, kept between chunks.
struct RecodeScratch {
  AlignedBuffer values;
  std::vector<float> permuted;
};

struct RecodeInput {
  const Tensor& tensor;  // Recoded
  Grain grain;
  uint64_t first_row;  // of the chunk, in grain rows; a multiple of band_rows
  uint64_t rows;
  ConstParts source;  // the parts of `from` for these rows
  Stats stats;
  bool allow_nonfinite;
  std::span<const float> block_amax = {};  // of these rows; see EncodeContext
  const ErrorFeedback* feedback = nullptr;
};

// Memory of the floats that these two hold at a time, at most.
uint64_t strip_bytes(const Tensor& tensor, const Grain& grain);

// Fails: kCorrupt for NaN or Inf (position counted in the tensor's own shape), or for finite values
// that are too large for the codec.
Status recode_chunk(const RecodeInput& input, RecodeScratch& scratch, Parts out);

// The first half of recode_chunk: computes the statistics of the entire tensor that the codec needs
// before it can encode. Fails as recode_chunk does.
Status scan_chunk(const RecodeInput& input, RecodeScratch& scratch, Stats& stats);

// The same check for values that are copied unchanged. Codecs other than plain floats pass.
Status check_finite(const Tensor& tensor, const Codec& codec, uint64_t first_value,
                    std::span<const std::byte> bytes);

}  // namespace ckpt
