// Adapters of PEFT's methods other than LoRA: a row of a table for each method, with the names of
// its tensors and the function that turns weight and tensors into the merged weight.
//
//   rows       the weight's rows change one by one (core/computed/row_change.h)
//   product    a product is added, as LoRA's (core/computed/low_rank_source.h)
#pragma once

#include <string_view>

#include "core/computed/row_change.h"
#include "transforms/lora/adapter.h"
#include "transforms/lora/model_weights.h"

namespace ckpt {

// One module of an adapter, and the weight [rows, columns] that it changes.
struct MethodModule {
  const Adapter& adapter;
  const AdapterModule& module;
  uint64_t rows, columns;
  bool is_conv1d;     // [inputs, outputs]
  uint64_t channels;  // of a convolution's inputs, in each group; 0: a matrix
  float scale;
  const Codec& type;  // of the weight
  Codecs codecs;

  const AdapterConfig& config() const { return adapter.config; }
  // The module's tensor whose name ends in `factor`. It must have this shape; 0 stands for any
  // size. Fails: kCorrupt.
  Result<Tensor> need(std::string_view factor, const std::vector<uint64_t>& shape) const;
  bool has(std::string_view factor) const { return module.factors.contains(factor); }
};

// Merges one module into `weights`; `factor` multiplies its scale. Fails: kCorrupt, kUnsupported;
// as ModelWeights::merge and change.
struct MethodMerge {
  const Adapter& adapter;
  double factor;
  const Context& context;
};
Status merge_method(const AdapterModule& module, const MethodMerge& how, ModelWeights& weights);

}  // namespace ckpt
