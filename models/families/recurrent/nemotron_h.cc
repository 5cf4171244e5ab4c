// In Nemotron-H and Nemotron 3, hybrid_override_pattern has a letter for each layer: M for Mamba 2,
// * for attention, - for an MLP, E for experts.
//
// Sources: llama.cpp conversion/nemotron.py (NemotronHModel), granite.py, mamba.py, which read
// config.json as it stands; the class's own modeling_nemotron_h.py and configuration_nemotron_h.py.
// Tensors are called backbone.* and not model.*. The width of a head is declared (head_dim, in
// older files attention_head_dim), the widths of MLPs layer by layer; tokens are filled up to a
// multiple of 8, though the embedding is not; query and key rows are permuted.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kNemotronHLayer = spread([] { return std::to_array<ParameterRule>({
    {"backbone.embeddings.weight", "vocab_size hidden_size"},
    {"backbone.norm_f.weight", "hidden_size"},
    {"lm_head.weight",       "vocab_size hidden_size", kWhole, "head"},
    {".norm.weight",         "hidden_size"},
    {".mixer.q_proj.weight", "num_attention_heads*attention_width hidden_size", kRows, "attention"},
    {".mixer.k_proj.weight", "num_key_value_heads*attention_width hidden_size", kRows, "attention"},
    {".mixer.v_proj.weight", "num_key_value_heads*attention_width hidden_size", kRows, "attention"},
    {".mixer.o_proj.weight", "hidden_size num_attention_heads*attention_width", kColumns,
     "attention"},
    {".mixer.up_proj.weight", "intermediate_size hidden_size", kRows, "mlp"},
    {".mixer.down_proj.weight", "hidden_size intermediate_size", kColumns, "mlp"},
    {".mixer.up_proj.bias",  "intermediate_size", kRows, "mlp mlp_bias"},
    {".mixer.down_proj.bias", "hidden_size", kWhole, "mlp mlp_bias"},
    {".mixer.gate.weight",   "n_routed_experts hidden_size", kWhole, "moe"},
    {".mixer.gate.e_score_correction_bias", "n_routed_experts", kWhole, "moe"},
    {".mixer.fc1_latent_proj.weight", "moe_latent_size hidden_size", kWhole, "moe moe_latent_size"},
    {".mixer.fc2_latent_proj.weight", "hidden_size moe_latent_size", kWhole, "moe moe_latent_size"},
    {".mixer.experts.{}.up_proj.weight", "moe_intermediate_size expert_width", kRows, "moe"},
    {".mixer.experts.{}.down_proj.weight", "expert_width moe_intermediate_size", kColumns, "moe"},
    {".mixer.shared_experts.up_proj.weight", "moe_shared_expert_intermediate_size hidden_size",
     kRows, "moe n_shared_experts"},
    {".mixer.shared_experts.down_proj.weight", "hidden_size moe_shared_expert_intermediate_size",
     kColumns, "moe n_shared_experts"},
    {".mixer.in_proj.bias",
     "2*mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size+mamba_num_heads", kRows,
     "mamba use_bias"},
    {".mixer.out_proj.bias", "hidden_size", kWhole, "mamba use_bias"},
    {".mixer.{A_log,D,dt_bias}", "mamba_num_heads", kRows, "mamba"},
    {".mixer.conv1d.weight",
     "mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size 1 conv_kernel", kRows, "mamba"},
    {".mixer.conv1d.bias", "mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size", kRows,
     "mamba use_conv_bias"},
    {".mixer.in_proj.weight",
     "2*mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size+mamba_num_heads hidden_size",
     kRows, "mamba"},
    {".mixer.norm.weight",   "mamba_num_heads*mamba_head_dim", kRows, "mamba"},
    {".mixer.out_proj.weight", "hidden_size mamba_num_heads*mamba_head_dim", kColumns, "mamba"},
}); });
Result<uint64_t> nemotron_attention_width(const Fields& fields) {
  return fields.count(fields.declared("head_dim") != nullptr ? "head_dim" : "attention_head_dim");
}
// Routed experts may work on a narrower copy of the hidden state.
Result<uint64_t> nemotron_expert_width(const Fields& fields) {
  const bool is_latent = fields.declared("moe_latent_size") != nullptr;
  return fields.count(is_latent ? "moe_latent_size" : "hidden_size");
}
Result<uint64_t> nemotron_layers(const Fields& fields) {
  return layer_count(fields.config()).value_or(52);
}
constexpr auto kNemotronHNames = spread([] { return std::to_array<NameRule>({
    {"backbone.layers.{}.mixer.q_proj",        "blk.{}.attn_q", kRopeQuery},
    {"backbone.layers.{}.mixer.k_proj",        "blk.{}.attn_k", kRopeKey},
    {"backbone.layers.{}.mixer.{v,o}_proj", "blk.{}.attn_{v,output}"},
    {"backbone.layers.{}.mixer.{up,down}_proj", "blk.{}.ffn_{up,down}"},
}); });
constexpr auto kNemotronHMoeNames = spread([] { return std::to_array<NameRule>({
    {"backbone.layers.{}.mixer.gate",             "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"backbone.layers.{}.mixer.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"backbone.layers.{}.mixer.experts.{}.{down,up}_proj", "blk.{}.ffn_{down,up}_exps", kExpert},
    {"backbone.layers.{}.mixer.shared_experts.{up,down}_proj", "blk.{}.ffn_{up,down}_shexp"},
    {"backbone.layers.{}.mixer.fc{1,2}_latent_proj", "blk.{}.ffn_latent_{down,up}"},
}); });
constexpr auto kNemotronHKeys = spread([] { return std::to_array<KeyRule>({
    {"vocab_size",              kU32, "vocab_size"},
    {"rope.dimension_count",    kU32, "hidden_size/num_attention_heads", kNumber},
    {"ssm.conv_kernel",         kU32, "conv_kernel", kNumber},
    {"ssm.state_size",          kU32, "ssm_state_size", kNumber},
    {"ssm.group_count",         kU32, "n_groups", kNumber},
    {"ssm.inner_size",          kU32, "mamba_num_heads*mamba_head_dim", kNumber},
    {"ssm.time_step_rank",      kU32, "mamba_num_heads", kNumber},
    {"attention.head_count_kv", kArray, "num_key_value_heads", kAttentionHeads},
    {"rope.scaling.finetuned",  kBool, "false", kConstant},
    {"context_length",          kU32, "1048576", kNumber},
    {"attention.{key,value}_length", kU32, "attention_width", kNumber},
    {"feed_forward_length",     kArray, "intermediate_size", kMlpWidths},
}); });
constexpr KeyRule kNemotronHMoeKeys[] = {
    {"feed_forward_length",               kArray, "moe_intermediate_size", kExpertWidths},
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_feed_forward_length", kU32, "moe_shared_expert_intermediate_size", kNumber},
    {"expert_shared_count",               kU32, "n_shared_experts", kNumber},
    {"expert_weights_norm",               kBool, "norm_topk_prob"},
    {"expert_weights_scale",              kF32, "routed_scaling_factor"},
    {"moe_latent_size",                   kU32, "moe_latent_size"},
};
constexpr ClassDefault kNemotronHDefaults[] = {
    {"vocab_size", "131072", kInShapes}, {"hidden_size", "4096", kInShapes},
    {"intermediate_size", "21504", kInShapes},
    {.field = "num_hidden_layers", .value = "", .read_by = kInShapes, .compute = nemotron_layers},
    {"num_attention_heads", "32", kInShapes}, {"num_key_value_heads", "8", kInShapes},
    {.field = "attention_width", .value = "", .read_by = kInShapes,
     .compute = nemotron_attention_width},
    {.field = "expert_width", .value = "", .read_by = kInShapes, .compute = nemotron_expert_width},
    {"moe_intermediate_size", "7688", kInShapes}, {"n_shared_experts", "1", kInShapes},
    {"moe_shared_expert_intermediate_size", "7688", kInShapes},
    {"attention_head_dim", "128", kInShapes},
    {"mamba_num_heads", "128", kInShapes}, {"mamba_head_dim", "64", kInShapes},
    {"n_groups", "8", kInShapes}, {"ssm_state_size", "128", kInShapes},
    {"conv_kernel", "4", kInShapes}, {"use_conv_bias", "1", kInShapes},
};
// clang-format on

constexpr Family nemotron_h(Family made) {
  made.architectures = "NemotronHForCausalLM";
  made.model_types = "nemotron_h";
  made.activation = {"relu2", "mlp_hidden_act", true};
  made.traits.text = {.set = {kMayRotateNothing},
                      .told_fields = {{"use_conv_bias", "ssm_conv1d.bias"}}};
  made.defaults = kNemotronHDefaults;
  made.parameters = {kNemotronHLayer};
  made.root = "backbone.";
  made.sizes.norm_groups = "n_groups";
  made.sizes.ignores_head_dim = true;
  made.sizes.vocabulary_multiple = 8;
  made.graph.constants = {{"mamba_hidden_act", "\"silu\""}};
  made.keys_around.own_spellings = "layer_norm_epsilon n_routed_experts";
  made.graph.absent_fields =
      "max_position_embeddings (such files say 1048576, whatever the model was trained "
      "for), time_step_limit";
  return made;
}

const Family kNemotronHMoe = nemotron_h({
    .name = "nemotron_h_moe",
    .names = {kNemotronHMoeNames, kNemotronHNames, rows::kMamba2Names},
    // The key left out is the width of MLPs; kNemotronHMoeKeys has its own.
    .keys = std::span(kNemotronHKeys).first(std::size(kNemotronHKeys) - 1),
    .keys_around = {.more = kNemotronHMoeKeys},
});

// transformers 5 saves the fields of experts for models without any, too.
bool has_routed_experts(const JsonValue& config) {
  const auto layers = resolve_layers(kNemotronHMoe, config, layer_count(config).value_or(0));
  return layers && std::ranges::any_of(*layers, &ResolvedLayer::is_experts) &&
         config.contains("num_experts_per_tok");
}
const FamilyVariant kNemotronHVariants[] = {{has_routed_experts, &kNemotronHMoe}};

}  // namespace

const Family kNemotronH = nemotron_h({
    .name = "nemotron_h",
    .names = {kNemotronHNames, rows::kMamba2Names},
    .keys = kNemotronHKeys,
    .forms = {.variants = kNemotronHVariants,
              .unread = "n_routed_experts num_experts_per_tok n_group topk_group"},
    .tokenizer = {.adds_bos = true},
});

}  // namespace ckpt
