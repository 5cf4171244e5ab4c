// Checks of the numbers that the constructors of vLLM's classes compute with and that no shape is
// made of.
//
// Sources: vLLM 0.17.1 vllm/model_executor/models/ (the classes with a quirk "stops_at"),
// layers/fused_moe/layer.py, config/model.py; transformers 4.57.6 models/*/configuration_*.py. Each
// was asked with every kind of value.
#include <algorithm>
#include <cmath>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Fields in the order of their findings, and what of them stops every constructor: stop_letter()s.
// More that stops one class is its quirk "stops_at:FIELD=LETTERS", for a tower the wrapper's.
constexpr std::string_view kComputedInText =
    "attention_multiplier logits_scaling query_pre_attn_scalar rope_local_base_freq sliding_window"
    " block_dim block_ff_dim conv_dim head_dim moe_layer_freq n_group topk_group"
    " moe_layer_end_index moe_layer_interval no_rope_layer_interval";
constexpr std::string_view kComputedInTower =
    "pixel_shuffle_ratio projector_input_dim image_size intermediate_size";
constexpr std::string_view kStopEvery =
    "stops_at:attention_multiplier=tln stops_at:sliding_window=tlf stops_at:block_dim=tl"
    " stops_at:block_ff_dim=tl";

bool is_bad(std::string_view words, std::string_view field, char kind) {
  const auto letters = words_after(words, fmt::format("stops_at:{}=", field));
  return !letters.empty() && letters[0].find(kind) != letters[0].npos;
}

// `json` is the text part's configuration or the tower's.
void look_rows(const Look& look, bool is_text, const JsonValue& json) {
  if (!is_text && !look.on.has_vision_tensors()) return;
  const std::string place = is_text ? look.on.text_place() : "config.json: vision_config.";
  const JsonValue* slides = member(json, "use_sliding_window");
  const std::string_view quirks =
      quirks_of(is_text ? ruling_type(look) : std::string_view(look.on.model_type));
  const std::string_view fields = is_text ? kComputedInText : kComputedInTower;
  for (const std::string_view field : split_words(fields)) {
    const bool is_read = field != "sliding_window" || slides == nullptr || is_truthy(slides);
    const JsonValue* value = member(json, field);
    const char kind = stop_letter(value);
    const bool stops = is_bad(kStopEvery, field, kind) || is_bad(quirks, field, kind);
    if (!is_read || !stops) continue;
    look.tell(fmt::format("{}{}", place, field),
              "{}; expected a number that this class can compute with",
              value == nullptr ? "absent" : value->dump());
  }
}

// Heads of Mamba 2 make up its width, whether a layer has it or not.
void look_mamba_heads(const Look& look) {
  const Examined& on = look.on;
  const bool fills = has_quirk(on.text_type, "mamba_heads_fill_width");
  if (!fills || on.parameters.table == nullptr) return;
  const Family& table = *on.parameters.table;
  const auto width = number_of_fields(table, on.text_config(), "mamba_expand*hidden_size");
  const auto heads = number_of_fields(table, on.text_config(), "mamba_n_heads");
  constexpr const char* kPlace = "config.json: mamba_n_heads";
  if (!width || !heads || *heads == 0 || *width == 0) {
    return look.report(kPlace,
                       "it, mamba_expand and hidden_size are not all whole numbers above zero");
  }
  const JsonValue* said = member(on.text_config(), "mamba_d_head");
  const bool is_made = said == nullptr || *said == "auto";
  const std::optional<uint64_t> size = is_made ? *width / *heads : whole(*said);
  if (size && *size * *heads == *width) return;
  look.tell(kPlace, "{} of {} values each; mamba_expand*hidden_size is {}", *heads,
            is_made ? "a share" : said->dump(), *width);
}

// Which layers rotate, one entry a layer; an empty list counts as none.
void look_rotating_layers(const Look& look) {
  const JsonValue& text = look.on.text_config();
  if (!has_quirk(look.on.text_type, "lists_rotating_layers")) return;
  const size_t entries = list_in(text, "no_rope_layers").size();
  const uint64_t layers = whole(known(text, "num_hidden_layers")).value_or(0);
  if (entries == 0 || entries >= layers) return;
  look.tell("config.json: no_rope_layers", "{} entries; num_hidden_layers is {}", entries, layers);
}

// Fields that vLLM's classes ignore; they compute with the usual value.
void look_unread(const Look& look) {
  const Examined& on = look.on;
  const std::string_view type = ruling_type(look);
  const JsonValue* parallel = member(on.text_config(), "use_parallel_residual");
  if (has_quirk(type, "ignores_parallel_residual") && is_truthy(parallel)) {
    look.report("config.json: use_parallel_residual", "true, which this class cannot compute");
  }
  const JsonValue* bias = member(on.text_config(), "attention_bias");
  const bool lacks_bias = bias != nullptr && !is_truthy(bias) && on.quantization() == nullptr;
  if (lacks_bias && has_quirk(type, "always_biases_qkv")) {
    look.tell("config.json: attention_bias",
              "{}; this class has biases of queries, keys and values", bias->dump());
  }
  const JsonValue* range = member(on.text_config(), "initializer_range");
  const bool is_width = range == nullptr || range->is_boolean() || number(*range).value_or(-1) >= 0;
  if (!is_width && runs_by_fallback(look.profile, on.model_class)) {
    look.tell("config.json: initializer_range", "{}; expected a number, at least 0", range->dump());
  }
  if (!has_quirk(type, "shares_no_key_heads")) return;
  const auto heads =
      number_of_fields(*on.parameters.table, on.text_config(), "num_attention_heads");
  const auto shared =
      number_of_fields(*on.parameters.table, on.text_config(), "num_key_value_heads");
  if (!heads || !shared || *heads == *shared) return;
  look.tell("config.json: num_key_value_heads",
            "{}; this class has as many as num_attention_heads, {}", *shared, *heads);
}

// Classes of vLLM that compute windows in all layers or in none.
void look_windows(const Look& look) {
  const JsonValue& text = look.on.text_config();
  if (!has_quirk(ruling_type(look), "slides_in_all_or_none")) return;
  const JsonValue* first = known(text, "max_window_layers");
  const uint64_t layers = whole(known(text, "num_hidden_layers")).value_or(0);
  const uint64_t full = first == nullptr ? 28 : whole(*first).value_or(layers);
  const std::vector<std::string> types = look.on.layer_types();
  bool is_mixed =
      std::ranges::any_of(types, [&](const std::string& type) { return type != types[0]; });
  if (types.empty()) {
    const JsonValue* window = member(text, "sliding_window");
    const bool slides =
        is_truthy(member(text, "use_sliding_window")) && (window == nullptr || !window->is_null());
    is_mixed = slides && full > 0 && full < layers;
  }
  if (!is_mixed || full == layers) return;
  look.tell("config.json: max_window_layers", "{}; this class slides in all {} layers or in none",
            full, layers);
}

void look_computed_fields(const Look& look) {
  if (!look.on.parameters.is_compared()) return;
  look_rows(look, true, look.on.text_config());
  const JsonValue* vision = known(look.on.config, "vision_config");
  if (vision != nullptr && vision->is_object()) look_rows(look, false, *vision);
  look_mamba_heads(look);
  look_unread(look);
  look_windows(look);
  look_rotating_layers(look);
}

constexpr Check kComputedFieldChecks[] = {
    {"C43", "numbers that constructors compute with are numbers", "U: vllm*",
     "unsupported operand type(s); ZeroDivisionError; AssertionError", kTakeConfig,
     look_computed_fields},
};

}  // namespace

char stop_letter(const JsonValue* value) {
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
