// MiniMax M2: all layers have experts, and q and k are normed over all heads. MiniMax M3: the first
// layers are dense, the others look for blocks of tokens (an indexer), and norms are stored - 1.
//
// Sources: llama.cpp conversion/minimax.py (MiniMaxM2Model, MiniMaxM3Model); transformers
// models/{minimax_m2,minimax_m3_vl}. M3's config.json is read as it stands.
// Experts are stacked in the order w1, w2, w3, which is gate, down, up.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMiniMaxM2Router[] = {
    {".block_sparse_moe.e_score_correction_bias", "num_local_experts"},
};
constexpr NameRule kMiniMaxM2Names[] = {
    {"model.layers.{}.block_sparse_moe.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr KeyRule kMiniMaxM2Keys[] = {
    {"expert_feed_forward_length", kU32, "intermediate_size", kNumber},
    {"rope.dimension_count",       kU32, "rotary_dim", kNumber},
};
constexpr ClassDefault kMiniMaxM2Defaults[] = {
    {"hidden_size", "3072"}, {"intermediate_size", "1536"}, {"num_attention_heads", "48"},
    {"num_key_value_heads", "8"}, {"head_dim", "128"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "5000000", kInKeys}, {"vocab_size", "200064"}, {"num_local_experts", "256"},
    {"num_experts_per_tok", "8", kInKeys}, {"max_position_embeddings", "196608", kInKeys},
    {"num_hidden_layers", "62", kInShapes},
};

constexpr auto kMiniMaxM3Sparse = spread([] { return rows::under("sparse", {
    {".self_attn.index_q_proj.weight", "sparse_attention_config.sparse_num_index_heads"
     "*sparse_attention_config.sparse_index_dim hidden_size"},
    {".self_attn.index_k_proj.weight", "sparse_attention_config.sparse_index_dim hidden_size"},
    {".self_attn.index_{q,k}_norm.weight", "sparse_attention_config.sparse_index_dim"},
    {".block_sparse_moe.gate.weight", "num_local_experts hidden_size"},
    {".block_sparse_moe.e_score_correction_bias", "num_local_experts"},
    {".block_sparse_moe.experts.{}.w1.weight", "intermediate_size hidden_size", kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size intermediate_size", kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "intermediate_size hidden_size", kRows},
    {".block_sparse_moe.shared_experts.{gate,up}_proj.weight",
     "shared_intermediate_size hidden_size", kRows},
    {".block_sparse_moe.shared_experts.down_proj.weight", "hidden_size shared_intermediate_size",
     kColumns},
}); });
constexpr auto kMiniMaxM3Dense = spread([] { return rows::under("dense", {
    {".mlp.{gate,up}_proj.weight", "dense_intermediate_size hidden_size", kRows},
    {".mlp.down_proj.weight", "hidden_size dense_intermediate_size", kColumns},
}); });
constexpr auto kMiniMaxM3Names = spread([] { return std::to_array<NameRule>({
    {"model.norm",                                     "output_norm", kAddOne},
    {"model.layers.{}.{input,post_attention}_layernorm", "blk.{}.{attn,ffn}_norm", kAddOne},
    {"model.layers.{}.self_attn.{q,k}_norm", "blk.{}.attn_{q,k}_norm", kAddOne},
    {"model.layers.{}.self_attn.index_{q,k}_norm", "blk.{}.indexer.{q,k}_norm", kAddOne},
    {"model.layers.{}.self_attn.index_{q,k}_proj", "blk.{}.indexer.{q,k}_proj", kNone, Store::kF32},
}); });
constexpr auto kMiniMaxM3Keys = spread([] { return std::to_array<KeyRule>({
    {"expert_feed_forward_length",     kU32, "intermediate_size"},
    {"rope.dimension_count",           kU32, "rotary_dim", kNumber},
    {"expert_shared_count",            kU32, "n_shared_experts", kNumber},
    {"expert_weights_scale",           kF32, "routed_scaling_factor"},
    {"expert_weights_norm",            kBool, "true", kConstant},
    {"attention.indexer.{head_count,key_length,top_k,block_size}", kU32,
     "sparse_attention_config.sparse_{num_index_heads,index_dim,topk_blocks,block_size}", kNumber},
    {"attention.indexer.local_blocks", kU32, "sparse_attention_config.sparse_local_block", kNumber},
    {"leading_dense_block_count",      kU32, "first_k_dense_replace", kNumber},
}); });
Result<uint64_t> leading_dense_layers(const Fields& fields) {
  const bool has_words = known(fields.config(), "mlp_layer_types") != nullptr;
  const JsonValue& kinds =
      list_in(fields.config(), has_words ? "mlp_layer_types" : "moe_layer_freq");
  const auto first = std::ranges::find_if(
      kinds, [](const JsonValue& kind) { return kind != 0 && kind != "dense"; });
  return static_cast<uint64_t>(first - kinds.begin());
}
// Released models have these fields in an object; transformers 5 calls them index_*.
constexpr auto kMiniMaxM3Defaults = rows::in_shapes({
    {"vocab_size", "200064"}, {"hidden_size", "6144"}, {"intermediate_size", "3072"},
    {"num_hidden_layers", "60"}, {"num_attention_heads", "64"}, {"num_key_value_heads", "4"},
    {"head_dim", "128"}, {"num_local_experts", "128"}, {"dense_intermediate_size", "12288"},
    {"n_shared_experts", "1"}, {"shared_intermediate_size", "n_shared_experts*intermediate_size"},
    {"sparse_attention_config.sparse_num_index_heads", "index_n_heads"}, {"index_n_heads", "4"},
    {"sparse_attention_config.sparse_index_dim", "index_head_dim"}, {"index_head_dim", "128"},
    {"sparse_attention_config.sparse_block_size", "index_block_size"}, {"index_block_size", "128"},
    {"sparse_attention_config.sparse_topk_blocks", "index_topk_blocks"},
    {"index_topk_blocks", "16"}, {"index_local_blocks", "1"}, {"rotary_dim", "64"},
    {"sparse_attention_config.sparse_local_block", "index_local_blocks"},
    {.field = "first_k_dense_replace", .value = "", .compute = leading_dense_layers},
    rows::kAllSparse,
});
// clang-format on

// The lists of layers with experts and an indexer, and constants of llama.cpp's graph.
void add_minimax_m3_fields(const GraphConfig& made) {
  const uint64_t dense = count_in(made.config, "first_k_dense_replace");
  std::vector<uint64_t> flags(made.layers, 1);
  std::fill_n(flags.begin(), std::min(dense, made.layers), 0);
  made.config.erase("first_k_dense_replace");
  made.config["hidden_act"] = "swigluoai";
  made.config["moe_layer_freq"] = flags;
  made.config["dense_intermediate_size"] = count_in(made.config, "dense_intermediate_size");
  made.config["shared_intermediate_size"] =
      count_in(made.config, "n_shared_experts") * count_in(made.config, "intermediate_size");
  made.config["partial_rotary_factor"] =
      static_cast<double>(count_in(made.config, "rotary_dim")) /
      static_cast<double>(std::max<uint64_t>(count_in(made.config, "head_dim"), 1));
  JsonValue& sparse = made.config["sparse_attention_config"];
  sparse["sparse_attention_freq"] = sparse["sparse_disable_index_value"] = flags;
  sparse["sparse_init_block"] = 0;
  sparse["sparse_score_type"] = "max";
  sparse["use_sparse_attention"] = true;
}

}  // namespace

const Family kMiniMaxM2 = {
    .name = "minimax-m2",
    .architectures = "MiniMaxM2ForCausalLM",
    .model_types = "minimax_m2",
    .traits = {.text = {.set = {kFloatRouter}, .vllm_names = {{".block_sparse_moe.", ".mlp."}}}},
    .names = {kMiniMaxM2Names, rows::kSparseMoeNames, rows::kCommonNames},
    .keys = kMiniMaxM2Keys,
    .defaults = kMiniMaxM2Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kWideAttentionNorms,
                   std::span(rows::kSparseMoe).first(1),  // the router
                   kMiniMaxM2Router, std::span(rows::kSparseMoe).subspan(1)},
    .graph = {.constants = {{"scoring_func", "\"sigmoid\""},
                            {"use_routing_bias", "true"},
                            {"use_qk_norm", "true"},
                            {"qk_norm_type", "\"per_layer\""}}},
};

const Family kMiniMaxM3 = {
    .name = "minimax-m3",
    .architectures = "MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration",
    .model_types = "minimax_m3 minimax_m3_vl",
    .activation = {"swigluoai"},  // whatever hidden_act is: transformers has no such word
    .names = {kMiniMaxM3Names, kMiniMaxM2Names, rows::kSparseMoeNames, rows::kSharedMoeNames,
              rows::kCommonNames},
    .keys = kMiniMaxM3Keys,
    .keys_around = {.own_spellings = "dense_intermediate_size num_local_experts scoring_func"},
    .defaults = kMiniMaxM3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, kMiniMaxM3Dense,
                   kMiniMaxM3Sparse},
    .graph = {.constants = {{"use_gemma_norm", "true"},
                            {"use_qk_norm", "true"},
                            {"qk_norm_type", "\"per_head\""},
                            {"swiglu_alpha", "1.702"},
                            {"swiglu_limit", "7.0"}},
              .add_fields = add_minimax_m3_fields},
};

}  // namespace ckpt
