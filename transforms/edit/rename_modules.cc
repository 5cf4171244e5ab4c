#include "transforms/edit/rename_modules.h"

#include <algorithm>

#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr std::string_view kExpressionMark = "re:";
constexpr std::string_view kModuleLists[] = {"ignore", "exclude_modules", "modules_to_not_convert",
                                             "targets"};

// A module: by the name of its weight, or as the front of longer names ("model.layers.0").
std::optional<std::string> renamed_module(const std::string& name, const NewName& rename) {
  const auto weight = rename(name + std::string(kWeight));
  if (weight && weight->ends_with(kWeight)) {
    return module_of(*weight);
  }
  return std::nullopt;
}

// A glob "name*": by what stands before the star.
std::optional<std::string> renamed_glob(const std::string& entry, const NewName& rename) {
  const size_t star = entry.find_first_of("*?[");
  const std::string front = entry.substr(0, star);
  if (front.empty()) return std::nullopt;
  if (const auto out = rename(front)) return *out + entry.substr(star);
  // "model*" of the prefix "model."
  if (const auto out = rename(front + "."); out && out->ends_with('.')) {
    return out->substr(0, out->size() - 1) + entry.substr(star);
  }
  return std::nullopt;
}

// "re:^model\.layers\..*": by the name that the expression begins with, dots escaped or not.
std::optional<std::string> renamed_expression(const std::string& entry, const NewName& rename) {
  size_t at = kExpressionMark.size();
  if (at < entry.size() && entry[at] == '^') ++at;
  const bool escapes = entry.find("\\.") != entry.npos;
  std::string front;
  size_t end = at;
  while (end < entry.size()) {
    if (entry.compare(end, 2, "\\.") == 0) {
      front += '.';
      end += 2;
    } else if (std::isalnum(static_cast<unsigned char>(entry[end])) != 0 || entry[end] == '_' ||
               (entry[end] == '.' && !escapes && entry.compare(end, 2, ".*") != 0)) {
      front += entry[end++];
    } else {
      break;
    }
  }
  if (front.empty()) return std::nullopt;
  const bool is_whole = end == entry.size() || entry.substr(end) == "$";
  const auto out = is_whole ? renamed_module(front, rename) : rename(front);
  if (!out) return std::nullopt;
  std::string spelled;
  for (const char c : *out) spelled += c == '.' && escapes ? "\\." : std::string(1, c);
  return entry.substr(0, at) + spelled + entry.substr(end);
}

class Renaming {
 public:
  Renaming(const NewName& rename, RenamedModules& out) : rename_(rename), out_(out) {}

  // What config.json says of quantization, or its text_config.
  void walk_statements(JsonText& config) {
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      JsonText* quant = config.find(key);
      if (quant != nullptr) walk(*quant);
    }
  }

  void walk(JsonText& root) {
    for (auto& [key, value] : root.members()) {
      if (std::find(std::begin(kModuleLists), std::end(kModuleLists), key) !=
          std::end(kModuleLists)) {
        for (JsonText& item : value.items()) {
          const auto entry = item.as_text();
          if (!entry) continue;
          if (const auto name = renamed(*entry)) item = JsonText::text(*name);
        }
      } else if (key == "quantized_layers") {
        for (auto& [name, layer] : value.members()) name = renamed(name).value_or(name);
      } else if (value.is_object()) {
        walk(value);
      }
    }
  }

 private:
  std::optional<std::string> renamed(const std::string& entry) {
    const bool is_expression = entry.starts_with(kExpressionMark);
    const bool is_glob = !is_expression && entry.find_first_of("*?[") != entry.npos;
    const auto name = is_expression ? renamed_expression(entry, rename_)
                      : is_glob     ? renamed_glob(entry, rename_)
                                    : renamed_module(entry, rename_);
    if (name && *name != entry) {
      ++out_.renamed;
      return name;
    }
    const bool is_anywhere = entry.starts_with('*') || entry.starts_with("re:.*");
    if (!name && (is_expression || is_glob) && !is_anywhere) out_.unclear.push_back(entry);
    return std::nullopt;
  }

  const NewName& rename_;
  RenamedModules& out_;
};

}  // namespace

Result<RenamedModules> rename_quant_modules(Checkpoint& checkpoint, const NewName& rename) {
  RenamedModules out;
  Renaming renaming(rename, out);
  for (const std::string_view path : {"hf_quant_config.json", "config.json"}) {
    CKPT_ASSIGN(std::optional<JsonDocument> document, read_json(checkpoint, path));
    if (!document) continue;
    const uint64_t before = out.renamed;
    if (path == "hf_quant_config.json") {
      renaming.walk(document->root);
    } else {
      renaming.walk_statements(document->root);
      JsonText* text = document->root.find("text_config");
      if (text != nullptr) renaming.walk_statements(*text);
    }
    if (out.renamed != before) write_json(checkpoint, path, *document);
  }
  return out;
}

}  // namespace ckpt
