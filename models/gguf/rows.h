// Rows that several architectures of GGUF share. Sources: llama.cpp v0.5.0 src/llama-model.cpp
// (load_hparams, create_tensor_qkv), src/models/*.cpp.
#pragma once

#include <span>

#include "models/gguf_tables.h"

namespace ckpt::gguf_rows {

// The tables, by kind of architecture.
std::span<const GgufArchitecture> dense_architectures();
std::span<const GgufArchitecture> encoder_architectures();
std::span<const GgufArchitecture> expert_architectures();
std::span<const GgufArchitecture> hybrid_architectures();

// clang-format off
inline constexpr GgufRow kFrame[] = {
    {"token_embd.weight",  "embd vocab"},
    {"output_norm.weight", "embd"},
};
inline constexpr GgufRow kTiedHead[] = {{"output.weight", "embd vocab", "optional"}};
inline constexpr GgufRow kHead[] = {{"output.weight", "embd vocab"}};
inline constexpr GgufRow kInputNorm[] = {{"blk.{}.attn_norm.weight", "embd"}};
inline constexpr GgufRow kNorms[] = {{"blk.{}.{attn,ffn}_norm.weight", "embd"}};
inline constexpr GgufRow kOutputNorms[] = {{"blk.{}.post_{attention,ffw}_norm.weight", "embd"}};
inline constexpr GgufRow kDense[] = {{"blk.{}.ffn_{gate,up,down}.weight", "embd ff"}};
inline constexpr GgufRow kGateless[] = {{"blk.{}.ffn_{down,up}.weight", "embd ff"}};
// Gate and up in one matrix.
inline constexpr GgufRow kFusedFeed[] = {
    {"blk.{}.ffn_down.weight", "ff embd"},
    {"blk.{}.ffn_up.weight",   "embd 2*ff"},
};
inline constexpr GgufRow kAttention[] = {
    {"blk.{}.attn_{q,k,v}",       "embd head*k k_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "head*k embd"},
};
inline constexpr GgufRow kSquareAttention[] = {
    {"blk.{}.attn_{q,k,v}",       "embd embd v_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "embd embd"},
};
inline constexpr GgufRow kPostNorms[] = {{"blk.{}.{attn,post_attention}_norm.weight", "embd"}};
// The values' width counts for the keys too.
inline constexpr GgufRow kWideAttention[] = {
    {"blk.{}.attn_{q,k,v}",       "embd head*k v_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "head*k embd"},
};
// Dense layers of sentence-transformers.
inline constexpr GgufRow kDenseLayers[] = {
    {"dense_2.weight", "embd dense_2_out", "optional"},
    {"dense_3.weight", "dense_3_in embd",  "optional"},
};
inline constexpr GgufRow kHeadNorms[] = {{"blk.{}.attn_{q,k}_norm.weight", "k"}};
inline constexpr GgufRow kRope[] = {
    {"rope_factors_{long,short}.weight", "rot/two", "optional first longrope"},
    {"rope_freqs.weight",                "rot/two", "optional first !longrope"},
};
inline constexpr GgufRow kRopeFreqs[] = {{"rope_freqs.weight", "rot/two", "optional first"}};
inline constexpr GgufRow kExperts[] = {
    {"blk.{}.ffn_gate_inp.weight",  "embd expert"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd expert_width expert"},
};
inline constexpr GgufRow kLeading[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "!moe"},
    {"blk.{}.ffn_gate_inp.weight", "embd expert", "moe"},
};
// Experts of the layers whose MLP or router kLeading describes.
inline constexpr GgufRow kRouted[] = {
    {"blk.{}.exp_probs_b.bias", "expert", "moe optional"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff_exp expert", "moe"},
};
inline constexpr GgufRow kBiasedRouted[] = {
    {"blk.{}.exp_probs_b.bias", "expert", "moe"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff_exp expert", "moe"},
};
inline constexpr GgufRow kShared[] = {
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_exp*shared", "moe"},
};
// Llama and Granite have an MLP, or experts in its place.
inline constexpr GgufRow kLlamaFeed[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "!expert"},
    {"blk.{}.ffn_gate.bias",         "ff", "!expert optional"},
    {"blk.{}.ffn_up.bias",           "ff", "!expert optional"},
    {"blk.{}.ffn_down.bias",         "embd", "!expert optional"},
    {"blk.{}.ffn_gate_inp.weight",   "embd expert", "expert"},
    {"blk.{}.ffn_gate_exps.weight",  "embd ff expert", "expert optional"},
    {"blk.{}.ffn_{down,up}_exps.weight", "embd ff expert", "expert"},
};
inline constexpr GgufRow kGraniteShared[] = {
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_shexp", "expert ff_shexp"},
};
inline constexpr GgufRow kLatentRows[] = {
    {"blk.{}.attn_q_a_norm.weight",  "lora_q", "lora_q"},
    {"blk.{}.attn_q_a.weight",       "embd lora_q", "lora_q"},
    {"blk.{}.attn_q_b.weight",       "lora_q head*k_mla", "lora_q"},
    {"blk.{}.attn_q.weight",         "embd head*k_mla", "!lora_q"},
    {"blk.{}.attn_kv_a_norm.weight", "lora_kv"},
    {"blk.{}.attn_kv_a_mqa.weight",  "embd lora_kv+rot"},
    {"blk.{}.attn_k_b.weight",       "nope lora_kv head", "mla"},
    {"blk.{}.attn_v_b.weight",       "lora_kv v_mla head", "mla"},
    {"blk.{}.attn_kv_b.weight",      "lora_kv head*nope+head*v_mla", "!mla"},
    {"blk.{}.attn_output.weight",    "head*v_mla embd"},
};
inline constexpr GgufRow kNextn[] = {
    {"blk.{}.nextn.eh_proj.weight",          "2*embd embd", "nextn"},
    {"blk.{}.nextn.{e,h}norm.weight",        "embd", "nextn"},
    {"blk.{}.nextn.embed_tokens.weight",     "embd vocab", "nextn optional"},
    {"blk.{}.nextn.shared_head_head.weight", "embd vocab", "nextn optional"},
    {"blk.{}.nextn.shared_head_norm.weight", "embd", "nextn optional"},
};
// clang-format on

}  // namespace ckpt::gguf_rows
