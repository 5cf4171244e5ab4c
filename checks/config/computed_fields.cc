// Checks of numbers that constructors of vLLM's classes compute with, other than sizes of tensors.
//
// Sources: vLLM 0.17.1 vllm/model_executor/models/ (the classes in the list "computed numbers"),
// layers/fused_moe/layer.py, config/model.py; transformers 4.57.6 models/*/configuration_*.py. Each
// class was tried with every kind of value.
#include <algorithm>
#include <cmath>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Fields in the order of their findings, and the kinds of values (bad_value_letter()) at which
// every constructor stops. A profile lists more kinds for single classes; for a tower, the class is
// that of the wrapper.
constexpr std::string_view kComputedInText =
    "attention_multiplier logits_scaling query_pre_attn_scalar rope_local_base_freq sliding_window"
    " block_dim block_ff_dim conv_dim head_dim moe_layer_freq n_group topk_group"
    " moe_layer_end_index moe_layer_interval no_rope_layer_interval";
constexpr std::string_view kComputedInTower =
    "pixel_shuffle_ratio projector_input_dim image_size intermediate_size";
constexpr std::string_view kStopEvery =
    "attention_multiplier=tln sliding_window=tlf block_dim=tl block_ff_dim=tl";

// `json` is the configuration of the text part or of the tower.
void check_rows(const CheckContext& context, bool is_text, const JsonValue& json) {
  if (!is_text && !context.on.has_vision_tensors()) return;
  const std::string place = is_text ? context.on.text_place() : "config.json: vision_config.";
  const JsonValue* slides = member(json, "use_sliding_window");
  const std::string_view type = is_text ? ruling_type(context) : context.on.model_type;
  auto stopping = listed_for(context.profile, "computed numbers", type);
  std::ranges::copy(split_words(kStopEvery), std::back_inserter(stopping));
  const std::string_view fields = is_text ? kComputedInText : kComputedInTower;
  for (const std::string_view field : split_words(fields)) {
    const bool is_read = field != "sliding_window" || slides == nullptr || is_truthy(slides);
    const JsonValue* value = member(json, field);
    const char kind = bad_value_letter(value);
    const bool stops = std::ranges::any_of(stopping, [&](std::string_view letters) {
      return take_word(letters, '=') == field && letters.find(kind) != letters.npos;
    });
    if (!is_read || !stops) continue;
    context.tell(fmt::format("{}{}", place, field),
                 "{}; expected a number that this class can compute with",
                 value == nullptr ? "absent" : value->dump());
  }
}

// Mamba 2's heads must fill its width, even if no layer uses it.
void check_mamba_heads(const CheckContext& context) {
  const Subject& on = context.on;
  const bool fills = has_trait(on.text_type, ModelTrait::kMambaHeadsFillWidth);
  if (!fills || on.parameters.table == nullptr) return;
  const Family& table = *on.parameters.table;
  const auto width = number_of_fields(table, on.text_config(), "mamba_expand*hidden_size");
  const auto heads = number_of_fields(table, on.text_config(), "mamba_n_heads");
  constexpr const char* kPlace = "config.json: mamba_n_heads";
  if (!width || !heads || *heads == 0 || *width == 0) {
    return context.report(kPlace,
                          "it, mamba_expand and hidden_size are not all whole numbers above zero");
  }
  const JsonValue* declared = member(on.text_config(), "mamba_d_head");
  const bool is_made = declared == nullptr || *declared == "auto";
  const std::optional<uint64_t> size = is_made ? *width / *heads : whole(*declared);
  if (size && *size * *heads == *width) return;
  context.tell(kPlace, "{} of {} values each; mamba_expand*hidden_size is {}", *heads,
               is_made ? "a share" : declared->dump(), *width);
}

// The list of layers that rotate must have an entry per layer; an empty list counts as absent.
void check_rotating_layers(const CheckContext& context) {
  const JsonValue& text = context.on.text_config();
  if (!has_trait(context.on.text_type, ModelTrait::kListsRotatingLayers)) return;
  const size_t entries = list_in(text, "no_rope_layers").size();
  const uint64_t layers = context.on.layers().value_or(0);
  if (entries == 0 || entries >= layers) return;
  context.tell("config.json: no_rope_layers", "{} entries; num_hidden_layers is {}", entries,
               layers);
}

// Checks fields that vLLM's classes ignore in favor of a fixed value.
void check_unread(const CheckContext& context) {
  const Subject& on = context.on;
  const std::string_view type = ruling_type(context);
  const JsonValue* parallel = member(on.text_config(), "use_parallel_residual");
  if (has_trait(type, ModelTrait::kIgnoresParallelResidual) && is_truthy(parallel)) {
    context.report("config.json: use_parallel_residual", "true, which this class cannot compute");
  }
  const JsonValue* bias = member(on.text_config(), "attention_bias");
  const bool lacks_bias = bias != nullptr && !is_truthy(bias) && on.quantization() == nullptr;
  if (lacks_bias && has_trait(type, ModelTrait::kAlwaysBiasesQkv)) {
    context.tell("config.json: attention_bias",
                 "{}; this class has biases of queries, keys and values", bias->dump());
  }
  const JsonValue* range = member(on.text_config(), "initializer_range");
  const bool is_width = range == nullptr || range->is_boolean() || number(*range).value_or(-1) >= 0;
  if (!is_width && runs_by_fallback(context.profile, on.model_class)) {
    context.tell("config.json: initializer_range", "{}; expected a number, at least 0",
                 range->dump());
  }
  if (!has_trait(type, ModelTrait::kSharesNoKeyHeads)) return;
  const auto heads =
      number_of_fields(*on.parameters.table, on.text_config(), "num_attention_heads");
  const auto shared =
      number_of_fields(*on.parameters.table, on.text_config(), "num_key_value_heads");
  if (!heads || !shared || *heads == *shared) return;
  context.tell("config.json: num_key_value_heads",
               "{}; this class has as many as num_attention_heads, {}", *shared, *heads);
}

// Checks classes of vLLM that apply the window in all layers or in none.
void check_windows(const CheckContext& context) {
  const JsonValue& text = context.on.text_config();
  if (!has_trait(ruling_type(context), ModelTrait::kSlidesInAllOrNone)) return;
  const JsonValue* first = known(text, "max_window_layers");
  const uint64_t layers = context.on.layers().value_or(0);
  const uint64_t full = first == nullptr ? 28 : whole(*first).value_or(layers);
  const std::vector<std::string> types = context.on.layer_types();
  bool is_mixed =
      std::ranges::any_of(types, [&](const std::string& type) { return type != types[0]; });
  if (types.empty()) {
    const JsonValue* window = member(text, "sliding_window");
    const bool slides =
        is_truthy(member(text, "use_sliding_window")) && (window == nullptr || !window->is_null());
    is_mixed = slides && full > 0 && full < layers;
  }
  if (!is_mixed || full == layers) return;
  context.tell("config.json: max_window_layers",
               "{}; this class slides in all {} layers or in none", full, layers);
}

void check_computed_fields(const CheckContext& context) {
  if (!context.on.parameters.is_compared()) return;
  check_rows(context, true, context.on.text_config());
  const JsonValue* vision = known(context.on.config, "vision_config");
  if (vision != nullptr && vision->is_object()) check_rows(context, false, *vision);
  check_mamba_heads(context);
  check_unread(context);
  check_windows(context);
  check_rotating_layers(context);
}

constexpr Check kComputedFieldChecks[] = {
    {"C43", "numbers that constructors compute with are numbers", "U: vllm*",
     "unsupported operand type(s); ZeroDivisionError; AssertionError", kTakeConfig,
     check_computed_fields},
};

}  // namespace

char bad_value_letter(const JsonValue* value) {
  if (value == nullptr) return 'a';
  if (value->is_null()) return 'n';
  if (value->is_string()) return 't';
  if (value->is_structured()) return 'l';
  if (value->is_boolean()) return value->get<bool>() ? '-' : 'z';
  if (*number(*value) == 0) return 'z';
  if (*number(*value) < 0) return 'm';
  if (std::floor(*number(*value)) != *number(*value)) return 'f';
  return value->is_number_float() ? 'w' : '-';
}

std::span<const Check> computed_field_checks() { return kComputedFieldChecks; }

}  // namespace ckpt
