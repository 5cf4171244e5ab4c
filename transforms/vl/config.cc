#include "transforms/vl/config.h"

#include <algorithm>
#include <ranges>

#include "models/models.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/facts/torch_dtype.h"

namespace ckpt {
namespace {

// Members that say something about the file, not about the text model.
constexpr std::string_view kTopKeys[] = {
    "architectures",      "model_type", "transformers_version", "quantization_config",
    "compression_config", "auto_map",   "_name_or_path",        "vision_config"};
// Members of BASE's config.json that describe its own text model or file, so a wrapper does not
// take them.
constexpr std::string_view kNotFromBase[] = {
    "architectures",       "model_type",          "transformers_version",
    "quantization_config", "torch_dtype",         "dtype",
    "compression_config",  "tie_word_embeddings", "_name_or_path"};
constexpr std::string_view kVlVersion = "transformers_version";

template <class Keys>
bool contains(const Keys& keys, std::string_view key) {
  return std::ranges::find(keys, key) != std::end(keys);
}

bool is_token_key(const VlFamily& family, std::string_view key) {
  return std::ranges::any_of(family.tokens, [&](const VlToken& token) { return token.key == key; });
}

bool is_top_key(const VlFamily& family, const JsonText& top_members, std::string_view key) {
  return contains(kTopKeys, key) || is_token_key(family, key) || top_members.find(key) != nullptr;
}

JsonText top_members_of(const VlFamily& family) {
  return family.top_members.empty() ? JsonText::object() : parse_own(family.top_members);
}

const JsonText* nested_text(const JsonText& config) {
  for (const std::string_view key : kTextParts) {
    if (const JsonText* text = config.find_object(key)) return text;
  }
  return nullptr;
}

Result<std::string> model_type_of(const JsonText& config) {
  const auto model_type = config.find_text("model_type");
  if (!model_type) {
    return corrupt("config.json: no model_type; expected one, as {}",
                   all_vl_families().front().texts.front().outside);
  }
  return *model_type;
}

Result<std::string> architecture_of(const JsonText& config) {
  const JsonText* all = config.find("architectures");
  const bool has_one = all != nullptr && all->items().size() == 1;
  const auto name = has_one ? all->items()[0].as_text() : std::nullopt;
  if (!name) return corrupt("config.json: no architectures; expected one, as Qwen3_5ForCausalLM");
  return *name;
}

Status check_nesting(const JsonText& config) {
  const JsonText* text = nested_text(config);
  if (text == nullptr || nested_text(*text) == nullptr) return {};
  return corrupt("config.json: the text model's configuration is nested twice; expected once");
}

std::string names_of(const std::vector<const VlFamily*>& families) {
  return fmt::format("{}",
                     fmt::join(families | std::views::transform(&VlFamily::model_type), ", "));
}

Result<const VlFamily*> choose(const std::string& model_type, const VlFamily* base) {
  const std::vector<const VlFamily*> families = vl_families_for_text(model_type);
  if (families.empty()) {
    return unsupported(
        "config.json: model_type '{}' is that of no text model whose vision-language wrapper is "
        "known",
        model_type);
  }
  if (base != nullptr) {
    if (std::ranges::find(families, base) != families.end()) return base;
    return misuse("BASE is a {}; a {} model goes into {}", base->model_type, model_type,
                  names_of(families));
  }
  if (families.size() == 1) return families[0];
  return misuse_hint("--step vl-wrap:with=BASE, a folder of the family that is meant",
                     "config.json: a {} model goes into {}; expected one family", model_type,
                     names_of(families));
}

// The row for a wrapper's text: by its own model_type, or the family's only one.
Result<const VlText*> text_row(const VlFamily& family, const JsonText& config) {
  const JsonText* text = nested_text(config);
  const std::string inner = text == nullptr ? "" : text->find_text("model_type").value_or("");
  if (const VlText* row = find_vl_text(family, inner)) return row;
  if (family.texts.size() == 1) return &family.texts[0];
  return unsupported("config.json: a {} around a text model of model_type '{}', which is not known",
                     family.model_type, inner);
}

// A mixture of experts under the name of the dense model would be loaded as one.
Status check_experts(const JsonText& config, const VlFamily& family) {
  const JsonText* nested = nested_text(config);
  const JsonText& text = nested == nullptr ? config : *nested;
  const std::string moe = std::string(family.model_type) + "_moe";
  if (text.find_whole("num_experts").value_or(0) == 0 || find_vl_family(moe) == nullptr) return {};
  return corrupt("config.json: num_experts in a {}; expected a {}", family.model_type, moe);
}

Status check_class(const JsonText& config, const VlModel& model) {
  CKPT_ASSIGN(const std::string name, architecture_of(config));
  if (name == model.text->architecture || name == model.family->architecture) {
    return check_experts(config, *model.family);
  }
  return unsupported("config.json: architectures says '{}'; expected {} or {}", name,
                     model.text->architecture, model.family->architecture);
}

Status check_base_width(const JsonText& text, const JsonText& base_text) {
  const auto ours = text.find_whole("hidden_size"), theirs = base_text.find_whole("hidden_size");
  if (!ours || !theirs || *ours == *theirs) return {};
  return misuse("BASE is for a text model of hidden_size {}; this one has {}", *theirs, *ours);
}

Status check_out_size(const JsonText& vision, const JsonText& text, const VlFamily& family) {
  const auto out = vision.find_whole(family.out_size_key), width = text.find_whole("hidden_size");
  if (family.out_size_key.empty() || !out || !width || *out == *width) return {};
  return corrupt("vision_config: {} {}; the text model's hidden_size is {}", family.out_size_key,
                 *out, *width);
}

// A config.json in two levels; flat and half-wrapped ones are sorted into them.
struct VlConfig {
  JsonText top, text;
  bool was_nested = false;
};
VlConfig split_vl_config(const JsonText& config, const VlFamily& family) {
  VlConfig out{JsonText::object(), JsonText::object(), false};
  const JsonText* text = nested_text(config);
  out.was_nested = text != nullptr;
  if (text != nullptr) out.text = *text;
  const bool has_rope =
      std::ranges::any_of(out.text.members(), is_rope_key, &JsonText::Member::first);
  const JsonText top_members = top_members_of(family);
  for (const auto& [key, value] : config.members()) {
    if (&value == text || (key == family.text_key && value.is_null())) continue;
    const bool is_stray_rope = out.was_nested && is_rope_key(key);
    if (is_stray_rope && has_rope) continue;
    const bool is_top = out.was_nested ? !is_stray_rope : is_top_key(family, top_members, key);
    (is_top ? out.top : out.text).set(key, value);
  }
  for (const std::string_view key : kStatementKeys) {
    const JsonText* inner = out.text.find(key);
    if (inner != nullptr && out.top.find(key) == nullptr) out.top.set(key, *inner);
    out.text.remove(key);
  }
  if (const JsonText* version = out.text.find(kVlVersion); version && !out.top.find(kVlVersion)) {
    out.top.set_sorted(kVlVersion, *version);
    out.text.remove(kVlVersion);
  }
  return out;
}

void take_from_base(JsonText& top, const JsonText& base, const VlFamily& family) {
  const VlConfig split = split_vl_config(base, family);
  for (const auto& [key, value] : split.top.members()) {
    if (!contains(kNotFromBase, key) && !contains(kTextParts, key)) top.set_sorted(key, value);
  }
}

Status set_vision(JsonText& top, const JsonText& text, const VlFamily& family) {
  if (const JsonText* vision = top.find_object("vision_config")) {
    return check_out_size(*vision, text, family);
  }
  if (family.vision_config.empty()) {
    return misuse_hint("--step vl-wrap:with=BASE, a folder that has one",
                       "no vision_config, and that of {} differs from model to model",
                       family.model_type);
  }
  JsonText made = parse_own(family.vision_config);
  const JsonText* width = text.find("hidden_size");
  if (!family.out_size_key.empty() && width != nullptr) made.set(family.out_size_key, *width);
  top.set_sorted("vision_config", std::move(made));
  return {};
}

Status set_tokens(JsonText& top, const JsonText& text, const VlModel& model, const VlFacts& facts,
                  const Context& context) {
  for (const VlToken& token : model.family->tokens) {
    const auto declared = top.find_whole(token.key);
    const auto found = facts.token_ids.find(std::string(token.content));
    const bool is_known = found != facts.token_ids.end();
    if (declared && is_known && *declared != found->second && facts.base != nullptr) {
      return misuse("BASE says {} {}; tokenizer.json gives {} the id {}", token.key, *declared,
                    token.content, found->second);
    }
    const uint64_t id = is_known ? found->second : declared.value_or(token.usual_id);
    if (declared != id) top.set_sorted(token.key, JsonText::number(id));
    if (id >= text.find_whole("vocab_size").value_or(UINT64_MAX)) {
      context.note(
          "{} {} is beyond the vocabulary: no token {} in tokenizer.json, "
          "images cannot be asked for",
          token.key, id, token.content);
    }
  }
  return {};
}

// Fields of either level must be equal on both; where they differ, the tensors decide.
void set_tied(JsonText& top, JsonText& text, bool has_head) {
  const auto at = [](const JsonText& level) {
    const JsonText* value = level.find("tie_word_embeddings");
    return value == nullptr ? std::nullopt : value->as_boolean();
  };
  const auto outer = at(top), inner = at(text);
  const bool differ = outer && inner && *outer != *inner;
  const bool tied =
      differ || (!outer && !inner) ? !has_head : inner.value_or(outer.value_or(false));
  if (outer != tied) top.set_sorted("tie_word_embeddings", JsonText::boolean(tied));
  if (inner != tied) text.set_sorted("tie_word_embeddings", JsonText::boolean(tied));
}

void set_dtype(JsonText& top, JsonText& text, const std::string& of_weights) {
  const JsonText* declared = nullptr;
  std::string key = "dtype";
  for (const JsonText* level : {&top, &text}) {  // the text's counts
    for (const std::string_view each : kDtypeKeys) {
      const JsonText* value = level->find(each);
      if (value == nullptr || value->is_null()) continue;
      declared = value;
      key = each;
    }
  }
  const JsonText value = declared == nullptr ? JsonText::text(of_weights) : *declared;
  for (JsonText* level : {&top, &text}) {
    const JsonText* own = level->find(key);
    if (own == nullptr || own->is_null()) level->set_sorted(key, value);
  }
}

using QuantMembers = std::vector<JsonText::Member>;

QuantMembers take_quant(JsonText& top) {
  QuantMembers out;
  for (const std::string_view key : kStatementKeys) {
    if (const JsonText* value = top.find(key)) out.emplace_back(std::string(key), *value);
    top.remove(key);
  }
  return out;
}

// Puts the statements at the end if they were at the end of `before`.
void put_quant(JsonText& top, QuantMembers quant, const JsonText& before) {
  const bool were_last =
      !before.members().empty() && contains(kStatementKeys, before.members().back().first);
  for (auto& [key, value] : quant) {
    were_last ? top.set(key, std::move(value)) : top.set_sorted(key, std::move(value));
  }
}

}  // namespace

JsonText parse_own(std::string_view text) {
  auto parsed = JsonText::parse(text);
  CKPT_CHECK(parsed.has_value());
  return std::move(*parsed);
}

Result<VlModel> identify_vl_text(const JsonText& config, const VlFamily* base) {
  CKPT_ASSIGN(const std::string model_type, model_type_of(config));
  CKPT_TRY(check_nesting(config));
  VlModel out{find_vl_family(model_type), nullptr};
  if (out.family != nullptr) {
    if (base != nullptr && base != out.family) {
      return misuse("BASE is a {}; this folder is a {}", base->model_type, model_type);
    }
    CKPT_ASSIGN(out.text, text_row(*out.family, config));
  } else {
    const JsonText* text = nested_text(config);
    const std::string inner =
        text == nullptr ? model_type : text->find_text("model_type").value_or(model_type);
    CKPT_ASSIGN(out.family, choose(inner, base));
    out.text = find_vl_text(*out.family, inner);
  }
  CKPT_TRY(check_class(config, out));
  return out;
}

Result<VlModel> identify_vl_wrapper(const JsonText& config) {
  CKPT_ASSIGN(const std::string model_type, model_type_of(config));
  CKPT_TRY(check_nesting(config));
  VlModel out{find_vl_family(model_type), nullptr};
  if (out.family == nullptr) {
    return misuse(
        "config.json: model_type '{}' is not that of a vision-language model that is known",
        model_type);
  }
  CKPT_ASSIGN(out.text, text_row(*out.family, config));
  CKPT_TRY(check_class(config, out));
  if (nested_text(config) == nullptr && !config.find_whole("hidden_size")) {
    return corrupt("config.json: no {}; expected an object, the text model's configuration",
                   out.family->text_key);
  }
  return out;
}

Result<JsonText> nest_vl_config(const JsonText& config, const VlModel& model, const VlFacts& facts,
                                const Context& context) {
  const VlFamily& family = *model.family;
  VlConfig split = split_vl_config(config, family);
  JsonText& top = split.top;
  JsonText base_text;
  if (facts.base != nullptr) {
    base_text = split_vl_config(*facts.base, family).text;
    CKPT_TRY(check_base_width(split.text, base_text));
    take_from_base(top, *facts.base, family);
  }
  QuantMembers quant = take_quant(top);
  if (!split.was_nested && facts.base == nullptr && top.remove("auto_map")) {
    context.note("config.json: auto_map was for the text model's own program and is gone");
  }
  top.set_sorted("architectures", JsonText::texts({std::string(family.architecture)}));
  top.set_sorted("model_type", JsonText::text(family.model_type));
  const JsonText usual = top_members_of(family);
  for (const auto& [key, value] : usual.members()) {
    if (top.find(key) == nullptr) top.set_sorted(key, value);
  }
  set_tied(top, split.text, facts.has_head);
  set_dtype(top, split.text, facts.dtype);
  CKPT_TRY(
      complete_vl_text(split.text, model, facts.base == nullptr ? nullptr : &base_text, context));
  CKPT_TRY(set_tokens(top, split.text, model, facts, context));
  CKPT_TRY(set_vision(top, split.text, family));
  if (JsonText* text = top.find(family.text_key)) {
    *text = std::move(split.text);
  } else {
    top.set_sorted(family.text_key, std::move(split.text));
  }
  put_quant(top, std::move(quant), config);
  return std::move(top);
}

JsonText unnest_vl_config(const JsonText& config, const VlModel& model, bool has_head) {
  VlConfig split = split_vl_config(config, *model.family);
  JsonText& text = split.text;
  QuantMembers quant = take_quant(split.top);
  set_tied(split.top, text, has_head);
  simplify_vl_text(text, model);
  text.set_sorted("architectures", JsonText::texts({std::string(model.text->architecture)}));
  const JsonText top_members = top_members_of(*model.family);
  for (const auto& [key, value] : split.top.members()) {
    const bool is_wrappers = key == "vision_config" || key == "auto_map" ||
                             is_token_key(*model.family, key) || top_members.find(key) != nullptr;
    if (!is_wrappers && text.find(key) == nullptr) text.set_sorted(key, value);
  }
  put_quant(text, std::move(quant), config);
  return std::move(text);
}

}  // namespace ckpt
