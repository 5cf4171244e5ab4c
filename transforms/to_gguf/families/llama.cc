// Llama, Mistral, Mistral 3 and SmolLM3: query and key rows are permuted, because GGUF's rotary
// embedding for this architecture turns neighboring values where Hugging Face's turns halves.
//
//   head of D rows:  HF   0 1 2 ... D/2-1 | D/2 ...        GGUF   0 D/2 1 D/2+1 2 ...
//
// Source: llama.cpp conversion/llama.py (LlamaModel); defaults: transformers
// models/{llama,mistral,smollm3}/configuration_*.py. The first two are "llama" in the file; llama3
// rope scaling gives no key but a tensor, rope_freqs.weight; Mistral with layer_types is read as
// Ministral, whose class leaves head_dim open.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", Change::kRopeQuery},
    {"model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", Change::kRopeKey},
};

constexpr KeyRule kKeys[] = {
    {"vocab_size",           MetaType::kU32, "vocab_size"},
    {"rope.dimension_count", MetaType::kU32, "", KeySource::kRotary},
};

constexpr FieldDefault kLlamaDefaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 11008},
    {"num_attention_heads", 32}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"head_dim", 0, "head_dim"}, {"rms_norm_eps", 1e-6},
    {"rope_theta", 10000},       {"vocab_size", 32000},
    {"max_position_embeddings", 2048},
};

constexpr FieldDefault kMistralDefaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 14336},
    {"num_attention_heads", 32}, {"num_key_value_heads", 8, "", "", "num_attention_heads"},
    {"head_dim", 0, "head_dim", "layer_types"}, {"rms_norm_eps", 1e-6},
    {"rope_theta", 10000},       {"vocab_size", 32000},
    {"max_position_embeddings", 131072},
};

constexpr FieldDefault kSmolLm3Defaults[] = {
    {"hidden_size", 2048},       {"intermediate_size", 11008},
    {"num_attention_heads", 16}, {"num_key_value_heads", 4, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-6},      {"rope_theta", 2000000},
    {"vocab_size", 128256},      {"max_position_embeddings", 32768},
};

constexpr KeyRule kMistral3Keys[] = {
    {"vocab_size",                  MetaType::kU32, "vocab_size"},
    {"rope.dimension_count",        MetaType::kU32, "", KeySource::kRotary},
    {"rope.scaling.yarn_log_multiplier", MetaType::kF32, "mscale_all_dim", KeySource::kRopeNeeded,
     "ministral3"},
    {"attention.temperature_scale", MetaType::kF32, "llama_4_scaling_beta", KeySource::kRopeNeeded,
     "ministral3"},
};

constexpr FieldDefault kMinistral3Defaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 14336},
    {"num_attention_heads", 32}, {"num_key_value_heads", 8},
    {"head_dim", 128},           {"rms_norm_eps", 1e-5},
    {"rope_theta", 1000000},     {"vocab_size", 131072},
    {"max_position_embeddings", 262144},
};
// clang-format on

constexpr std::span<const NameRule> kMine = kNames;
const std::span<const NameRule> kLists[] = {kMine, kCommonNames};

}  // namespace

const Family kLlama = {
    .name = "llama",
    .architectures = "LlamaForCausalLM LLaMAForCausalLM",
    .model_types = "llama",
    .names = kLists,
    .keys = kKeys,
    .defaults = kLlamaDefaults,
    .parameters = &kLlamaParameters,
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

const Family kMistral = {
    .name = "llama",
    .architectures = "MistralForCausalLM",
    .model_types = "mistral",
    .names = kLists,
    .keys = kKeys,
    .defaults = kMistralDefaults,
    .parameters = &kMistralParameters,
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

const Family kSmolLm3 = {
    .name = "smollm3",
    .architectures = "SmolLM3ForCausalLM",
    .model_types = "smollm3",
    .names = kLists,
    .keys = kKeys,
    .defaults = kSmolLm3Defaults,
    .parameters = &kSmolLm3Parameters,
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

const Family kMinistral3 = {
    .name = "mistral3",
    .architectures = "Ministral3ForCausalLM",
    .model_types = "ministral3",
    .names = kLists,
    .keys = kMistral3Keys,
    .defaults = kMinistral3Defaults,
    .parameters = &kMinistral3Parameters,
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

const Family kMistral3 = {
    .name = "mistral3",
    .architectures = "Mistral3ForConditionalGeneration",
    .model_types = "mistral3",
    .names = kLists,
    .keys = kMistral3Keys,
    .defaults = kMistralDefaults,
    .parameters = &kMistral3Parameters,
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
