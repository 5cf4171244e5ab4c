// Names of types and profiles as people write them: in any case, with or without signs between the
// letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

class Observer;
struct Conversion;

// Values of --to, as `ckpt list types` shows them.
struct TargetType {
  std::string_view name;  // "q5_k_m", "nvfp4"
  std::string_view kind;  // "mixture": of a GGUF; "export": what that step makes
  std::string help;       // its use, as a clause
  std::string_view base;  // mixtures: the type of most tensors
  double bits, error;     // per weight; in percent (target_types.cc)
};
std::vector<TargetType> target_types();

// "Q5_K_M", "q5km" and "q5-k-m" are q5_k_m; fp16, float16 and half are f16. Fails: kUsage with the
// nearest type; `before`: what stands before the type on the command line, "--to ".
Result<std::string> target_type_named(std::string_view before, std::string_view text);

// "GLOB=TYPE" with the type in ckpt's spelling; an unknown type stays unchanged, and the step
// rejects it.
std::string rule_with_type_named(std::string_view rule);
// The same for one tensor's type.
std::string tensor_type_named(std::string_view text);

// Makes one output for each type in `conversion.to`, and replaces {type} and {ftype} in OUT by the
// type. Fails: kUsage: an unknown type; several types and an OUT without {type} or {ftype}; OUT is
// the name of a type.
Status spread_types(Conversion& conversion);

// "a,b" is a and b; empty words count.
std::vector<std::string> words_between_commas(std::string_view text);

// "vLLM" is vllm, "llamacpp" is llama.cpp, "vllm-0.17.1" and "vllm==0.17" are vllm-0.17, and
// "vllm,sglang" are two, "all" is every one. Each once. Fails: kUsage, with the nearest.
Result<std::vector<std::string>> profiles_named(const std::vector<std::string>& texts);

// Makes a request ready for planning: IN at one commit, an output for each type, types and
// profiles in ckpt's spelling. An importance matrix that was given as --moments is treated as
// --imatrix, because it is the diagonal of second moments. Fails: kUsage: no IN or OUT; a URL as
// OUT; an unknown name, with the nearest; a value that its option does not accept; sizes for files
// of another format; two importance matrices.
Status settle_conversion(Conversion& conversion, Observer& observer);

}  // namespace ckpt
