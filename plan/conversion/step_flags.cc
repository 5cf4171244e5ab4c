#include "plan/conversion/step_flags.h"

#include <algorithm>

#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr std::string_view kForExport = ", for --to nvfp4 and fp8";

constexpr StepFlag kStepFlags[] = {
    {"keep", "quantize", "keep"},
    {"tensor-type", "quantize", "tensor-type"},
    {"output-tensor-type", "quantize", "output-tensor-type"},
    {"token-embedding-type", "quantize", "token-embedding-type"},
    {"allow-requantize", "quantize", "allow-requantize", "yes"},
    {"pure", "quantize", "pure", "yes"},
    {"leave-output-tensor", "quantize", "leave-output-tensor", "yes"},
    {"tokenizer-pre", "to-gguf", "tokenizer-pre"},
    {"tokenizer-as", "to-gguf", "tokenizer-as"},
    {"model-name", "to-gguf", "model-name"},
    {"no-mtp", "to-gguf", "mtp", "no", "drop the layers for multi-token prediction"},
    {"keep-codes", "to-gguf", "keep-codes", "yes"},
    {"mmproj-type", "to-mmproj", "mmproj-type"},
    {"amax-from", "export", "amax-from", {}, {}, kForExport},
    {"preset", "export", "preset", {}, {}, kForExport},
    {"rounding", "export", "rounding", {}, {}, kForExport},
    {"kv-cache", "export", "kv-cache", {}, {}, kForExport},
    {"search",
     "export",
     "search",
     {},
     {},
     "; best for q4_k, q5_k and q6_k too (with --moments q2_k to q6_k)"},
    {"moments", "export", "moments"},
    {"only", "export", "only", {}, {}, kForExport},
    {"fp8", "export", "fp8"},
    {"rest", "export", "rest", {}, {}, kForExport},
    {"fresh-weight-amax", "export", "fresh-weight-amax", "yes"},
};

}  // namespace

const OptionRule& StepFlag::rule() const {
  const Transform* transform = find_transform(step);
  CKPT_CHECK(transform != nullptr);
  const OptionRule* found = find_rule(transform->options, key);
  CKPT_CHECK(found != nullptr);
  return *found;
}

std::string StepFlag::whole_help() const {
  if (!help.empty()) return std::string(help);
  const OptionRule& from = rule();
  return takes_value() ? from.whole_help(more) : std::string(from.help);
}

std::span<const StepFlag> step_flags() { return kStepFlags; }

const StepFlag* find_step_flag(std::string_view name) {
  const auto found = std::find_if(std::begin(kStepFlags), std::end(kStepFlags),
                                  [&](const StepFlag& flag) { return flag.name == name; });
  return found == std::end(kStepFlags) ? nullptr : found;
}

bool is_path_flag(std::string_view name, std::string_view value) {
  const StepFlag* flag = find_step_flag(name);
  return flag != nullptr && flag->rule().is_path(value);
}

}  // namespace ckpt
