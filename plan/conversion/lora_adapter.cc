#include "plan/conversion/lora_adapter.h"

#include <algorithm>

#include "core/json/json_edit.h"
#include "plan/conversion/added_steps.h"

namespace ckpt {
namespace {

constexpr std::string_view kConfig = "adapter_config.json";

bool has_adapter_weights(const Checkpoint& checkpoint) {
  return std::any_of(
      checkpoint.tensors.begin(), checkpoint.tensors.end(),
      [](const Tensor& tensor) { return tensor.name.find("lora_") != tensor.name.npos; });
}

// "LoRA adapter of 'ORG/NAME'"
std::string describe(const Document& config) {
  const auto json = config.values();
  const std::string* kind = json ? text_of(**json, "peft_type") : nullptr;
  const std::string* base = json ? text_of(**json, "base_model_name_or_path") : nullptr;
  return fmt::format("{} adapter{}", kind == nullptr || *kind == "LORA" ? "LoRA" : *kind,
                     base != nullptr ? fmt::format(" of '{}'", *base) : "");
}

}  // namespace

Status check_whole_model(const Checkpoint& checkpoint, const Conversion& conversion,
                         const Context& context) {
  const Document* config = checkpoint.find_document(kConfig);
  if (config == nullptr || !has_adapter_weights(checkpoint)) return {};
  const auto needs_model = [](const std::filesystem::path& out, std::string_view type) {
    return is_gguf_path(out) || is_export_type(type);
  };
  const std::string what = describe(*config);
  const bool is_refused =
      needs_model(conversion.out, conversion.to) ||
      std::any_of(conversion.also.begin(), conversion.also.end(),
                  [&](const AlsoOutput& also) { return needs_model(also.out, also.to); });
  if (!is_refused) {
    context.note(fmt::format("{} is a {}, no whole model; it is copied as one",
                             conversion.in.string(), what));
    return {};
  }
  return fail_with_hint(ErrorCode::kUnsupported,
                        "the folder that peft's merge_and_unload() and save_pretrained() make of "
                        "it and its base model",
                        "{}: a {}, no whole model", conversion.in.string(), what);
}

}  // namespace ckpt
