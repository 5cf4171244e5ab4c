// Hyperparameters of a model as keys of a GGUF.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Appends the keys "<architecture>.*" and general.file_type.
Status add_model_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// Adds the keys that precede all others of the model.
Status add_early_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// The options for writing the tokenizer; `rows`: of the embedding, if known.
TokenizerOptions tokenizer_options_of(const Model& model, std::optional<uint64_t> rows);

// The value of a key that follows from several fields: the sources from kSlidingPattern on.
Result<std::optional<MetaValue>> attention_key(const KeyRule& rule, const Model& model);

// A tensor with divisors of the rotary frequencies; most models have none.
struct RopeFactors {
  std::string name;
  std::vector<float> values;  // one for two values of a head
};

Result<std::vector<RopeFactors>> rope_factors(const Model& model);

// The divisors of has_proportional_rope; empty for other families.
Result<std::vector<float>> proportional_factors(const Model& model);

// The field of rope parameters that replaces the usual factor of attention.
inline constexpr const char* kAttentionFactor = "attention_factor";

// The factor of attention for those divisors; nullopt for models without long_factor.
Result<std::optional<double>> long_rope_attention(const Model& model);
// The usual factor of attention for a context of `longest` tokens, for a model that was trained
// with a context of `original` tokens.
double long_rope_attention(double longest, double original);

// The rotated share of a head from the field `name`; `otherwise` if it is absent. Fails: kCorrupt:
// it is not from 0 to 1.
Result<double> share_of(const JsonValue* found, std::string_view name,
                        std::optional<double> otherwise = {});

// The number of rotated values per head: a share of hidden_size, divided among the heads.
Result<uint64_t> partial_rotary_values(const Model& model);

}  // namespace ckpt
