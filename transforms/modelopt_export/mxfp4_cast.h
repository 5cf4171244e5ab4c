// Weights that are MXFP4 already and become NVFP4: their codes are kept where that is exact.
//
//   gpt-oss               P_blocks, P_scales [E, N, K/32]      ──▶  P [E, K, N], one stack
//   compressed-tensors    P.weight_packed, P.weight_scale      ──▶  P.weight
//
// Tensor scale 2^(K - 8), block scales 2^(k - K + 8) (core/model/mxfp4_blocks.h). Blocks that lie
// too far below the largest one are rounded and counted.
// Source: NVIDIA Model-Optimizer examples/hf_ptq/cast_mxfp4_to_nvfp4.py.
#pragma once

#include <string>
#include <vector>

#include "transforms/hf/quant_statement.h"
#include "transforms/modelopt_export/options.h"

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

// One weight and how it becomes NVFP4.
struct Mxfp4Cast {
  const Tensor* weight = nullptr;  // mxfp4_of() it is not null
  Stats stats = {};
  std::shared_ptr<const Tensor> block_amax = nullptr;
  uint64_t blocks = 0, exact_blocks = 0;  // of 32 values
};
// Fills the casts of weights that share a tensor scale. Reads their block scales, and codes of
// blocks that are not exact. Fails: kCorrupt: block scales that are NaN; kUnsupported: too large
// for NVFP4; kIo.
Status cast_mxfp4(std::vector<Mxfp4Cast>& group, Codecs codecs);

// Notes how many blocks of which weights are exact.
class Mxfp4Notes {
 public:
  void add(const Mxfp4Cast& cast);
  // A weight that could not be cast because it shares scales with floats.
  void add_rounded(const std::string& name) { rounded_.push_back(name); }
  void say(const Context& context) const;

 private:
  uint64_t weights_ = 0, blocks_ = 0, exact_blocks_ = 0;
  std::vector<std::string> lines_, rounded_;
};

}  // namespace ckpt
