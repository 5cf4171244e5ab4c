// Hyper-parameters of a model as keys of a GGUF.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// Divisors of the rotary frequencies, as the tensors that hold them; none for most models.
struct RopeFactors {
  std::string name;
  std::vector<float> values;  // one for two values of a head
};

Result<std::vector<RopeFactors>> rope_factors(const Model& model);

// The divisors of has_proportional_rope; empty for other families.
Result<std::vector<float>> proportional_factors(const Model& model);

// By how much attention grows with those factors; nullopt for models without long_factor.
Result<std::optional<double>> long_rope_attention(const Model& model);

// The share of a head that is rotated, by the field `name`; `otherwise` where it is absent. Fails:
// kCorrupt: not from 0 to 1.
Result<double> share_of(const JsonValue* found, std::string_view name,
                        std::optional<double> otherwise = {});

// How many values of a head are rotated: a share of hidden_size, split among the heads.
Result<uint64_t> partial_rotary_values(const Model& model);

}  // namespace ckpt
