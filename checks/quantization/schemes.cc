// Checks of the scheme that a statement declares for its weights against how they are stored.
//
// Sources: vLLM 0.17.1 and 0.32.0 vllm/model_executor/layers/quantization/fp8.py (Fp8Config,
// create_weights) and compressed_tensors/compressed_tensors.py (_get_scheme_from_parts,
// _is_nvfp4_format); SGLang 0.5.12 python/sglang/srt/layers/quantization/fp8.py.
// Bits and groups of whole numbers are checked where their parts are put together
// (transforms/packed/).
#include <algorithm>

#include "checks/subject/subject.h"

namespace ckpt {
namespace {

bool is_of_blocks(const Tensor& scale) {
  return std::ranges::any_of(scale.shape, [](uint64_t count) { return count > 1; });
}

// The first module whose FP8 weight has a scale for each block.
std::string module_of_blocks(const Examined& on) {
  for (const auto& [name, module] : on.modules) {
    if (module.weight == nullptr) continue;
    const bool is_larger = std::ranges::any_of(module.weight->shape, [](uint64_t count) {
      return count > 128;  // than the block of the codec
    });
    if (module.weight->codec->scheme == Scheme::kFp8Block && is_larger) return name;
    const Tensor* scale = on.tensor(module.weight->name + "_scale_inv");
    if (scale != nullptr && is_of_blocks(*scale)) return name;
  }
  return {};
}

void look_fp8_blocks(const Look& look, const Quantization& said) {
  const JsonValue* block = known(*said.json, "weight_block_size");
  const std::string* scheme = text_of(*said.json, "activation_scheme");
  if (block != nullptr && scheme != nullptr && *scheme == "static") {
    look.report(said.place + ".activation_scheme", "static, with a weight_block_size", {},
                "The block-wise quantization only supports dynamic activation scheme");
  }
  if (block != nullptr) return;
  if (const std::string name = module_of_blocks(look.on); !name.empty()) {
    look.report(said.place + ".weight_block_size",
                fmt::format("absent, but '{}' has a scale for each block", name), {},
                "KeyError: '...weight_scale_inv'");
  }
}

// Whether some group of compressed-tensors is of floats of `bits` in groups of `size`, if any.
bool has_float_group(const JsonValue& groups, uint64_t bits, std::optional<uint64_t> size) {
  return std::ranges::any_of(groups, [&](const JsonValue& group) {
    const JsonValue& weights = object_in(group, "weights");
    const std::string* type = text_of(weights, "type");
    return whole(known(weights, "num_bits")) == bits && type != nullptr && *type == "float" &&
           (!size || whole(known(weights, "group_size")) == size);
  });
}

void look_groups_of_floats(const Look& look, const Quantization& said) {
  const JsonValue* groups = known(*said.json, "config_groups");
  if (groups == nullptr || !groups->is_object()) return;
  const bool has_fp4 = has_float_group(*groups, 4, 16), has_fp8 = has_float_group(*groups, 8, {});
  for (const auto& [name, module] : look.on.modules) {
    const bool is_fp4 = module.form == Form::kPackedNvfp4;
    if (!is_fp4 && module.form != Form::kFp8) continue;
    if (is_fp4 ? has_fp4 : has_fp8) continue;
    return look.tell(said.place + ".config_groups",
                     "'{}' is stored as {}, and no group declares {}", name, form_name(module.form),
                     is_fp4 ? "floats of 4 bits in groups of 16" : "floats of 8 bits");
  }
}

void look_scheme(const Look& look, const Quantization& said) {
  if (said.json == nullptr) return;
  if (said.method == "fp8") return look_fp8_blocks(look, said);
  if (said.method == "compressed-tensors") look_groups_of_floats(look, said);
}

constexpr Check kSchemeChecks[] = {
    {"Q38", "the scheme that is declared is that of the weights", "U: vllm* sglang",
     "No compressed-tensors compatible scheme was found; KeyError", "export the model again",
     stated<look_scheme>},
};

}  // namespace

std::span<const Check> scheme_checks() { return kSchemeChecks; }

}  // namespace ckpt
