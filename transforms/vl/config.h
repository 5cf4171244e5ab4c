// config.json of a text model inside that of a vision-language one, and out of it again.
//
//   flat                                      nested
//   {"architectures": ["…ForCausalLM"],       {"architectures": ["…ForConditionalGeneration"],
//    "hidden_size": 4096, …,                   "dtype": "bfloat16", "image_token_id": 248056, …,
//    "model_type": "qwen3_5_text",             "model_type": "qwen3_5",
//    "quantization_config": {…}}               "text_config": {"hidden_size": 4096, …,
//                                                              "model_type": "qwen3_5_text"},
//                                              "vision_config": {…}, "quantization_config": {…}}
//
// Sources: huggingface/transformers src/transformers/models/qwen3_5/configuration_qwen3_5.py and
// configuration_utils.py; vLLM vllm/transformers_utils/config.py; SGLang
// python/sglang/srt/configs/model_config.py.
// Changing model_type without nesting loads without an error, as a model of the class's default
// sizes; and Qwen2-VL's published configurations are flat although they are wrappers.
// quantization_config stays at the top, where every reader looks.
#pragma once

#include <map>
#include <string>

#include "core/json/json_edit.h"
#include "core/model/transform.h"
#include "transforms/vl/families.h"

namespace ckpt {

// Which wrapper and which text model a config.json is about.
struct VlModel {
  const VlFamily* family;
  const VlText* text;
};

// Facts from the rest of the checkpoint that a configuration must agree with.
struct VlFacts {
  bool has_head = false;                      // lm_head.weight is there
  std::string dtype = "bfloat16";             // of the weights, as torch calls it
  std::map<std::string, uint64_t> token_ids;  // of tokenizer.json's added tokens
  const JsonText* base = nullptr;             // config.json of a wrapper to take vision from
};

// For a text model's config, or a wrapper's that is to be fixed. `base` may be null.
// Fails: kCorrupt: no model_type or architectures, nested twice; kUsage: of no family, of several,
// or of another than `base`.
Result<VlModel> identify_vl_text(const JsonText& config, const VlFamily* base);
// For a wrapper's config. Fails: kUsage: it is none; kCorrupt as above.
Result<VlModel> identify_vl_wrapper(const JsonText& config);

// The wrapper's config.json: nested, with everything explicit that loaders do not work out.
// Notes what a person should know. Fails: kUsage: BASE does not fit; kCorrupt: the sizes of the
// text model contradict each other.
Result<JsonText> nest_vl_config(const JsonText& config, const VlModel& model, const VlFacts& facts,
                                const Context& context);
// The text model's config.json.
JsonText unnest_vl_config(const JsonText& config, const VlModel& model, bool has_head);

// rope_parameters, layer_types, full_attention_interval and model_type of a text config, as the
// wrapper's classes need them. Fails: kCorrupt.
Status complete_vl_text(JsonText& text, const VlModel& model, const JsonText* base_text,
                        const Context& context);
// The other way: what only the wrapper's text class knows.
void simplify_vl_text(JsonText& text, const VlModel& model);

bool is_rope_key(std::string_view key);

// A text of this program's own tables.
JsonText parse_own(std::string_view text);

}  // namespace ckpt
