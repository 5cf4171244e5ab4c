// The step preprocessor: the files that say how images and videos become a model's input.
//
//   preprocessor_config.json        images: sizes, mean, deviation, image_processor_type
//   video_preprocessor_config.json  the same for videos
//   processor_config.json           what joins them with the tokenizer; transformers 5 may hold the
//                                   other two inside, as image_processor and video_processor
//
// Sources: huggingface/transformers src/transformers/models/auto/image_processing_auto.py; vLLM
// builds the processor of a vision-language class even with --language-model-only; llama.cpp
// conversion/base.py reads image_mean and image_std for --mmproj.
// patch_size, temporal_patch_size and merge_size repeat vision_config's patch_size,
// temporal_patch_size and spatial_merge_size and must equal them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/json/json_edit.h"
#include "core/model/transform.h"
#include "transforms/vl/families.h"

namespace ckpt {

inline constexpr std::string_view kProcessorFiles[] = {
    "preprocessor_config.json", "video_preprocessor_config.json", "processor_config.json"};
inline bool is_processor_file(const Document& document) {
  return std::ranges::find(kProcessorFiles, document.path) != std::end(kProcessorFiles);
}

// Files that are missing, from `others` (may be null; its files replace the checkpoint's when
// `replaces`), then out of processor_config.json, then the family's usual ones with `config`'s
// sizes. A file that is there keeps its bytes unless it lacks image_processor_type.
// Where none is known there is none afterwards. Fails: kUsage: a file of `others` has other sizes;
// kCorrupt.
Status complete_processors(Checkpoint& checkpoint, const VlFamily& family, const JsonText& config,
                           const std::vector<Document>* others, bool replaces);

}  // namespace ckpt
