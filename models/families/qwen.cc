// Qwen2 and Qwen3, dense and mixture of experts: the common rows, and nothing changes a value.
//
// Sources: llama.cpp conversion/qwen.py (Qwen2Model, Qwen2MoeModel, Qwen3Model, Qwen3MoeModel);
// transformers models/qwen{2,2_moe,3,3_moe} (base_model_tp_plan: colwise is kRows, rowwise
// kColumns). Qwen2 has biases that no field speaks of, and no head_dim, so its files have no
// attention.key_length; embedding models name their tensors without "model.".
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ClassDefault kQwen2Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "22016"}, {"num_attention_heads", "32"},
    rows::key_heads("32"), {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "151936"}, {"max_position_embeddings", "32768", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
};
constexpr auto kQwen2MoeBias = rows::under("qkv_bias", rows::kAllBias);
constexpr ClassDefault kQwen2MoeDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "5632"}, {"num_attention_heads", "16"},
    {"num_key_value_heads", "16"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151936"},
    {"max_position_embeddings", "32768", kInKeys}, {"moe_intermediate_size", "1408"},
    {"shared_expert_intermediate_size", "5632"}, {"num_experts_per_tok", "4", kInKeys},
    {"num_experts", "60"}, {"num_hidden_layers", "24", kInShapes}, rows::kHeadOfWidth,
    rows::kAllSparse, {"qkv_bias", "1", kInShapes},
};
constexpr ClassDefault kQwen3Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "22016"}, {"num_attention_heads", "32"},
    rows::key_heads("32"), {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "151936"}, {"max_position_embeddings", "32768", kInKeys}, {"head_dim", "128"},
    {"num_hidden_layers", "32", kInShapes},
};
constexpr ClassDefault kQwen3MoeDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "6144"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "4"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151936"},
    {"max_position_embeddings", "32768", kInKeys}, {"moe_intermediate_size", "768"},
    {"num_experts_per_tok", "8", kInKeys}, {"num_experts", "128"},
    {"num_hidden_layers", "24", kInShapes}, rows::kHeadOfWidth, rows::kAllSparse,
};
// clang-format on

constexpr Family qwen3(Family made) {
  made.name = "qwen3";
  made.traits.text = {.set = {kSlidesInAllOrNone, kTextClass, kOnlySilu, kCountsLayersByDefault,
                              kThetaOutside, kNormsFeedLinears, kTorchtitan}};
  made.defaults = kQwen3Defaults;
  made.parameters = rows::kQwen3Rules;
  made.has_bare_names = true;
  made.tokenizer = {.piece_file = PieceFile::kPreferred};
  made.windows.period = 1;
  return made;
}
constexpr Family kQwen3TiedReranker = qwen3(rows::reranker({}, true));
constexpr FamilyVariant kQwen3Rerankers[] = {{rows::ties_head, &kQwen3TiedReranker}};
constexpr Family kQwen3Reranker =
    qwen3(rows::reranker({.forms = {.variants = kQwen3Rerankers}}, false));

}  // namespace

const Family kQwen2 = {
    .name = "qwen2",
    .architectures = "Qwen2ForCausalLM Qwen2Model",
    .model_types = "qwen2",
    .traits = {.text = {.set = {kSlidesInAllOrNone, kTextClass, kOnlySilu, kCountsLayersByDefault,
                                kThetaOutside, kNormsFeedLinears},
                        .tokenizer_class = "Qwen2"}},
    .names = {rows::kCommonNames},
    .keys = rows::kPoolingKeys,
    .defaults = kQwen2Defaults,
    .parameters = rows::kQwen2Rules,
    .has_bare_names = true,
    .tokenizer = {.piece_file = PieceFile::kPreferred},
    .windows = {.period = 1},
};

const Family kQwen2Moe = {
    .name = "qwen2moe",
    .architectures = "Qwen2MoeForCausalLM",
    .model_types = "qwen2_moe",
    .traits = {.text = {.set = {kOnlySilu, kThetaOutside, kNormsFeedLinears},
                        .own_config = "Qwen2Moe",
                        .told_fields = {{"qkv_bias", "attn_q.bias"}}}},
    .names = rows::kExpertLists,
    .keys = rows::kQwenExpertKeys,
    .defaults = kQwen2MoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, std::span(kQwen2MoeBias).first(3), rows::kMlp,
                   rows::kExperts, rows::kSharedExpert},
    .graph = {.constants = {{"norm_topk_prob", "false"},
                            {"decoder_sparse_step", "1"},
                            {"mlp_only_layers", "[]"}}},
    .windows = {.period = 1},
};

const Family kQwen3 = qwen3({
    .architectures = "Qwen3ForCausalLM Qwen3Model",
    .model_types = "qwen3",
    .names = {rows::kCommonNames},
    .keys = rows::kPoolingKeys,
    .forms = {.reranker = &kQwen3Reranker},
});

const Family kQwen3Moe = {
    .name = "qwen3moe",
    .architectures = "Qwen3MoeForCausalLM",
    .model_types = "qwen3_moe",
    .traits = {.text = {.set = {kOnlySilu, kSiluExperts, kThetaOutside, kNormsFeedLinears,
                                kTorchtitan},
                        .own_config = "Qwen3Moe"}},
    .names = rows::kExpertLists,
    .keys = rows::kQwenExpertKeys,
    .defaults = kQwen3MoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, rows::kExperts},
    .graph = {.constants = rows::kExpertConstants},
    .windows = {.period = 1},
};

}  // namespace ckpt
