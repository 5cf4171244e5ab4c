// Weights that are MXFP4 already and become NVFP4 or FP8: their codes are kept where that is exact.
//
//   gpt-oss               P_blocks, P_scales [E, N, K/32]      ──▶  P [E, K, N], one stack
//   compressed-tensors    P.weight_packed, P.weight_scale      ──▶  P.weight
//
// NVFP4: tensor scale 2^(K - 8), block scales 2^(k - K + 8) (core/model/mxfp4_blocks.h). FP8:
// tensor scale 2^(K - 6), which holds the blocks from 2^(K - 14) on. Blocks that lie too far below
// the largest one are rounded and counted. Source: NVIDIA Model-Optimizer
// examples/hf_ptq/cast_mxfp4_to_nvfp4.py.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transforms/facts/quant_statement.h"
#include "transforms/modelopt_export/options.h"
#include "transforms/packed/second_rounding.h"

namespace ckpt {

// Weights of MXFP4 as tensors that export takes, and no statement about them in the documents.
// Others as they are. Fails: kCorrupt: parts that do not fit each other.
Result<Checkpoint> take_mxfp4(Checkpoint checkpoint, const ExportOptions& options,
                              const Context& context);

// Fails: kUsage: the statement that goes declares a cache, and `options` do not.
Status check_said_cache(const QuantStatement& statement, const ExportOptions& options);

// The stored MXFP4 of a weight as take_mxfp4 leaves it, in its own order of axes; nullptr for
// others.
const Tensor* mxfp4_of(const Tensor& tensor);

// The weights of MXFP4 that an export quantizes, from where they are read to what is said of them.
class Mxfp4Weights {
 public:
  // Remembers `weight`, which mxfp4_of() knows, as it was read.
  void take(const Tensor& weight) { as_read_.emplace(weight.name, weight); }
  // Makes `members`, which are of `type` now and share a scale, keep their codes; reads the block
  // scales, and codes of blocks that are not exact. False: they are rounded, as not all of them
  // were MXFP4, or FP8 has a scale for some of their blocks. Fails: kCorrupt: block scales that are
  // NaN; kUnsupported: too large for the type; kIo.
  Result<bool> cast(std::span<Tensor* const> members, ExportType type, Codecs codecs);
  // Notes how many blocks of which weights are exact; as note_second_rounding() for the rest.
  Status say(Checkpoint& checkpoint, const Context& context) const;

 private:
  SourceWeights as_read_, rounded_;
  uint64_t weights_ = 0, blocks_ = 0, exact_blocks_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace ckpt
