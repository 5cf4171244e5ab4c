#include "transforms/nvfp4/mixed_model.h"

#include <algorithm>
#include <cmath>

#include "core/base/find.h"
#include "core/model/tensor_names.h"
#include "transforms/modelopt_export/select.h"

namespace ckpt {
namespace {

constexpr std::string_view kAlgos[] = {
    "NVFP4",     "NVFP4_AWQ",  "W4A16_NVFP4", "FP8", "FP8_PER_CHANNEL_PER_TOKEN",
    "FP8_PB_WO", "FP8_PB_REAL"};
// Endings of tensors that belong to a weight but did not fit it, if they are separate here.
constexpr std::string_view kLeftOver[] = {
    ".weight_scale",        ".weight_scale_2",  ".weight_scale_inv",  ".weight_packed",
    ".weight_global_scale", ".svdquant_lora_a", "_proj_weight_scale", "_proj_weight_scale_2"};

Status check_algo(const std::string& name, std::string_view where) {
  const bool known = name == kMixedPrecision || std::ranges::find(kAlgos, name) != std::end(kAlgos);
  if (known) return {};
  return unsupported_hint("--step dequantize, then --to nvfp4",
                          "{}: quant_algo '{}'; expected one of {}", where, name,
                          fmt::join(kAlgos, ", "));
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{} [{}]", tensor.codec->name, fmt::join(tensor.shape, ", "));
}

// Describes a weight of codes that the reader could not join with its scales.
Failure unjoined(const Checkpoint& checkpoint, const TensorIndex& index, const Tensor& weight) {
  std::string found;
  for (const std::string_view ending : {"_scale", "_scale_2"}) {
    const auto at = index.find(weight.name + std::string(ending));
    if (!at) continue;
    const Tensor& scale = checkpoint.tensors[*at];
    found += fmt::format("{}{} is {}", found.empty() ? "" : ", ", scale.name, describe(scale));
  }
  return corrupt(
      "tensor '{}' is {} and has no scales that fit: {}; expected {}_scale f8_e4m3 [N, K/16] and "
      "{}_scale_2 f32 []",
      weight.name, describe(weight), found.empty() ? "none is there" : found, weight.name,
      weight.name);
}

Status check_entries(const Checkpoint& checkpoint, const TensorIndex& index) {
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool is_codes = tensor.codec->parts.size() == 1 && tensor.name.ends_with(kWeight) &&
                          (tensor.codec->parts[0].dtype == Dtype::kU8 ||
                           tensor.codec->parts[0].dtype == Dtype::kF8E4M3);
    if (is_codes) return unjoined(checkpoint, index, tensor);
  }
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool is_left =
        std::ranges::any_of(kLeftOver, [&](auto ending) { return tensor.name.ends_with(ending); });
    if (!is_left) continue;
    return unsupported("tensor '{}' ({}) belongs to no weight that is known", tensor.name,
                       describe(tensor));
  }
  return {};
}

Result<LayerKind> kind_of(const Tensor& tensor) {
  if (tensor.codec->parts.size() == 1) return LayerKind::kPlain;
  const Codec& codec = *tensor.codec;
  if (codec.scheme == Scheme::kNvfp4 && codec.dialect == Dialect::kModelopt) {
    return LayerKind::kNvfp4;
  }
  if (is_fp8(codec.scheme)) return LayerKind::kFp8;
  return unsupported_hint("--step dequantize, then --to nvfp4",
                          "tensor '{}' is stored as {}, which has no way to NVFP4 here",
                          tensor.name, tensor.codec->name);
}

Status check_companions(const Checkpoint& checkpoint, const MixedLayer& layer) {
  const Tensor& weight = checkpoint.tensors[layer.weight];
  if (layer.is_quantized() && !weight.is_stored()) {
    return unsupported_hint("this step alone on the folder that was written",
                            "tensor '{}' was encoded by a step before", weight.name);
  }
  if (layer.input_scale) {
    const Tensor& scale = checkpoint.tensors[*layer.input_scale];
    if (scale.values() != 1) {
      return corrupt("tensor '{}' is {}; expected one number", scale.name, describe(scale));
    }
    CKPT_TRY(read_scales(scale, 1));
  }
  if (layer.pre_quant_scale) {
    const Tensor& scale = checkpoint.tensors[*layer.pre_quant_scale];
    if (scale.values() != weight.row_values()) {
      return corrupt("tensor '{}' is {}; its weight has {} columns", scale.name, describe(scale),
                     weight.row_values());
    }
  }
  return {};
}

Result<std::vector<MixedLayer>> find_layers(const Checkpoint& checkpoint,
                                            const TensorIndex& index) {
  std::vector<MixedLayer> out;
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const Tensor& tensor = checkpoint.tensors[i];
    CKPT_ASSIGN(const LayerKind kind, kind_of(tensor));
    if (!tensor.name.ends_with(kWeight) || tensor.shape.size() != 2) {
      if (kind == LayerKind::kPlain) continue;
      return unsupported("tensor '{}' is {}; expected the weight of a layer", tensor.name,
                         describe(tensor));
    }
    MixedLayer layer;
    layer.module = module_of(tensor.name);
    layer.kind = kind;
    layer.weight = i;
    layer.input_scale = index.find(layer.module + ".input_scale");
    layer.pre_quant_scale = index.find(layer.module + ".pre_quant_scale");
    CKPT_TRY(check_companions(checkpoint, layer));
    out.push_back(std::move(layer));
  }
  return out;
}

// Checks that each entry names a layer, or a module that contains layers: "….mlp.experts".
Status check_listed(const MixedModel& model, const TensorIndex& index) {
  for (const auto& [name, algo] : model.config.layers) {
    CKPT_TRY(check_algo(algo.name, fmt::format("quantized_layers: '{}'", name)));
    const MixedLayer* layer = model.find(name);
    if (layer != nullptr && layer->is_quantized()) continue;
    const auto below = index.starting_with(name + ".");
    const bool holds = std::ranges::any_of(below, [&](const std::string& tensor) {
      const MixedLayer* inner = tensor.ends_with(kWeight) ? model.find(module_of(tensor)) : nullptr;
      return inner != nullptr && inner->is_quantized();
    });
    if (holds) continue;
    return corrupt(
        "quantized_layers names '{}' as {}, and the file has no quantized weight of that name{}",
        name, algo.name, layer == nullptr ? "" : " (it is stored as plain floats)");
  }
  return {};
}

}  // namespace

std::string_view MixedLayer::was() const {
  if (kind == LayerKind::kPlain) return "plain";
  if (kind == LayerKind::kFp8) return "FP8";
  return pre_quant_scale ? "NVFP4_AWQ" : "NVFP4";
}

const MixedLayer* MixedModel::find(std::string_view module) const {
  const size_t* found = find_mapped(by_module, module);
  return found == nullptr ? nullptr : &layers[*found];
}

bool may_have_awq(const MixedModel& model) {
  const auto is_awq = [](const auto& layer) { return layer.second.name == "NVFP4_AWQ"; };
  return model.config.algo.name == "NVFP4_AWQ" ||
         std::ranges::any_of(model.config.layers, is_awq) ||
         std::ranges::any_of(model.layers, [](const MixedLayer& layer) {
           return layer.pre_quant_scale.has_value();
         });
}

Result<MixedModel> read_mixed_model(const Checkpoint& checkpoint) {
  MixedModel out;
  CKPT_ASSIGN(std::optional<QuantConfig> config, read_quant_config(checkpoint));
  if (!config) {
    return unsupported("no hf_quant_config.json and no quantization_config of ModelOpt's");
  }
  out.config = std::move(*config);
  CKPT_TRY(check_algo(out.config.algo.name, "the quantization configuration"));
  const TensorIndex index(checkpoint.tensors);
  CKPT_TRY(check_entries(checkpoint, index));
  CKPT_ASSIGN(out.layers, find_layers(checkpoint, index));
  for (size_t i = 0; i < out.layers.size(); ++i) out.by_module.emplace(out.layers[i].module, i);
  CKPT_TRY(check_listed(out, index));
  CKPT_ASSIGN(const ExportModel model, read_export_model(checkpoint));
  out.model_type = model.model_type;
  out.has_tied_head = model.has_tied_head;
  out.heads = model.heads;
  out.kv_heads = model.kv_heads == 0 ? model.heads : model.kv_heads;
  return out;
}

Result<std::vector<float>> read_scales(const Tensor& tensor, uint64_t limit_values) {
  CKPT_ASSIGN(std::vector<float> values, read_values(tensor, limit_values));
  const auto bad =
      std::ranges::find_if(values, [](float value) { return !std::isfinite(value) || value <= 0; });
  if (bad == values.end()) return values;
  return corrupt("tensor '{}': value {} is {}; expected a number above zero", tensor.name,
                 bad - values.begin(), *bad);
}

}  // namespace ckpt
