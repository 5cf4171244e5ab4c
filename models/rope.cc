// rope_scaling next to rope_parameters.
//
// Sources: transformers 5.17.0 src/transformers/modeling_rope_utils.py and
// models/{gemma3,gemma3n,olmo3}/configuration_*.py (convert_rope_params_to_dict); 4.57.6 reads
// rope_scaling alone.
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

bool is_by_layer_type(const JsonValue& rope) {
  return rope.contains("full_attention") || rope.contains("sliding_attention");
}

bool is_filled(const JsonValue* rope) {
  return rope != nullptr && rope->is_object() && !rope->empty();
}

// The rotation of full attention, if `rope` has one for each type of layer; otherwise `rope`.
JsonValue global_rope(const JsonValue& rope) {
  if (!is_by_layer_type(rope)) return rope;
  const JsonValue* full = known(rope, "full_attention");
  return full != nullptr && full->is_object() ? *full : JsonValue::object();
}

JsonValue type_of_rope(const JsonValue& rope) {
  const JsonValue* type = known(rope, "rope_type");
  if (type == nullptr) type = known(rope, "type");
  if (type == nullptr || *type == "mrope") return "default";
  return *type == "su" ? JsonValue("longrope") : *type;
}

// The value of a dictionary without the field; null: unknown.
JsonValue usual_value(const JsonValue& level, const Family* table, std::string_view field) {
  if (const JsonValue* outside = known(level, field)) return *outside;
  if (table != nullptr) {
    for (const ClassDefault& entry : table->defaults) {
      const auto value = number_from<double>(entry.value);
      if (entry.field == field && value) return *value;
    }
  }
  if (field == "rope_theta" && table != nullptr) return 10000.0;  // default_theta of all others
  return field == "partial_rotary_factor" ? JsonValue(1.0) : JsonValue();
}

// A field that both have, or of which what rope_parameters say is lost.
bool differs(RopeConflict& conflict, const JsonValue* kept, const JsonValue* lost) {
  if (lost == nullptr || (kept != nullptr && *kept == *lost)) return false;
  conflict.scaling = kept == nullptr ? JsonValue() : *kept;
  conflict.parameters = *lost;
  return true;
}

}  // namespace

JsonValue rope_of_level(const JsonValue& level) {
  const JsonValue* parameters = known(level, "rope_parameters");
  const JsonValue* scaling = known(level, "rope_scaling");
  if (!is_filled(scaling)) return is_filled(parameters) ? *parameters : JsonValue::object();
  if (!is_filled(parameters) || !is_by_layer_type(*parameters) || is_by_layer_type(*scaling)) {
    return *scaling;
  }
  JsonValue out = *parameters;
  out["full_attention"] = global_rope(*parameters);
  out["full_attention"].update(*scaling);
  if (known(*scaling, "rope_type") == nullptr && known(*scaling, "type") != nullptr) {
    out["full_attention"]["rope_type"] = *known(*scaling, "type");
  }
  return out;
}

std::optional<RopeConflict> rope_conflict(const JsonValue& level, const Family* table) {
  const JsonValue* parameters = known(level, "rope_parameters");
  const JsonValue* scaling = known(level, "rope_scaling");
  if (!is_filled(parameters) || !is_filled(scaling)) return std::nullopt;
  const JsonValue unread = global_rope(*parameters), declared = global_rope(*scaling);
  const bool is_merged = is_by_layer_type(*parameters) && !is_by_layer_type(*scaling);
  RopeConflict out;
  for (const std::string_view field : {"rope_theta", "mrope_section", "partial_rotary_factor"}) {
    const JsonValue* kept = known(declared, field);
    if (kept == nullptr && is_merged) continue;
    const JsonValue usual = usual_value(level, table, field);
    out.field = field;
    out.is_lost = kept == nullptr;
    if (differs(out, kept == nullptr && !usual.is_null() ? &usual : kept, known(unread, field))) {
      return out;
    }
  }
  out.is_lost = false;
  const JsonValue declared_rope_type = type_of_rope(declared), unread_type = type_of_rope(unread);
  out.field = "rope_type";
  if (differs(out, &declared_rope_type, &unread_type)) return out;
  for (const auto& [key, value] : declared.items()) {
    out.field = key;
    const bool is_type = key == "type" || key == "rope_type";
    if (!is_type && !value.is_null() && differs(out, &value, known(unread, key))) return out;
  }
  return std::nullopt;
}

}  // namespace ckpt
