#include "transforms/packed/packed_weights.h"

#include <algorithm>
#include <set>

#include "core/base/nearest.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/packed/packed.h"

namespace ckpt {
namespace {

// Methods that store layers as codes and scales with such names, even in layouts that no codec
// covers.
constexpr std::string_view kNamedMethods[] = {
    "modelopt", "fp8", "fbgemm_fp8", "mxfp4", "compressed-tensors", "awq", "gptq", "bitsandbytes"};
// Words in names of scales and zero points, after the name of the weight or module.
constexpr std::string_view kScaleWords[] = {"scale",     "zero",     "absmax",
                                            "quant_map", "codebook", "SCB"};
// Scales that accompany weights of every kind, or belong to a cache.
constexpr std::string_view kOtherScales[] = {
    "input_scale", "input_global_scale", "output_scale", "k_scale", "v_scale",
    "q_scale",     "pre_quant_scale"};
// Endings of scales whose codes may be missing.
constexpr std::string_view kScaleEnds[] = {
    ".weight_scale",        ".weight_scale_2",    ".weight_scale_inv", ".weight_packed",
    ".weight_global_scale", ".weight_zero_point", ".qweight",          ".svdquant_lora_a"};

// 64-bit integers are usually a lookup table, unless a method packs codes into them.
bool is_wide(const Tensor& tensor) {
  const Dtype dtype = tensor.codec->parts[0].dtype;
  return dtype == Dtype::kI64 || dtype == Dtype::kU64;
}

bool has_scale_word(std::string_view name) {
  const std::string_view last = last_word(name);
  return std::ranges::any_of(kScaleWords,
                             [&](std::string_view word) { return last.find(word) != last.npos; });
}

// Models have no lookup tables of 8-bit floats, or among experts.
bool is_small_or_of_experts(const Tensor& tensor) {
  const Dtype dtype = tensor.codec->parts[0].dtype;
  return dtype == Dtype::kF8E4M3 || dtype == Dtype::kF8E5M2 ||
         is_of_experts(tensor.name);
}

class CodesFinder {
 public:
  CodesFinder(const Checkpoint& checkpoint, const QuantStatement& declared)
      : is_declared_(declared.found),
        is_strange_(declared.found &&
                    std::ranges::find(kNamedMethods, declared.method) == std::end(kNamedMethods)) {
    for (const Tensor& tensor : checkpoint.tensors) {
      is_any_read_ = is_any_read_ || tensor.has_scales() || is_unpacked(tensor);
      const bool is_other = ends_with_any(last_word(tensor.name), kOtherScales);
      if (has_scale_word(tensor.name) && !is_other) scaled_.insert(module_of(tensor.name));
    }
  }

  bool is_codes(const Tensor& tensor) const {
    if (!may_be_codes(tensor)) return false;
    if (is_strange_) return true;
    const bool is_named = last_word(tensor.name).find("weight") != std::string_view::npos;
    // "x.W_q" with "x.scale", "x.weight" with "x.weight.absmax"
    const bool is_scaled =
        scaled_.contains(module_of(tensor.name)) || scaled_.contains(tensor.name);
    const bool is_declared = is_declared_ && is_small_or_of_experts(tensor);
    // If a document declares codes but none were found, their names are unknown.
    const bool is_unfound = is_declared_ && !is_any_read_;
    return !is_wide(tensor) && (is_named || is_scaled || is_declared || is_unfound);
  }

 private:
  bool is_declared_, is_strange_, is_any_read_ = false;
  std::set<std::string> scaled_;  // modules and weights that have scales
};

// Fails if a decoded "P.weight" has an unknown companion such as "P.act_scale" or "P.weight.state",
// which may affect its values; a bias does not.
Status check_companions(const Checkpoint& checkpoint) {
  std::set<std::string> decoded;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool is_decoded = tensor.stored_tensor().has_scales() || is_unpacked(tensor);
    if (is_decoded) decoded.insert(tensor.name);
    if (is_decoded && tensor.name.ends_with(kWeight)) decoded.insert(module_of(tensor.name));
  }
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string_view last = last_word(tensor.name);
    const bool is_own = last == "weight" || last.find("bias") != last.npos;
    if (is_own || !decoded.contains(module_of(tensor.name)) ||
        ends_with_any(tensor.name, kCompanions)) {
      continue;
    }
    return unsupported_hint(
        fmt::format("the checkpoint that it was quantized from, or --step drop:tensors={} first",
                    tensor.name),
        "tensor '{}' accompanies a quantized weight, and its meaning is not known", tensor.name);
  }
  return {};
}

// An unknown method may be misspelled.
std::string describe_method(const QuantStatement& declared) {
  if (declared.method.empty()) return fmt::format("{} names no quant_method", declared.place);
  std::vector<std::string> known = packed_methods();
  known.insert(known.end(), std::begin(kNamedMethods), std::end(kNamedMethods));
  const bool is_known = std::ranges::find(known, declared.method) != known.end();
  const std::string near = is_known ? "" : nearest(declared.method, known);
  return fmt::format("{} says '{}'{}", declared.place, declared.method,
                     is_known       ? ""
                     : near.empty() ? ", which is not known"
                                    : fmt::format(", which is not known; '{}' is", near));
}

}  // namespace

bool may_be_codes(const Tensor& tensor) {
  if (tensor.codec->parts.size() != 1 || tensor.shape.size() < 2) return false;
  const Dtype dtype = tensor.codec->parts[0].dtype;
  return !is_float(dtype) && dtype != Dtype::kBool && dtype != Dtype::kC64;
}

bool is_matrix_of_module(const Tensor& tensor) {
  return tensor.name.ends_with(kWeight) && tensor.shape.size() >= 2;
}

UnquantizedModules modules_by_storage(const Checkpoint& checkpoint) {
  UnquantizedModules out;
  std::set<std::string> quantized;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool is_quantized =
        tensor.has_scales() ? is_matrix_of_module(tensor) : may_be_codes(tensor);
    if (is_quantized) quantized.insert(module_of(tensor.name));
  }
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string module = module_of(tensor.name);
    if (is_matrix_of_module(tensor) && !quantized.contains(module)) out.plain.push_back(module);
  }
  out.quantized.assign(quantized.begin(), quantized.end());
  return out;
}

Result<const Tensor*> find_unread_weight(const Checkpoint& checkpoint) {
  const Tensor* none = nullptr;
  if (checkpoint.format != "safetensors") return none;
  const std::vector<Tensor>& tensors = checkpoint.tensors;
  if (std::ranges::any_of(tensors, may_be_codes)) {
    CKPT_ASSIGN(const QuantStatement declared, read_quant_statement(checkpoint));
    const CodesFinder finder(checkpoint, declared);
    for (const bool is_scale : {false, true}) {
      for (const Tensor& tensor : tensors) {
        if (has_scale_word(tensor.name) == is_scale && finder.is_codes(tensor)) return &tensor;
      }
    }
  }
  const auto scale = std::ranges::find_if(tensors, [](const Tensor& tensor) {
    return tensor.codec->parts.size() == 1 && ends_with_any(tensor.name, kScaleEnds);
  });
  return scale == tensors.end() ? none : &*scale;
}

Status refuse_mlx_codes(const Checkpoint& checkpoint) {
  if (!find_mlx_tensors(checkpoint).is_quantized) return {};
  return unsupported_hint("--step dequantize before it",
                          "MLX quantized these weights (*.weight of u32 with *.scales)");
}

Status check_weights_are_read(const Checkpoint& checkpoint) {
  CKPT_TRY(refuse_mlx_codes(checkpoint));
  CKPT_ASSIGN(const Tensor* found, find_unread_weight(checkpoint));
  if (found == nullptr) return check_companions(checkpoint);
  CKPT_ASSIGN(const QuantStatement declared, read_quant_statement(checkpoint));
  const std::string stored = fmt::format("tensor '{}' is stored as {} [{}]", found->name,
                                         found->codec->name, fmt::join(found->shape, ", "));
  if (holds_packed_weights(checkpoint)) {
    return unsupported_hint("--step dequantize before it",
                            "{} and belongs to a weight of {}; expected floats", stored,
                            declared.method);
  }
  return unsupported_hint(
      "the checkpoint that it was quantized from",
      "{} and belongs to a quantized weight that cannot be decoded here ({})", stored,
      declared.found ? describe_method(declared) : "no document says how it was quantized");
}

}  // namespace ckpt
