// Mistral, Mistral 3 (within its wrapper) and Ministral 3 have Llama's layers with other defaults.
// Pixtral and LLaVA wrap Mistral's or Llama's text model. Mixtral has experts, whose matrices are
// called w1 (gate), w2 (down) and w3 (up).
//
// Sources: llama.cpp conversion/llama.py (LlamaModel.modify_tensors), mistral3.py; transformers
// models/{mistral,mistral3,ministral3,mixtral}. Mistral with layer_types is read as Ministral,
// whose class leaves head_dim open, as Mixtral's does. Stacks come w1, w2, w3, which is gate, down,
// up; experts stand under block_sparse_moe in files, whatever the class calls them now.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr KeyRule kMistral3Keys[] = {
    {"vocab_size",                       kU32, "vocab_size"},
    {"rope.dimension_count",             kU32, "", kRotary},
    {"rope.scaling.yarn_log_multiplier", kF32, "mscale_all_dim", kRopeNeeded, "ministral3"},
    {"attention.temperature_scale",      kF32, "llama_4_scaling_beta", kRopeNeeded, "ministral3"},
};
constexpr ClassDefault kMinistral3Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "14336"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "8"}, {"head_dim", "128"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "1000000", kInKeys}, {"vocab_size", "131072"},
    {"max_position_embeddings", "262144", kInKeys}, {"num_hidden_layers", "34", kInShapes},
};
constexpr ClassDefault kMistralDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "14336"}, {"num_attention_heads", "32"},
    rows::key_heads("8"),
    {.field = "head_dim", .value = "hidden_size/num_attention_heads", .unless = "layer_types"},
    {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys}, {"vocab_size", "32000"},
    {"max_position_embeddings", "131072", kInKeys}, {"num_hidden_layers", "32", kInShapes},
};
constexpr ClassDefault kMixtralDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "14336"}, {"num_attention_heads", "32"},
    rows::key_heads("8"), {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "1e6", kInKeys},
    {"vocab_size", "32000"}, {"max_position_embeddings", "131072", kInKeys},
    {"num_experts_per_tok", "2", kInKeys}, {"num_local_experts", "8"},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
    {"num_experts", "num_local_experts", kInShapes}, rows::kAllSparse,
};
// clang-format on

// llama-context.cpp: the graph divides by what mscale_all_dim says, and takes 1 for mscale.
void add_mscale(const GraphConfig& made) {
  if (made.rope.contains("mscale_all_dim")) made.rope["mscale"] = 1.0;
}

constexpr Family mistral3(Family made) {
  made.name = "mistral3";
  made.names = rows::kPairLists;
  made.keys = kMistral3Keys;
  made.parameters = rows::kLlamaRules;
  made.rope.has_factors = true;
  made.tokenizer = kLlamaTokenizer;
  made.graph.add_fields = add_mscale;
  made.graph.absent_fields = "mscale (1, as llama.cpp computes such files)";
  return made;
}

bool has_latents(const JsonValue& config) { return text_in(config, "model_type") == "mistral4"; }
bool has_llama_text(const JsonValue& config) { return text_in(config, "model_type") == "llama"; }
bool has_other_text(const JsonValue& config) { return text_in(config, "model_type") != "mistral"; }
const FamilyVariant kLlavaVariants[] = {
    {has_llama_text, &kLlama},
    {has_other_text, nullptr, "Llava with a text model that is neither Mistral nor Llama"}};
const FamilyVariant kMistral3Variants[] = {{has_latents, &kMistral4}};

}  // namespace

const Family kMistral = {
    .name = "llama",
    .architectures = "MistralForCausalLM",
    .headless = "MistralModel",
    .model_types = "mistral",
    .traits = {.text = {.set = {kTextClass, kOnlySilu, kAsksNothingOfRope, kThetaOutside,
                                kBiasesInVllm, kNormsFeedLinears}}},
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .defaults = kMistralDefaults,
    .rope = {.has_factors = true},
    .parameters = rows::kLlamaRules,  // whose biases vLLM's class alone has
    .tokenizer = kLlamaTokenizer,
};

const Family kMinistral3 = mistral3({
    .architectures = "Ministral3ForCausalLM",
    .model_types = "ministral3",
    .traits = {.text = {.set = {kActivationSilu, kBiasesInVllm}}},
    .defaults = kMinistral3Defaults,
    .rope = {.by_default = R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
            "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0,
            "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1})"},
});

const Family kMistral3 = mistral3({
    .architectures = "Mistral3ForConditionalGeneration",
    .model_types = "mistral3",
    .traits = {.text = {.set = {kTiesOutside, kVisionActivationGated, kProjectorActivation,
                                kLooksUpParts, kNormsFeedLinears}}},
    .defaults = kMistralDefaults,
    .forms = {.variants = kMistral3Variants, .earlier = &kMistral},
});

const Family kLlava = {
    .name = "llama",
    .architectures =
        "LlavaForConditionalGeneration VoxtralForConditionalGeneration"
        " VLlama3ForCausalLM",
    .model_types = "llava voxtral smolvlm idefics3",
    .traits = {.both = {.set = {kLooksUpParts}}},
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .defaults = kMistralDefaults,
    .rope = {.has_factors = true},
    .parameters = rows::kLlamaRules,
    .is_partial = true,  // wrappers hold vision towers of several classes
    .forms = {.variants = kLlavaVariants},
    .tokenizer = kLlamaTokenizer,
};

const Family kMixtral = {
    .name = "llama",
    .architectures = "MixtralForCausalLM",
    .model_types = "mixtral",
    .traits = {.text = {.set = {kAsksNothingOfRope, kThetaOutside, kNormsFeedLinears,
                                kExpertsUnderMlp},
                        .own_config = "Mixtral"}},
    .names = {rows::kPairNames, rows::kSparseMoeNames, rows::kCommonNames},
    .keys = rows::kLlamaKeys,
    .defaults = kMixtralDefaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kSparseMoe},
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
