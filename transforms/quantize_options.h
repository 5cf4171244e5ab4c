// What was asked of the quantize step: its option table, and the options read into numbers.
//
// Globs see a tensor under its name in the input checkpoint ("model.layers.0.mlp.up_proj.weight"
// when that was a Hugging Face folder), or with "out:" in front under its GGUF name. Rules stand in
// the order they were given, and the last one that matches a tensor counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint.h"
#include "core/transform.h"
#include "transforms/mixture.h"

namespace ckpt {

inline constexpr OptionRule kQuantizeOptions[] = {
    {"type", "NAME", "type of the file, as llama-quantize names them: q4_k_m, q8_0, bf16", false},
    {"tensor-type", "GLOB=TYPE", "type of the tensors that match; the last match wins", true},
    {"keep", "GLOB", "leave the tensors that match in the type they have", true},
    {"output-tensor-type", "TYPE", "type of output.weight", false},
    {"token-embedding-type", "TYPE", "type of token_embd.weight", false},
    {"allow-requantize", "yes|no", "allow another type for tensors that are quantised", false},
    {"pure", "yes|no", "no mixture: one type for all tensors that are quantised", false},
    {"leave-output-tensor", "yes|no", "copy output.weight", false},
    {"search", "none|best", "q4_k, q5_k, q6_k: blocks that err less than llama-quantize's", false},
};

// One "tensor-type=GLOB=TYPE", or one "keep=GLOB" (then `type` is empty).
struct TypeRule {
  std::string text;  // as given, for messages
  std::string glob;
  bool sees_output_name = false;
  std::optional<Dtype> type;

  bool matches(const Tensor& tensor) const;
};

struct QuantizeOptions {
  const Mixture* mixture = nullptr;
  std::vector<TypeRule> rules;
  MixtureOptions mixture_options;  // has_imatrix is left false
  bool allow_requantize = false;
  bool searches = false;  // for the best blocks, where there is a search
};

// The codec that stores `dtype` in a GGUF file and can be encoded; nullptr where there is none.
const Codec* find_target_codec(Codecs codecs, Dtype dtype);

// Fails: kUsage for an unknown type or option value, naming what is accepted.
Result<QuantizeOptions> parse_quantize_options(const Options& options, Codecs codecs);

}  // namespace ckpt
