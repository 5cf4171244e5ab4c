// Implements --like: rewrites the class in config.json to one that a table has (like.h).
#include "transforms/facts/like.h"

#include <algorithm>
#include <set>

#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "models/models.h"

namespace ckpt {
namespace {

// Finds the family of a class, a model type or a family name, in this order, because several
// families share a name.
const Family& family_like(std::string_view name) {
  for (const auto words : {&Family::architectures, &Family::model_types, &Family::name}) {
    for (const Family* family : families()) {
      if (has_word(family->*words, name)) return *family;
    }
  }
  CKPT_CHECK(false);
}

void set_class(JsonText& level, std::string_view architecture, std::string_view type) {
  level.set("architectures", JsonText::texts({std::string(architecture)}));
  level.set("model_type", JsonText::text(type));
}

}  // namespace

std::vector<std::string> like_names() {
  std::set<std::string_view> out;
  for (const Family* family : families()) {
    for (const auto words : {&Family::architectures, &Family::model_types, &Family::name}) {
      for (const std::string_view word : split_words(family->*words)) out.insert(word);
    }
  }
  return {out.begin(), out.end()};
}

std::string class_like(const Family& family, std::string_view name, bool has_towers) {
  const std::vector<std::string_view> classes = split_words(family.architectures);
  if (std::ranges::find(classes, name) != classes.end()) return std::string(name);
  const auto fits = std::ranges::find_if(classes, [&](std::string_view one) {
    return one.ends_with("ForConditionalGeneration") == has_towers;
  });
  return std::string(fits == classes.end() ? classes.front() : *fits);
}

Status make_like(Checkpoint& checkpoint, std::string_view name) {
  CKPT_ASSIGN(auto config, read_json(checkpoint, "config.json"));
  if (!config) return misuse("no config.json, which --like {} would change", name);
  const Family& family = family_like(name);
  JsonText& root = config->root;
  const std::vector<std::string_view> types = split_words(family.model_types);
  const std::string made = class_like(family, name, root.find_object("vision_config") != nullptr);
  JsonText* thinker = root.find_object("thinker_config");
  bool has_text = false;
  for (const std::string_view key : kTextParts) {
    for (JsonText* outer : {&root, thinker}) {
      JsonText* text = outer == nullptr ? nullptr : outer->find_object(key);
      if (text != nullptr) set_class(*text, made, types.front());
      has_text = has_text || text != nullptr;
    }
  }
  set_class(root, made, has_text ? types.back() : types.front());
  write_json(checkpoint, "config.json", *config);
  return {};
}

}  // namespace ckpt
