// Nemotron-H: each layer is Mamba 2 (M), attention (*) or an MLP (-), by hybrid_override_pattern.
//
// Source: llama.cpp conversion/nemotron.py (NemotronHModel), granite.py, mamba.py, which read
// config.json as it stands. The width of a head is said after all, the widths of MLPs layer by
// layer; tokens are filled up to a multiple of 8, though the embedding is not; query and key rows
// are permuted.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kNemotronHNames[] = {
    {"backbone.embeddings",                   "token_embd"},
    {"backbone.norm_f",                       "output_norm"},
    {"lm_head",                               "output"},
    {"backbone.layers.{}.norm",               "blk.{}.attn_norm"},
    {"backbone.layers.{}.mixer.q_proj",       "blk.{}.attn_q", Change::kRopeQuery},
    {"backbone.layers.{}.mixer.k_proj",       "blk.{}.attn_k", Change::kRopeKey},
    {"backbone.layers.{}.mixer.v_proj",       "blk.{}.attn_v"},
    {"backbone.layers.{}.mixer.o_proj",       "blk.{}.attn_output"},
    {"backbone.layers.{}.mixer.up_proj",      "blk.{}.ffn_up"},
    {"backbone.layers.{}.mixer.down_proj",    "blk.{}.ffn_down"},
    {"backbone.layers.{}.mixer.A_log",        "blk.{}.ssm_a", Change::kDecayColumn},
    {"backbone.layers.{}.mixer.D",            "blk.{}.ssm_d", Change::kColumn},
    {"backbone.layers.{}.mixer.conv1d.weight", "blk.{}.ssm_conv1d.weight", Change::kSqueeze,
     Store::kF32},
    {"backbone.layers.{}.mixer.conv1d.bias",  "blk.{}.ssm_conv1d.bias"},
    {"backbone.layers.{}.mixer.dt_bias",      "blk.{}.ssm_dt.bias"},
    {"backbone.layers.{}.mixer.in_proj",      "blk.{}.ssm_in"},
    {"backbone.layers.{}.mixer.norm",         "blk.{}.ssm_norm", Change::kNormGroups},
    {"backbone.layers.{}.mixer.out_proj",     "blk.{}.ssm_out"},
};

constexpr KeyRule kNemotronHKeys[] = {
    {"vocab_size",           MetaType::kU32, "vocab_size"},
    {"rope.dimension_count", MetaType::kU32, "hidden_size/num_attention_heads",
     KeySource::kNumber},
    {"ssm.conv_kernel",      MetaType::kU32, "conv_kernel", KeySource::kNumber},
    {"ssm.state_size",       MetaType::kU32, "ssm_state_size", KeySource::kNumber},
    {"ssm.group_count",      MetaType::kU32, "n_groups", KeySource::kNumber},
    {"ssm.inner_size",       MetaType::kU32, "mamba_num_heads*mamba_head_dim",
     KeySource::kNumber},
    {"ssm.time_step_rank",   MetaType::kU32, "mamba_num_heads", KeySource::kNumber},
    {"attention.head_count_kv", MetaType::kArray, "num_key_value_heads",
     KeySource::kAttentionHeads},
    {"rope.scaling.finetuned", MetaType::kBool, "false", KeySource::kConstant},
    {"context_length",       MetaType::kU32, "1048576", KeySource::kNumber},
    {"attention.key_length",   MetaType::kU32, "attention_width", KeySource::kNumber},
    {"attention.value_length", MetaType::kU32, "attention_width", KeySource::kNumber},
    {"feed_forward_length",  MetaType::kArray, "intermediate_size", KeySource::kMlpWidths},
};
// clang-format on

constexpr std::span<const NameRule> kNemotronHOnly = kNemotronHNames;
const std::span<const NameRule> kNemotronHLists[] = {kNemotronHOnly};

bool has_routed_experts(const JsonValue& config) { return config.contains("num_experts_per_tok"); }
const FamilyVariant kNemotronHVariants[] = {
    {has_routed_experts, nullptr, "Nemotron-H with experts (num_experts_per_tok)"}};

}  // namespace

const Family kNemotronH = {
    .name = "nemotron_h",
    .architectures = "NemotronHForCausalLM",
    .model_types = "nemotron_h",
    .names = kNemotronHLists,
    .keys = kNemotronHKeys,
    .defaults = {},
    .parameters = &kNemotronHParameters,
    .variants = kNemotronHVariants,
    .norm_groups = "n_groups",
    .ignores_head_dim = true,
    .vocabulary_multiple = 8,
    .tokenizer = {.adds_bos = true},
};

}  // namespace ckpt
