// cast: stores the floats of a safetensors checkpoint in another plain float type.
//
// Integers stay unchanged. The step rejects quantized weights, because it would round their scales,
// which are plain floats, but not their codes. It stores the new type in config.json under the
// present key: `dtype` (transformers 5) or `torch_dtype` (4). It drops the quantizers of a training
// with fake quantization, because the floats do not need them.

#include "core/base/glob.h"
#include "core/model/transform.h"
#include "transforms/facts/keep_rules.h"
#include "transforms/facts/qat_quantizers.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

constexpr Choice kCastTypes[] = {
    {"f32", Dtype::kF32}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBF16}};
constexpr OptionRule kCastOptions[] = {
    option::choice("type", kCastTypes, "the type to store floats in").required(),
    option::glob("keep", "tensors to leave as they are").repeated(),
};

Status check_unquantized(const Checkpoint& checkpoint, std::string_view type) {
  const Tensor* quantized = checkpoint.first_with_scales();
  if (quantized == nullptr) return check_weights_are_read(checkpoint);
  return misuse_hint(fmt::format("the step dequantize:type={}", type),
                     "tensor '{}' is {}; cast takes plain floats", quantized->name,
                     quantized->codec->name);
}

Result<Checkpoint> cast(Checkpoint checkpoint, const OptionValues& options,
                        const Context& context) {
  const auto type = options.choice<Dtype>("type");
  const Codec& codec = plain_codec(context.codecs, type);
  CKPT_TRY(check_unquantized(checkpoint, codec.name));
  CKPT_TRY(drop_quantizers(checkpoint, GlobList(options.all("keep")), context));
  KeepRules keep(options.all("keep"));
  for (Tensor& tensor : checkpoint.tensors) {
    const bool is_float = tensor.is_plain_float();
    if (keep.matches({tensor.name}, is_float && tensor.codec != &codec) || !is_float) continue;
    if (tensor.codec == &codec) continue;
    CKPT_ASSIGN(tensor, recode(std::move(tensor), codec));
    // Later steps start from values of that type.
    if (type != Dtype::kF32) CKPT_SET(tensor, with_op(std::move(tensor), RoundTo{type}));
  }
  keep.note(context);
  CKPT_TRY(set_config_dtype(checkpoint, codec));
  return checkpoint;
}

}  // namespace

extern constinit const Transform kCast{"cast", "stores plain floats in another plain float type",
                                       kCastOptions, cast};

}  // namespace ckpt
