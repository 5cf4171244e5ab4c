// Qwen2-VL and Qwen2.5-VL: the text part, which is Qwen2's with M-RoPE sections.
//
// Source: llama.cpp conversion/qwenvl.py (Qwen2VLModel); defaults: transformers
// models/qwen2{,_5}_vl/configuration_*.py.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr FieldDefault kQwen2VlDefaults[] = {
    {"hidden_size", 8192},         {"intermediate_size", 29568},
    {"num_attention_heads", 64},   {"num_key_value_heads", 8, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-5},        {"rope_theta", 1000000},
    {"vocab_size", 152064},        {"max_position_embeddings", 32768},
};
// clang-format on

const std::span<const NameRule> kQwen2VlLists[] = {kCommonNames};

}  // namespace

const Family kQwen2Vl = {
    .name = "qwen2vl",
    .architectures = "Qwen2VLForConditionalGeneration",
    .model_types = "qwen2_vl_text qwen2_vl",
    .names = kQwen2VlLists,
    .keys = {},
    .defaults = kQwen2VlDefaults,
    .parameters = &kQwen2VlParameters,
    .tokenizer = {.piece_file = PieceFile::kPreferred},
};

const Family kQwen25Vl = {
    .name = "qwen2vl",
    .architectures = "Qwen2_5_VLForConditionalGeneration",
    .model_types = "qwen2_5_vl_text qwen2_5_vl",
    .names = kQwen2VlLists,
    .keys = {},
    .defaults = kQwen2VlDefaults,
    .parameters = &kQwen25VlParameters,
    .tokenizer = {.piece_file = PieceFile::kPreferred},
};

}  // namespace ckpt
