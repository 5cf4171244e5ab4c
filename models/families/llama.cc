// Llama: query and key rows are permuted, because GGUF's rotary embedding for this architecture
// turns neighboring values where Hugging Face's turns halves.
//
//   head of D rows:  HF   0 1 2 ... D/2-1 | D/2 ...        GGUF   0 D/2 1 D/2+1 2 ...
//
// Sources: llama.cpp conversion/llama.py (LlamaModel); transformers models/llama. llama3 rope
// scaling gives no key but a tensor, rope_freqs.weight.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ClassDefault kLlamaDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"head_dim", "hidden_size/num_attention_heads"},
    {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys}, {"vocab_size", "32000"},
    {"max_position_embeddings", "2048", kInKeys}, {"num_hidden_layers", "32", kInShapes},
};
// clang-format on

}  // namespace

const Family kLlama = {
    .name = "llama",
    .architectures = "LlamaForCausalLM LLaMAForCausalLM",
    .headless = "LlamaModel",
    .model_types = "llama",
    .traits = {.text = {.set = {kTextClass, kOnlySilu, kThetaOutside, kNormsFeedLinears,
                                kTorchtitanPairs}}},
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .defaults = kLlamaDefaults,
    .rope = {.has_factors = true},
    .parameters = rows::kLlamaRules,
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
