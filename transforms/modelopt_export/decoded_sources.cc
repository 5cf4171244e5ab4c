// FP8 and INT4 as BF16 that is decoded when it is read.
#include <algorithm>
#include <cmath>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/modelopt_export/quantized_sources.h"
#include "transforms/modelopt_export/select.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

constexpr std::string_view kFp8Method = "fp8";
// Scales of activations that a folder of static FP8 has in addition to its weights.
constexpr std::string_view kStaticScales[] = {".input_scale", ".activation_scale"};

bool is_fp8_weight(const Tensor& tensor) {
  return tensor.has_scales() && is_fp8(tensor.codec->scheme);
}

Result<Tensor> decoded_as_bf16(Tensor tensor, Codecs codecs) {
  const Codec& bf16 = plain_codec(codecs, Dtype::kBF16);
  CKPT_ASSIGN(tensor, recode(std::move(tensor), bf16));
  return with_op(std::move(tensor), RoundTo{Dtype::kBF16});
}

Status check_fp8_axes(const Tensor& tensor) {
  if (tensor.shape.size() == 2 && tensor.name.ends_with(kWeight)) return {};
  return unsupported_hint(
      "--step dequantize before it",
      "tensor '{}': FP8 [{}]; expected the weight of one layer or one expert, [outputs, inputs]",
      tensor.name, fmt::join(tensor.shape, ", "));
}

constexpr std::string_view kScaleEnd = ".scale";

std::map<std::string, Fp8Source::Pair> find_scaled_pairs(const Checkpoint& checkpoint) {
  std::map<std::string, const Tensor*> scales;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.name.ends_with(kScaleEnd)) scales.emplace(module_of(tensor.name), &tensor);
  }
  std::map<std::string, Fp8Source::Pair> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.name.ends_with(kWeight)) continue;
    const auto scale = scales.find(module_of(tensor.name));
    if (scale != scales.end()) out.emplace(tensor.name, Fp8Source::Pair{tensor, *scale->second});
  }
  return out;
}

// The block that predicts tokens further on, whose layers have a name of their own. NVIDIA's recipe
// for DeepSeek-V4 leaves it as it is.
bool is_of_mtp_block(std::string_view name) { return name.starts_with("mtp."); }

// Servers that know moe_quant_algo take every other layer for FP8.
Status check_experts_alone(const Selection& selection, const Fp8Source& source,
                           const Checkpoint& checkpoint) {
  const std::string hint =
      "--preset experts-only-input-scale1 without --keep and --only, or no --rest";
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const std::string& name = checkpoint.tensors[i].name;
    const bool is_expert = is_of_expert(name);
    const bool is_selected = !selection.modules[i].empty();
    const bool was_mxfp4 = mxfp4_of(checkpoint.tensors[i]) != nullptr;
    const bool was_quantized = was_mxfp4 || source.weights.count(name) != 0;
    if (is_selected && !is_expert) {
      return unsupported_hint(hint,
                              "rest=fp8: '{}' is not a routed expert; with FP8 that stays, servers "
                              "take NVFP4 of routed experts alone",
                              selection.modules[i]);
    }
    if (!is_selected && is_expert && was_quantized && !is_of_mtp_block(name)) {
      return unsupported_hint(hint,
                              "rest=fp8: '{}' would stay {}; with FP8 that stays, servers take all "
                              "routed experts as NVFP4 or none",
                              name, was_mxfp4 ? "MXFP4" : "FP8");
    }
  }
  return {};
}

constexpr uint64_t kMostScales = uint64_t{1} << 26;

// Checks the scales of weights that are copied: no other code reads them.
Status check_kept_scales(const Tensor& scales) {
  CKPT_ASSIGN(const std::vector<float> values, read_values(scales, kMostScales));
  const auto bad =
      std::ranges::find_if(values, [](float scale) { return !std::isfinite(scale) || scale < 0; });
  if (bad == values.end()) return {};
  return corrupt(
      "tensor '{}': value {} is {}; expected a finite number of at least 0, because it scales FP8",
      scales.name, bad - values.begin(), *bad);
}

bool has_packed_int4(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& each) {
    return each.name.ends_with(".weight_packed") && plain_dtype(*each.codec) == Dtype::kI32;
  });
}

}  // namespace

Result<Checkpoint> take_int4(Checkpoint checkpoint, const ExportOptions& options,
                             const Context& context, SourceWeights& out) {
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (statement.method != "compressed-tensors" || !has_packed_int4(checkpoint)) return checkpoint;
  CKPT_TRY(check_declared_cache(statement, options));
  CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  for (Tensor& tensor : checkpoint.tensors) {
    if (!is_made_of_words(tensor)) continue;
    out.emplace(tensor.name, tensor);
    CKPT_ASSIGN(tensor, decoded_as_bf16(std::move(tensor), context.codecs));
  }
  CKPT_TRY(check_weights_are_read(checkpoint));
  CKPT_TRY(remove_quant_config(checkpoint));
  checkpoint.remove_document("recipe.yaml");
  return checkpoint;
}

Result<Checkpoint> take_fp8(Checkpoint checkpoint, const Context& context, Fp8Source& out) {
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (statement.method != kFp8Method) return checkpoint;
  out.declared = statement.declared;
  out.pairs = find_scaled_pairs(checkpoint);
  CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  std::vector<Tensor> tensors;
  uint64_t activations = 0;
  for (Tensor& tensor : checkpoint.tensors) {
    // A tensor that is not part of a weight stays by itself.
    if (tensor.name.ends_with(kScaleEnd)) {
      out.pairs.erase(module_of(tensor.name) + std::string(kWeight));
    }
    if (ends_with_any(tensor.name, kStaticScales)) {
      ++activations;
      continue;
    }
    if (is_fp8_weight(tensor) || is_unpacked(tensor)) {
      CKPT_TRY(check_fp8_axes(tensor));
      out.weights.emplace(tensor.name, tensor);
      CKPT_ASSIGN(tensor, decoded_as_bf16(std::move(tensor), context.codecs));
    }
    tensors.push_back(std::move(tensor));
  }
  checkpoint.tensors = std::move(tensors);
  if (activations > 0) {
    context.note("{} scales of FP8 activations are left out", activations);
  }
  CKPT_TRY(check_weights_are_read(checkpoint));
  CKPT_TRY(remove_quant_config(checkpoint));
  return checkpoint;
}

Status keep_fp8(Checkpoint& checkpoint, const Fp8Source& source, const Selection& selection,
                const ExportOptions& options, const Context& context) {
  if (!options.keeps_fp8) return {};
  if (source.weights.empty()) {
    return misuse_hint("the same without it", "rest=fp8: the checkpoint has no FP8 weights");
  }
  CKPT_TRY(check_experts_alone(selection, source, checkpoint));
  NameCount kept, kept_mxfp4;
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    if (!selection.modules[i].empty()) continue;
    Tensor& tensor = checkpoint.tensors[i];
    const Tensor* weight = find_mapped(source.weights, tensor.name);
    const Fp8Source::Pair* pair = find_mapped(source.pairs, tensor.name);
    // MXFP4 that is kept is in DeepSeek-V4's MTP block: check_experts_alone rejects it elsewhere.
    if (weight == nullptr && pair != nullptr && mxfp4_of(tensor) != nullptr) {
      kept_mxfp4.add(tensor.name);
      tensor = pair->codes;
    }
    if (weight == nullptr) continue;
    kept.add(tensor.name);
    if (pair == nullptr && is_unpacked(*weight)) {
      return unsupported_hint("no --rest, which makes it BF16",
                              "rest=fp8: '{}' has scales of a kind that can only be decoded",
                              tensor.name);
    }
    CKPT_TRY(check_kept_scales(pair == nullptr ? part_as_tensor(*weight, 1, context.codecs)
                                               : pair->scale));
    tensor = pair == nullptr ? *weight : pair->codes;
  }
  context.note(kept_mxfp4, "weights of MXFP4 stay as they are, with the same bytes");
  if (kept.count() == 0) return {};
  context.note(kept, "weights of FP8 stay unquantized, as FP8 with the same bytes");
  context.note(
      "FP8 with experts of NVFP4 is DeepSeek-V4's layout (moe_quant_algo); "
      "vLLM 0.17 does not load it: without rest=fp8 the layers become BF16");
  return {};
}

void add_kept_scales(Checkpoint& checkpoint, const Fp8Source& source) {
  std::vector<Tensor> out;
  for (Tensor& tensor : checkpoint.tensors) {
    const Fp8Source::Pair* pair = find_mapped(source.pairs, tensor.name);
    const bool is_kept = pair != nullptr && tensor.is_stored() && tensor.codec == pair->codes.codec;
    out.push_back(std::move(tensor));
    if (is_kept) out.push_back(pair->scale);
  }
  checkpoint.tensors = std::move(out);
}

Status write_fp8_config(Checkpoint& checkpoint, const Fp8Source& source) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (!config) return {};
  JsonText declared = source.declared;
  declared.set("moe_quant_algo", JsonText::text("NVFP4"));
  set_quant_statement(*config, std::move(declared));
  checkpoint.set_document("config.json", config->dump(2) + "\n");
  return {};
}

}  // namespace ckpt
