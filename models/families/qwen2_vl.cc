// Qwen2-VL and Qwen2.5-VL: the text part, which is Qwen2's with M-RoPE sections.
//
// Sources: llama.cpp conversion/qwenvl.py (Qwen2VLModel); transformers models/qwen2{,_5}_vl.
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
// clang-format on

constexpr Family qwen2_vl(Family made) {
  made.name = "qwen2vl";
  made.quirks =
      "slides_in_all_or_none activation:silu takes_mrope looks_up_proj_scales"
      " refuses_fused_alone norms_feed_linears";
  made.names = {rows::kCommonNames};
  made.defaults = kQwen2VlDefaults;
  made.parameters = rows::kQwen2Rules;
  made.tokenizer = {.piece_file = PieceFile::kPreferred};
  return made;
}

}  // namespace

const Family kQwen2Vl = qwen2_vl({
    .architectures = "Qwen2VLForConditionalGeneration",
    .model_types = "qwen2_vl_text qwen2_vl",
    .wrapper_quirks = "activation:silu takes_mrope looks_up_proj_scales tower:resized"
                      " processor_tokenizer:Qwen2TokenizerFast",
});

const Family kQwen25Vl = qwen2_vl({
    .architectures = "Qwen2_5_VLForConditionalGeneration",
    .model_types = "qwen2_5_vl_text qwen2_5_vl",
    .wrapper_quirks =
        "stops_at:intermediate_size=z activation:silu takes_mrope vision_activation:gated"
        " looks_up_proj_scales tower:windowed processor_tokenizer:Qwen2TokenizerFast",
});

}  // namespace ckpt
