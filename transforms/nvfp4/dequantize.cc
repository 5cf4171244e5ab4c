// The dequantize step: turns quantized weights of all kinds into plain floats.
//
//   P.weight U8 + _scale + _scale_2 [+ P.pre_quant_scale] ──▶ P.weight BF16
//   P.input_scale, A.k_proj.k_scale, A.v_proj.v_scale     ──▶ dropped
//   quantization_config, hf_quant_config.json             ──▶ dropped
//
// An AWQ weight is stored with its columns divided by pre_quant_scale. Servers apply this scale to
// the input; here it is multiplied into the columns again.
#include <map>

#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/file_metadata.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/nvfp4/awq_folds.h"
#include "transforms/nvfp4/mixed_model.h"
#include "transforms/packed/mlx.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"
#include "transforms/packed/second_rounding.h"

namespace ckpt {
namespace {

constexpr Choice kPlainTypes[] = {
    {"bf16", Dtype::kBF16}, {"f16", Dtype::kF16}, {"f32", Dtype::kF32}};
constexpr Choice kFoldChoices[] = {{"refuse", false}, {"keep", true}};
constexpr OptionRule kDequantizeOptions[] = {
    option::choice("type", kPlainTypes, "the type to store the weights in").by_default("bf16"),
    option::choice("folds", kFoldChoices, "norms with AWQ scales folded in wrongly")
        .by_default("refuse"),
};
constexpr uint64_t kMaxDequantizedColumns = uint64_t{1} << 24;

using ColumnScales = std::map<std::string, const Tensor*>;  // by module name

ColumnScales find_column_scales(const Checkpoint& checkpoint) {
  ColumnScales out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.name.ends_with(kColumnScale)) continue;
    out[module_of(tensor.name)] = &tensor;
  }
  return out;
}

// Multiplies the columns by the factors that servers apply to the input.
Result<Tensor> fold(Tensor weight, const Tensor& scale) {
  if (scale.values() != weight.row_values()) {
    return corrupt("tensor '{}': {} values; its weight has {} columns", scale.name, scale.values(),
                   weight.row_values());
  }
  CKPT_ASSIGN(std::vector<float> factors, read_scales(scale, kMaxDequantizedColumns));
  return with_op(std::move(weight),
                 ScaleColumns{std::make_shared<const std::vector<float>>(std::move(factors))});
}

// Later steps start from values of the type of `codec`.
Result<Tensor> rounded(Tensor tensor, const Codec& codec) {
  const Dtype type = codec.parts[0].dtype;
  return type == Dtype::kF32 ? Result<Tensor>(std::move(tensor))
                             : with_op(std::move(tensor), RoundTo{type});
}

bool is_decoded(const Tensor& tensor) {
  return is_unpacked(tensor) || is_made_of_words(tensor) || tensor.has_scales();
}

// Weights whose values are exactly those of their codes.
SourceWeights decoded_weights(const Checkpoint& checkpoint) {
  const ColumnScales scales = find_column_scales(checkpoint);
  SourceWeights out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_decoded(tensor) || scales.count(module_of(tensor.name)) != 0) continue;
    out.emplace(tensor.name, tensor);
  }
  return out;
}

Result<std::vector<Tensor>> dequantized(const Checkpoint& checkpoint, const Codec& codec) {
  const ColumnScales scales = find_column_scales(checkpoint);
  std::vector<Tensor> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (ends_with_any(tensor.name, kCompanions)) continue;
    Tensor made = tensor;
    if (is_decoded(tensor)) CKPT_SET(made, recode(std::move(made), codec));
    const auto scale = scales.find(module_of(tensor.name));
    if (scale != scales.end() && tensor.name.ends_with(".weight")) {
      CKPT_ASSIGN(made, fold(std::move(made), *scale->second));
    }
    if (is_decoded(tensor)) CKPT_SET(made, rounded(std::move(made), codec));
    made.home.clear();  // files grow, so they are split again
    out.push_back(std::move(made));
  }
  return out;
}

// Fails if scales were folded wrongly, because this is not detectable once the codes are gone.
Status check_folds(const Checkpoint& checkpoint) {
  const auto model = read_mixed_model(checkpoint);
  if (!model || !may_have_awq(*model)) return {};  // no AWQ by ModelOpt
  CKPT_ASSIGN(const NameCount suspects, suspect_norm_folds(checkpoint, *model));
  if (suspects.count() == 0) return {};
  return corrupt_hint(
      "--step awq-fold-repair:base=DIR before it, where DIR is the checkpoint that was quantized, "
      "or --step dequantize:folds=keep",
      "{}; expected sound norms, because floats made with these are wrong by more than quantizing "
      "loses",
      suspects.text(kLooksFolded));
}

Status set_dtype(Checkpoint& checkpoint, std::string_view name) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (!config) return {};
  bool changed = change_dtype(*config, name);
  for (auto& [key, part] : config->members()) changed |= change_dtype(part, name);
  if (changed) checkpoint.set_document("config.json", config->dump(2) + "\n");
  return {};
}

// Fails: kUsage for options; kUnsupported: weights with unknown scales; kCorrupt: a pre_quant_scale
// that does not fit its weight.
Result<Checkpoint> dequantize(Checkpoint checkpoint, const OptionValues& options,
                              const Context& context) {
  CKPT_TRY(expect_safetensors(checkpoint, "dequantize"));
  const Dtype type = options.choice<Dtype>("type");
  const Codec& codec = plain_codec(context.codecs, type);
  if (find_mlx_tensors(checkpoint).is_quantized) {
    CKPT_ASSIGN(checkpoint, decode_mlx(std::move(checkpoint), context.codecs));
    CKPT_ASSIGN(checkpoint, from_mlx(std::move(checkpoint), context));
  }
  CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  CKPT_TRY(check_weights_are_read(checkpoint));
  if (!options.choice<bool>("folds")) CKPT_TRY(check_folds(checkpoint));
  const SourceWeights weights = decoded_weights(checkpoint);
  CKPT_ASSIGN(checkpoint.tensors, dequantized(checkpoint, codec));
  const std::string stay = fmt::format("become {}", codec.name);
  CKPT_TRY(note_second_rounding(checkpoint, weights, {"quantized weights", stay}, context));
  CKPT_ASSIGN(const bool was_quantized, remove_quant_config(checkpoint));
  if (was_quantized) CKPT_TRY(remove_expert_type(checkpoint));
  // The recipe of compressed-tensors describes the quantization, which is gone.
  checkpoint.remove_document("recipe.yaml");
  if (!was_quantized) context.note("dequantize: the checkpoint does not say that it is quantized");
  if (type != Dtype::kBF16) CKPT_TRY(set_dtype(checkpoint, torch_name(codec)));
  join_file_metadata(checkpoint);
  return checkpoint;
}

}  // namespace

extern constinit const Transform kDequantize = {
    "dequantize", "weights of every quantized kind back to plain floats", kDequantizeOptions,
    dequantize};

}  // namespace ckpt
