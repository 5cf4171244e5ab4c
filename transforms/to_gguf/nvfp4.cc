// NVFP4 weights of a folder as tensors of a GGUF: blocks in GGUF's order, and each tensor's scale
// as a separate tensor unless it is 1.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/chunks/repack.h"
#include "core/model/stack_name.h"
#include "core/model/tensor_names.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/tensors.h"
#include "transforms/to_gguf/values.h"

namespace ckpt {
namespace {

constexpr uint64_t kNvfp4TensorScale = 2;

// The scale of the entire tensor.
Result<float> tensor_scale(const Tensor& tensor, Codecs codecs) {
  return read_scale(part_as_tensor(tensor, kNvfp4TensorScale, codecs));
}

// llama.cpp's converter omits scales of 1, and for stacks also those close to 1 (numpy's allclose).
bool is_trivial(const std::vector<float>& scales) {
  const double tolerance = scales.size() == 1 ? 1e-6 : 1e-6 + 1e-5;
  return std::ranges::all_of(scales, [&](float scale) {
    const double error = std::abs(static_cast<double>(scale) - 1.0);
    return scales.size() == 1 ? error < tolerance : error <= tolerance;
  });
}

// llama.cpp reads only matrices of products, and experts of one, as NVFP4.
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

class Nvfp4Tensors {
 public:
  Nvfp4Tensors(const Model& model, Codecs codecs) : model_(model), codecs_(codecs) {}

  Status add(const NamedTensor& named) {
    const std::optional<Match> match = find_name_rule(*model_.family, named.name);
    CKPT_TRY(check_rule(named, match ? &*match : nullptr, model_));
    if (match->rule->change == Change::kExpert) return add_expert(named, *match);
    CKPT_ASSIGN(const std::string_view target, target_of(*match, model_));
    const std::string name = gguf_name(target, *match);
    const std::string& source = named.tensor.original_name();
    CKPT_ASSIGN(std::vector<Tensor> changed,
                change_values(named.tensor, match->rule->change, model_, codecs_));
    if (named.tensor.is_stored()) {
      CKPT_ASSIGN(const float scale, tensor_scale(named.tensor, codecs_));
      CKPT_TRY(add_blocks(std::move(changed[0]), name, source));
      add_scales(name, ".scale", {scale}, source);
    } else {
      CKPT_TRY(add_encoded(std::move(changed[0]), module_of(name), source));
    }
    add_scales(name, ".input_scale", {named.input_scale.value_or(1.0f)}, source);
    return {};
  }

  // Fails: kCorrupt if experts are missing.
  Result<std::vector<Tensor>> finish() {
    if (experts_.empty()) return std::move(out_);
    const auto& [name, list] = *experts_.begin();
    CKPT_ASSIGN(const uint64_t count, model_.count("num_local_experts num_experts"));
    return corrupt("'{}' has {} NVFP4 experts (the first: '{}'); expected {}", name, list.size(),
                   list.begin()->second.tensor.name, count);
  }

 private:
  void put(Tensor tensor, std::string name, const std::string& source) {
    tensor.name = std::move(name);
    tensor.source_name = source;
    out_.push_back(std::move(tensor));
  }

  Status add_blocks(Tensor tensor, std::string name, const std::string& source) {
    CKPT_ASSIGN(Tensor made, repack(std::move(tensor), plain_codec(codecs_, Dtype::kNvfp4)));
    put(std::move(made), std::move(name), source);
    return {};
  }

  // Encoding computes the scale of this tensor, which is written together with the blocks.
  Status add_encoded(Tensor tensor, std::string name, const std::string& source) {
    const Codec& codec = scheme_codec(codecs_, Scheme::kNvfp4, Dialect::kGguf);
    CKPT_ASSIGN(Tensor made, recode(std::move(tensor), codec));
    put(std::move(made), std::move(name), source);
    return {};
  }

  void add_scales(const std::string& name, std::string_view ending,
                  const std::vector<float>& scales, const std::string& source) {
    if (is_trivial(scales)) return;
    const std::string made = module_of(name) + std::string(ending);
    put(make_f32_tensor(made, {scales.size()}, scales, codecs_), made, source);
  }

  Status add_expert(const NamedTensor& named, const Match& match) {
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

  Status stack(const std::map<uint64_t, NamedTensor>& experts, const std::string& name) {
    const Tensor& first = experts.begin()->second.tensor;
    const std::string& source = first.original_name();
    std::vector<Tensor> tensors;
    std::vector<float> scales, input_scales;
    for (const auto& [number, expert] : experts) {
      Tensor tensor = expert.tensor;
      if (tensor.shape != first.shape || tensor.codec != first.codec) {
        return corrupt("tensor '{}' has shape [{}]; the first expert has [{}]", tensor.name,
                       fmt::join(tensor.shape, ", "), fmt::join(first.shape, ", "));
      }
      if (tensor.is_stored() != first.is_stored()) {
        return unsupported("'{}': some experts are NVFP4 and others are yet to be", name);
      }
      input_scales.push_back(expert.input_scale.value_or(1.0f));
      if (tensor.is_stored()) {
        CKPT_ASSIGN(scales.emplace_back(), tensor_scale(tensor, codecs_));
        // Scales become separate tensors, because tensors with different ones cannot be joined.
        auto& parts = std::get<Stored>(tensor.origin).parts;
        parts[kNvfp4TensorScale] = first.stored().parts[kNvfp4TensorScale];
        tensors.push_back(std::move(tensor));
      } else {
        CKPT_TRY(add_encoded(std::move(tensor), stack_member_name(module_of(name), number),
                             expert.tensor.original_name()));
      }
    }
    if (first.is_stored()) {
      CKPT_ASSIGN(Tensor stacked, ckpt::stack(tensors));
      CKPT_TRY(add_blocks(std::move(stacked), name, source));
      add_scales(name, ".scale", scales, source);
    }
    add_scales(name, ".input_scale", input_scales, source);
    return {};
  }

  const Model& model_;
  Codecs codecs_;
  std::vector<Tensor> out_;
  std::map<std::string, std::map<uint64_t, NamedTensor>> experts_;  // by name of the stack
};

}  // namespace

Result<std::vector<Tensor>> make_nvfp4_tensors(const std::vector<NamedTensor>& tensors,
                                               const Model& model, Codecs codecs) {
  Nvfp4Tensors list(model, codecs);
  for (const NamedTensor& named : tensors) {
    if (is_nvfp4(named.tensor, codecs)) CKPT_TRY(list.add(named));
  }
  return list.finish();
}

}  // namespace ckpt
