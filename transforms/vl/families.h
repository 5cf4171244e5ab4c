// Text models and the vision-language wrappers that can contain them, as data: one row per family.
//
//   {"model_type": "qwen3_5_text", ...}   ⇄   {"model_type": "qwen3_5", "text_config": {...},
//    model.layers.0.*, lm_head.*               "vision_config": {...}, "image_token_id": ...}
//                                              model.language_model.layers.0.*, lm_head.*
//
// Sources: huggingface/transformers src/transformers/conversion_mapping.py (names on disk),
// models/*/configuration_*.py (defaults); vllm-project/vllm vllm/model_executor/models/*.py (the
// names that a wrapper accepts); the published checkpoints of each family.
// model_type does not determine the names in a file: a text model saved from a vision-language
// model can have either prefix, so the header decides.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ckpt {

// A text model by its separate model_type (`outside`) and the one inside a wrapper (`inside`).
struct VlText {
  std::string_view outside, inside, architecture;
};

// Stems of names: "model" matches "model", "model.x" and "model*".
struct VlRename {
  std::string_view text, wrapped;
};

// A token that represents images in the prompt; its id is a member of the wrapper's config.
struct VlToken {
  std::string_view key, content;
  uint64_t usual_id;
};

// A number in a processor file that must equal one in vision_config. `at` is "key" or "key.key".
struct VlSize {
  std::string_view at, vision_key;
};

struct VlMrope {
  std::span<const uint64_t> section;  // pairs of dimensions for time, height, width; may be empty
  bool is_interleaved;
};

// Texts are JSON. An empty text means that there is none, and no default.
struct VlFamily {
  std::string_view model_type = {}, architecture = {};
  std::string_view text_key = "text_config";
  std::span<const VlText> texts = {};
  std::span<const VlRename> names = {};
  std::span<const std::string_view> vision_stems = {};  // of tensors, as published
  std::span<const VlToken> tokens = {};
  std::string_view top_members = {};    // other members next to text_config
  std::string_view vision_config = {};  // the usual one; out_size_key becomes the text's width
  std::string_view out_size_key = {};   // the member of vision_config that equals hidden_size
  VlMrope mrope = {};
  std::string_view preprocessor = {}, video_preprocessor = {}, processor = {};  // usual ones
  std::span<const VlSize> preprocessor_sizes = {}, processor_sizes = {};
  bool has_mtp = false;
  bool has_attention_interval = false;  // full attention in every n-th layer, declared in two forms
};

std::span<const VlFamily> all_vl_families();

// Finds a family by the wrapper's model_type; nullptr if there is none.
const VlFamily* find_vl_family(std::string_view model_type);
// The row of `family` for a text model_type of either form; nullptr if there is none.
const VlText* find_vl_text(const VlFamily& family, std::string_view text_model_type);
// All families that have such a row.
std::vector<const VlFamily*> vl_families_for_text(std::string_view text_model_type);

}  // namespace ckpt
