// Stacks of experts become one tensor an expert and projection.
//
//   X.experts.gate_up_proj [E, 2I, H] ─┬▶ X.experts.e.gate_proj.weight [I, H]   rows 0 .. I-1
//                                      └▶ X.experts.e.up_proj.weight   [I, H]   rows I .. 2I-1
//   X.experts.down_proj    [E, H, I] ───▶ X.experts.e.down_proj.weight [H, I]
//
// Source: NVIDIA Model-Optimizer modelopt/torch/export/moe_utils.py (_export_fused_experts).
// Some families stack the same names with rows and columns exchanged ([E, H, 2I] and [E, I, H]);
// the two shapes together tell which it is. Qwen3-VL is released so, and transformers 5 exchanges
// them as it loads them: its experts come out as the others' do. Those of some stay stacks in
// ModelOpt's exports, and here; those of Llama 4 stay stacks there and are refused.
#include <map>

#include "core/computed/decoded_source.h"
#include "core/computed/strided_source.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/modelopt_export/select.h"

namespace ckpt {
namespace {

struct Stack {
  const Tensor* gate_up = nullptr;
  const Tensor* down = nullptr;
  bool is_exchanged = false;  // [E, H, 2I] and [E, I, H]
};
using Stacks = std::map<std::string, Stack>;  // by "….mlp.experts"

bool is_stack(const Tensor& tensor) {
  return !experts_module(tensor.name).empty() && tensor.shape.size() == 3 &&
         tensor.codec->parts.size() == 1 && tensor.codec->decode != nullptr;
}

Status check_stack(const std::string& container, const ExportModel& model, Stack& stack) {
  if (stack.gate_up == nullptr || stack.down == nullptr) {
    return unsupported_hint(
        keep_hint(container + "*"),
        "'{}' has no gate_up_proj and down_proj; other stacks of experts cannot be taken apart",
        container);
  }
  const auto& up = stack.gate_up->shape;
  const auto& down = stack.down->shape;
  const bool fits = up[0] == down[0] && up[2] == down[1] && up[1] % 2 == 0 && up[1] / 2 == down[2];
  if (fits) return {};
  const bool is_exchanged = up[0] == down[0] && up[1] == down[2] && up[2] == 2 * down[1];
  const bool may_be_exchanged =
      takes_exchanged_experts(model.model_type) || keeps_experts_stacked(model.model_type);
  stack.is_exchanged = is_exchanged && may_be_exchanged;
  if (stack.is_exchanged) return {};
  return unsupported_hint(
      keep_hint(container + "*"),
      "'{}': gate_up_proj [{}] and down_proj [{}]; expected [E, 2I, H] and [E, H, I]", container,
      fmt::join(up, ", "), fmt::join(down, ", "));
}

// Columns [columns.first, columns.first + columns.count) of matrix `expert`, as rows.
Result<Tensor> cut_columns(const Tensor& stack, uint64_t expert, RowRun columns) {
  const uint64_t rows = stack.shape[1], width = stack.shape[2];
  CKPT_ASSIGN(Tensor out, take_grid(stack, {expert * rows * width + columns.first,
                                            {1, columns.count, rows},
                                            {0, 1, width}}));
  return reshape(std::move(out), {columns.count, rows});
}

Status append_experts(const Tensor& tensor, const std::string& container, bool is_exchanged,
                      const Codec& f32, std::vector<Tensor>& out) {
  const uint64_t experts = tensor.shape[0], rows = tensor.shape[is_exchanged ? 2 : 1];
  const std::span<const std::string_view> parts = parts_of_stack(last_word(tensor.name));
  CKPT_ASSIGN(const StoredValues from, stored_values(tensor, f32));
  for (uint64_t e = 0; e < experts; ++e) {
    const auto add = [&](std::string_view name, uint64_t first, uint64_t count) -> Status {
      CKPT_ASSIGN(Tensor each, is_exchanged ? cut_columns(from.values, e, {first, count})
                                            : take_rows(from.values, e * rows + first, count));
      each.name = fmt::format("{}.{}.{}.weight", container, e, name);
      each.source_name = from.values.name;
      CKPT_ASSIGN(out.emplace_back(), from.back(std::move(each)));
      return {};
    };
    const uint64_t count = rows / parts.size();
    for (size_t i = 0; i < parts.size(); ++i) CKPT_TRY(add(parts[i], i * count, count));
  }
  return {};
}

Stacks all_stacks(const Checkpoint& checkpoint) {
  Stacks out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_stack(tensor)) continue;
    Stack& stack = out[module_of(tensor.name)];
    const size_t parts = parts_of_stack(last_word(tensor.name)).size();
    if (parts == 2) stack.gate_up = &tensor;
    if (parts == 1) stack.down = &tensor;
  }
  return out;
}

Result<Stacks> find_stacks(const Checkpoint& checkpoint, const ExportModel& model,
                           const Calibration& calibration, const ExportOptions& options) {
  Stacks stacks = all_stacks(checkpoint);
  std::map<std::string, uint64_t> selected;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_stack(tensor)) continue;
    const std::string container = module_of(tensor.name);
    // A QAT checkpoint names the maxima by expert.
    const std::string word = tensor.name.substr(container.size() + 1);
    const std::string module =
        calibration.is_qat ? fmt::format("{}.0.{}", container, word) : tensor.name;
    CKPT_ASSIGN(const auto chosen, choose_type(module, tensor.name, model, calibration, options));
    if (chosen) ++selected[container];
  }
  std::erase_if(stacks, [&](const auto& each) { return !selected.contains(each.first); });
  for (auto& [container, stack] : stacks) {
    CKPT_TRY(check_stack(container, model, stack));
    if (selected[container] == 2) continue;
    return misuse("'{}': gate_up_proj and down_proj can only be quantized together", container);
  }
  return stacks;
}

// Checks the stacks that stay stacks: only NVFP4 can, with scales from the weights or from MXFP4.
Status check_kept_stacks(const Stacks& stacks, const Calibration& calibration,
                         const ExportOptions& options) {
  for (const auto& [container, stack] : stacks) {
    const Hint hint = keep_hint(container + "*");
    const std::string& name = stack.gate_up->name;
    if (options.type == ExportType::kFp8 || is_fp8_selected(name, name, options)) {
      return unsupported_hint(
          hint, "'{}': experts that stay stacked have no form in FP8; expected nvfp4", container);
    }
    if (calibration.is_qat) {
      return unsupported_hint(
          hint, "'{}': experts that stay stacked have stored maxima of a training; expected none",
          container);
    }
    for (const Tensor* tensor : {stack.gate_up, stack.down}) {
      if (tensor->shape[1] % 16 == 0 && tensor->shape[2] % 16 == 0) continue;
      return unsupported_hint(hint,
                              "tensor '{}': [{}]; NVFP4 needs multiples of 16 inputs and outputs",
                              tensor->name, fmt::join(tensor->shape, ", "));
    }
  }
  return {};
}

Status split_stacks(Checkpoint& checkpoint, const Stacks& stacks, Codecs codecs) {
  if (stacks.empty()) return {};
  const Codec& f32 = plain_codec(codecs, Dtype::kF32);
  std::vector<Tensor> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto stack = is_stack(tensor) ? stacks.find(module_of(tensor.name)) : stacks.end();
    if (stack != stacks.end()) {
      CKPT_TRY(append_experts(tensor, stack->first, stack->second.is_exchanged, f32, out));
    } else {
      out.push_back(tensor);
    }
  }
  checkpoint.tensors = std::move(out);
  return {};
}

}  // namespace

bool takes_exchanged_experts(std::string_view model_type) {
  return has_trait(model_type, ModelTrait::kExchangedExperts);
}

bool keeps_experts_stacked(std::string_view model_type) {
  return has_trait(model_type, ModelTrait::kKeepsStacks);
}

Status split_experts(Checkpoint& checkpoint, const ExportModel& model,
                     const Calibration& calibration, const ExportOptions& options, Codecs codecs) {
  CKPT_ASSIGN(const Stacks stacks, find_stacks(checkpoint, model, calibration, options));
  if (keeps_experts_stacked(model.model_type))
    return check_kept_stacks(stacks, calibration, options);
  return split_stacks(checkpoint, stacks, codecs);
}

Status split_all_experts(Checkpoint& checkpoint, Codecs codecs, const ExportModel& model) {
  Stacks stacks = all_stacks(checkpoint);
  for (auto& [container, stack] : stacks) CKPT_TRY(check_stack(container, model, stack));
  return split_stacks(checkpoint, stacks, codecs);
}

}  // namespace ckpt
