// Accepts names of types and profiles as people write them: in any case, with or without
// punctuation between the letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

class Observer;
struct Conversion;

// A value of --to, as `ckpt list types` shows it.
struct TargetType {
  std::string_view name;  // "q5_k_m", "nvfp4"
  std::string_view kind;  // "mixture": for a GGUF; "export": made by that step
  std::string help;       // its use in a few words
  std::string_view base;  // for mixtures: the type of most tensors
  double bits, error;     // per weight; in percent (target_types.cc)
};
std::vector<TargetType> target_types();

// Maps "Q5_K_M", "q5km" and "q5-k-m" to q5_k_m; fp16, float16 and half to f16. Fails: kUsage with
// the nearest type; `before` precedes the type on the command line ("--to ").
Result<std::string> target_type_named(std::string_view before, std::string_view text);

// "GLOB=TYPE" with the type in ckpt's spelling; an unknown type stays unchanged, and the step
// rejects it.
std::string rule_with_type_named(std::string_view rule);
// Maps the type of one tensor.
std::string tensor_type_named(std::string_view text);

// Makes one output for each type in `conversion.to`, and replaces {type} and {ftype} in OUT by the
// type. Fails: kUsage: an unknown type; several types and an OUT without {type} or {ftype}; OUT is
// the name of a type.
Status spread_types(Conversion& conversion);

// Splits at commas: "a,b" is a and b. Empty words are kept.
std::vector<std::string> words_between_commas(std::string_view text);

// Maps "vLLM" to vllm, "llamacpp" to llama.cpp, "vllm-0.17.1" and "vllm==0.17" to vllm-0.17; splits
// "vllm,sglang"; expands "all". Removes duplicates. Fails: kUsage, with the nearest name.
Result<std::vector<std::string>> profiles_named(const std::vector<std::string>& texts);

// Makes a request ready for planning: IN at one commit, an output for each type, types and
// profiles in ckpt's spelling. An importance matrix that was given as --moments is treated as
// --imatrix, because it is the diagonal of second moments. Fails: kUsage: no IN or OUT; a URL as
// OUT; an unknown name, with the nearest; a value that its option does not accept; sizes for files
// of another format; two importance matrices.
Status settle_conversion(Conversion& conversion, Observer& observer);

}  // namespace ckpt
