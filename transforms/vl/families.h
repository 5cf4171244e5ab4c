// Which text models live inside which vision-language wrappers, as data: a family is a row.
//
//   {"model_type": "qwen3_5_text", ...}   ⇄   {"model_type": "qwen3_5", "text_config": {...},
//    model.layers.0.*, lm_head.*               "vision_config": {...}, "image_token_id": ...}
//                                              model.language_model.layers.0.*, lm_head.*
//
// Sources: huggingface/transformers src/transformers/conversion_mapping.py (names on disk),
// models/*/configuration_*.py (defaults); vllm-project/vllm vllm/model_executor/models/*.py (the
// names that a wrapper accepts); the published checkpoints of each family.
// The names in a file do not follow from model_type. A text model saved from a vision-language one
// can carry either prefix; the header is what counts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ckpt {

// A text model by its model_type alone (`outside`) and inside a wrapper (`inside`).
struct VlText {
  std::string_view outside, inside, architecture;
};

// Stems of names: "model" stands for "model", "model.x" and "model*".
struct VlRename {
  std::string_view text, wrapped;
};

// A token that stands for images in the prompt: its id is a member of the wrapper's config.
struct VlToken {
  std::string_view key, content;
  uint64_t usual_id;
};

// A number of a processor file that must equal one of vision_config. `at` is "key" or "key.key".
struct VlSize {
  std::string_view at, vision_key;
};

struct VlMrope {
  std::span<const uint64_t> section;  // pairs of dimensions for time, height, width; may be empty
  bool is_interleaved;
};

// Texts are JSON. An empty one: there is none, and it cannot be made up.
struct VlFamily {
  std::string_view model_type = {}, architecture = {};
  std::string_view text_key = "text_config";
  std::span<const VlText> texts = {};
  std::span<const VlRename> names = {};
  std::span<const std::string_view> vision_stems = {};  // of tensors, as published
  std::span<const VlToken> tokens = {};
  std::string_view top_members = {};    // further members next to text_config
  std::string_view vision_config = {};  // a usual one; out_size_key is set to the text's width
  std::string_view out_size_key = {};   // member of vision_config that equals hidden_size
  VlMrope mrope = {};
  std::string_view preprocessor = {}, video_preprocessor = {}, processor = {};  // usual ones
  std::span<const VlSize> preprocessor_sizes = {}, processor_sizes = {};
  bool has_mtp = false;
  bool has_attention_interval = false;  // full attention every n-th layer, said in two ways
};

std::span<const VlFamily> all_vl_families();

// By the wrapper's model_type; nullptr when it is none.
const VlFamily* find_vl_family(std::string_view model_type);
// The row of `family` for a text model_type of either kind; nullptr when there is none.
const VlText* find_vl_text(const VlFamily& family, std::string_view text_model_type);
// Every family that has such a row.
std::vector<const VlFamily*> vl_families_for_text(std::string_view text_model_type);

}  // namespace ckpt
