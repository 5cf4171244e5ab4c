// experts: splits stacks of experts into one tensor per expert and projection, or joins them.
//
//   to=single   X.experts.gate_up_proj [E, 2I, H]  ──▶  X.experts.e.gate_proj.weight [I, H]
//                                                       X.experts.e.up_proj.weight   [I, H]
//               X.experts.down_proj    [E, H, I]   ──▶  X.experts.e.down_proj.weight [H, I]
//   to=fused    the other way; the same bytes come back
//
// vLLM 0.17 reads only single experts of Qwen3-MoE, but both forms of Qwen3.5-MoE; transformers 5
// has stacks in memory. Rows move; values stay. Stacks with exchanged rows and columns become
// single but cannot be joined again. For some families, programs read only stacks.
//
// GGUFs of early 2024 have a tensor for each expert, too; to=fused makes the stacks that llama.cpp
// reads today.
//
// gpt-oss: Unsloth saves X.experts.{gate_up,down}_projs.e.{weight [out, in], bias} and
// X.router.linear.*; to=fused joins them into the stacks [E, in, out] that servers read.
// Source: transformers 5 conversion_mapping.py; vllm/model_executor/models/{qwen3_moe,qwen3_5}.py.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/computed/decoded_source.h"
#include "core/computed/strided_source.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/serving_config.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/modelopt_export/select.h"

namespace ckpt {
namespace {

enum class ExpertForm : uint8_t { kSingle, kFused };
constexpr Choice kExpertForms[] = {{"single", ExpertForm::kSingle}, {"fused", ExpertForm::kFused}};
constexpr OptionRule kExpertsOptions[] = {
    option::choice("to", kExpertForms, "a tensor for each expert, or stacks of all").required()};

enum : size_t { kGate, kUp, kDown };

// The tensors of one projection, by index of the expert.
using Projection = std::map<uint64_t, const Tensor*>;
using SingleExperts = std::array<Projection, 3>;
using Containers = std::map<std::string, SingleExperts>;  // by "….experts."

Status check_float_experts(const Checkpoint& checkpoint) {
  for (const Tensor& tensor : checkpoint.tensors) {
    if (experts_module(tensor.name).empty() || !tensor.has_scales()) continue;
    return unsupported_hint("--step dequantize before it",
                            "tensor '{}' is {}: each expert has scales of its own, and a stack of "
                            "them is read by no server",
                            tensor.name, tensor.codec->name);
  }
  return {};
}

std::string expert_weight(size_t projection) {
  return fmt::format("{}.weight", projections_of_expert()[projection]);
}

Result<Containers> find_single_experts(const Checkpoint& checkpoint) {
  const auto words = projections_of_expert();
  Containers out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto expert = expert_name(tensor.name);
    if (!expert) continue;
    const auto* word = std::ranges::find(words, module_of(expert->rest));
    if (word == words.end() || !expert->rest.ends_with(kWeight) || tensor.shape.size() != 2) {
      return unsupported(
          "tensor '{}': [{}]; expected {}, {} or {} of two axes, which alone have a stack",
          tensor.name, fmt::join(tensor.shape, ", "), expert_weight(kGate), expert_weight(kUp),
          expert_weight(kDown));
    }
    SingleExperts& experts = out[std::string(expert->front)];
    Projection& projection = experts[static_cast<size_t>(word - words.begin())];
    const auto [entry, is_new] = projection.emplace(expert->number, &tensor);
    if (!is_new) {
      return corrupt("tensors '{}' and '{}' are both of expert {}; expected one",
                     entry->second->name, tensor.name, expert->number);
    }
  }
  return out;
}

// Requires that all experts have all three projections, of one type and shape.
Status check_whole(const std::string& front, const SingleExperts& experts) {
  uint64_t count = 0;
  for (const Projection& each : experts) {
    if (!each.empty()) count = std::max(count, each.rbegin()->first + 1);
  }
  for (size_t i = 0; i < experts.size(); ++i) {
    const Projection& first = experts[i == kUp && !experts[kGate].empty() ? kGate : i];
    const Tensor* like = first.empty() ? nullptr : first.begin()->second;
    for (uint64_t e = 0; e < count; ++e) {
      const auto found = experts[i].find(e);
      if (found == experts[i].end()) {
        return corrupt("'{}{}.{}' is missing; expected one of each of {} experts, from 0 on", front,
                       e, expert_weight(i), count);
      }
      const Tensor& tensor = *found->second;
      if (tensor.shape == like->shape && tensor.codec == like->codec) continue;
      return corrupt("tensor '{}': {} [{}]; expected {} [{}] like '{}'", tensor.name,
                     tensor.codec->name, fmt::join(tensor.shape, ", "), like->codec->name,
                     fmt::join(like->shape, ", "), like->name);
    }
  }
  return {};
}

// Requires the expert count of config.json, because readers would take a smaller stack as complete.
Status check_counts(const Containers& containers, const ExportModel& model) {
  for (const auto& [front, experts] : containers) {
    if (model.experts == 0 || experts[kDown].size() == model.experts) continue;
    return corrupt_hint("the whole folder, downloaded again",
                        "'{}*': {} experts; expected {}, as config.json says", front,
                        experts[kDown].size(), model.experts);
  }
  return {};
}

// If some parts are computed from stored codes, all are read as floats and stored as that part is.
// Fails if some were rounded to another type than the one to be written.
Result<Tensor> joined_rows(const std::vector<const Tensor*>& parts, const Codec& f32) {
  std::vector<Tensor> rows;
  std::optional<StoredValues> computed;
  bool is_one_way = true;
  for (const Tensor* part : parts) {
    CKPT_ASSIGN(StoredValues each, stored_values(*part, f32));
    rows.push_back(each.values);
    is_one_way = is_one_way && each.rounds_as_stored();
    if (each.is_computed()) computed = std::move(each);
  }
  if (!computed) return concatenate_rows(rows);
  if (!is_one_way) {
    return unsupported_hint(
        "a conversion for the steps before this one, and another for the rest",
        "tensor '{}' and others of its stack were rounded to another type before", parts[0]->name);
  }
  for (Tensor& row : rows) row = stored_as_f32(row, f32);
  CKPT_ASSIGN(Tensor out, concatenate_rows(rows));
  return computed->back(std::move(out));
}

Result<Tensor> stacked_rows(std::string name, const std::vector<const Tensor*>& parts,
                            uint64_t experts, const Codec& f32) {
  CKPT_ASSIGN(Tensor out, joined_rows(parts, f32));
  const uint64_t matrix_rows = out.rows() / experts;
  CKPT_ASSIGN(out, reshape(std::move(out), {experts, matrix_rows, out.row_values()}));
  const Tensor& first = *parts[0];
  out.name = std::move(name);
  out.source_name = first.original_name();
  out.home = first.home;
  return out;
}

// Requires: check_whole() succeeded.
Result<Tensor> fused(const SingleExperts& experts, const std::string& stack, const Codec& f32) {
  const bool is_down = parts_of_stack(last_word(stack)).size() == 1;
  std::vector<const Tensor*> parts;
  for (const auto& [number, tensor] : experts[is_down ? kDown : kGate]) {
    parts.push_back(tensor);
    if (!is_down) parts.push_back(experts[kUp].at(number));
  }
  return stacked_rows(stack, parts, experts[kDown].size(), f32);
}

// Each stack takes the place of its first expert.
Status fuse_experts(Checkpoint& checkpoint, const ExportModel& model, Codecs codecs) {
  const Codec& f32 = plain_codec(codecs, Dtype::kF32);
  CKPT_ASSIGN(const Containers containers, find_single_experts(checkpoint));
  for (const auto& [front, experts] : containers) CKPT_TRY(check_whole(front, experts));
  CKPT_TRY(check_counts(containers, model));
  std::vector<Tensor> out;
  std::set<std::string> made;
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto expert = expert_name(tensor.name);
    if (!expert) {
      out.push_back(tensor);
      continue;
    }
    const std::string stack = stack_part(module_of(tensor.name))->stack();
    if (!made.insert(stack).second) continue;
    CKPT_ASSIGN(out.emplace_back(), fused(containers.at(std::string(expert->front)), stack, f32));
  }
  checkpoint.tensors = std::move(out);
  return {};
}

// Turns [E, out, in] into [E, in, out].
Result<Tensor> with_inputs_first(Tensor stack) {
  const std::vector<uint64_t> shape = stack.shape;
  const StridedGrid grid{0, {shape[0], shape[2], shape[1]}, {shape[1] * shape[2], 1, shape[2]}};
  return take_grid(stack, grid);
}

// Returns whether there were such experts.
Result<bool> stack_linear_experts(Checkpoint& checkpoint, Codecs codecs) {
  std::map<std::string, Projection> stacks;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (const auto found = linear_expert(tensor.name))
      stacks[found->stack][found->number] = &tensor;
  }
  std::vector<Tensor> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto found = linear_expert(tensor.name);
    if (!found) {
      Tensor& kept = out.emplace_back(tensor);
      kept.name = name_beside_stacks(kept.name);
      if (kept.name != tensor.name) kept.source_name = tensor.original_name();
      continue;
    }
    const Projection& projection = stacks.at(found->stack);
    if (projection.begin()->second != &tensor) continue;
    if (projection.rbegin()->first + 1 != projection.size()) {
      return corrupt("'{}': made of {} tensors; expected {}, from 0 on", found->stack,
                     projection.size(), projection.rbegin()->first + 1);
    }
    std::vector<const Tensor*> parts;
    for (const auto& [number, part] : projection) parts.push_back(part);
    const bool is_bias = tensor.shape.size() == 1;
    const Codec& f32 = plain_codec(codecs, Dtype::kF32);
    CKPT_ASSIGN(Tensor stack, stacked_rows(found->stack, parts, parts.size(), f32));
    if (is_bias) CKPT_SET(stack, reshape(std::move(stack), {parts.size(), tensor.values()}));
    if (!is_bias) CKPT_SET(stack, with_inputs_first(std::move(stack)));
    out.push_back(std::move(stack));
  }
  checkpoint.tensors = std::move(out);
  return !stacks.empty();
}

// transformers 4.57, and therefore vLLM with it, reads num_experts where 5 saves num_local_experts.
Status complete_expert_count(Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (config && add_expert_count(text_level(*config))) {
    checkpoint.set_document("config.json", config->dump(2) + "\n");
  }
  return {};
}

Result<Checkpoint> change_experts(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context) {
  const auto form = options.choice<ExpertForm>("to");
  if (checkpoint.format == "gguf" && form == ExpertForm::kFused) {
    CKPT_ASSIGN(const uint64_t joined, stack_single_experts(checkpoint, context.codecs));
    if (joined == 0) context.note("experts: none is single; the tensors stay as they are");
    return checkpoint;
  }
  CKPT_TRY(expect_safetensors(checkpoint, "experts"));
  CKPT_ASSIGN(const ExportModel model, read_export_model(checkpoint));
  if (form == ExpertForm::kFused) {
    CKPT_ASSIGN(const bool were_linear, stack_linear_experts(checkpoint, context.codecs));
    if (were_linear) return checkpoint;
  }
  const bool is_exchanged = takes_exchanged_experts(model.model_type);
  if (keeps_experts_stacked(model.model_type) || (is_exchanged && form == ExpertForm::kFused)) {
    return unsupported("experts of model_type {}: {}", model.model_type,
                       is_exchanged ? "their stacks have rows and columns exchanged, which this "
                                      "step does not make; servers read them one by one too"
                                    : "servers read stacks alone; leave them as they are");
  }
  CKPT_TRY(check_float_experts(checkpoint));
  const size_t before = checkpoint.tensors.size();
  Status moved = form == ExpertForm::kSingle ? split_all_experts(checkpoint, context.codecs, model)
                                             : fuse_experts(checkpoint, model, context.codecs);
  if (!moved) {
    // The hint names an option of exports that this step does not have.
    if (moved.error().remedy == Remedy::kKeep) moved.error().hint.clear();
    return Failure(std::move(moved.error()));
  }
  CKPT_TRY(complete_expert_count(checkpoint));
  if (checkpoint.tensors.size() == before) {
    context.note("experts: none is {}; the tensors stay as they are",
                 form == ExpertForm::kSingle ? "in a stack" : "single");
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kExperts{
    "experts", "experts one by one, or in stacks as transformers 5 has them", kExpertsOptions,
    change_experts};

}  // namespace ckpt
