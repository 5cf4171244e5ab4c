// Fields that transformers 5 saves under names, or in a form, that 4.57 or SGLang does not read.
//
// Source: models/models.h; vLLM 0.17.1 vllm/transformers_utils/config.py
// (patch_rope_parameters) puts rope_theta into a dictionary by layer type and then takes it for one
// of all layers; vllm/model_executor/models/{gemma2,deepseek_v2}.py; SGLang 0.5.12
// python/sglang/srt/models/{gemma2,deepseek_v2}.py, configs/qwen3_vl.py; transformers 5.6, which
// comes with it, src/transformers/models/pixtral/modeling_pixtral.py.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

void look_both_ropes(const Look& look) {
  const auto conflict = rope_conflict(look.on.text_config(), family_of_type(look.on.text_type));
  if (!conflict) return;
  const auto& [field, scaling, parameters, is_lost] = *conflict;
  const std::string place = look.on.text_place("rope_scaling");
  const std::string used = scaling.is_null() ? "absent" : scaling.dump();
  if (!is_lost) {
    return look.tell(place, "{} is {}; rope_parameters, which readers ignore next to it, say {}",
                     field, used, parameters.dump());
  }
  look.report(place,
              fmt::format("{} is not in it, and so {}; rope_parameters, which readers ignore next "
                          "to it, say {}",
                          field, used, parameters.dump()),
              Severity::kUnsound);
}

void look_expert_count(const Look& look) {
  const Examined& on = look.on;
  if (!has_word(kReadNumExperts, on.text_type)) return;
  const JsonValue* count = on.text_field("num_local_experts");
  if (count == nullptr || on.text_field("num_experts") != nullptr) return;
  look.tell(on.text_place("num_local_experts"),
            "{}, without num_experts; transformers 4.57 reads that alone, and takes "
            "its default instead",
            count->dump());
}

void look_rope_by_layer_type(const Look& look) {
  const Examined& on = look.on;
  if (on.text_field("rope_scaling") != nullptr) return;
  const JsonValue* rope = on.text_field("rope_parameters");
  const bool is_nested = rope != nullptr && rope->is_object() && !rope->empty() &&
                         std::ranges::all_of(rope->items(), [](auto& item) {
                           return item.key().ends_with("_attention") && item.value().is_object();
                         });
  if (!is_nested) return;
  const bool has_step =
      find_by(kRopeByLayerType, &RopeByLayerType::model_type, on.text_type) != nullptr;
  look.report(on.text_place("rope_parameters"),
              "one for each type of layer, as transformers 5 saves it; 4.57 reads rope_theta and "
              "rope_scaling",
              {}, {}, has_step ? std::nullopt : std::optional(advised(kTakeConfig)));
}

// Released configurations have both fields; 5 saves hidden_activation alone.
void look_two_activations(const Look& look) {
  if (!has_quirk(look.on.text_type, "two_activations")) return;
  const JsonValue* value = look.on.text_field("hidden_act");
  if (value != nullptr && *value == "gelu_pytorch_tanh") return;
  look.tell(look.on.text_place("hidden_act"),
            "{}; this server expects \"gelu_pytorch_tanh\" in it and in hidden_activation",
            value == nullptr ? "absent" : value->dump());
}

void look_unsaved_fields(const Look& look) {
  for (const UnsavedField& field : kUnsavedFields) {
    if (look.is(Program::kVllm) && field.is_optional_in_vllm) continue;
    if (!has_word(field.model_types, look.on.text_type)) continue;
    const JsonValue* said = look.on.text_field(field.name);
    if (said != nullptr && !said->is_structured()) continue;
    return look.tell(look.on.text_place(field.name),
                     "absent, as transformers 5 omits it; expected {}", field.value);
  }
}

void look_vision_rope(const Look& look) {
  const JsonValue* vision = known(look.on.config, "vision_config");
  const std::string* type = text_of(known(vision, "rope_parameters"), "rope_type");
  const std::string* model = text_of(vision, "model_type");
  if (type == nullptr || model == nullptr || *type != "axial" || *model != "pixtral") return;
  look.report("config.json: vision_config.rope_parameters.rope_type",
              "\"axial\", which this server's transformers does not know; expected \"default\"");
}

// The server runs the tower as Qwen3-VL's, whose list of mergers has three by default.
void look_mergers(const Look& look) {
  const JsonValue* vision = known(look.on.config, "vision_config");
  if (vision == nullptr || !vision->is_object()) return;
  const bool is_asked = has_quirk(look.on.text_type, "deepstack_list");
  if (!is_asked || vision->contains("deepstack_visual_indexes")) return;
  look.report("config.json: vision_config.deepstack_visual_indexes",
              "absent, as transformers 5 omits it; this server makes three mergers of random "
              "numbers; expected []");
}

constexpr Check kOlderFieldChecks[] = {
    {"C47", "rope_scaling and rope_parameters agree", "W: all",
     "answers get worse the longer the text is",
     "remove one of them from config.json, or make them say the same", look_both_ropes},
    {"C34", "the number of experts is where the reader looks",
     "U: vllm-tf4, S: transformers-4",
     "Tried to load weights of size torch.Size(...) to a parameter of size torch.Size(...)", "",
     look_expert_count, "serving-config"},
    {"C35", "rope by layer type is where the reader looks",
     "U: vllm-tf4, S: transformers-4",
     "rope_parameters should have a 'rope_type' key", "", look_rope_by_layer_type,
     "serving-config"},
    {"C36", "Gemma 2 names its activation twice", "U: vllm-tf4 sglang",
     "'Gemma2Config' object has no attribute 'hidden_act'", "", look_two_activations,
     "serving-config"},
    {"C37", "DeepSeek's experts are described", "U: vllm* sglang",
     "object has no attribute 'moe_layer_freq'; KeyError: '...gate.e_score_correction_bias'", "",
     look_unsaved_fields, "serving-config"},
    {"C38", "Pixtral's rope has a name that is known", "U: sglang",
     "PixtralRotaryEmbedding does not support non-default RoPE", "", look_vision_rope,
     "serving-config"},
    {"C39", "Qwen3.5's tower has no mergers for deeper layers", "S: sglang",
     "loads, and answers about images are noise", "", look_mergers, "serving-config"},
};

}  // namespace

std::span<const Check> older_field_checks() { return kOlderFieldChecks; }

}  // namespace ckpt
