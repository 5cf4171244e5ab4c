// Shows the values of metadata and JSON documents that a patch changes, before and after.
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/utf8.h"
#include "core/json/json_edit.h"
#include "tools/say/meta_text.h"
#include "tools/say/preview.h"

namespace ckpt {
namespace {

struct ValueChange {
  std::string file, key, type;  // file within a folder; type of the new value in GGUF
  std::string before, after;    // empty: the key is absent
  Json json_before, json_after;
};

void compare_entries(const std::string& file, const Metadata& before, const Metadata& after,
                     std::vector<ValueChange>& out) {
  std::unordered_map<std::string_view, const MetaValue*> old;
  for (const MetaEntry& entry : before.entries) old.emplace(entry.key, &entry.value);
  for (const MetaEntry& entry : after.entries) {
    const auto found = old.find(entry.key);
    const MetaValue* was = found == old.end() ? nullptr : found->second;
    if (was != nullptr) old.erase(found);
    if (was != nullptr && *was == entry.value) continue;
    ValueChange& change = out.emplace_back();
    change = {file,
              entry.key,
              file.empty() ? meta_type_name(entry.value) : "",
              "",
              meta_text(entry.value),
              {},
              meta_json(entry.value)};
    if (was == nullptr) continue;
    change.before = meta_text(*was);
    change.json_before = meta_json(*was);
    if (file.empty() && was->type != entry.value.type) {
      change.before += fmt::format(" ({})", meta_type_name(*was));
    }
  }
  for (const MetaEntry& entry : before.entries) {
    if (old.find(entry.key) == old.end()) continue;
    out.push_back({file, entry.key, "", meta_text(entry.value), "", meta_json(entry.value), {}});
  }
}

std::string json_text(const JsonText& json) { return shorten(json.dump(0), 120); }

ValueChange json_change(const std::string& file, const std::string& key, const JsonText* before,
                        const JsonText* after) {
  ValueChange change{file, key, "", "", "", {}, {}};
  if (before != nullptr) {
    change.before = json_text(*before);
    change.json_before = Json(before->value());
  }
  if (after != nullptr) {
    change.after = json_text(*after);
    change.json_after = Json(after->value());
  }
  return change;
}

// Compares documents that are JSON on both sides; vocabularies are not compared token by token.
void compare_documents(const Checkpoint& before, const Checkpoint& after,
                       std::vector<ValueChange>& out) {
  std::map<std::string_view, const Document*> old;
  for (const Document& document : before.documents) old.emplace(document.path, &document);
  for (const Document& document : after.documents) {
    const auto found = old.find(document.path);
    const bool is_json = document.path.ends_with(".json") && document.path != "tokenizer.json";
    if (found == old.end() || !is_json || found->second->text() == document.text()) continue;
    const auto from = found->second->tree(), to = document.tree();
    if (!from || !to) continue;
    const auto add = [&](const std::string& key, const JsonText* now, const JsonText* was) {
      out.push_back(json_change(document.path, key, was, now));
    };
    visit_differences(**to, **from, add);
  }
}

}  // namespace

void show_changed_values(const Console& console, const Checkpoint& before, const Checkpoint& after,
                         size_t most) {
  std::vector<ValueChange> changes;
  compare_entries("", before.metadata, after.metadata, changes);
  std::map<std::string_view, const Metadata*> old;
  for (const auto& [file, metadata] : before.file_metadata) old.emplace(file, &metadata);
  for (const auto& [file, metadata] : after.file_metadata) {
    const auto found = old.find(file);
    if (found != old.end()) compare_entries(file, *found->second, metadata, changes);
  }
  compare_documents(before, after, changes);
  for (size_t i = 0; i < changes.size(); ++i) {
    const ValueChange& change = changes[i];
    if (i < most) {
      console.answer("{}{}: {} → {}{}", change.file.empty() ? "" : change.file + ":", change.key,
                     change.before.empty() ? "absent" : change.before,
                     change.after.empty() ? "removed" : change.after,
                     change.type.empty() ? "" : fmt::format(" ({})", change.type));
    }
    Json object{{"key", change.key}, {"before", change.json_before}, {"after", change.json_after}};
    if (!change.file.empty()) object["file"] = change.file;
    if (!change.type.empty()) object["value_type"] = change.type;
    console.object("change", std::move(object));
  }
  if (changes.size() > most) console.answer("... {} more", changes.size() - most);
}

}  // namespace ckpt
