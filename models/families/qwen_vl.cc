// Qwen2-VL, Qwen2.5-VL and Qwen3-VL, the text part: Qwen2's or Qwen3's with M-RoPE sections.
//
// Sources: llama.cpp conversion/qwenvl.py (Qwen2VLModel), qwen3vl.py (Qwen3VLTextModel,
// Qwen3VLMoeTextModel); transformers models/qwen2{,_5}_vl, qwen3_vl{,_moe}. Stacked experts lie
// [expert, in, out], gate before up, unlike those of Qwen3.5; [expert, out, in] in folders that
// transformers 5 saved. How many layers receive the tower's output is declared in the tower's
// configuration.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ClassDefault kQwen2VlDefaults[] = {
    {"hidden_size", "8192"}, {"intermediate_size", "29568"}, {"num_attention_heads", "64"},
    rows::key_heads("8"), {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "1000000", kInKeys},
    {"vocab_size", "152064"}, {"max_position_embeddings", "32768", kInKeys},
    {"num_hidden_layers", "80", kInShapes}, rows::kHeadOfWidth,
};
// Stacked experts of Qwen3-VL are transposed; these rows replace the last two of the common ones.
constexpr auto kQwen3VlStacks = rows::under("sparse stacked", {
    {".mlp.experts.gate_up_proj", "num_experts hidden_size 2*moe_intermediate_size", kColumns},
    {".mlp.experts.down_proj",    "num_experts moe_intermediate_size hidden_size", kRows},
});
constexpr NameRule kQwen3VlMoeNames[] = {   // before the expert rows: the first match wins
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", kSwapHalves,
     Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj.weight", "blk.{}.ffn_gate_exps.weight", kSwapHalves,
     Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj",        "blk.{}.ffn_down_exps.weight", kSwap},
    {"model.layers.{}.mlp.experts.down_proj.weight", "blk.{}.ffn_down_exps.weight", kSwap},
};
constexpr KeyRule kDeepstackKeys[] = {
    {"n_deepstack_layers", kU32, "deepstack_visual_indexes", kDeepstack},
};
constexpr ClassDefault kQwen3VlMoeDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "5632"}, {"num_attention_heads", "16"},
    rows::key_heads("16"), {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "5000000", kInKeys},
    {"vocab_size", "151936"}, {"max_position_embeddings", "128000", kInKeys},
    {"moe_intermediate_size", "1408"}, {"head_dim", "hidden_size/num_attention_heads"},
    {"num_experts_per_tok", "4", kInKeys}, {"num_experts", "60"},
    {"num_hidden_layers", "24", kInShapes}, rows::kAllSparse,
};
constexpr ClassDefault kQwen3VlDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "22016"}, {"num_attention_heads", "32"},
    rows::key_heads("32"), {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "5000000", kInKeys},
    {"vocab_size", "151936"}, {"max_position_embeddings", "128000", kInKeys}, {"head_dim", "128"},
    {"num_hidden_layers", "32", kInShapes},
};
// clang-format on

constexpr Family qwen2_vl(Family made) {
  made.name = "qwen2vl";
  made.traits.text = {.set = {kSlidesInAllOrNone, kActivationSilu, kTakesMrope, kNormsFeedLinears}};
  made.names = {rows::kCommonNames};
  made.defaults = kQwen2VlDefaults;
  made.parameters = rows::kQwen2Rules;
  made.windows.period = 1;
  made.tokenizer = {.piece_file = PieceFile::kPreferred};
  return made;
}

// Qwen3-VL-MoE, whose stacked experts have their axes exchanged.
constexpr Family qwen3_vl_moe(Family made) {
  made.name = "qwen3vlmoe";
  made.architectures = "Qwen3VLMoeForConditionalGeneration";
  made.model_types = "qwen3_vl_moe_text qwen3_vl_moe";
  made.traits.text = {.set = {kActivationSilu, kSiluExperts, kNeedsRopeType, kStackedExperts,
                              kExchangedExperts, kNormsFeedLinears}};
  made.traits.wrapper = {.set = {kVisionActivationExact, kExchangedExperts, kNestedText},
                         .processor_tokenizer = "Qwen2TokenizerFast"};
  made.keys = rows::kQwenExpertKeys;
  made.keys_around.more = kDeepstackKeys;
  made.defaults = kQwen3VlMoeDefaults;
  made.graph.constants = rows::kExpertConstants;
  return made;
}

const Family kQwen3VlMoeTurned = qwen3_vl_moe({
    .names = rows::kExpertLists,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, std::span(rows::kExperts).first(1),
                   std::span(rows::kExperts).subspan(4)},
});

constexpr Family qwen3_vl(Family made) {
  made.name = "qwen3vl";
  made.traits.text = {.set = {kActivationSilu, kNeedsRopeType, kNormsFeedLinears}};
  made.traits.wrapper = {.set = {kVisionActivationExact, kNestedText},
                         .processor_tokenizer = "Qwen2TokenizerFast"};
  made.defaults = kQwen3VlDefaults;
  made.parameters = rows::kQwen3Rules;
  made.keys_around.more = kDeepstackKeys;
  made.tokenizer = {.piece_file = PieceFile::kPreferred};
  return made;
}
constexpr Family kQwen3VlTiedReranker = qwen3_vl(rows::reranker({}, true));
constexpr FamilyVariant kQwen3VlRerankers[] = {{rows::ties_head, &kQwen3VlTiedReranker}};
constexpr Family kQwen3VlReranker =
    qwen3_vl(rows::reranker({.forms = {.variants = kQwen3VlRerankers}}, false));

}  // namespace

const Family kQwen2Vl = qwen2_vl({
    .architectures = "Qwen2VLForConditionalGeneration",
    .model_types = "qwen2_vl_text qwen2_vl",
    .traits = {.wrapper = {.set = {kActivationSilu, kTakesMrope},
                           .processor_tokenizer = "Qwen2TokenizerFast"}},
});

const Family kQwen25Vl = qwen2_vl({
    .architectures = "Qwen2_5_VLForConditionalGeneration",
    .model_types = "qwen2_5_vl_text qwen2_5_vl",
    .traits = {.wrapper = {.set = {kActivationSilu, kTakesMrope, kVisionActivationGated},
                           .processor_tokenizer = "Qwen2TokenizerFast"}},
});

const Family kQwen3Vl = qwen3_vl({
    .architectures = "Qwen3VLForConditionalGeneration",
    .model_types = "qwen3_vl_text qwen3_vl",
    .names = {rows::kCommonNames},
    .keys = rows::kPoolingKeys,
    .forms = {.reranker = &kQwen3VlReranker},
});

const Family kQwen3VlMoe = qwen3_vl_moe({
    .names = {kQwen3VlMoeNames, rows::kExpertNames, rows::kCommonNames},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, std::span(rows::kExperts).first(4), kQwen3VlStacks},
    .forms = {.turned = &kQwen3VlMoeTurned},
});

}  // namespace ckpt
