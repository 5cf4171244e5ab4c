// Mamba 2: every layer is a Mamba mixer behind a norm. There is no attention and no MLP.
//
// Sources: llama.cpp conversion/mamba.py (Mamba2Model), which reads config.json as it stands and
// has the class's defaults, but takes 1 for n_groups; transformers models/mamba2. The declared
// context is 2^20, and tokens are filled up to a multiple of 16, though the embedding is not.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kMamba2Rows = spread([] { return std::to_array<ParameterRule>({
    {"backbone.embeddings.weight", "vocab_size hidden_size"},
    {"backbone.norm_f.weight", "hidden_size"},
    {"lm_head.weight",         "vocab_size hidden_size", kWhole, "head"},
    {".norm.weight",           "hidden_size"},
    {".mixer.in_proj.weight",
     "2*expand*hidden_size+2*n_groups*state_size+num_heads hidden_size", kRows},
    {".mixer.in_proj.bias",    "2*expand*hidden_size+2*n_groups*state_size+num_heads", kRows,
     "use_bias"},
    {".mixer.conv1d.weight",   "expand*hidden_size+2*n_groups*state_size 1 conv_kernel", kRows},
    {".mixer.conv1d.bias",     "expand*hidden_size+2*n_groups*state_size", kRows, "use_conv_bias"},
    {".mixer.{A_log,D,dt_bias}", "num_heads", kRows},
    {".mixer.norm.weight",     "expand*hidden_size", kRows},
    {".mixer.out_proj.weight", "hidden_size expand*hidden_size", kColumns},
    {".mixer.out_proj.bias",   "hidden_size", kWhole, "use_bias"},
}); });
constexpr KeyRule kMamba2Keys[] = {
    {"context_length",      kU32, "1048576", kNumber},
    {"embedding_length",    kU32, "hidden_size"},
    {"feed_forward_length", kU32, "0", kNumber},
    {"attention.head_count", kU32, "0", kNumber},
    {"block_count",         kU32, "", kBlockCount},
    {"ssm.conv_kernel",     kU32, "conv_kernel"},
    {"ssm.inner_size",      kU32, "expand*hidden_size", kNumber},
    {"ssm.state_size",      kU32, "state_size"},
    {"ssm.time_step_rank",  kU32, "expand*hidden_size/head_dim", kNumber},
    {"ssm.group_count",     kU32, "n_groups"},
    {"attention.layer_norm_rms_epsilon", kF32, "layer_norm_epsilon rms_norm_eps"},
    {"general.file_type",   kU32, "", kFileType},
};
constexpr ClassDefault kMamba2Defaults[] = {
    {"conv_kernel", "4"}, {"state_size", "128"}, {"head_dim", "64"}, {"expand", "2"},
    {"layer_norm_epsilon", "1e-5", kInKeys}, {"n_groups", "8"},
    {"vocab_size", "32768", kInShapes},
    {"hidden_size", "4096", kInShapes}, {"num_hidden_layers", "64", kInShapes},
    {"num_heads", "128", kInShapes}, {"use_conv_bias", "1", kInShapes},
    // The last layer of each interval has attention. This interval is longer than the model, so all
    // layers are recurrent.
    {"full_attention_interval", "num_hidden_layers+1", kInShapes},
};
// clang-format on

void set_heads(const GraphConfig& made) {
  made.config["num_heads"] = count_in(made.config, "expand") *
                             count_in(made.config, "hidden_size") /
                             std::max<uint64_t>(count_in(made.config, "head_dim"), 1);
}

}  // namespace

const Family kMamba2 = {
    .name = "mamba2",
    .architectures = "Mamba2ForCausalLM",
    .model_types = "mamba2",
    .names = {rows::kMamba2Names},
    .keys = kMamba2Keys,
    .keys_around = {.has_common = false, .own_spellings = "layer_norm_epsilon"},
    .defaults = kMamba2Defaults,
    .parameters = {kMamba2Rows},
    .root = "backbone.",
    .sizes = {.norm_groups = "n_groups", .ignores_head_dim = true, .vocabulary_multiple = 16},
    .graph = {.add_fields = set_heads},
};

}  // namespace ckpt
