#include <algorithm>
#include <array>

#include "models/models.h"

namespace ckpt {
namespace {

struct OllamaFamily {
  std::string_view architecture, renderer, parser;
};
// Source: ollama/ollama server/create.go, createModel().
constexpr std::array kOllamaFamilies{
    OllamaFamily{"gemma4", "gemma4", "gemma4"},
    OllamaFamily{"laguna", "laguna", "laguna"},
    OllamaFamily{"nemotron_h", "nemotron-3-nano", "nemotron-3-nano"},
    OllamaFamily{"nemotron_h_moe", "nemotron-3-nano", "nemotron-3-nano"},
    OllamaFamily{"nemotron_h_omni", "nemotron-3-nano", "nemotron-3-nano"},
};

const OllamaFamily* find_ollama_family(std::string_view architecture) {
  const auto* const found =
      std::ranges::find(kOllamaFamilies, architecture, &OllamaFamily::architecture);
  return found == kOllamaFamilies.end() ? nullptr : found;
}

}  // namespace

std::string_view ollama_renderer(std::string_view architecture) {
  const OllamaFamily* const family = find_ollama_family(architecture);
  return family == nullptr ? "" : family->renderer;
}

std::string_view ollama_parser(std::string_view architecture) {
  const OllamaFamily* const family = find_ollama_family(architecture);
  return family == nullptr ? "" : family->parser;
}

}  // namespace ckpt
