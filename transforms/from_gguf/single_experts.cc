// GGUFs of early 2024 have a tensor for each expert; llama.cpp v0.5.0 reads only stacks of them.
//
//   blk.3.ffn_gate.0.weight [out, in] ┐
//   blk.3.ffn_gate.1.weight [out, in] ┴─▶ blk.3.ffn_gate_exps.weight [2, out, in]
//
// Rows move as bytes of the file.
#include <map>

#include "core/computed/decoded_source.h"
#include "models/models.h"
#include "transforms/from_gguf/folder.h"

namespace ckpt {
namespace {

// Stacks experts, given by number. A stack has one type, so experts of different types become F32.
Result<Tensor> stack_of(const std::string& name, const std::map<uint64_t, const Tensor*>& experts,
                        Codecs codecs) {
  if (experts.rbegin()->first + 1 != experts.size()) {
    uint64_t missing = 0;
    while (experts.contains(missing)) ++missing;
    return corrupt("'{}' has experts up to '{}', but none of number {}",
                   experts.begin()->second->name, experts.rbegin()->second->name, missing);
  }
  bool are_of_one_type = true;
  const Codec* type = experts.begin()->second->codec;
  for (const auto& [number, tensor] : experts) {
    are_of_one_type = are_of_one_type && tensor->codec == type;
  }
  std::vector<Tensor> parts;
  for (const auto& [number, tensor] : experts) {
    if (!are_of_one_type && tensor->codec->decode == nullptr) {
      return unsupported("tensor '{}' is {} and '{}' {}; a stack of experts has one type",
                         tensor->name, tensor->codec->name, experts.begin()->second->name,
                         type->name);
    }
    parts.push_back(are_of_one_type ? *tensor
                                    : stored_as_f32(*tensor, plain_codec(codecs, Dtype::kF32)));
  }
  CKPT_ASSIGN(Tensor out, stack(parts));
  out.name = name;
  out.source_name = parts[0].original_name();
  return out;
}

}  // namespace

Result<uint64_t> stack_single_experts(Checkpoint& file, Codecs codecs) {
  std::map<std::string, std::map<uint64_t, const Tensor*>> stacks;
  for (const Tensor& tensor : file.tensors) {
    if (const auto expert = single_gguf_expert(tensor.name)) {
      stacks[expert->stack].emplace(expert->number, &tensor);
    }
  }
  if (stacks.empty()) return 0;
  std::vector<Tensor> out;
  uint64_t joined = 0;
  for (const Tensor& tensor : file.tensors) {
    if (stacks.contains(tensor.name)) {
      return corrupt("tensor '{}' is there, and so is each of its experts alone", tensor.name);
    }
    const auto expert = single_gguf_expert(tensor.name);
    if (!expert) {
      out.push_back(tensor);
      continue;
    }
    ++joined;
    const auto& experts = stacks.at(expert->stack);
    if (experts.begin()->second->name != tensor.name) continue;
    CKPT_ASSIGN(out.emplace_back(), stack_of(expert->stack, experts, codecs));
  }
  file.tensors = std::move(out);
  return joined;
}

}  // namespace ckpt
