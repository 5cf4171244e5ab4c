// The serving-config step: says in the documents what servers look for and writers leave out.
//
//   config.json             full_attention_interval, dtype, one rope type, rope_theta next to it,
//                           tie_word_embeddings; words of layer_types that older readers know
//   quantization lists      whole names where the list does not say what the tensors are
//   generation_config.json  the chat's end among eos_token_id; do_sample with sampling numbers
//
// Each of these is left alone where it is declared correctly, so the step changes nothing the
// second time.
#pragma once

#include <optional>

#include "core/json/json_edit.h"
#include "core/model/transform.h"

namespace ckpt {

// Fails: kCorrupt: a document that is not a JSON object, or no ModelOpt statement where it must be.
Result<Checkpoint> serving_config(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context);

// The configuration of the text model: text_config where there is one.
JsonText& text_level(JsonText& config);
// `type` is the older name of `rope_type`: vLLM rejects another one.
void settle_rope_type(JsonText& rope);
// n where every n-th layer has full attention and no other, from which SGLang derives the others;
// else nullopt.
std::optional<uint64_t> interval_of(const JsonText& layer_types);

// Whether the class of `config` computes logits with its embeddings by default; nullopt:
// a class that is not known here, or makes no logits.
std::optional<bool> ties_head_by_class(const JsonText& config);

// The fields of a configuration saved by transformers 5 as 4.57 and SGLang read them:
// num_experts with num_local_experts, hidden_act with hidden_activation, rope_parameters by
// type of layer as the older fields, which 5 reads too, and kUnsavedFields; of classes that need it
// alone. `level`: the text model's.
void add_older_fields(JsonText& level);
// The first of these alone. True when it was added.
bool add_expert_count(JsonText& level);
// Of vision_config: "axial" of Pixtral, which 5.17 saves and takes by its older name, too; and that
// Qwen3.5 has no deeper mergers. `config`: the whole.
void fix_vision(JsonText& config);

// The part that concerns quantization: lists, quant_method, group_size, both documents.
Status fix_quantization_lists(Checkpoint& checkpoint, const Context& context);

}  // namespace ckpt
