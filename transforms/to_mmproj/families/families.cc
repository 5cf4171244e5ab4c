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
    &kVoxtralProjector,   &kUltravoxProjector,   &kGemma3nProjector,
};

}  // namespace

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
