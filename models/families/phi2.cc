// Phi-1, 1.5 and 2: one norm a layer, biases everywhere, the head's too.
//
// Sources: llama.cpp conversion/phi.py (Phi2Model); transformers models/phi. The file says no
// rotary base, heads of keys as many as there are of queries, and four times the width as the
// MLP's, whatever config.json says.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kPhi2Rows[] = {
    {"model.embed_tokens.weight",    "vocab_size hidden_size"},
    {"model.final_layernorm.weight", "hidden_size"},
    {"model.final_layernorm.bias",   "hidden_size"},
    {"lm_head.weight",               "vocab_size hidden_size", kWhole, "head"},
    {"lm_head.bias",                 "vocab_size", kWhole, "head"},
    {".input_layernorm.weight",      "hidden_size"},
    {".input_layernorm.bias",        "hidden_size"},
    {".self_attn.q_proj.weight",     "num_attention_heads*head_dim hidden_size", kRows},
    {".self_attn.k_proj.weight",     "num_key_value_heads*head_dim hidden_size", kRows},
    {".self_attn.v_proj.weight",     "num_key_value_heads*head_dim hidden_size", kRows},
    {".self_attn.dense.weight",      "hidden_size num_attention_heads*head_dim", kColumns},
    {".self_attn.dense.bias",        "hidden_size"},
    {".mlp.fc1.weight",              "intermediate_size hidden_size", kRows},
    {".mlp.fc1.bias",                "intermediate_size", kRows},
    {".mlp.fc2.weight",              "hidden_size intermediate_size", kColumns},
    {".mlp.fc2.bias",                "hidden_size"},
};
constexpr NameRule kPhi2Names[] = {   // before the common rows: the first match wins
    {"model.final_layernorm",           "output_norm"},
    {"model.layers.{}.self_attn.dense", "blk.{}.attn_output"},
    {"model.layers.{}.mlp.fc1",         "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.fc2",         "blk.{}.ffn_down"},
};
constexpr KeyRule kPhi2Keys[] = {
    {"context_length",               kU32, "n_positions max_position_embeddings"},
    {"embedding_length",             kU32, "hidden_size n_embd"},
    {"feed_forward_length",          kU32, "4*hidden_size", kNumber},
    {"block_count",                  kU32, "", kBlockCount},
    {"attention.head_count",         kU32, "num_attention_heads n_head"},
    {"attention.head_count_kv",      kU32, "num_attention_heads n_head"},
    {"attention.layer_norm_epsilon", kF32, "layer_norm_epsilon layer_norm_eps"},
    {"rope.dimension_count",         kU32, "", kPartialHidden},
    {"general.file_type",            kU32, "", kFileType},
    {"tokenizer.ggml.add_bos_token", kBool, "false", kConstant},
};
constexpr ClassDefault kPhi2Defaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "8192"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"layer_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "51200"}, {"max_position_embeddings", "2048", kInKeys},
    {"partial_rotary_factor", "0.5", kInKeys}, {"num_hidden_layers", "24", kInShapes},
    rows::kHeadOfWidth,
};
// clang-format on

}  // namespace

const Family kPhi2 = {
    .name = "phi2",
    .architectures = "PhiForCausalLM",
    .model_types = "phi",
    .activation = {"gelu_new", "hidden_act"},
    .quirks =
        "shares_no_key_heads ignores_layer_types activation:any natural_heads"
        " looks_up_scales asserts_untied width_of_up mlp_beside_attention",
    .names = {kPhi2Names, rows::kCommonNames},
    .keys = kPhi2Keys,
    .defaults = kPhi2Defaults,
    .parameters = {kPhi2Rows, rows::kQkvBias},
    .has_common_keys = false,
    .untold = "rope_theta (10000)",
};

}  // namespace ckpt
