// Arcee AFM: Llama's layers with an MLP that has no gate.
//
// Sources: llama.cpp conversion/llama.py (ArceeModel); transformers models/arcee.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ClassDefault kArceeDefaults[] = {
    {"hidden_size", "2560"}, {"intermediate_size", "18432"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"head_dim", "hidden_size/num_attention_heads"},
    {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys}, {"vocab_size", "32000"},
    {"max_position_embeddings", "4096", kInKeys}, {"num_hidden_layers", "32", kInShapes},
};
// clang-format on

}  // namespace

const Family kArcee = {
    .name = "arcee",
    .architectures = "ArceeForCausalLM",
    .model_types = "arcee",
    .activation = {"relu2", "hidden_act"},
    .traits = {.text = {.set = {kActivationRelu2}}},
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .keys_around = {.more = rows::kPoolingKeys},
    .defaults = kArceeDefaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kGatelessMlp,
                   rows::kGatelessMlpBias},
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
