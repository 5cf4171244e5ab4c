// The list of families with projectors.
#include "transforms/to_mmproj/families/families.h"

#include "core/base/words.h"

namespace ckpt {
namespace {

const ProjectorFamily* const kProjectorFamilies[] = {
    &kQwen2VlProjector,   &kQwen25VlProjector,   &kQwen3VlProjector,   &kQwen3VlMoeProjector,
    &kQwen35Projector,    &kGemma3Projector,     &kMistral3Projector,  &kLlavaProjector,
    &kGemma4Projector,    &kLlama4Projector,     &kGlm4vProjector,     &kGlmOcrProjector,
    &kLfm2VlProjector,    &kSmolVlmProjector,    &kInternVlProjector,  &kPaddleOcrProjector,
    &kMiniCpmV46Projector, &kGranite4VisionProjector, &kHunyuanVlProjector, &kMiniMaxM3Projector,
    &kVoxtralProjector,   &kUltravoxProjector,
};

// clang-format off
constexpr TowerRule kClipLayerRows[] = {
    {"tower.embeddings.position_embedding",        "v.position_embd",
     TowerChange::kNone, TowerStore::kF32},
    {"tower.encoder.layers.{}.layer_norm1",        "v.blk.{}.ln1"},
    {"tower.encoder.layers.{}.layer_norm2",        "v.blk.{}.ln2"},
    {"tower.encoder.layers.{}.mlp.fc1",            "v.blk.{}.ffn_up"},
    {"tower.encoder.layers.{}.mlp.fc2",            "v.blk.{}.ffn_down"},
    {"tower.encoder.layers.{}.self_attn.q_proj",   "v.blk.{}.attn_q"},
    {"tower.encoder.layers.{}.self_attn.k_proj",   "v.blk.{}.attn_k"},
    {"tower.encoder.layers.{}.self_attn.v_proj",   "v.blk.{}.attn_v"},
    {"tower.encoder.layers.{}.self_attn.out_proj", "v.blk.{}.attn_out"},
    {"tower.post_layernorm",                       "v.post_ln"},
};
constexpr TowerRule kSiglipHeadRows[] = {  // SigLIP's own pooling
    {"tower.head.probe", ""},
    {"tower.head.attention.in_proj_weight", ""},
    {"tower.head.attention.in_proj_bias", ""},
    {"tower.head.attention.out_proj", ""},
    {"tower.head.layernorm", ""},
    {"tower.head.mlp.fc1", ""},
    {"tower.head.mlp.fc2", ""},
};
// clang-format on

}  // namespace

const std::span<const TowerRule> kClipLayers = kClipLayerRows;
const std::span<const TowerRule> kSiglipHead = kSiglipHeadRows;

std::span<const ProjectorFamily* const> projector_families() { return kProjectorFamilies; }

const ProjectorFamily* find_projector_family(const JsonValue& config) {
  const JsonValue& list = list_in(config, "architectures");
  const auto* name = list.empty() ? nullptr : list.front().get_ptr<const std::string*>();
  for (const ProjectorFamily* family : kProjectorFamilies) {
    if (name != nullptr && has_word(family->architectures, *name)) return family;
  }
  return nullptr;
}

}  // namespace ckpt
