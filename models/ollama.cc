#include "core/base/find.h"
#include "models/models.h"

namespace ckpt {
namespace {

// Source: ollama/ollama server/create.go, createModel().
constexpr OllamaFamily kOllamaFamilies[] = {
    {"gemma4", "gemma4", "gemma4"},
    {"laguna", "laguna", "laguna"},
    {"nemotron_h", "nemotron-3-nano", "nemotron-3-nano"},
    {"nemotron_h_moe", "nemotron-3-nano", "nemotron-3-nano"},
    {"nemotron_h_omni", "nemotron-3-nano", "nemotron-3-nano"},
};

}  // namespace

OllamaFamily ollama_family(std::string_view architecture) {
  const auto* found = find_by(kOllamaFamilies, &OllamaFamily::architecture, architecture);
  return found == nullptr ? OllamaFamily() : *found;
}

}  // namespace ckpt
