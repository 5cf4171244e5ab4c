#include "transforms/facts/torch_dtype.h"

#include <algorithm>

#include "core/model/json_documents.h"

namespace ckpt {

std::string_view torch_name(const Codec& codec) {
  const std::optional<Dtype> dtype = plain_dtype(codec);
  if (dtype == Dtype::kBF16) return "bfloat16";
  if (dtype == Dtype::kF16) return "float16";
  return dtype == Dtype::kF32 ? "float32" : "";
}

bool says_dtype(const JsonText& level) {
  return std::ranges::any_of(kDtypeKeys,
                             [&](std::string_view key) { return level.find(key) != nullptr; });
}

bool change_dtype(JsonText& level, std::string_view name) {
  bool changed = false;
  for (const std::string_view key : kDtypeKeys) {
    if (level.find(key) == nullptr || level.find_text(key) == name) continue;
    level.set(key, JsonText::text(name));
    changed = true;
  }
  return changed;
}

Status set_config_dtype(Checkpoint& checkpoint, const Codec& codec) {
  CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, "config.json"));
  if (!config) return {};
  for (JsonText* scope : {&config->root, config->root.find_object("text_config")}) {
    if (scope != nullptr) change_dtype(*scope, torch_name(codec));
  }
  write_json(checkpoint, "config.json", *config);
  return {};
}

}  // namespace ckpt
