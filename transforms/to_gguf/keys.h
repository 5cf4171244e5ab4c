// Hyper-parameters of a model as keys of a GGUF.
#pragma once

#include <optional>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// The keys "<architecture>.*" and general.file_type, appended.
Status add_model_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// The keys that stand before all others of the model.
Status add_early_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// How the tokenizer of a model becomes keys; `rows`: of the embedding, where they are known.
TokenizerOptions tokenizer_options_of(const Model& model, std::optional<uint64_t> rows);

// The value of a key that follows from several fields: the sources from kSlidingPattern on.
Result<std::optional<MetaValue>> attention_key(const KeyRule& rule, const Model& model);

}  // namespace ckpt
