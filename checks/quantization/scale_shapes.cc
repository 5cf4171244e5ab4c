// Checks scales that are separate tensors: a scale of an entire tensor must be one number, and
// block scales must belong to one part if a server runs several parts as one.
//
// Sources: vLLM vllm/model_executor/parameter.py (PerTensorScaleParameter) and
// layers/quantization/modelopt.py of 0.17.1 and 0.32.0; SGLang
// python/sglang/srt/layers/parameter.py.
// For blocks: vLLM layers/quantization/utils/fp8_utils.py (validate_fp8_block_shape and _moe),
// layers/linear.py (adjust_block_scale_shard); SGLang python/sglang/srt/layers/quantization/fp8.py.
// Both [] and [1] are accepted, whatever the writer is.
#include <algorithm>
#include <array>

#include "checks/subject/subject.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

bool is_one_number(const Tensor& tensor) {
  return tensor.shape.empty() || (tensor.shape.size() == 1 && tensor.shape[0] == 1);
}

// The weight to which `name` belongs, if `word` is its last word; else nullptr.
const Tensor* sibling_weight(const Subject& on, const std::string& name, std::string_view word) {
  if (!name.ends_with(word) || name.size() <= word.size()) return nullptr;
  const std::string stem = name.substr(0, name.size() - word.size());
  return stem.ends_with('.') ? on.tensor(stem + "weight") : nullptr;
}

bool is_fp8(const Tensor& weight) {
  return plain_dtype(*weight.codec) == Dtype::kF8E4M3 || is_fp8(weight.codec->scheme);
}

void check_scale_numbers(const CheckContext& context, const Quantization& declared) {
  if (!declared.method.starts_with("modelopt")) return;
  Mismatch found;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    const Tensor* weight = sibling_weight(context.on, tensor.name, "weight_scale");
    const bool is_of_fp8 = weight != nullptr && declared.algo == "FP8" && is_fp8(*weight);
    const bool is_of_tensor = sibling_weight(context.on, tensor.name, "input_scale") != nullptr ||
                              sibling_weight(context.on, tensor.name, "weight_scale_2") != nullptr;
    if ((is_of_fp8 || is_of_tensor) && !is_one_number(tensor)) found.add(tensor.name);
  }
  context.report(found, "no single number");
}

void check_second(const CheckContext& context) {
  Mismatch found;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    const Tensor* weight = sibling_weight(context.on, tensor.name, "weight_scale_2");
    if (weight != nullptr && is_fp8(*weight)) found.add(tensor.name);
  }
  context.report(found, "next to an FP8 weight, which has none");
}

// Whether a tensor has FP8 codes without any scale, of whatever shape.
bool is_bare_fp8(const Subject& on, const Tensor& tensor) {
  const auto dtype = plain_dtype(*tensor.codec);
  const bool is_codes = (dtype == Dtype::kF8E4M3 || dtype == Dtype::kF8E5M2) &&
                        last_word(tensor.name).find("scale") == std::string_view::npos;
  if (!is_codes || on.packed.by_codes.contains(tensor.name)) return false;
  return std::ranges::none_of(
      std::array{"_scale_inv", "_scale", "_scales"},
      [&](const char* end) { return on.tensor(tensor.name + end) != nullptr; });
}

void check_bare(const CheckContext& context, const Quantization& declared) {
  Mismatch found;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    if (!is_bare_fp8(context.on, tensor)) continue;
    const bool is_of_fp8 = declared.algo_of(module_of(tensor.name)) == "FP8";
    if (is_of_fp8 || !declared.method.starts_with("modelopt")) found.add(tensor.name);
  }
  context.report(found, "of FP8 codes without a scale");
}

constexpr uint64_t kBlockRows = 128;
uint64_t blocks_of(uint64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

uint64_t rows_in_blocks(const Module& module) {
  const bool is_blocked =
      module.weight != nullptr && module.weight->codec->scheme == Scheme::kFp8Block;
  return is_blocked && !module.weight->shape.empty() ? module.weight->shape[0] : 0;
}

// The severity of parts that do not end at a block: a part then uses the scales of the block in
// which it begins, which is past the end or one block too late.
std::optional<Severity> fault_of_parts(const CheckContext& context, std::span<const uint64_t> rows,
                                       bool is_latent) {
  uint64_t at = 0, all = 0;
  for (const uint64_t part : rows) all += part;
  const bool is_strict = context.is(Program::kSglang) && !is_latent;
  bool is_shifted = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_cut = rows[i] % kBlockRows != 0;
    if (is_cut && is_strict) return Severity::kUnloaded;
    if (blocks_of(at) + blocks_of(rows[i]) > blocks_of(all)) return Severity::kUnloaded;
    is_shifted = is_shifted || (is_cut && i + 1 != rows.size());
    at += rows[i];
  }
  return is_shifted ? std::optional(Severity::kUnsound) : std::nullopt;
}

std::optional<Severity> fault_of_module(const CheckContext& context, const Module& first,
                                        const ProjectionGroup& group) {
  const std::span<const std::string_view> parts = group.parts();
  const std::string stem = first.name.substr(0, first.name.size() - parts[0].size());
  const bool is_refined = context.does("take_experts_in_smaller_blocks");
  if (is_of_experts(stem)) {
    const bool is_cut = rows_in_blocks(first) % kBlockRows != 0;
    return is_cut && !is_refined ? std::optional(Severity::kUnloaded) : std::nullopt;
  }
  std::vector<uint64_t> rows;
  for (const std::string_view part : parts) {
    const auto found = context.on.modules.find(stem + std::string(part));
    if (found == context.on.modules.end()) return std::nullopt;
    rows.push_back(rows_in_blocks(found->second));
    if (rows.back() == 0) return std::nullopt;
  }
  return fault_of_parts(context, rows, group.join == ServerJoin::kUnlisted);
}

void check_parts_of_fp8(const CheckContext& context, const Quantization& declared) {
  const bool is_blocked =
      declared.method == "fp8" && known(*declared.json, "weight_block_size") != nullptr;
  if (!is_blocked && declared.method != "compressed-tensors") return;
  Mismatch refused, shifted;
  for (const auto& [name, module] : context.on.modules) {
    const ProjectionGroup* row = group_with(last_word(name));
    const bool is_first = row != nullptr && last_word(name) == row->members[0];
    if (!is_first || rows_in_blocks(module) == 0) continue;
    const auto fault = fault_of_module(context, module, *row);
    if (fault) (*fault == Severity::kUnloaded ? refused : shifted).add(name);
  }
  const bool is_refused = refused.count != 0;
  const Mismatch& found = is_refused ? refused : shifted;
  if (found.count == 0) return;
  context.report(found.first,
                 found.text_at_first("of rows that are not whole blocks of 128, run as one "
                                     "with others"),
                 is_refused ? std::nullopt : std::optional(Severity::kUnsound),
                 is_refused ? "" : "rows are multiplied by another block's scale: noise");
}

constexpr Check kScaleShapeChecks[] = {
    {"Q29", "scales of a whole tensor are one number", "U: vllm* sglang, W: tensorrt-llm",
     "AssertionError while the weights are loaded", "{again}", stated<check_scale_numbers>},
    {"Q30", "FP8 weights have one scale", "U: vllm* sglang, W: tensorrt-llm",
     "KeyError '...weight_scale_2'", "{again}", check_second},
    {"Q35", "parts that are run as one are whole blocks of FP8", "U: vllm* sglang",
     "start (1) + length (1) exceeds dimension size (1); Weight output_partition_size is not "
     "divisible by weight quantization block_n = 128",
     "ckpt convert IN OUT --to bf16", stated<check_parts_of_fp8>},
    {"Q31", "FP8 weights have their scale", "S: vllm* sglang tensorrt-llm llama.cpp",
     "scales are never filled: noise", "{again}", stated<check_bare>},
};

}  // namespace

std::span<const Check> scale_shape_checks() { return kScaleShapeChecks; }

}  // namespace ckpt
