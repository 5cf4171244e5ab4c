#include <algorithm>
#include <cmath>

#include "core/chunks/repack.h"
#include "core/model/stack_name.h"
#include "core/model/tensor_names.h"
#include "transforms/to_gguf/tensors.h"
#include "transforms/to_gguf/values.h"

namespace ckpt {
namespace {

constexpr uint64_t kNvfp4TensorScale = 2;

const Codec& block_codec(Codecs codecs) { return plain_codec(codecs, Dtype::kNvfp4); }

// The scale of the whole tensor as a factor. compressed-tensors stores what divides.
Result<float> tensor_scale(const Tensor& tensor, Codecs codecs) {
  const Tensor part = part_as_tensor(tensor, kNvfp4TensorScale, codecs);
  CKPT_ASSIGN(const std::vector<float> found, read_values(part, 1));
  const bool divides = part.name.ends_with("_global_scale");
  const float scale = divides ? 1.0f / found[0] : found[0];
  if (std::isfinite(scale) && scale > 0) return scale;
  return corrupt("tensor '{}' is {}; expected a finite number above zero", part.name, found[0]);
}

// llama.cpp's converter leaves out what changes nothing; numpy's allclose for stacks.
bool is_trivial(const std::vector<float>& scales) {
  const double tolerance = scales.size() == 1 ? 1e-6 : 1e-6 + 1e-5;
  return std::ranges::all_of(scales, [&](float scale) {
    const double error = std::abs(static_cast<double>(scale) - 1.0);
    return scales.size() == 1 ? error < tolerance : error <= tolerance;
  });
}

// Tensors that llama.cpp reads as NVFP4: a matrix of a product, or experts of one.
Status check_rule(const NamedTensor& named, const Match* match, const Model& model) {
  const std::string& source = named.tensor.name;
  if (match == nullptr) {
    return unsupported("tensor '{}': family {} has none of this name", source, model.family->name);
  }
  if (named.tensor.shape.size() != 2 || match->suffix != kWeight) {
    return unsupported("tensor '{}' has shape [{}]; GGUF takes NVFP4 as matrices with a scale each",
                       source, fmt::join(named.tensor.shape, ", "));
  }
  if (match->rule->store != Store::kF32 && match->rule->to != "token_embd") return {};
  return unsupported_hint("--step dequantize before it",
                          "tensor '{}' is NVFP4; llama.cpp has no such type for '{}'", source,
                          gguf_name(match->rule->to, *match));
}

// Tensor scales go elsewhere; without this, tensors with different ones could not be joined.
void share_tensor_scale(Tensor& tensor, const Tensor& first) {
  auto& parts = std::get<Stored>(tensor.origin).parts;
  parts[kNvfp4TensorScale] = first.stored().parts[kNvfp4TensorScale];
}

}  // namespace

Status Nvfp4Tensors::add(const NamedTensor& named) {
  const std::optional<Match> match = find_name_rule(*model_.family, named.name);
  CKPT_TRY(check_rule(named, match ? &*match : nullptr, model_));
  if (match->rule->change == Change::kExpert) return add_expert(named, *match);
  const std::string name = gguf_name(match->rule->to, *match);
  CKPT_ASSIGN(std::vector<Tensor> changed,
              change_values(named.tensor, match->rule->change, model_, codecs_));
  if (!named.tensor.is_stored()) return add_encoded(std::move(changed[0]), name, named);
  CKPT_ASSIGN(const float scale, tensor_scale(named.tensor, codecs_));
  CKPT_ASSIGN(out_.emplace_back(),
              blocks(std::move(changed[0]), name, named.tensor.original_name()));
  add_scales(name, ".scale", {scale}, named.tensor.original_name());
  add_scales(name, ".input_scale", {named.input_scale.value_or(1.0f)},
             named.tensor.original_name());
  return {};
}

Result<Tensor> Nvfp4Tensors::blocks(Tensor tensor, const std::string& name,
                                    const std::string& source) const {
  CKPT_ASSIGN(Tensor made, repack(std::move(tensor), block_codec(codecs_)));
  made.name = name;
  made.source_name = source;
  return made;
}

// Encoded here: its scale is not known yet, and written with the blocks.
Status Nvfp4Tensors::add_encoded(Tensor tensor, const std::string& name, const NamedTensor& named) {
  const Codec& codec = scheme_codec(codecs_, Scheme::kNvfp4, Dialect::kGguf);
  CKPT_ASSIGN(Tensor made, recode(std::move(tensor), codec));
  made.name = module_of(name);
  made.source_name = named.tensor.original_name();
  out_.push_back(std::move(made));
  add_scales(name, ".input_scale", {named.input_scale.value_or(1.0f)},
             named.tensor.original_name());
  return {};
}

void Nvfp4Tensors::add_scales(const std::string& name, std::string_view ending,
                              const std::vector<float>& scales, const std::string& source) {
  if (is_trivial(scales)) return;
  Tensor made =
      make_f32_tensor(module_of(name) + std::string(ending), {scales.size()}, scales, codecs_);
  made.source_name = source;
  out_.push_back(std::move(made));
}

// ---- experts -----------------------------------------------------------------------------------

Status Nvfp4Tensors::add_expert(const NamedTensor& named, const Match& match) {
  CKPT_ASSIGN(const uint64_t count, model_.count("num_local_experts num_experts"));
  CKPT_ASSIGN(const uint64_t number, expert_number(match, named.tensor.name, count));
  const std::string name = gguf_name(match.rule->to, match);
  std::map<uint64_t, NamedTensor>& list = experts_[name];
  if (!list.insert({number, named}).second) {
    return corrupt("tensor '{}': expert {} comes twice", named.tensor.name, number);
  }
  if (list.size() < count) return {};
  const std::map<uint64_t, NamedTensor> whole = std::move(list);
  experts_.erase(name);
  return stack(whole, name);
}

Status Nvfp4Tensors::stack(const std::map<uint64_t, NamedTensor>& experts,
                           const std::string& name) {
  const Tensor& first = experts.begin()->second.tensor;
  std::vector<Tensor> tensors;
  std::vector<float> input_scales;
  for (const auto& [number, expert] : experts) {
    if (expert.tensor.shape != first.shape || expert.tensor.codec != first.codec) {
      return corrupt("tensor '{}' has shape [{}]; the first expert has [{}]", expert.tensor.name,
                     fmt::join(expert.tensor.shape, ", "), fmt::join(first.shape, ", "));
    }
    if (expert.tensor.is_stored() != first.is_stored()) {
      return unsupported("'{}': some experts are NVFP4 and others are yet to be", name);
    }
    input_scales.push_back(expert.input_scale.value_or(1.0f));
    tensors.push_back(expert.tensor);
  }
  const std::string source = first.original_name();
  CKPT_TRY(first.is_stored() ? stack_stored(std::move(tensors), name)
                             : stack_encoded(std::move(tensors), name));
  add_scales(name, ".input_scale", input_scales, source);
  return {};
}

Status Nvfp4Tensors::stack_stored(std::vector<Tensor> tensors, const std::string& name) {
  const Tensor first = tensors[0];
  std::vector<float> scales;
  for (Tensor& tensor : tensors) {
    CKPT_ASSIGN(scales.emplace_back(), tensor_scale(tensor, codecs_));
    share_tensor_scale(tensor, first);
  }
  CKPT_ASSIGN(Tensor stacked, ckpt::stack(tensors));
  CKPT_ASSIGN(out_.emplace_back(), blocks(std::move(stacked), name, first.original_name()));
  add_scales(name, ".scale", scales, first.original_name());
  return {};
}

// Encoded here: each with a scale of its own, which is not known yet.
Status Nvfp4Tensors::stack_encoded(std::vector<Tensor> tensors, const std::string& name) {
  const std::string stack = module_of(name);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string source = tensors[i].original_name();
    CKPT_ASSIGN(Tensor made, recode(std::move(tensors[i]),
                                    scheme_codec(codecs_, Scheme::kNvfp4, Dialect::kGguf)));
    made.name = stack_member_name(stack, i);
    made.source_name = source;
    out_.push_back(std::move(made));
  }
  return {};
}

Result<std::vector<Tensor>> Nvfp4Tensors::finish() {
  if (experts_.empty()) return std::move(out_);
  const auto& [name, list] = *experts_.begin();
  CKPT_ASSIGN(const uint64_t count, model_.count("num_local_experts num_experts"));
  return corrupt("'{}' has {} NVFP4 experts (the first: '{}'); expected {}", name, list.size(),
                 list.begin()->second.tensor.name, count);
}

}  // namespace ckpt
