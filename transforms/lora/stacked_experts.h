// Adapters of experts that a model computes as one parameter (PEFT's target_parameters).
//
//   parameter [E, out, in]; delta of expert e [out, in]
//   A [E r, in]     row e r + k                 B [out, r E]   column k E + e      PEFT 0.19.1 on
//   A [E r, out]    row e r + k                 B [in, r E]    column k E + e      before: D^T
//   parameter [E, in, out]: A reads the inputs in all releases                     gpt-oss
//   B's column e r + k                          unsloth, lora_B_layout "grouped_by_expert"
//
//   X.experts.base_layer.lora_A    gate_up_proj, where both are trained
//   X.experts.lora_A               down_proj, or the only parameter of target_parameters
//
// A model may store the parameter as one tensor or an expert as a tensor; gate and up are the
// halves of gate_up_proj.
#pragma once

#include <string>
#include <vector>

#include "transforms/lora/adapter.h"
#include "transforms/lora/model_weights.h"

namespace ckpt {

enum class ColumnOrder : uint8_t { kFromFile, kRankMajor, kGroupedByExpert };

struct StackedExperts {
  const Adapter& adapter;
  double factor;  // of the scale
  ColumnOrder order;
};

// Whether the module is such a parameter: "model.layers.0.mlp.experts".
bool is_stack_of_experts(const AdapterModule& module);
// Merges it. Fails: kCorrupt for shapes that fit nothing; kUnsupported: which axes are meant
// cannot be told.
Status merge_stack(const AdapterModule& module, const StackedExperts& given, ModelWeights& weights);
// The weight of an expert, and the values of a parameter that are for it.
struct ExpertRows {
  Tensor* weight = nullptr;
  Tensor values;
};
// Of a parameter, "X.experts.gate_up_proj", whose model has tensors of single experts; empty for
// all others. Fails: kCorrupt: another shape.
Result<std::vector<ExpertRows>> rows_of_experts(const std::string& name, const Tensor& values,
                                                ModelWeights& weights);
// The module of one expert, "X.experts.3.gate_proj", whose model has one tensor for all: merges it
// into the rows of that expert. False: the model has no such tensor.
Result<bool> merge_expert_into_stack(const std::string& module, LowRankUpdate update,
                                     ModelWeights& weights);

}  // namespace ckpt
