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
// attn_q.
Dtype query_type(const RuleContext& context);
// token_embd.weight, where there is an output.weight too.
Dtype embedding_type(const RuleContext& context);
// output.weight, for all but falcon and base Q8_0.
Dtype narrow_output_type(FileType file_type);
// ffn_gate and ffn_up of layer `index`, which only some mixtures have a rule for.
bool has_feed_forward_rule(FileType file_type);
Dtype feed_forward_type(const RuleContext& context, uint64_t index);

// The mixtures of IQ1 and IQ2, whose rules are all their own; `index` counts ffn_down.
bool is_two_bit_mixture(FileType file_type);
Dtype two_bit_type(const RuleContext& context, Category category, uint64_t index);

// Of mxfp4_moe: a stack of matrices is MXFP4, one matrix Q8_0. `shape` is outermost first.
Dtype mxfp4_moe_type(const std::vector<uint64_t>& shape);

}  // namespace ckpt
