// --amax-from: activation maxima out of another checkpoint, or out of a list.
//
//   DIR, earlier export    P.input_scale, with config's quant_algo for its divisor
//   DIR, QAT checkpoint    P.input_quantizer._amax
//   FILE.json              {"model.layers.0.mlp.up_proj": 13.5, ...}: largest |x| of each input
//
// In an export of mixed precision the divisor differs from layer to layer; the weights' type says
// which it is.
#include <cmath>
#include <set>

#include "core/base/numbers.h"
#include "core/model/tensor_names.h"
#include "transforms/facts/base_weights.h"
#include "transforms/facts/quant_config.h"
#include "transforms/modelopt_export/calibration.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxListBytes = uint64_t{256} << 20;
constexpr std::string_view kInputScale = ".input_scale";
constexpr std::string_view kStackInputScale = "_proj_input_scale";  // "….experts.down_proj" + it

Status take_list(const std::string& text, Calibration& out) {
  CKPT_ASSIGN(const JsonText json, JsonText::parse(text));
  if (!json.is_object() || json.members().empty()) {
    return corrupt("no activation maxima in it; expected {{\"MODULE\": NUMBER, ...}}");
  }
  ModuleValues told;
  for (const auto& [module, value] : json.members()) {
    const std::string& token = value.token();
    const auto amax = number_from<float>(token);
    if (!amax || !std::isfinite(*amax) || *amax <= 0) {
      return corrupt("'{}' is {}; expected a number above zero", module,
                     value.kind() == JsonText::Kind::kToken ? token : "a list or an object");
    }
    CKPT_TRY(told.put(module, {*amax, 1}, out.inputs));
  }
  return {};
}

// Modules with E4M3 weights: their input_scale is amax / 448, all others' amax / 2688.
std::set<std::string> fp8_modules(const Checkpoint& from) {
  std::set<std::string> out;
  for (const Tensor& tensor : from.tensors) {
    if (!tensor.name.ends_with(kWeight) || tensor.codec->parts[0].dtype != Dtype::kF8E4M3) continue;
    out.insert(module_of(tensor.name));
  }
  return out;
}

Status take_scales(const Checkpoint& from, Calibration& out) {
  const std::set<std::string> fp8 = fp8_modules(from);
  CKPT_ASSIGN(const auto config, read_quant_config(from));
  const bool all_fp8 = config && config->algo.name == "FP8";
  ModuleValues told;
  for (const Tensor& tensor : from.tensors) {
    const std::string& name = tensor.name;
    if (name.ends_with(".pre_quant_scale")) {
      return unsupported_hint("a plain NVFP4 or FP8 export",
                              "'{}': its input scales are of scaled activations (AWQ)", name);
    }
    if (name.ends_with(".k_scale") || name.ends_with(".v_scale")) {
      CKPT_ASSIGN(const float scale, in(name, read_scalar(tensor)));
      CKPT_TRY(told.put(name, scale, out.kv_scales));
    }
    const bool is_of_stack = name.ends_with(kStackInputScale);
    if (!name.ends_with(kInputScale) && !is_of_stack) continue;
    const std::string module = name.substr(0, name.size() - kInputScale.size());
    CKPT_ASSIGN(const float scale, in(name, read_scalar(tensor)));
    const bool is_fp8 = all_fp8 || fp8.count(module) != 0;
    CKPT_TRY(told.put(module, {scale, is_fp8 ? 448.0f : 2688.0f}, out.inputs));
  }
  if (config && config->kv_cache_algo && !out.kv_algo) out.kv_algo = config->kv_cache_algo;
  return {};
}

Status take_checkpoint(Checkpoint from, const ExportOptions& options, const Context& context,
                       Calibration& out) {
  CKPT_ASSIGN(const std::optional<QuantConfig> config, read_quant_config(from));
  if (!config) {
    CKPT_ASSIGN(Calibration other, take_quantizers(from, options, context.quiet()));
    if (!other.is_qat && other.inputs.empty()) {
      context.note("{}: neither an export nor a QAT checkpoint", options.amax_from);
    }
    for (const auto& [module, amax] : other.inputs) out.inputs[module] = amax;
    for (const auto& [tensor, scale] : other.kv_scales) out.kv_scales[tensor] = scale;
    if (!out.kv_algo) out.kv_algo = other.kv_algo;
  } else {
    CKPT_TRY(take_scales(from, out));
  }
  if (!out.inputs.empty()) return {};
  return misuse("no activation maxima in it: neither *.input_scale nor *.input_quantizer._amax");
}

// Files that cannot be opened are named by the code that opens them.
Status read_maxima(const ExportOptions& options, const Context& context, Calibration& out) {
  const std::string& path = options.amax_from;
  if (path.ends_with(".json")) {
    CKPT_CHECK(context.file_text != nullptr);
    CKPT_ASSIGN(const std::string text, context.file_text(path, kMaxListBytes));
    return in(path, take_list(text, out));
  }
  CKPT_CHECK(context.open != nullptr);
  auto from = context.open(path);
  if (!from) {  // whatever else the folder is good for, the maxima come from elsewhere
    if (from.error().code == ErrorCode::kUnsupported) from.error().hint.clear();
    return Failure(std::move(from.error()));
  }
  return in(path, take_checkpoint(std::move(*from), options, context, out));
}

}  // namespace

std::string how_to_get_amax(const ExportOptions& options) {
  std::string out =
      "--amax-from FILE.json, which collect_amax.py measures (ckpt script collect_amax); "
      "--amax-from DIR with an earlier export or a QAT checkpoint of this model; a QAT checkpoint "
      "as IN; or ";
  if (options.recipe != nullptr && options.type == ExportType::kFp8) {
    return out + "--to nvfp4 with --preset weight-only, which needs none";
  }
  if (options.recipe != nullptr) {
    return out +
           "--preset weight-only or nvfp4_experts_only_input_scale1-kv_fp8_cast, which need none";
  }
  if (options.type == ExportType::kFp8) return out + "--to nvfp4-w4a16, which needs none";
  return out + fmt::format("--preset {}-input-scale1 or --to nvfp4-w4a16, which need none",
                           options.layers_name());
}

Status add_amax_from(Calibration& calibration, const ExportOptions& options,
                     const Context& context) {
  if (options.amax_from.empty()) return {};
  Status read = in("amax-from", read_maxima(options, context, calibration));
  if (!read && read.error().hint.empty()) read.error().hint = how_to_get_amax(options);
  return read;
}

}  // namespace ckpt
