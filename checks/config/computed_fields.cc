// Checks of the numbers that the constructors of vLLM's classes compute with and that no shape is
// made of.
//
// Sources: vLLM 0.17.1 vllm/model_executor/models/{deepseek_v2,ernie45_moe,gemma2,gemma3,glm4_moe,
// gpt_oss,granite,granitemoe,granitemoehybrid,lfm2,llama4,mllama4,pixtral}.py, layers/fused_moe/
// layer.py, config/model.py; transformers 4.57.6 models/{llama4,granitemoehybrid,deepseek_v2}/
// configuration_*.py. Each was asked with every kind of value.
#include <algorithm>
#include <cmath>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// A field, and what of it stops the constructor.
//   level   of the field: "text_config" or "vision_config"
//   types   of the text model, or of the wrapper for a tower, between spaces; empty: all
//   bad     a letter for each: t text, l list or object, n null, z zero, m a number below zero,
//           f a fraction, a absent
struct ComputedField {
  std::string_view level, field, types, bad;
};
constexpr ComputedField kComputedFields[] = {
    {"text_config", "attention_multiplier", "", "tln"},
    {"text_config", "logits_scaling", " granite granitemoehybrid granitemoe granitemoeshared ",
     "tlnz"},
    {"text_config", "query_pre_attn_scalar", " gemma2 gemma3_text ", "tlnzm"},
    {"text_config", "rope_local_base_freq", " gemma3_text ", "tln"},
    {"text_config", "sliding_window", "", "tlf"},
    {"text_config", "block_dim", "", "tl"},
    {"text_config", "block_ff_dim", "", "tl"},
    {"text_config", "block_ff_dim", " lfm2 ", "a"},
    {"text_config", "conv_dim", " lfm2 ", "tlna"},
    {"text_config", "head_dim",
     " gemma gemma2 gemma3_text seed_oss gpt_oss exaone4 mixtral phimoe llama4_text ", "z"},
    {"text_config", "moe_layer_freq", " deepseek_v2 deepseek_v3 ", "tlnz"},
    {"text_config", "n_group", " deepseek_v2 ", "tlna"},
    {"text_config", "topk_group", " deepseek_v2 ", "na"},
    {"text_config", "n_group", " deepseek_v3 glm4_moe ", "tln"},
    {"text_config", "topk_group", " deepseek_v3 glm4_moe ", "n"},
    {"text_config", "moe_layer_end_index", " ernie4_5_moe ", "tln"},
    {"text_config", "moe_layer_interval", " ernie4_5_moe ", "tlnz"},
    {"text_config", "no_rope_layer_interval", " llama4_text ", "tlnz"},
    {"vision_config", "pixel_shuffle_ratio", " llama4 ", "tlnz"},
    {"vision_config", "projector_input_dim", " llama4 ", "z"},
    {"vision_config", "image_size", " mistral3 ", "tln"},
    {"vision_config", "intermediate_size", " qwen2_5_vl qwen3_vl qwen3_vl_moe ", "z"},
};

char kind_of_value(const JsonValue* value) {
  if (value == nullptr) return 'a';
  if (value->is_null()) return 'n';
  if (value->is_string()) return 't';
  if (value->is_structured()) return 'l';
  if (value->is_boolean()) return value->get<bool>() ? '-' : 'z';
  if (*number(*value) == 0) return 'z';
  if (*number(*value) < 0) return 'm';
  return std::floor(*number(*value)) == *number(*value) ? '-' : 'f';
}

bool is_read(const Look& look, const ComputedField& row, const JsonValue& json) {
  const bool is_text = row.level == "text_config";
  const std::string_view type = is_text ? ruling_type(look) : std::string_view(look.on.model_type);
  if (!row.types.empty() && !has_word(row.types, type)) return false;
  if (!is_text && !look.on.has_vision_tensors()) return false;
  const JsonValue* slides = member(json, "use_sliding_window");
  return row.field != "sliding_window" || slides == nullptr || is_truthy(slides);
}

void look_rows(const Look& look, std::string_view level, const JsonValue& json) {
  const bool is_nested = level == "vision_config" || look.on.has_text_config();
  for (const ComputedField& row : kComputedFields) {
    if (row.level != level || !is_read(look, row, json)) continue;
    const JsonValue* value = member(json, row.field);
    if (row.bad.find(kind_of_value(value)) == row.bad.npos) continue;
    look.report(
        fmt::format("config.json: {}{}{}", is_nested ? level : "", is_nested ? "." : "", row.field),
        fmt::format("{}; expected a number that this class can compute with",
                    value == nullptr ? "absent" : value->dump()));
  }
}

// Heads of Mamba 2 make up its width, whether a layer has it or not.
void look_mamba_heads(const Look& look) {
  const Examined& on = look.on;
  if (on.text_type != "granitemoehybrid" || on.parameters.table == nullptr) return;
  const Family& table = *on.parameters.table;
  const auto width = number_of_fields(table, on.text_config(), "mamba_expand*hidden_size");
  const auto heads = number_of_fields(table, on.text_config(), "mamba_n_heads");
  constexpr const char* kPlace = "config.json: mamba_n_heads";
  if (!width || !heads || *heads == 0 || *width == 0) {
    look.report(kPlace, "it, mamba_expand and hidden_size are not all whole numbers above zero");
    return;
  }
  const JsonValue* said = member(on.text_config(), "mamba_d_head");
  const bool is_made = said == nullptr || *said == "auto";
  const std::optional<uint64_t> size = is_made ? *width / *heads : whole(*said);
  if (size && *size * *heads == *width) return;
  look.report(kPlace, fmt::format("{} of {} values each; mamba_expand*hidden_size is {}", *heads,
                                  is_made ? "a share" : said->dump(), *width));
}

// Which layers rotate, one entry a layer; an empty list counts as none.
void look_rotating_layers(const Look& look) {
  const JsonValue& text = look.on.text_config();
  if (!has_word(" llama4_text smollm3 ", look.on.text_type)) return;
  const JsonValue* said = known(text, "no_rope_layers");
  const JsonValue* count = known(text, "num_hidden_layers");
  if (said == nullptr || count == nullptr || !said->is_array() || said->empty()) return;
  const uint64_t layers = whole(*count).value_or(0);
  if (said->size() >= layers) return;
  look.report("config.json: no_rope_layers",
              fmt::format("{} entries; num_hidden_layers is {}", said->size(), layers));
}

// Fields that vLLM's classes ignore; they compute with the usual value.
void look_unread(const Look& look) {
  const Examined& on = look.on;
  const std::string_view type = ruling_type(look);
  const JsonValue* parallel = member(on.text_config(), "use_parallel_residual");
  if (type == "stablelm" && is_truthy(parallel)) {
    look.report("config.json: use_parallel_residual", "true, which this class cannot compute");
  }
  const JsonValue* bias = member(on.text_config(), "attention_bias");
  if (type == "seed_oss" && bias != nullptr && !is_truthy(bias) && on.quantization() == nullptr) {
    look.report("config.json: attention_bias",
                fmt::format("{}; this class has biases of queries, keys and values", bias->dump()));
  }
  const JsonValue* range = member(on.text_config(), "initializer_range");
  const bool is_width = range == nullptr || range->is_boolean() || number(*range).value_or(-1) >= 0;
  if (!is_width && runs_by_fallback(look.profile, on.model_class)) {
    look.report("config.json: initializer_range",
                fmt::format("{}; expected a number, at least 0", range->dump()));
  }
  if (!has_word(" olmo phi ", type)) return;
  const auto heads =
      number_of_fields(*on.parameters.table, on.text_config(), "num_attention_heads");
  const auto shared =
      number_of_fields(*on.parameters.table, on.text_config(), "num_key_value_heads");
  if (!heads || !shared || *heads == *shared) return;
  look.report(
      "config.json: num_key_value_heads",
      fmt::format("{}; this class has as many as num_attention_heads, {}", *shared, *heads));
}

// Classes of vLLM that compute windows in all layers or in none.
void look_windows(const Look& look) {
  const JsonValue& text = look.on.text_config();
  if (!has_word(" qwen2 qwen3 qwen2_vl_text qwen2_5_vl_text ", ruling_type(look))) return;
  const JsonValue* count = known(text, "num_hidden_layers");
  const JsonValue* first = known(text, "max_window_layers");
  const uint64_t layers = count == nullptr ? 0 : whole(*count).value_or(0);
  const uint64_t full = first == nullptr ? 28 : whole(*first).value_or(layers);
  const std::vector<std::string> types = look.on.layer_types();
  bool is_mixed = std::any_of(types.begin(), types.end(),
                              [&](const std::string& type) { return type != types[0]; });
  if (types.empty()) {
    const JsonValue* window = member(text, "sliding_window");
    const bool slides =
        is_truthy(member(text, "use_sliding_window")) && (window == nullptr || !window->is_null());
    is_mixed = slides && full > 0 && full < layers;
  }
  if (!is_mixed || full == layers) return;
  look.report("config.json: max_window_layers",
              fmt::format("{}; this class slides in all {} layers or in none", full, layers));
}

Status look_computed_fields(const Look& look) {
  if (look.on.is_gguf || !look.on.parameters.is_compared()) return {};
  look_rows(look, "text_config", look.on.text_config());
  const JsonValue* vision = known(look.on.config, "vision_config");
  if (vision != nullptr && vision->is_object()) look_rows(look, "vision_config", *vision);
  look_mamba_heads(look);
  look_unread(look);
  look_windows(look);
  look_rotating_layers(look);
  return {};
}

constexpr Check kComputedFieldChecks[] = {
    {"C43", "numbers that constructors compute with are numbers", "U: vllm*",
     "unsupported operand type(s); ZeroDivisionError; AssertionError", "",
     "take config.json from the source model", look_computed_fields},
};

}  // namespace

std::span<const Check> computed_field_checks() { return kComputedFieldChecks; }

}  // namespace ckpt
