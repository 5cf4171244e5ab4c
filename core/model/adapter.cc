#include "core/model/adapter.h"

#include <algorithm>
#include <set>

#include "core/model/json_documents.h"

namespace ckpt {
namespace {

bool has_adapter_weights(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& tensor) {
    return tensor.name.find("lora_") != tensor.name.npos ||
           tensor.name.starts_with("base_model.model.");
  });
}

}  // namespace

bool has_inner_adapter(const Checkpoint& checkpoint) {
  constexpr std::string_view kInner = ".base_layer.weight";
  std::set<std::string_view> wrapped;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string_view name = tensor.name;
    if (name.ends_with(kInner)) wrapped.insert(name.substr(0, name.size() - kInner.size()));
  }
  return !wrapped.empty() && std::ranges::any_of(checkpoint.tensors, [&](const Tensor& tensor) {
    const size_t at = tensor.name.find(".lora_A.");
    return at != tensor.name.npos && wrapped.contains(std::string_view(tensor.name).substr(0, at));
  });
}

std::string adapter_words(const Checkpoint& checkpoint) {
  if (has_inner_adapter(checkpoint)) return {};
  const std::string* type = checkpoint.metadata.find_text("general.type");
  if (type != nullptr && *type == "adapter") {
    std::set<std::string_view> files;
    for (const Tensor& tensor : checkpoint.tensors) files.insert(tensor.home);
    return files.size() > 1 ? fmt::format("LoRA adapter in {} files", files.size())
                            : std::string("LoRA adapter");
  }
  const bool has_config = checkpoint.find_document("config.json") != nullptr;
  const Document* config = checkpoint.find_document("adapter_config.json");
  if (config == nullptr || (has_config && !has_adapter_weights(checkpoint))) return {};
  const auto json = config->values();
  const std::string* kind = json ? text_of(**json, "peft_type") : nullptr;
  const std::string* base = json ? text_of(**json, "base_model_name_or_path") : nullptr;
  return fmt::format("{} adapter{}", kind == nullptr || *kind == "LORA" ? "LoRA" : *kind,
                     base != nullptr ? fmt::format(" of '{}'", *base) : "");
}

Status require_model(const Checkpoint& checkpoint, std::string_view other) {
  if (has_inner_adapter(checkpoint)) {
    return unsupported_hint(
        "--step lora, to merge it, or --step lora:take=adapter, to write it as PEFT does",
        "a model with a LoRA adapter in its tensors");
  }
  const std::string what = adapter_words(checkpoint);
  if (what.empty()) return {};
  return unsupported_hint(
      fmt::format("{}, to merge it into its base model{}", kMergedAdapter, other),
      "a {}, not a model", what);
}

}  // namespace ckpt
