#include "transforms/modelopt_export/fp8_source.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "transforms/hf/quant_config.h"
#include "transforms/hf/quant_statement.h"
#include "transforms/packed/packed.h"

namespace ckpt {
namespace {

constexpr std::string_view kFp8Method = "fp8";
// Scales of activations that a folder of static FP8 has beside its weights.
constexpr std::string_view kStaticScales[] = {".input_scale", ".activation_scale"};

bool is_fp8_weight(const Tensor& tensor) {
  return tensor.has_scales() && is_fp8(tensor.codec->scheme);
}

Result<Tensor> decoded_fp8(Tensor tensor, const Codec& bf16) {
  CKPT_ASSIGN(tensor, recode(std::move(tensor), bf16));
  return with_op(std::move(tensor), RoundTo{Dtype::kBF16});
}

Status check_fp8_axes(const Tensor& tensor) {
  if (tensor.shape.size() == 2 && tensor.name.ends_with(kWeight)) return {};
  return fail_with_hint(ErrorCode::kUnsupported, "--step dequantize before it",
                        "tensor '{}': FP8 [{}]; expected the weight of one layer or one expert, "
                        "[outputs, inputs]",
                        tensor.name, fmt::join(tensor.shape, ", "));
}

// Servers that know moe_quant_algo take every other layer for FP8.
Status check_experts_alone(const Selection& selection, const Fp8Source& source,
                           const Checkpoint& checkpoint) {
  const std::string hint = "--preset experts-only-input-scale1, or no --rest";
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const std::string& name = checkpoint.tensors[i].name;
    const bool is_expert = is_of_expert(name);
    const bool is_selected = !selection.modules[i].empty();
    const bool was_fp8 = source.weights.count(name) != 0;
    if (is_selected && !is_expert) {
      return fail_with_hint(ErrorCode::kUnsupported, hint,
                            "rest=fp8: '{}' is no routed expert; beside FP8 that stays, servers "
                            "take NVFP4 of routed experts alone",
                            selection.modules[i]);
    }
    if (!is_selected && is_expert && was_fp8) {
      return fail_with_hint(ErrorCode::kUnsupported, hint,
                            "rest=fp8: '{}' would stay FP8; beside FP8 that stays, servers take "
                            "all routed experts as NVFP4 or none",
                            name);
    }
  }
  return {};
}

}  // namespace

Result<Checkpoint> take_fp8(Checkpoint checkpoint, const Context& context, Fp8Source& out) {
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (statement.method != kFp8Method) return checkpoint;
  out.said = statement.said;
  CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  const Codec& bf16 = plain_codec(context.codecs, Dtype::kBF16);
  std::vector<Tensor> tensors;
  uint64_t activations = 0;
  for (Tensor& tensor : checkpoint.tensors) {
    if (ends_with_any(tensor.name, kStaticScales)) {
      ++activations;
      continue;
    }
    if (is_fp8_weight(tensor) || is_unpacked(tensor)) {
      CKPT_TRY(check_fp8_axes(tensor));
      out.weights.emplace(tensor.name, tensor);
      CKPT_ASSIGN(tensor, decoded_fp8(std::move(tensor), bf16));
    }
    tensors.push_back(std::move(tensor));
  }
  checkpoint.tensors = std::move(tensors);
  if (activations > 0) {
    context.note(fmt::format("{} scales of FP8 activations are left out", activations));
  }
  CKPT_TRY(remove_quant_config(checkpoint));
  return checkpoint;
}

Status keep_fp8(Checkpoint& checkpoint, const Fp8Source& source, const Selection& selection,
                const ExportOptions& options, const Context& context) {
  if (options.keeps_fp8) {
    if (source.weights.empty()) {
      return fail_with_hint(ErrorCode::kUsage, "the same without it",
                            "rest=fp8: the checkpoint has no FP8 weights");
    }
    CKPT_TRY(check_experts_alone(selection, source, checkpoint));
  }
  uint64_t count = 0;
  std::string first;
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    Tensor& tensor = checkpoint.tensors[i];
    const auto found = source.weights.find(tensor.name);
    if (found == source.weights.end() || !selection.modules[i].empty()) continue;
    if (count++ == 0) first = tensor.name;
    if (!options.keeps_fp8) continue;
    if (is_unpacked(found->second)) {
      return fail_with_hint(ErrorCode::kUnsupported, "no --rest, which makes it BF16",
                            "rest=fp8: '{}' has scales of a kind that can only be decoded",
                            tensor.name);
    }
    tensor = found->second;
  }
  if (count == 0) return {};
  context.note(fmt::format("{} weights of FP8 stay unquantized, as {} (the first: '{}')", count,
                           options.keeps_fp8 ? "FP8 with the same bytes" : "BF16", first));
  if (options.keeps_fp8) {
    context.note(
        "FP8 beside experts of NVFP4 is DeepSeek-V4's layout (moe_quant_algo); "
        "vLLM 0.17 takes none such: without rest=fp8 the layers become BF16");
  }
  return {};
}

Status write_fp8_config(Checkpoint& checkpoint, const Fp8Source& source) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (!config) return {};
  JsonText said = source.said;
  said.set("moe_quant_algo", JsonText::text("NVFP4"));
  config->set("quantization_config", std::move(said));
  checkpoint.set_document("config.json", config->dump(2) + "\n");
  return {};
}

}  // namespace ckpt
