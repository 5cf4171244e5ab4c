// The rules of the mixtures that look at where in the model a tensor stands; pure functions.
// Source: llama.cpp src/llama-quant.cpp (llama_tensor_get_type_impl).
#pragma once

#include <cstdint>

#include "transforms/llama_quantize/mixture.h"

namespace ckpt {

struct RuleContext {
  const Mixture& mixture;
  const ModelFacts& facts;
  bool has_imatrix;
  bool is_falcon() const { return facts.arch == "falcon"; }
  bool has_8_experts() const { return facts.experts == 8; }
};

// True for the first and last eighth of `count` things and every third between.
bool gets_more_bits(uint64_t index, uint64_t count);

// Tensor `index` of `count` like attn_v (attn_qkv and attn_kv_b too).
Dtype value_type(const RuleContext& context, uint64_t index, uint64_t count);
Dtype key_type(const RuleContext& context);
// ffn_down of layer `index`.
Dtype down_type(const RuleContext& context, uint64_t index);
Dtype attention_output_type(const RuleContext& context);
// Of mxfp4_moe: a stack of matrices is MXFP4, one matrix Q8_0. `shape` is outermost first.
Dtype mxfp4_moe_type(const std::vector<uint64_t>& shape);

}  // namespace ckpt
