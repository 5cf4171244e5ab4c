// License and origin from a model card, for callers that only show them.
#include "core/readers/yaml.h"
#include "transforms/to_gguf/general/general.h"

namespace ckpt {
namespace {

CardFacts facts_of_card(const JsonValue& card) {
  CardFacts out;
  out.license = text_in(card, "license");
  const JsonValue* base = known(card, "base_model");
  if (base == nullptr) return out;
  for (const JsonValue& model : base->is_array() ? *base : JsonValue::array({*base})) {
    if (model.is_string()) out.base_models.push_back(model.get<std::string>());
  }
  return out;
}

}  // namespace

CardFacts card_facts(const Checkpoint& checkpoint) {
  if (checkpoint.format == "gguf") {
    CardFacts out;
    const Metadata& metadata = checkpoint.metadata;
    if (const std::string* license = metadata.find_text("general.license")) out.license = *license;
    const uint64_t count = metadata.find_unsigned("general.base_model.count").value_or(0);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string key = fmt::format("general.base_model.{}.", i);
      const std::string* name = metadata.find_text(key + "repo_url");
      if (name == nullptr) name = metadata.find_text(key + "name");
      if (name == nullptr) break;  // the count may be anything
      out.base_models.push_back(*name);
    }
    return out;
  }
  const Document* card = checkpoint.find_document("README.md");
  const auto matter = card == nullptr ? std::nullopt : front_matter(card->text());
  const Result<JsonValue> parsed = matter ? parse_yaml(*matter) : Result<JsonValue>(JsonValue());
  return parsed ? facts_of_card(*parsed) : CardFacts{};
}

}  // namespace ckpt
