#include "plan/conversion/value_sides.h"

#include <map>
#include <set>

#include "core/computed/decoded_source.h"
#include "core/model/tensor_names.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// Turns quantized weights of a folder into the values that they represent, without rounding.
Result<Checkpoint> as_values(Checkpoint checkpoint) {
  if (checkpoint.format != "safetensors") return checkpoint;
  const Transform* dequantize = find_transform("dequantize");
  CKPT_CHECK(dequantize != nullptr);
  Options options;
  options.add("type", "f32");
  options.add("folds", "keep");  // AWQ folds are compared unchanged
  Context context;
  context.codecs = all_codecs();
  return dequantize->apply(std::move(checkpoint), options, context);
}

// Decodes experts to floats, because only plain tensors can be stacked.
Checkpoint with_decoded_experts(Checkpoint checkpoint) {
  const Codec& f32 = plain_codec(all_codecs(), Dtype::kF32);
  for (Tensor& tensor : checkpoint.tensors) {
    const bool is_decoded = !tensor.is_stored() && tensor.codec == &f32 &&
                            tensor.recoded().ops.empty() && expert_name(tensor.name).has_value();
    if (is_decoded) tensor.origin = stored_as_f32(*tensor.recoded().from, f32).origin;
  }
  return checkpoint;
}

// Applies the separate tensor scales of NVFP4 in GGUF ("X.scale", one per matrix of "X.weight").
// They remain if the weights get another type: llama.cpp applies them to products of any type.
Status apply_gguf_scales(Checkpoint& checkpoint) {
  constexpr uint64_t kMaxMatrices = 1 << 16;
  if (checkpoint.format != "gguf") return {};
  std::map<std::string, const Tensor*> scales;
  const std::vector<Tensor> before = checkpoint.tensors;
  for (const Tensor& tensor : before) {
    if (tensor.name.ends_with(".scale") && tensor.values() <= kMaxMatrices) {
      scales[tensor.name] = &tensor;
    }
  }
  std::set<std::string> used;
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.shape.size() < 2 || !tensor.name.ends_with(kWeight)) continue;
    const std::string parent = module_of(tensor.name);
    const auto found = scales.find(parent + ".scale");
    if (found == scales.end() || tensor.rows() % found->second->values() != 0) continue;
    CKPT_ASSIGN(const std::vector<float> values, read_values(*found->second, kMaxMatrices));
    auto factors = std::make_shared<std::vector<float>>();
    for (uint64_t row = 0; row < tensor.rows(); ++row) {
      factors->push_back(values[row / (tensor.rows() / values.size())]);
    }
    CKPT_ASSIGN(tensor, recode(std::move(tensor), plain_codec(all_codecs(), Dtype::kF32)));
    CKPT_ASSIGN(tensor, with_op(std::move(tensor), ScaleRows{std::move(factors)}));
    used.insert(found->first);
    used.insert(parent + ".input_scale");
  }
  std::erase_if(checkpoint.tensors,
                [&](const Tensor& tensor) { return used.contains(tensor.name); });
  return {};
}

}  // namespace

Result<ValueSides> value_sides(Checkpoint a, Checkpoint b) {
  ValueSides out;
  out.are_bridged = !are_in_one_form(a, b);
  CKPT_ASSIGN(out.a, in("A", as_values(std::move(a))));
  CKPT_ASSIGN(out.b, in("B", as_values(std::move(b))));
  if (out.are_bridged) {
    Context context;
    context.codecs = all_codecs();
    context.notes = &out.notes;
    out.a = with_decoded_experts(std::move(out.a));
    out.b = with_decoded_experts(std::move(out.b));
    CKPT_TRY(to_one_form(out.a, out.b, context));
  }
  CKPT_TRY(apply_gguf_scales(out.a));
  CKPT_TRY(apply_gguf_scales(out.b));
  return out;
}

}  // namespace ckpt
