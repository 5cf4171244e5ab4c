// The serving-config step: adds facts to the documents that servers need and writers omit.
//
//   config.json             full_attention_interval, dtype, one rope type, rope_theta next to it,
//                          tie_word_embeddings; layer_types in the words that older readers know
//   quantization lists      full names if the list contradicts the tensors
//   generation_config.json  the chat's end in eos_token_id; do_sample with sampling numbers
//
// The step does not change correct declarations, so a second run changes nothing.
#pragma once

#include <optional>

#include "core/json/json_edit.h"
#include "core/model/transform.h"

namespace ckpt {

// Fails: kCorrupt: a document is not a JSON object, or a required ModelOpt declaration is missing.
Result<Checkpoint> serving_config(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context);

// The configuration of the text model: text_config if it exists.
JsonText& text_level(JsonText& config);
// Makes `type`, the older name of `rope_type`, equal to it, because vLLM rejects a difference.
void settle_rope_type(JsonText& rope);
// Returns n if exactly every n-th layer has full attention, from which SGLang derives the kinds;
// else nullopt.
std::optional<uint64_t> interval_of(const JsonText& layer_types);

// Whether the class of `config` computes logits with its embeddings by default; nullopt if the
// class is unknown or does not compute logits.
std::optional<bool> ties_head_by_class(const JsonText& config);

// Adds the older fields that 4.57 and SGLang read to a configuration saved by transformers 5:
// num_experts for num_local_experts, hidden_act for hidden_activation, older fields for
// rope_parameters per layer type (5 reads them too), and kUnsavedFields; only for classes that need
// them. `level`: the text model's.
void add_older_fields(JsonText& level);
// Adds num_experts only. Returns whether it was added.
bool add_expert_count(JsonText& level);
// Changes vision_config: the older name of Pixtral's "axial" positions, which 5.17 saves and also
// reads; and an empty list of deep mergers for Qwen3.5. `config`: the entire document.
void fix_vision(JsonText& config);

// Corrects declarations of quantization: lists, quant_method, group_size, both documents.
Status fix_quantization_lists(Checkpoint& checkpoint, const Context& context);

}  // namespace ckpt
