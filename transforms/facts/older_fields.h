// The fields of a configuration saved by transformers 5 as 4.57 and SGLang read them.
#pragma once

#include "core/json/json_edit.h"

namespace ckpt {

// num_experts with num_local_experts, hidden_act with hidden_activation, rope_parameters by
// type of layer as the older fields, which 5 reads too, and kUnsavedFields; of classes that need it
// alone. `level`: the text model's.
void add_older_fields(JsonText& level);
// The first of these alone. True when it was added.
bool add_expert_count(JsonText& level);
// Of vision_config: "axial" of Pixtral, which 5.17 saves and takes by its older name, too; and that
// Qwen3.5 has no deeper mergers. `config`: the whole.
void mend_vision(JsonText& config);

}  // namespace ckpt
