// Moves config.json of a text model into that of a vision-language model, and back.
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
// A changed model_type without nesting would load without an error, but as a model of the class's
// default sizes; and published configurations of Qwen2-VL are flat although they are wrappers.
// quantization_config stays at the top, where every reader looks.
#pragma once

#include <map>
#include <string>

#include "core/json/json_edit.h"
#include "core/model/transform.h"
#include "transforms/vl/families.h"

namespace ckpt {

// The wrapper and the text model of a config.json.
struct VlModel {
  const VlFamily* family;
  const VlText* text;
};

// Facts from the rest of the checkpoint that a configuration must agree with.
struct VlFacts {
  bool has_head = false;                      // lm_head.weight exists
  std::string dtype = "bfloat16";             // of the weights, in torch's words
  std::map<std::string, uint64_t> token_ids;  // added tokens in tokenizer.json
  const JsonText* base = nullptr;             // a wrapper's config.json that supplies vision fields
};

// For the config of a text model, or of a wrapper that is to be corrected. `base` may be null.
// Fails: kCorrupt: no model_type or architectures, or nested twice; kUsage: no family, several
// families, or another than that of `base`.
Result<VlModel> identify_vl_text(const JsonText& config, const VlFamily* base);
// For a wrapper's config. Fails: kUsage: it is not a wrapper; kCorrupt as above.
Result<VlModel> identify_vl_wrapper(const JsonText& config);

// Makes the wrapper's config.json: nested, with all fields that loaders do not derive. Notes facts
// for the user. Fails: kUsage: BASE does not match; kCorrupt: sizes of the text model contradict
// each other.
Result<JsonText> nest_vl_config(const JsonText& config, const VlModel& model, const VlFacts& facts,
                                const Context& context);
// Makes the text model's config.json.
JsonText unnest_vl_config(const JsonText& config, const VlModel& model, bool has_head);

// Completes rope_parameters, layer_types, full_attention_interval and model_type of a text config
// for the wrapper's classes. Fails: kCorrupt.
Status complete_vl_text(JsonText& text, const VlModel& model, const JsonText* base_text,
                        const Context& context);
// Does the reverse: removes fields that only the wrapper's text class knows.
void simplify_vl_text(JsonText& text, const VlModel& model);

bool is_rope_key(std::string_view key);

// Parses a text in this program's own tables.
JsonText parse_own(std::string_view text);

}  // namespace ckpt
