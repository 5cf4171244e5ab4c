
#include <algorithm>

#include "core/base/name_list.h"
#include "core/model/json_documents.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {
namespace {

void append_missing(JsonText& list, const std::vector<std::string>& modules,
                    const std::vector<std::string>& quantized, bool globs) {
  std::vector<std::string> entries;
  for (const JsonText& item : list.items()) entries.push_back(item.as_text().value_or(""));
  // compressed-tensors' entries are whole names, or "re:" and a pattern that is not looked into.
  const NameList covered(std::move(entries));
  std::vector<std::string> missing;
  std::copy_if(modules.begin(), modules.end(), std::back_inserter(missing),
               [&](const std::string& module) { return !covered.matches(module); });
  if (globs) missing = summarize_excluded(missing, quantized);
  for (const std::string& entry : missing) list.items().push_back(JsonText::text(entry));
}

// The array `key` of `object`, made when it is absent; null when it is something else.
JsonText* list_of(JsonText& object, std::string_view key) {
  if (object.find(key) == nullptr) object.set(key, JsonText::array());
  JsonText* list = object.find(key);
  return list->is_array() ? list : nullptr;
}

}  // namespace

Status declare_unquantized(Checkpoint& checkpoint, const std::vector<std::string>& modules,
                           const std::vector<std::string>& quantized) {
  if (modules.empty()) return {};
  CKPT_ASSIGN(std::optional<JsonDocument> own, read_json(checkpoint, kQuantConfigName));
  JsonText* section = own ? own->root.find("quantization") : nullptr;
  if (section != nullptr && section->is_object()) {
    const bool is_mixed = section->find_text("quant_algo") == kMixedPrecision;
    const bool has_list = section->find("exclude_modules") != nullptr;
    JsonText* list = is_mixed && !has_list ? nullptr : list_of(*section, "exclude_modules");
    if (list != nullptr) append_missing(*list, modules, quantized, true);
    write_json(checkpoint, kQuantConfigName, *own);
  }
  CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, "config.json"));
  JsonText* embedded = config ? config->root.find("quantization_config") : nullptr;
  if (embedded == nullptr || !embedded->is_object()) return {};
  const bool globs = embedded->find_text("quant_method") != "compressed-tensors";
  if (JsonText* list = list_of(*embedded, "ignore")) {
    append_missing(*list, modules, quantized, globs);
  }
  write_json(checkpoint, "config.json", *config);
  return {};
}

}  // namespace ckpt
