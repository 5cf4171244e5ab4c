#include "transforms/modelopt_export/calibration.h"

#include <algorithm>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "transforms/facts/base_weights.h"
#include "transforms/facts/qat_quantizers.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/state.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxScannedBlocks = uint64_t{1} << 28;

// The subject of a quantizer tensor.
struct Owner {
  std::string module;     // "….mlp.up_proj"; for fused experts "….mlp.experts.3.gate_up_proj"
  std::string_view role;  // "weight", "input", "output", "k_bmm", "v_bmm", ...
  std::string_view leaf;  // "_amax"
};

// ….experts.gate_up_proj_weight_quantizers.3._amax, ….experts.gate_up_proj_input_quantizer._amax
std::optional<Owner> owner_of_fused(std::string_view path, std::string_view leaf) {
  constexpr std::string_view kWeights = "_weight_quantizers.", kInput = "_input_quantizer";
  const size_t plural = path.find(kWeights);
  if (plural != std::string_view::npos) {
    const std::string_view fused = path.substr(0, plural);
    const size_t dot = fused.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    return Owner{fmt::format("{}.{}.{}", fused.substr(0, dot),
                             path.substr(plural + kWeights.size()), fused.substr(dot + 1)),
                 "weight", leaf};
  }
  if (!path.ends_with("_proj" + std::string(kInput))) return std::nullopt;
  return Owner{std::string(path.substr(0, path.size() - kInput.size())), "input", leaf};
}

std::optional<Owner> owner_of(std::string_view name) {
  const size_t leaf_dot = name.rfind('.');
  const std::string_view path = name.substr(0, leaf_dot), leaf = name.substr(leaf_dot + 1);
  if (auto fused = owner_of_fused(path, leaf)) return fused;
  const size_t dot = path.rfind('.');
  constexpr std::string_view kEnding = "_quantizer";
  if (dot == std::string_view::npos || !path.ends_with(kEnding)) return std::nullopt;
  const std::string_view quantizer = path.substr(dot + 1);
  return Owner{std::string(path.substr(0, dot)),
               quantizer.substr(0, quantizer.size() - kEnding.size()), leaf};
}

class CalibrationReader {
 public:
  CalibrationReader(const ExportOptions& options, const Context& context)
      : options_(options), context_(context) {}

  Result<Calibration> run(Checkpoint& checkpoint) {
    std::vector<Tensor> others;
    for (Tensor& tensor : checkpoint.tensors) {
      if (!is_quantizer(tensor.name)) {
        others.push_back(std::move(tensor));
        continue;
      }
      CKPT_TRY(in(fmt::format("tensor '{}'", tensor.name), take(tensor)));
    }
    checkpoint.tensors = std::move(others);
    context_.note(unused_, "quantizer tensors have no place in an export and are left out");
    return std::move(out_);
  }

 private:
  Status take(const Tensor& tensor) {
    const auto owner = owner_of(tensor.name);
    if (owner && owner->leaf == "_amax") {
      if (owner->role == "weight") return take_weight(owner->module, tensor);
      if (owner->role == "input") return take_input(owner->module, tensor);
      if (owner->role == "k_bmm" || owner->role == "v_bmm") return take_kv(*owner, tensor);
    }
    if (owner && owner->role == "weight" && owner->leaf == "_global_amax") {
      out_.is_qat = true;
      return set_whole(out_.weights[owner->module], tensor);
    }
    CKPT_TRY(refuse_other_quantizers(tensor));
    unused_.add(tensor.name);
    return {};
  }

  Status take_weight(const std::string& module, const Tensor& tensor) {
    out_.is_qat = true;
    WeightAmax& weight = out_.weights[module];
    if (tensor.values() == 1) return set_whole(weight, tensor);
    weight.blocks = std::make_shared<const Tensor>(tensor);
    return {};
  }
  static Status set_whole(WeightAmax& weight, const Tensor& tensor) {
    CKPT_ASSIGN(const float amax, read_scalar(tensor));
    if (weight.amax && *weight.amax != amax) {
      return corrupt("the weight has two maxima, {} and {}", *weight.amax, amax);
    }
    weight.amax = amax;
    return {};
  }
  Status take_input(const std::string& module, const Tensor& tensor) {
    CKPT_ASSIGN(const float amax, read_scalar(tensor));
    return told_.put(module, {amax, 1}, out_.inputs);
  }
  Status take_kv(const Owner& owner, const Tensor& tensor) {
    CKPT_ASSIGN(const float amax, read_scalar(tensor));
    const char which = owner.role[0];
    if (!out_.kv_algo) out_.kv_algo = "FP8";
    return told_.put(fmt::format("{}.{}_proj.{}_scale", owner.module, which, which),
                     scale_from_amax(amax, 448, options_.encode.cpu_rounding), out_.kv_scales);
  }

  const ExportOptions& options_;
  const Context& context_;
  Calibration out_;
  ModuleValues told_;
  NameCount unused_;
};

// Blocks without the maximum of the whole: it is the largest of theirs.
Status complete_blocks(Calibration& calibration) {
  for (auto& [module, weight] : calibration.weights) {
    if (weight.blocks == nullptr || weight.amax) continue;
    CKPT_ASSIGN(const std::vector<float> values,
                in(module, read_values(*weight.blocks, kMaxScannedBlocks)));
    weight.amax = 0;
    for (const float value : values) weight.amax = std::max(*weight.amax, value);
  }
  return {};
}

std::string_view expected_format(const ExportOptions& options) {
  return options.type == ExportType::kFp8 ? "FP8" : "NVFP4";
}

// A quantizer that was switched off after its calibration.
void drop_disabled(const std::string& path, Calibration& calibration, const Context& context) {
  constexpr std::string_view kEnding = ".weight_quantizer";
  if (!path.ends_with(kEnding)) return;
  if (calibration.weights.erase(path.substr(0, path.size() - kEnding.size())) == 0) return;
  context.note("'{}' is switched off in {}: the layer stays", path, kModeloptStateName);
}

Status check_state(const ModeloptState& state, const ExportOptions& options,
                   Calibration& calibration, const Context& context) {
  bool has_inputs = false;
  for (const auto& [path, format] : state.quantizers) {
    if (!format.is_enabled) {
      drop_disabled(path, calibration, context);
      continue;
    }
    if (path.find("weight_quantizer") != std::string::npos &&
        name(format) != expected_format(options)) {
      return misuse_hint("the type that it was trained for",
                         "{} says that '{}' is {}; --to {} makes it {}", kModeloptStateName, path,
                         name(format), options.type_name(), expected_format(options));
    }
    calibration.is_four_over_six = calibration.is_four_over_six || format.is_four_over_six;
    has_inputs = has_inputs || path.find("input_quantizer") != std::string::npos;
    if (path.ends_with("k_bmm_quantizer")) calibration.kv_algo = name(format);
  }
  if (has_inputs && !options.has_activations()) {
    context.note("the training quantized activations too; nvfp4-w4a16 stores weights alone");
  }
  return {};
}

Status take_state(Checkpoint& checkpoint, const ExportOptions& options, const Context& context,
                  Calibration& calibration) {
  const Document* document = checkpoint.find_document(kModeloptStateName);
  if (document == nullptr) return {};
  CKPT_ASSIGN(const ModeloptState state,
              in(kModeloptStateName, read_modelopt_state(document->text())));
  if (calibration.is_qat) CKPT_TRY(check_state(state, options, calibration, context));
  checkpoint.remove_document(kModeloptStateName);
  return {};
}

}  // namespace

FoundWeightAmax find_weight_amax(const Calibration& calibration, std::string_view module) {
  const WeightAmax* exact = find_mapped(calibration.weights, module);
  const auto place = stack_part(module);
  if (exact != nullptr || !place || place->parts == 1) return {exact, 0};
  const std::string stack = fmt::format("{}{}.{}", place->front, place->expert, place->word);
  return {find_mapped(calibration.weights, stack), static_cast<int>(place->part) + 1};
}

const InputAmax* find_input_amax(const Calibration& calibration, std::string_view module) {
  const std::string key = input_key(module);
  const InputAmax* found = find_mapped(calibration.inputs, key);
  const auto place = stack_part(key);
  return found != nullptr || !place ? found : find_mapped(calibration.inputs, place->stack());
}

Result<float> read_scalar(const Tensor& tensor) {
  if (tensor.values() != 1) {
    return unsupported("shape [{}]; expected one value for the whole tensor",
                       fmt::join(tensor.shape, ", "));
  }
  CKPT_ASSIGN(const std::vector<float> values, read_values(tensor, 1));
  return values[0];
}

Result<Calibration> take_quantizers(Checkpoint& checkpoint, const ExportOptions& options,
                                    const Context& context) {
  return CalibrationReader(options, context).run(checkpoint);
}

Result<Calibration> take_calibration(Checkpoint& checkpoint, const ExportOptions& options,
                                     const Context& context) {
  CKPT_ASSIGN(Calibration out, take_quantizers(checkpoint, options, context));
  CKPT_TRY(take_state(checkpoint, options, context, out));
  CKPT_TRY(complete_blocks(out));
  return out;
}

}  // namespace ckpt
