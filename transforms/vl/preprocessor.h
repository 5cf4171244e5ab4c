// The step preprocessor: files that define how images and videos become a model's input.
//
//   preprocessor_config.json        images: sizes, mean, deviation, image_processor_type
//   video_preprocessor_config.json  the same for videos
//   processor_config.json           combines them with the tokenizer; may contain both in
//                                   transformers 5, as image_processor and video_processor
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

// Adds missing files from `others` (may be null; if `replaces`, its files replace the
// checkpoint's), then from processor_config.json, then the family's usual ones with `config`'s
// sizes. Present files keep their bytes unless they lack image_processor_type. If the family has no
// usual file, none is added. Fails: kUsage: a file of `others` has other sizes; kCorrupt.
Status complete_processors(Checkpoint& checkpoint, const VlFamily& family, const JsonText& config,
                           const std::vector<Document>* others, bool replaces);

}  // namespace ckpt
