// Rows that several architectures of GGUF share, and the keys of all. Sources: llama.cpp v0.5.0
// src/llama-model.cpp (load_hparams, create_tensor_qkv), src/models/*.cpp.
#include "checks/gguf/gguf_rules.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// clang-format off
constexpr GgufRow kFrameRows[] = {
    {"token_embd.weight",  "embd vocab"},
    {"output_norm.weight", "embd"},
};
constexpr GgufRow kTiedHeadRows[] = {{"output.weight", "embd vocab", "optional"}};
constexpr GgufRow kHeadRows[] = {{"output.weight", "embd vocab"}};
constexpr GgufRow kNormRows[] = {
    {"blk.{}.attn_norm.weight", "embd"},
    {"blk.{}.ffn_norm.weight",  "embd"},
};
constexpr GgufRow kDenseRows[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff"},
};
constexpr GgufRow kAttentionRows[] = {
    {"blk.{}.attn_{q,k,v}",       "embd head*k k_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "head*k embd"},
};
constexpr GgufRow kSquareAttentionRows[] = {
    {"blk.{}.attn_{q,k,v}",       "embd embd v_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "embd embd"},
};
constexpr GgufRow kPostNormRows[] = {
    {"blk.{}.attn_norm.weight",           "embd"},
    {"blk.{}.post_attention_norm.weight", "embd"},
};
// The values' width counts for the keys too.
constexpr GgufRow kWideAttentionRows[] = {
    {"blk.{}.attn_{q,k,v}",       "embd head*k v_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "head*k embd"},
};
constexpr GgufRow kHeadNormRows[] = {
    {"blk.{}.attn_q_norm.weight", "k"},
    {"blk.{}.attn_k_norm.weight", "k"},
};
constexpr GgufRow kRopeRows[] = {
    {"rope_factors_long.weight",  "rot/two", "optional first longrope"},
    {"rope_factors_short.weight", "rot/two", "optional first longrope"},
    {"rope_freqs.weight",         "rot/two", "optional first !longrope"},
};
constexpr GgufRow kExpertRows[] = {
    {"blk.{}.ffn_gate_inp.weight",  "embd expert"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd expert_width expert"},
};
constexpr GgufRow kLeadingRows[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "!moe"},
    {"blk.{}.ffn_gate_inp.weight", "embd expert", "moe"},
};
// Of Llama and Granite: an MLP, or experts in its place.
constexpr GgufRow kLlamaFeedRows[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "!expert"},
    {"blk.{}.ffn_gate.bias",         "ff", "!expert optional"},
    {"blk.{}.ffn_up.bias",           "ff", "!expert optional"},
    {"blk.{}.ffn_down.bias",         "embd", "!expert optional"},
    {"blk.{}.ffn_gate_inp.weight",   "embd expert", "expert"},
    {"blk.{}.ffn_gate_exps.weight",  "embd ff expert", "expert optional"},
    {"blk.{}.ffn_{down,up}_exps.weight", "embd ff expert", "expert"},
};
constexpr GgufRow kGraniteSharedRows[] = {
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_shexp", "expert ff_shexp"},
};
constexpr GgufRow kNextnRows[] = {
    {"blk.{}.nextn.eh_proj.weight",          "2*embd embd", "nextn"},
    {"blk.{}.nextn.enorm.weight",            "embd", "nextn"},
    {"blk.{}.nextn.hnorm.weight",            "embd", "nextn"},
    {"blk.{}.nextn.embed_tokens.weight",     "embd vocab", "nextn optional"},
    {"blk.{}.nextn.shared_head_head.weight", "embd vocab", "nextn optional"},
    {"blk.{}.nextn.shared_head_norm.weight", "embd", "nextn optional"},
};
// clang-format on

}  // namespace

const std::string_view kGgufCommonKeys =
    "context_length! embedding_length! embedding_length_out attention.causal"
    " pooling_type block_count! nextn_predict_layers expert_count expert_used_count"
    " expert_group_count expert_group_used_count feed_forward_length"
    " attention.head_count attention.head_count_kv rope.scaling.finetuned"
    " rope.scaling.original_context_length rope.freq_base rope.scaling.type"
    " rope.scaling.factor rope.scaling.attn_factor rope.scaling.alpha"
    " attention.key_length attention.value_length rope.dimension_count"
    " attention.key_length_swa attention.value_length_swa rope.dimension_count_swa";

namespace gguf_rows {
const std::span<const GgufRow> kFrame = kFrameRows, kTiedHead = kTiedHeadRows, kHead = kHeadRows;
const std::span<const GgufRow> kNorms = kNormRows, kDense = kDenseRows, kRope = kRopeRows;
const std::span<const GgufRow> kExperts = kExpertRows, kAttention = kAttentionRows;
const std::span<const GgufRow> kSquareAttention = kSquareAttentionRows;
const std::span<const GgufRow> kHeadNorms = kHeadNormRows, kNextn = kNextnRows;
const std::span<const GgufRow> kPostNorms = kPostNormRows, kWideAttention = kWideAttentionRows;
const std::span<const GgufRow> kLeading = kLeadingRows, kLlamaFeed = kLlamaFeedRows;
const std::span<const GgufRow> kGraniteShared = kGraniteSharedRows;
}  // namespace gguf_rows

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  for (const auto tables :
       {gguf_dense_architectures(), gguf_expert_architectures(), gguf_hybrid_architectures()}) {
    for (const GgufArchitecture& rules : tables) {
      if (has_word(rules.names, name)) return &rules;
    }
  }
  return nullptr;
}

}  // namespace ckpt
