// Checks fields that transformers 5 saves under names or in forms that 4.57 or SGLang cannot read.
//
// Source: models/models.h; vLLM 0.17.1 vllm/transformers_utils/config.py
// (patch_rope_parameters) puts rope_theta into a dictionary by layer type and then treats it as one
// for all layers; vllm/model_executor/models/{gemma2,deepseek_v2}.py; SGLang 0.5.12
// python/sglang/srt/models/{gemma2,deepseek_v2}.py, configs/qwen3_vl.py; transformers 5.6, which
// comes with it, src/transformers/models/pixtral/modeling_pixtral.py.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kConfigPlace = "config.json: ";

void check_both_ropes(const CheckContext& context) {
  const auto conflict =
      rope_conflict(context.on.text_config(), family_of_type(context.on.text_type));
  if (!conflict) return;
  const auto& [field, scaling, parameters, is_lost] = *conflict;
  const std::string place = context.on.text_place("rope_scaling");
  const std::string used = scaling.is_null() ? "absent" : scaling.dump();
  if (!is_lost) {
    return context.tell(place, "{} is {}; rope_parameters, which readers ignore next to it, say {}",
                        field, used, parameters.dump());
  }
  context.report(
      place,
      fmt::format("{} is not in it, and so {}; rope_parameters, which readers ignore next "
                  "to it, say {}",
                  field, used, parameters.dump()),
      Severity::kUnsound);
}

void check_expert_count(const CheckContext& context) {
  const Subject& on = context.on;
  if (!has_word(kReadNumExperts, on.text_type)) return;
  const JsonValue* count = on.text_field("num_local_experts");
  if (count == nullptr || on.text_field("num_experts") != nullptr) return;
  context.tell(on.text_place("num_local_experts"),
               "{}, without num_experts; transformers 4.57 reads that alone, and takes "
               "its default instead",
               count->dump());
}

void check_rope_by_layer_type(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.text_field("rope_scaling") != nullptr) return;
  const JsonValue* rope = on.text_field("rope_parameters");
  const bool is_nested = rope != nullptr && rope->is_object() && !rope->empty() &&
                         std::ranges::all_of(rope->items(), [](auto& item) {
                           return item.key().ends_with("_attention") && item.value().is_object();
                         });
  if (!is_nested) return;
  const bool has_step =
      find_by(kRopeByLayerType, &RopeByLayerType::model_type, on.text_type) != nullptr;
  context.report(
      on.text_place("rope_parameters"),
      "one for each type of layer, as transformers 5 saves it; 4.57 reads rope_theta and "
      "rope_scaling",
      {}, {}, has_step ? std::nullopt : std::optional(advised(kTakeConfig)));
}

// Released configurations have both fields; transformers 5 saves only hidden_activation.
void check_two_activations(const CheckContext& context) {
  if (!has_trait(context.on.text_type, ModelTrait::kTwoActivations)) return;
  const JsonValue* value = context.on.text_field("hidden_act");
  if (value != nullptr && *value == "gelu_pytorch_tanh") return;
  context.tell(context.on.text_place("hidden_act"),
               "{}; this server expects \"gelu_pytorch_tanh\" in it and in hidden_activation",
               value == nullptr ? "absent" : value->dump());
}

void check_unsaved_fields(const CheckContext& context) {
  for (const UnsavedField& field : kUnsavedFields) {
    if (context.is(Program::kVllm) && field.is_optional_in_vllm) continue;
    if (!has_word(field.model_types, context.on.text_type)) continue;
    const JsonValue* declared = context.on.text_field(field.name);
    if (declared != nullptr && !declared->is_structured()) continue;
    return context.tell(context.on.text_place(field.name),
                        "absent, as transformers 5 omits it; expected {}", field.value);
  }
}

void check_vision_rope(const CheckContext& context) {
  const JsonValue* vision = known(context.on.config, "vision_config");
  const std::string* type = text_of(known(vision, "rope_parameters"), "rope_type");
  const std::string* model = text_of(vision, "model_type");
  if (type == nullptr || model == nullptr || *type != "axial" || *model != "pixtral") return;
  if (has_listed(context.profile, "rope types of towers", *type, false)) return;
  context.report("config.json: vision_config.rope_parameters.rope_type",
                 "\"axial\", which this server's transformers does not know; expected \"default\"");
}

// The server runs the tower as that of Qwen3-VL, whose list of mergers has three by default.
void check_mergers(const CheckContext& context) {
  const JsonValue* vision = known(context.on.config, "vision_config");
  if (vision == nullptr || !vision->is_object()) return;
  const bool is_asked = has_trait(context.on.text_type, ModelTrait::kDeepstackList);
  if (!is_asked || vision->contains("deepstack_visual_indexes")) return;
  context.report("config.json: vision_config.deepstack_visual_indexes",
                 "absent, as transformers 5 omits it; this server makes three mergers of random "
                 "numbers; expected []");
}

// Reports fields that the server's class reads and that config.json lacks. The profile lists them:
//
//   TYPE:FIELD=VALUE                 the class cannot be made without FIELD; VALUE is what it
//                                    should be, or the name of a field that has the value
//   TYPE:FIELD=OTHER/DEFAULT/WIDTH   the file has the number as OTHER, which the class does not
//                                    read: it takes DEFAULT. If DEFAULT divides the field WIDTH,
//                                    the model loads and answers nonsense; otherwise it fails
//
// SGLang may read the configuration by the folder's own code, which is unknown here.
void check_needed_fields(const CheckContext& context) {
  const Subject& on = context.on;
  if (context.is(Program::kSglang) && known(on.config, "auto_map") != nullptr) return;
  for (std::string_view value : listed_for(context.profile, "needed fields", on.model_type)) {
    std::string_view field = take_word(value, '=');
    std::string path(field);
    const JsonValue* level = &on.config;
    if (field.find('.') != field.npos) {
      const std::string_view part = take_word(field, '.');
      level = part == "text_config" ? &on.text_config() : known(on.config, part);
      if (part == "text_config") path = on.text_place(field).substr(kConfigPlace.size());
      if (part == "vision_config" && !on.has_vision_tensors()) continue;
    }
    if (level == nullptr || known(*level, field) != nullptr) continue;
    const std::string_view other = take_word(value, '/');
    std::string_view usual = take_word(value, '/');
    const JsonValue* declared = known(*level, other);
    const std::string expected = declared == nullptr ? std::string(other) : declared->dump();
    if (!usual.empty() && (declared == nullptr || expected == usual)) continue;
    Fix fix = advised(kTakeConfig);
    fix.step = fmt::format("config:set={}={}", path, expected);
    const std::string found =
        usual.empty() ? "absent or null, and this server needs it"
                      : fmt::format("absent; this server takes {}, whatever {} says", usual, other);
    const uint64_t count = take_leading<uint64_t>(usual).value_or(0);
    const bool fits = count != 0 && whole(known(*level, value)).value_or(1) % count == 0;
    context.report(fmt::format("{}{}", kConfigPlace, path),
                   fmt::format("{}; expected {}", found, expected),
                   fits ? std::optional(Severity::kUnsound) : std::nullopt, {}, std::move(fix));
  }
}

constexpr Check kOlderFieldChecks[] = {
    {"C47", "rope_scaling and rope_parameters agree", "W: all",
     "answers get worse the longer the text is",
     "remove one of them from config.json, or make them say the same", check_both_ropes},
    {"C34", "the number of experts is where the reader looks", "U: vllm-tf4, S: transformers-4",
     "Tried to load weights of size torch.Size(...) to a parameter of size torch.Size(...)", "",
     check_expert_count, "serving-config"},
    {"C35", "rope by layer type is where the reader looks", "U: vllm-tf4, S: transformers-4",
     "rope_parameters should have a 'rope_type' key", "", check_rope_by_layer_type,
     "serving-config"},
    {"C36", "Gemma 2 names its activation twice", "U: vllm-tf4 sglang",
     "'Gemma2Config' object has no attribute 'hidden_act'", "", check_two_activations,
     "serving-config"},
    {"C37", "DeepSeek's experts are described", "U: vllm* sglang",
     "object has no attribute 'moe_layer_freq'; KeyError: '...gate.e_score_correction_bias'", "",
     check_unsaved_fields, "serving-config"},
    {"C38", "Pixtral's rope has a name that is known", "U: sglang",
     "PixtralRotaryEmbedding does not support non-default RoPE", "", check_vision_rope,
     "serving-config"},
    {"C39", "Qwen3.5's tower has no mergers for deeper layers", "S: sglang",
     "loads, and answers about images are noise", "", check_mergers, "serving-config"},
    {"C49", "fields that the server's class needs are there", "U: vllm* sglang",
     "object has no attribute '...'; AssertionError; or another number of heads", kTakeConfig,
     check_needed_fields},
};

}  // namespace

std::span<const Check> older_field_checks() { return kOlderFieldChecks; }

}  // namespace ckpt
