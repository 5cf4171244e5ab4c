#include "transforms/to_gguf/general/general.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "core/base/find.h"
#include "core/model/json_documents.h"
#include "core/model/stack_name.h"
#include "core/readers/yaml.h"

namespace ckpt {
namespace {

using Text = std::optional<std::string>;

struct General {
  std::map<std::string_view, std::string> texts;  // by GeneralRow::key; the first value counts
  std::optional<std::vector<JsonValue>> base_models, datasets;  // objects
  std::vector<std::string> tags, languages;
};

// Keys general.*, and their fields in a model card.
struct GeneralRow {
  const char *key, *field, *other;  // other: "" if there is none
};
constexpr GeneralRow kGeneralRows[] = {
    {"name", "name", "model_name"},
    {"author", "author", "model_author"},
    {"version", "version", "model_version"},
    {"organization", "organization", "model_organization"},
    {"finetune", "finetune", "model_finetune"},
    {"basename", "basename", "model_basename"},
    {"description", "description", "model_description"},
    {"size_label", "size_label", "model_size_label"},
    {"license", "license", ""},
    {"license.name", "license_name", ""},
    {"license.link", "license_link", ""},
    {"source.url", "url", "model_url"},
    {"source.doi", "doi", "model_doi"},
    {"source.uuid", "uuid", "model_uuid"},
    {"source.repo_url", "repo_url", "model_repo_url"},
};

// The front matter of the model card; null if there is none.
Result<JsonValue> read_card(const Checkpoint& checkpoint) {
  const Document* card = checkpoint.find_document("README.md");
  const auto matter = card == nullptr ? std::nullopt : front_matter(card->text());
  return matter ? parse_yaml(*matter) : Result<JsonValue>(JsonValue());
}

// The texts of a text or a list; the reader of cards turns numbers into texts.
std::vector<std::string> texts_of(const JsonValue& value) {
  std::vector<std::string> out;
  for (const JsonValue& item : value.is_array() ? value : JsonValue::array({value})) {
    if (const auto* text = item.get_ptr<const std::string*>()) out.push_back(*text);
  }
  return out;
}

// Takes a field as one text; joins a list, as for licenses.
void take(const JsonValue& card, const char* field, const char* key, General& out) {
  const JsonValue* found = known(card, field);
  if (found == nullptr || !(found->is_string() || found->is_array())) return;
  out.texts.try_emplace(key, fmt::format("{}", fmt::join(texts_of(*found), ",")));
}

void extend(const JsonValue& card, const char* key, std::vector<std::string>& list) {
  const JsonValue* found = known(card, key);
  if (found != nullptr) std::ranges::move(texts_of(*found), std::back_inserter(list));
}

// Takes "ORG/NAME" from "https://huggingface.co/ORG/NAME".
Text hub_id(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    constexpr std::string_view kHost = "huggingface.co/";
    if (!url.starts_with(scheme) || !url.substr(scheme.size()).starts_with(kHost)) continue;
    const std::string_view id = url.substr(scheme.size() + kHost.size());
    const size_t slash = id.find('/');
    const bool is_id = slash != std::string_view::npos && slash > 0 && slash + 1 < id.size() &&
                       id.find('/', slash + 1) == std::string_view::npos;
    if (is_id) return std::string(id);
  }
  return std::nullopt;
}

// Describes another model or a dataset by its identifier or address.
JsonValue reference(const std::string& id, uint64_t total_values) {
  JsonValue out = JsonValue::object();
  const bool is_url =
      id.starts_with("http://") || id.starts_with("https://") || id.starts_with("ssh://");
  if (is_url) out["repo_url"] = id;
  const Text hub = is_url ? hub_id(id) : Text(id);
  if (!hub) return out;
  const NameComponents parts = name_components(*hub, total_values);
  if (parts.full_name) out["name"] = title_of(*parts.full_name);
  if (parts.organization) out["organization"] = title_of(*parts.organization);
  if (parts.version) out["version"] = *parts.version;
  if (!is_url && parts.organization && parts.full_name) {
    out["repo_url"] =
        fmt::format("https://huggingface.co/{}/{}", *parts.organization, *parts.full_name);
  }
  return out;
}

// The first existing key counts, even if it is null.
void take_references(const JsonValue& card, const std::array<const char*, 3>& keys,
                     uint64_t total_values, std::optional<std::vector<JsonValue>>& list) {
  const JsonValue* found = nullptr;
  for (const char* key : keys) {
    if (found == nullptr) found = member(card, key);
  }
  if (found == nullptr) return;
  list.emplace();
  const auto add = [&](const JsonValue& item) {
    if (const auto* text = item.get_ptr<const std::string*>()) {
      list->push_back(reference(*text, total_values));
    } else {
      list->push_back(item.is_object() ? item : JsonValue::object());
    }
  };
  if (found->is_string()) add(*found);
  if (found->is_array()) {
    for (const JsonValue& item : *found) add(item);
  }
}

void take_card(const JsonValue& card, uint64_t total_values, General& out) {
  for (const GeneralRow& row : kGeneralRows) take(card, row.field, row.key, out);
  for (const GeneralRow& row : kGeneralRows) {
    if (*row.other != '\0') take(card, row.other, row.key, out);
  }
  take(card, "model_creator", "author", out);
  take(card, "model_type", "basename", out);
  take_references(card, {"base_model", "base_models", "base_model_sources"}, total_values,
                  out.base_models);
  take_references(card, {"datasets", "dataset", "dataset_sources"}, total_values, out.datasets);
  extend(card, "tags", out.tags);
  extend(card, "pipeline_tag", out.tags);
  extend(card, "languages", out.languages);
  extend(card, "language", out.languages);
}

void take_name(std::string_view id, uint64_t total_values, General& out) {
  const NameComponents parts = name_components(id, total_values);
  const auto fill = [&](const char* key, const Text& text) {
    if (text) out.texts.try_emplace(key, *text);
  };
  if (parts.full_name) fill("name", title_of(*parts.full_name));
  if (parts.organization) fill("organization", title_of(*parts.organization));
  fill("basename", parts.basename);
  fill("finetune", parts.finetune);
  fill("version", parts.version);
  fill("size_label", parts.size_label);
}

void put_references(Metadata& metadata, const std::string& prefix,
                    const std::optional<std::vector<JsonValue>>& list) {
  if (!list) return;
  metadata.append(prefix + ".count", MetaValue::u32(list->size()));
  for (size_t i = 0; i < list->size(); ++i) {
    for (const char* field : {"name", "author", "version", "organization", "description", "url",
                              "doi", "uuid", "repo_url"}) {
      const std::string* text = text_of((*list)[i], field);
      if (text == nullptr || text->empty()) continue;
      // Its number makes the key new, so append() need not search all keys.
      metadata.entries.push_back(
          {fmt::format("{}.{}.{}", prefix, i, field), MetaValue::text(*text)});
    }
  }
}

void put_list(Metadata& metadata, const char* key, const std::vector<std::string>& list) {
  if (!list.empty()) metadata.append(key, MetaValue::array(make_text_array(list)));
}

constexpr SamplingKey kSamplingKeys[] = {
    {"sequence", "sequence", "", MetaType::kText},
    {"top_k", "top_k", "", MetaType::kI32},
    {"top_p", "top_p", "", MetaType::kF32},
    {"min_p", "min_p", "", MetaType::kF32},
    {"xtc_probability", "xtc_probability", "", MetaType::kF32},
    {"xtc_threshold", "xtc_threshold", "", MetaType::kF32},
    {"temp", "temperature", "", MetaType::kF32},
    {"penalty_last_n", "penalty_last_n", "", MetaType::kI32},
    {"penalty_repeat", "penalty_repeat", "repetition_penalty", MetaType::kF32},
    {"mirostat", "mirostat", "", MetaType::kI32},
    {"mirostat_tau", "mirostat_tau", "", MetaType::kF32},
    {"mirostat_eta", "mirostat_eta", "", MetaType::kF32},
};

void put_all(const General& general, Metadata& metadata) {
  for (const GeneralRow& row : kGeneralRows) {
    const std::string* text = find_mapped(general.texts, row.key);
    if (text == nullptr || text->empty()) continue;
    metadata.append(fmt::format("general.{}", row.key), MetaValue::text(*text));
  }
  put_references(metadata, "general.base_model", general.base_models);
  put_references(metadata, "general.dataset", general.datasets);
  put_list(metadata, "general.tags", general.tags);
  put_list(metadata, "general.languages", general.languages);
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
      if (name == nullptr) break;  // the count may be arbitrary
      out.base_models.push_back(*name);
    }
    return out;
  }
  CardFacts out;
  const Result<JsonValue> card = read_card(checkpoint);
  if (!card) return out;
  out.license = text_in(*card, "license");
  if (const JsonValue* base = known(*card, "base_model")) out.base_models = texts_of(*base);
  return out;
}

std::span<const SamplingKey> sampling_keys() { return kSamplingKeys; }

// A generation_config.json with invalid JSON is ignored (metadata.py load_generation_config).
Status add_sampling_keys(const Checkpoint& checkpoint, Metadata& metadata) {
  const auto read = read_object(checkpoint, "generation_config.json");
  if (!read || !*read) return {};
  const JsonValue& config = **read;
  for (const SamplingKey& row : kSamplingKeys) {
    const JsonValue* value = member(config, row.field);
    if (value == nullptr) value = member(config, row.other);
    if (value == nullptr || value->is_null()) continue;
    const std::string key = fmt::format("general.sampling.{}", row.key);
    const auto real = number(*value);
    const auto* text = value->get_ptr<const std::string*>();
    const bool is_i32 =
        real && *real == std::trunc(*real) && *real >= INT32_MIN && *real <= INT32_MAX;
    if (row.type == MetaType::kText && text != nullptr) {
      if (!text->empty()) metadata.append(key, MetaValue::text(*text));
    } else if (row.type == MetaType::kF32 && real) {
      metadata.append(key, MetaValue::f32(*real));
    } else if (row.type == MetaType::kI32 && is_i32) {
      metadata.append(key, MetaValue::i32(static_cast<int64_t>(*real)));
    } else {
      constexpr const char* kExpected[] = {"a text", "a number", "a whole number"};
      const int type = row.type == MetaType::kText ? 0 : row.type == MetaType::kF32 ? 1 : 2;
      return corrupt("generation_config.json: {} is {}; expected {}", row.field, value->dump(),
                     kExpected[type]);
    }
  }
  return {};
}

ParameterCount count_parameters(const std::vector<Tensor>& tensors) {
  ParameterCount out;
  uint64_t expert_sum = 0;
  uint64_t stacks = 0;
  for (const Tensor& tensor : tensors) {
    uint64_t values = tensor.values();
    for (const PartRule& part : tensor.codec->parts) values += part.tile_rows == 0 ? 1 : 0;
    out.total += values;
    if (const auto member = stack_member(tensor)) {
      out.shared += values - tensor.values();
      out.expert += member->number == 0 ? tensor.values() : 0;
      stacks += member->number == 0 ? 1 : 0;
      ++expert_sum;
      continue;
    }
    const bool is_stack = tensor.name.find("_exps.") != std::string::npos &&
                          tensor.shape.size() >= 3 && tensor.shape[tensor.shape.size() - 3] > 0;
    if (!is_stack) {
      out.shared += values;
      continue;
    }
    const uint64_t experts = tensor.shape[tensor.shape.size() - 3];
    out.expert += values / experts;
    expert_sum += experts;
    ++stacks;
  }
  out.experts = stacks == 0 ? 0 : expert_sum / stacks;
  return out;
}

Status add_general_keys(const Checkpoint& checkpoint, const std::vector<Tensor>& tensors,
                        const std::optional<std::string>& model_name, const Context& context,
                        Metadata& metadata) {
  const ParameterCount parameters = count_parameters(tensors);
  General general;
  if (const Result<JsonValue> card = read_card(checkpoint)) {
    take_card(*card, parameters.total, general);
  } else {
    context.note("README.md: its front matter was not read: {}", card.error().text());
  }
  CKPT_ASSIGN(const auto config, read_object(checkpoint, "config.json"));
  const std::string* path = config ? text_of(*config, "_name_or_path") : nullptr;
  if (path != nullptr && std::ranges::count(*path, '/') <= 1) {
    take_name(*path, parameters.total, general);
  }
  take_name(checkpoint.name, parameters.total, general);
  if (model_name) general.texts["name"] = *model_name;
  if (parameters.total > 0) general.texts.try_emplace("size_label", size_label(parameters));
  CKPT_TRY(add_sampling_keys(checkpoint, metadata));
  put_all(general, metadata);
  return {};
}

}  // namespace ckpt
