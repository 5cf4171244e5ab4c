// Adds older fields, which transformers 4.57 and SGLang read, for the new ones of transformers 5.
#include <algorithm>

#include "core/base/words.h"
#include "models/models.h"
#include "transforms/facts/serving_config.h"

namespace ckpt {
namespace {

void add_activation(JsonText& level) {
  const bool is_gelu = level.find_text("hidden_activation") == "gelu_pytorch_tanh";
  const bool has_two =
      has_trait(level.find_text("model_type").value_or(""), ModelTrait::kTwoActivations);
  if (!is_gelu || !has_two || level.find("hidden_act") != nullptr) return;
  level.set_sorted("hidden_act", JsonText::text("gelu_pytorch_tanh"));
}

void add_unsaved_fields(JsonText& level, std::string_view model_type) {
  for (const UnsavedField& field : kUnsavedFields) {
    if (!has_word(field.model_types, model_type) || level.find(field.name) != nullptr) continue;
    if (auto value = JsonText::parse(field.value)) level.set_sorted(field.name, std::move(*value));
  }
}

// Adds nothing if dense layers follow others, because a count cannot express that.
void count_dense_layers(JsonText& level, const DenseLayersByCount& row) {
  const JsonText* types = level.find("mlp_layer_types");
  const auto declared = level.find_whole("first_k_dense_replace");
  const std::optional<uint64_t> counted = declared ? declared : row.counted_by_class;
  uint64_t dense = row.listed_by_class;
  if (types == nullptr) {
    if (counted) return;
  } else {
    const auto& list = types->items();
    const auto is_sparse = [](const JsonText& type) { return type.as_text() != "dense"; };
    const auto first = std::ranges::find_if(list, is_sparse);
    dense = static_cast<uint64_t>(first - list.begin());
    if (!std::all_of(first, list.end(), is_sparse)) return;
    if (counted && std::min<uint64_t>(*counted, list.size()) == dense) return;
  }
  level.set_sorted("first_k_dense_replace", JsonText::number(dense));
}

// Adds nothing if the older fields cannot distinguish the two kinds of layers.
void add_rope(JsonText& level, const RopeByLayerType& row) {
  const JsonText* rope = level.find("rope_parameters");
  if (rope == nullptr || level.find("rope_scaling") != nullptr) return;
  const JsonText* full = rope->find("full_attention");
  const JsonText* sliding = rope->find("sliding_attention");
  if (full == nullptr || sliding == nullptr || rope->members().size() != 2) return;
  const JsonText* base = full->find("rope_theta");
  const JsonText* local = sliding->find("rope_theta");
  const bool is_plain = sliding->find_text("rope_type").value_or("default") == "default";
  const bool is_one = base != nullptr && local != nullptr && *base == *local;
  if (base == nullptr || local == nullptr || !is_plain || (row.local_base.empty() && !is_one))
    return;
  JsonText scaling = *full, theta = *base, local_theta = *local;
  scaling.remove("rope_theta");
  const bool is_scaled = full->find_text("rope_type").value_or("default") != "default";
  level.remove("rope_parameters");
  level.set_sorted("rope_theta", std::move(theta));
  if (!row.local_base.empty()) level.set_sorted(row.local_base, std::move(local_theta));
  level.set_sorted("rope_scaling", is_scaled ? std::move(scaling) : JsonText::null());
}

}  // namespace

bool add_expert_count(JsonText& level) {
  const JsonText* count = level.find("num_local_experts");
  if (count == nullptr || level.find("num_experts") != nullptr) return false;
  if (!has_word(kReadNumExperts, level.find_text("model_type").value_or(""))) return false;
  JsonText value = *count;
  level.set_sorted("num_experts", std::move(value));
  return true;
}

void add_older_fields(JsonText& level) {
  add_expert_count(level);
  add_activation(level);
  const std::string type = level.find_text("model_type").value_or("");
  for (const RopeByLayerType& row : kRopeByLayerType) {
    if (row.model_type == type) add_rope(level, row);
  }
  for (const DenseLayersByCount& row : kDenseLayersByCount) {
    if (row.model_type == type) count_dense_layers(level, row);
  }
  add_unsaved_fields(level, type);
}

void fix_vision(JsonText& config) {
  JsonText* vision = config.find_object("vision_config");
  if (vision == nullptr) return;
  const std::string wrapper = config.find_text("model_type").value_or("");
  if (has_trait(wrapper, ModelTrait::kDeepstackList) &&
      vision->find("deepstack_visual_indexes") == nullptr) {
    vision->set_sorted("deepstack_visual_indexes", JsonText::array());
  }
  JsonText* rope = vision->find("rope_parameters");
  if (rope == nullptr || vision->find_text("model_type") != "pixtral") return;
  JsonText* type = rope->find("rope_type");
  if (type != nullptr && type->as_text() == "axial") *type = JsonText::text("default");
}

}  // namespace ckpt
