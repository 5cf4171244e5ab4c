// model.safetensors.index.json: which file each tensor is in.
//
//   {
//     "metadata": {
//       "total_parameters": 123,
//       "total_size": 246
//     },
//     "weight_map": {
//       "lm_head.weight": "model-00002-of-00002.safetensors",
//       ...
//     }
//   }
//
// Written as transformers does (src/transformers/modeling_utils.py): two spaces, keys sorted, ASCII
// only, one newline at the end. Readers must not trust metadata: total_size is wrong in many files.
#include <algorithm>

#include "core/base/utf8.h"
#include "core/json/json_string.h"
#include "formats/json_events.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace {

// Takes weight_map and the numbers and texts of metadata; walks over everything else.
class IndexEvents final : public JsonEvents {
 public:
  SafetensorsIndex index;
  bool saw_weight_map = false;

  bool scalar(std::string_view spelling) override {
    const bool is_text = spelling[0] == '"';
    if (is_text && in_weight_map()) {
      index.weight_map.emplace_back(key_, json_unquoted(spelling));
      return true;
    }
    if (in_metadata()) {
      const auto number = whole_number(spelling);
      if (number) index.metadata.entries.push_back({key_, MetaValue{MetaType::kU64, *number}});
      if (is_text) {
        index.metadata.entries.push_back({key_, MetaValue::text(json_unquoted(spelling))});
      }
    }
    return value();
  }

  bool key(std::string_view spelling) override {
    key_ = json_unquoted(spelling);
    if (depth_ == 1) section_ = key_;
    return true;
  }

  bool open(char bracket, size_t) override {
    if (depth_ == 1 && section_ == "weight_map" && bracket == '{') {
      saw_weight_map = true;
    } else if (!value()) {
      return false;
    }
    if (depth_ == 1 && section_ == "metadata" && bracket == '{') index.has_metadata = true;
    ++depth_;
    return true;
  }
  bool close(size_t) override {
    --depth_;
    return true;
  }

 private:
  bool in_metadata() const { return depth_ == 2 && section_ == "metadata"; }
  bool in_weight_map() const { return depth_ == 2 && section_ == "weight_map"; }

  // A value of any kind: fine, but not inside weight_map and not instead of the root object.
  bool value() {
    if (in_weight_map()) {
      return refuse(fmt::format("weight_map: '{}' is not the name of a file", shorten(key_)));
    }
    return true;
  }

  size_t depth_ = 0;
  std::string section_, key_;
};

// The file must be in the folder itself or below it.
bool is_safe_path(const std::string& path) {
  const std::filesystem::path relative(path);
  if (path.empty() || relative.is_absolute() || path.find('\0') != std::string::npos) return false;
  return std::ranges::none_of(relative, [](const std::filesystem::path& step) {
    return step == ".." || step == "." || step.empty();
  });
}

std::string json_of(const MetaValue& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr ? json_quoted(*text, JsonEscape::kPython)
                         : std::to_string(std::get<uint64_t>(value.value));
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Keys, sorted, and values in JSON: the members of one object, indented, without the braces.
void append_pairs(std::string& out, Pairs& members) {
  std::ranges::sort(members);
  const char* separator = "\n    ";
  for (const auto& [key, value] : members) {
    out += separator;
    append_json_text(out, key, JsonEscape::kPython);
    out += ": " + value;
    separator = ",\n    ";
  }
  if (!members.empty()) out += "\n  ";
}

}  // namespace

Result<SafetensorsIndex> parse_index(std::string_view json) {
  IndexEvents events;
  CKPT_TRY(events.run(json));
  if (!events.saw_weight_map) {
    return corrupt("no object 'weight_map'; expected tensor and file names");
  }
  for (const auto& [tensor, file] : events.index.weight_map) {
    if (!is_safe_path(file)) {
      return corrupt("weight_map: tensor '{}' is in '{}'; expected a file name", shorten(tensor),
                     shorten(file));
    }
  }
  return std::move(events.index);
}

std::string render_index(const Metadata& metadata, Pairs entries) {
  Pairs sums;
  for (const MetaEntry& entry : metadata.entries)
    sums.emplace_back(entry.key, json_of(entry.value));
  for (auto& [tensor, file] : entries) file = json_quoted(file, JsonEscape::kPython);
  std::string out = "{\n  \"metadata\": {";
  append_pairs(out, sums);
  out += "},\n  \"weight_map\": {";
  append_pairs(out, entries);
  out += "}\n}\n";
  return out;
}

}  // namespace ckpt
