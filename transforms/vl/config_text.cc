// Adds fields that a text config needs inside a wrapper and may lack outside.
//
//   rope_theta, rope_scaling, partial_rotary_factor  ─▶  rope_parameters            (Qwen3.5)
//   rope_scaling, else rope_parameters               ─▶  + mrope_section, mrope_interleaved
//   layer_types [l, l, l, f, ...]                    ⇄   full_attention_interval 4  (Qwen3.5)
//
// Sources: huggingface/transformers src/transformers/modeling_rope_utils.py; SGLang 0.5.12 reads
// only full_attention_interval, transformers 5.17 writes only layer_types.
// The sections count pairs of dimensions, so their sum is half of head_dim · partial_rotary_factor.
// For text all three positions are equal, so any division gives exact results.
#include <algorithm>
#include <numeric>

#include "core/base/numbers.h"
#include "models/models.h"
#include "transforms/facts/serving_config.h"
#include "transforms/vl/config.h"

namespace ckpt {
namespace {

constexpr std::string_view kRopeKeys[] = {"rope_theta", "rope_scaling", "rope_parameters",
                                          "partial_rotary_factor"};
constexpr std::string_view kSection = "mrope_section";
constexpr std::string_view kInterleaved = "mrope_interleaved";
constexpr uint64_t kUsualInterval = 4;
constexpr uint64_t kMaxLayers = 100'000;

std::optional<double> number_of(const JsonText* value) {
  if (value == nullptr || value->kind() != JsonText::Kind::kToken) return std::nullopt;
  return number_from<double>(value->token());
}

const JsonText* full_object(const JsonText& text, std::string_view key) {
  const JsonText* const found = text.find_object(key);
  return found == nullptr || found->members().empty() ? nullptr : found;
}

// Makes one dictionary from the spelling of transformers 4, or from both spellings; rope_scaling
// overrides rope_parameters (models/rope.cc).
JsonText gather_rope(const JsonText& text) {
  JsonText out = JsonText::object();
  if (const JsonText* scaling = text.find_object("rope_scaling")) out = *scaling;
  for (const std::string_view key : {"partial_rotary_factor", "rope_theta"}) {
    const JsonText* value = text.find(key);
    if (value != nullptr && out.find(key) == nullptr) out.set_sorted(key, *value);
  }
  if (out.find("rope_type") == nullptr) {
    const std::string type = out.find_text("type").value_or("default");
    out.set_sorted("rope_type", JsonText::text(type == "mrope" ? "default" : type));
  }
  out.remove("type");
  if (const JsonText* parameters = text.find_object("rope_parameters")) {
    for (const auto& [key, value] : parameters->members()) {
      if (key != "type" && out.find(key) == nullptr) out.set_sorted(key, value);
    }
  }
  return out;
}

// The key of the dictionary that readers use.
std::string_view rope_key_of(const JsonText& text) {
  if (full_object(text, "rope_scaling") != nullptr) return "rope_scaling";
  return text.find_object("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
}

uint64_t rotary_pairs(const JsonText& text, const JsonText& rope) {
  const uint64_t heads = text.find_whole("num_attention_heads").value_or(0);
  const uint64_t usual = heads == 0 ? 0 : text.find_whole("hidden_size").value_or(0) / heads;
  const uint64_t head = text.find_whole("head_dim").value_or(usual);
  auto factor = number_of(rope.find("partial_rotary_factor"));
  if (!factor) factor = number_of(text.find("partial_rotary_factor"));
  if (head > kMaxLayers || (factor && (*factor <= 0 || *factor > 1))) return 0;
  return static_cast<uint64_t>(static_cast<double>(head) * factor.value_or(1.0) / 2);
}

std::optional<uint64_t> sum_of(const JsonText* section) {
  if (section == nullptr || !section->is_array()) return std::nullopt;
  uint64_t out = 0;
  for (const JsonText& item : section->items()) {
    const auto value = item.as_whole();
    if (!value || *value > kMaxLayers) return std::nullopt;
    out += *value;
  }
  return out;
}

JsonText section_for(const VlMrope& mrope, uint64_t pairs) {
  JsonText out = JsonText::array();
  const uint64_t usual = std::accumulate(mrope.section.begin(), mrope.section.end(), uint64_t{0});
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t even = pairs / 3 + (i < pairs % 3 ? 1 : 0);
    out.items().push_back(JsonText::number(usual == pairs ? mrope.section[i] : even));
  }
  return out;
}

const JsonText* rope_of(const JsonText* text) {
  return text == nullptr ? nullptr : text->find_object(rope_key_of(*text));
}

void complete_mrope(JsonText& text, const VlModel& model, const JsonText* base_text,
                    const Context& context) {
  const std::string key(rope_key_of(text));
  JsonText rope = rope_of(&text) != nullptr ? *rope_of(&text) : JsonText::object();
  const uint64_t pairs = rotary_pairs(text, rope);
  if (rope.find(kSection) == nullptr) {
    const JsonText* theirs = rope_of(base_text);
    const JsonText* section = theirs == nullptr ? nullptr : theirs->find(kSection);
    const bool fits = section != nullptr && sum_of(section) == pairs;
    rope.set_sorted(kSection, fits ? *section : section_for(model.family->mrope, pairs));
    if (model.family->mrope.is_interleaved) rope.set_sorted(kInterleaved, JsonText::boolean(true));
    if (!rope.find("rope_type")) rope.set_sorted("rope_type", JsonText::text("default"));
  }
  settle_rope_type(rope);
  if (sum_of(rope.find(kSection)) != pairs) {
    context.note(
        "config.json: mrope_section adds up to another number than {}, half "
        "of the dimensions that are rotated",
        pairs);
  }
  text.set_sorted(key, std::move(rope));
}

void complete_rope(JsonText& text, const VlModel& model, const JsonText* base_text,
                   const Context& context) {
  const JsonText* parameters = text.find_object("rope_parameters");
  const bool has_parameters = parameters != nullptr;
  const bool are_both = has_parameters && full_object(text, "rope_scaling") != nullptr;
  if (are_both && model.family->has_attention_interval) {
    context.note(
        "config.json: rope_scaling is joined into rope_parameters; where both set a field, "
        "that of rope_scaling stays, as in transformers");
  }
  if ((!has_parameters || are_both) && model.family->has_attention_interval) {
    text.set_sorted("rope_parameters", gather_rope(text));
    text.remove("rope_theta");
    text.remove("rope_scaling");
  } else if (has_parameters && model.family->has_attention_interval &&
             parameters->find("rope_theta") == nullptr && text.find("rope_theta") != nullptr) {
    text.find("rope_parameters")->set_sorted("rope_theta", *text.find("rope_theta"));
  }
  if (!model.family->mrope.section.empty()) complete_mrope(text, model, base_text, context);
  const JsonText* rope = rope_of(&text);
  const bool has_theta = (rope != nullptr && rope->find("rope_theta") != nullptr) ||
                         text.find("rope_theta") != nullptr;
  if (!has_theta && model.family->has_attention_interval) {
    context.note("config.json: no rope_theta; loaders will take their class's default");
  }
}

JsonText layer_types_for(uint64_t layers, uint64_t interval) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < layers; ++i) {
    out.push_back((i + 1) % interval == 0 ? "full_attention" : "linear_attention");
  }
  return JsonText::texts(out);
}

Status trim_layer_types(JsonText& types, const JsonText& text, uint64_t layers) {
  const size_t found = types.items().size();
  const uint64_t mtp = text.find_whole(kMtpCountField).value_or(0);
  if (found == layers) return {};
  if (found < layers || found - layers != mtp) {
    return corrupt("config.json: layer_types names {} layers; expected {}", found, layers);
  }
  types.items().resize(layers);
  return {};
}

Status complete_layer_types(JsonText& text, const Context& context) {
  const auto layers = text.find_whole("num_hidden_layers");
  if (!layers || *layers == 0 || *layers > kMaxLayers) {
    return corrupt("config.json: no num_hidden_layers; expected a whole number");
  }
  const auto declared = text.find_whole("full_attention_interval");
  if (declared && (*declared == 0 || *declared > kMaxLayers)) {
    return corrupt("config.json: full_attention_interval {}", *declared);
  }
  JsonText* types = text.find("layer_types");
  if (types == nullptr || !types->is_array()) {
    text.set_sorted("layer_types", layer_types_for(*layers, declared.value_or(kUsualInterval)));
    types = text.find("layer_types");
  }
  CKPT_TRY(trim_layer_types(*types, text, *layers));
  const auto interval = interval_of(*types);
  if (interval && !declared) {
    text.set_sorted("full_attention_interval", JsonText::number(*interval));
  } else if (!interval) {
    context.note(
        "config.json: layer_types has no period, so full_attention_interval cannot be set; "
        "SGLang needs it");
  } else if (*declared != *interval) {
    return corrupt("config.json: full_attention_interval {}; layer_types says {}", *declared,
                   *interval);
  }
  return {};
}

}  // namespace

bool is_rope_key(std::string_view key) {
  return std::ranges::find(kRopeKeys, key) != std::end(kRopeKeys);
}

Status complete_vl_text(JsonText& text, const VlModel& model, const JsonText* base_text,
                        const Context& context) {
  text.set_sorted("model_type", JsonText::text(model.text->inside));
  complete_rope(text, model, base_text, context);
  return model.family->has_attention_interval ? complete_layer_types(text, context) : Status();
}

void simplify_vl_text(JsonText& text, const VlModel& model) {
  text.set_sorted("model_type", JsonText::text(model.text->outside));
  if (model.text->outside == model.text->inside) return;
  for (const std::string_view place : {"rope_scaling", "rope_parameters"}) {
    JsonText* rope = text.find_object(place);
    if (rope == nullptr) continue;
    rope->remove(kSection);
    rope->remove(kInterleaved);
    for (const char* key : {"type", "rope_type"}) {
      if (rope->find_text(key) == "mrope") rope->set(key, JsonText::text("default"));
    }
    const bool is_plain = std::ranges::all_of(rope->members(), [](const JsonText::Member& member) {
      return (member.first == "type" || member.first == "rope_type") &&
             member.second.as_text() == "default";
    });
    if (place == "rope_scaling" && is_plain) *rope = JsonText::null();
  }
}

}  // namespace ckpt
