// The words of layer_types in config.json, whatever the model: the only list of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/find.h"
#include "core/base/words.h"

namespace ckpt {

// How much of the text before a token a layer keeps.
enum class LayerMemory : uint8_t { kFull, kWindow, kRecurrent, kNone, kUnknown };

struct LayerTypeWord {
  std::string_view word;
  LayerMemory kind = LayerMemory::kUnknown;
  bool is_of_any_class = false;    // no class of the families here stops at it
  std::string_view newer_word = {};  // what transformers 5.18 and later make of it, and save
  std::string_view types = {};       // starts of model types whose folders had it
};
inline constexpr LayerTypeWord kLayerTypes[] = {
    {"full_attention", LayerMemory::kFull, true},
    {"sliding_attention", LayerMemory::kWindow, true},
    {"chunked_attention", LayerMemory::kWindow, true},
    {"linear_attention", LayerMemory::kRecurrent, true},
    {"conv", LayerMemory::kRecurrent, true},
    {"compressed_sparse_attention", LayerMemory::kUnknown, true},
    {"heavily_compressed_attention", LayerMemory::kUnknown, true},
    {"indexed_attention", LayerMemory::kFull},
    // All of the prompt, and a window of what was generated.
    {"reference_sliding_attention", LayerMemory::kFull},
    {"mlp", LayerMemory::kNone},
    {"moe", LayerMemory::kNone},
    {"attention", LayerMemory::kFull, false, "full_attention"},
    {"mamba", LayerMemory::kRecurrent, false, "linear_attention"},
    {"deepseek_sparse_attention", LayerMemory::kFull, false, "indexed_attention", "deepseek glm"},
    {"qwen_sparse_attention", LayerMemory::kFull, false, "indexed_attention", "qwen"}};

inline LayerTypeWord layer_type(std::string_view word) {
  const LayerTypeWord* found = find_by(kLayerTypes, &LayerTypeWord::word, word);
  return found == nullptr ? LayerTypeWord{word} : *found;
}

// The word that folders of this model type had before 5.18, which newer releases take too.
inline std::string_view older_layer_type(std::string_view word, std::string_view model_type) {
  for (const LayerTypeWord& older : kLayerTypes) {
    for (const std::string_view start : split_words(older.types)) {
      if (older.newer_word == word && model_type.starts_with(start)) return older.word;
    }
  }
  return word;
}

}  // namespace ckpt
