// ERNIE 4.5: as Llama's, with rows as they are; experts from a layer on.
//
// Source: llama.cpp conversion/ernie.py (Ernie4_5Model, Ernie4_5MoeModel); defaults: transformers
// models/ernie4_5{,_moe}/configuration_*.py. Stacks come gate, up, down; the width of the shared
// MLP is said to be that of the dense ones / heads of keys. Layers for multi-token prediction are
// left out.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kErnieMoeNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.mlp.gate", "blk.{}.ffn_gate_inp", Change::kNone, Store::kF32},
    {"model.layers.{}.mlp.moe_statics.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.experts.{}.gate_proj", "blk.{}.ffn_gate_exps", Change::kExpert},
    {"model.layers.{}.mlp.experts.{}.up_proj",   "blk.{}.ffn_up_exps",   Change::kExpert},
    {"model.layers.{}.mlp.experts.{}.down_proj", "blk.{}.ffn_down_exps", Change::kExpert},
};

constexpr KeyRule kErnieMoeKeys[] = {
    {"expert_count",               MetaType::kU32, "moe_num_experts", KeySource::kNumber},
    {"expert_used_count",          MetaType::kU32, "moe_k", KeySource::kNumber},
    {"interleave_moe_layer_step",  MetaType::kU32, "moe_layer_interval", KeySource::kNumber},
    {"leading_dense_block_count",  MetaType::kU32, "moe_layer_start_index", KeySource::kNumber},
    {"expert_feed_forward_length", MetaType::kU32, "moe_intermediate_size"},
    {"expert_shared_count",        MetaType::kU32, "moe_num_shared_experts"},
    {"expert_shared_feed_forward_length", MetaType::kU32, "moe_num_shared_experts",
     KeySource::kSharedWidth},
};

constexpr FieldDefault kErnieDefaults[] = {
    {"hidden_size", 1024},       {"intermediate_size", 3072},
    {"num_attention_heads", 16}, {"num_key_value_heads", 2, "", "", "num_attention_heads"},
    {"head_dim", 128, "", "", "head_dim"}, {"rms_norm_eps", 1e-5},
    {"rope_theta", 500000},      {"vocab_size", 103424},
    {"max_position_embeddings", 131072},
};
constexpr FieldDefault kErnieMoeDefaults[] = {
    {"hidden_size", 2560},       {"intermediate_size", 12288},
    {"num_attention_heads", 20}, {"num_key_value_heads", 4},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 500000},
    {"vocab_size", 103424},      {"max_position_embeddings", 131072},
    {"moe_intermediate_size", 1536}, {"moe_num_shared_experts", 2},
};
// clang-format on

constexpr std::span<const NameRule> kErnieMoeOnly = kErnieMoeNames;
const std::span<const NameRule> kErnieLists[] = {kCommonNames};
const std::span<const NameRule> kErnieMoeLists[] = {kErnieMoeOnly, kRoutedExpertNames,
                                                    kCommonNames};
constexpr TokenizerRules kErnieTokenizer{.piece_file = PieceFile::kRequired,
                                         .says_prefix_last = true};

}  // namespace

const Family kErnie = {
    .name = "ernie4_5",
    .architectures = "Ernie4_5ForCausalLM Ernie4_5_ForCausalLM",
    .model_types = "ernie4_5",
    .names = kErnieLists,
    .keys = {},
    .defaults = kErnieDefaults,
    .parameters = &kErnieParameters,
    .tokenizer = kErnieTokenizer,
};

const Family kErnieMoe = {
    .name = "ernie4_5-moe",
    .architectures = "Ernie4_5_MoeForCausalLM",
    .model_types = "ernie4_5_moe",
    .names = kErnieMoeLists,
    .keys = kErnieMoeKeys,
    .defaults = kErnieMoeDefaults,
    .parameters = &kErnieMoeParameters,
    .tokenizer = kErnieTokenizer,
    .left_out_start = "model.mtp_",
};

}  // namespace ckpt
