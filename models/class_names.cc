// Reads data/class_names.txt, which translates names of tensors in classes of transformers.
#include "models/class_names.h"

#include <algorithm>
#include <optional>

#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"

namespace ckpt {

extern const std::string_view kClassNames;  // data/class_names.txt

namespace {

// A name may need several rows, one after the other: for a tower, for its layers, for a module.
constexpr int kMaxNameRules = 3;

// Replaces the part `from` of `name` by `to`. nullopt: `name` does not contain it.
std::optional<std::string> renamed(const std::string& name, std::string_view from,
                                   std::string_view to) {
  const bool is_start = from.starts_with('^') || to.starts_with('^');
  for (std::string_view* word : {&from, &to}) word->remove_prefix(word->starts_with('^') ? 1 : 0);
  const size_t at = name.find(from);
  if (at == name.npos || (is_start && at != 0)) return std::nullopt;
  std::string out = name;
  out.replace(at, from.size(), to);
  return out;
}

// The model_type at the root of config.json and in each of its objects.
std::vector<std::string> model_types_of(const Checkpoint& model) {
  std::vector<std::string> out;
  const auto config = read_object(model, "config.json").value_or(nullptr);
  if (config == nullptr) return out;
  out.emplace_back(text_in(*config, "model_type"));
  for (const JsonValue& part : *config) {
    if (part.is_object()) out.emplace_back(text_in(part, "model_type"));
  }
  return out;
}

using Part = std::string_view ClassName::*;

// All names that rows make of `tensor`, in any order of the rows.
std::vector<std::string> other_names(const std::string& tensor,
                                     const std::vector<ClassName>& words, Part from, Part to) {
  std::vector<std::string> out = {tensor};
  size_t first = 0;
  for (int step = 0; step < kMaxNameRules; ++step) {
    const size_t end = out.size();
    for (; first < end; ++first) {
      for (const ClassName& each : words) {
        auto other = renamed(out[first], each.*from, each.*to);
        if (other && std::ranges::find(out, *other) == out.end()) out.push_back(std::move(*other));
      }
    }
  }
  out.erase(out.begin());
  return out;
}

}  // namespace

std::vector<ClassName> class_names_of(const Checkpoint& model) {
  const std::vector<std::string> types = model_types_of(model);
  std::vector<ClassName> out;
  for (const auto& row : table_rows(kClassNames, 3)) {
    const auto is_listed = [&](const std::string& type) { return has_word(row[2], type); };
    if (row[2] == "*" || std::ranges::any_of(types, is_listed)) out.push_back({row[0], row[1]});
  }
  return out;
}

std::vector<std::string> file_names(const std::string& tensor,
                                    const std::vector<ClassName>& words) {
  return other_names(tensor, words, &ClassName::in_class, &ClassName::in_file);
}

std::vector<std::string> names_in_class(const std::string& tensor,
                                        const std::vector<ClassName>& words) {
  return other_names(tensor, words, &ClassName::in_file, &ClassName::in_class);
}

}  // namespace ckpt
