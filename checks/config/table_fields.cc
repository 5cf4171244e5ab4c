// Checks the numbers that determine the shapes of a model's parameters (models/models.h).
//
// Sources: vLLM 0.17.1 vllm/transformers_utils/model_arch_config_convertor.py,
// model_executor/layers/attention/attention.py (heads), and the constructors of models/. They show
// what Python makes of a text, a list or null in place of a number: a number in quotes never works,
// true counts as 1.
#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Fields that may be null, which means num_attention_heads, zero or unused.
constexpr std::string_view kMayBeNull =
    " num_key_value_heads head_dim num_experts num_local_experts n_routed_experts q_lora_rank"
    " n_shared_experts first_k_dense_replace decoder_sparse_step full_attention_interval"
    " tie_word_embeddings num_nextn_predict_layers shared_intermediate_size"
    " deepstack_visual_indexes moe_k ";

// Rejects null for sizes. Null may stand for a default that is computed from other fields.
void check_nulls(const CheckContext& context, const std::string& prefix, const JsonValue& json,
                 std::span<const ClassDefault> defaults) {
  for (const ClassDefault& entry : defaults) {
    const JsonValue* declared = member(json, entry.field);
    const bool is_null = declared != nullptr && declared->is_null();
    const bool is_size = entry.read_by != ReadBy::kKeys && are_digits(entry.value);
    if (!is_null || !is_size || has_word(kMayBeNull, entry.field)) continue;
    context.report(prefix + std::string(entry.field), "null; expected a number, or nothing");
  }
}

void check_zero_fields(const CheckContext& context, const std::string& prefix,
                       const JsonValue& json) {
  for (const std::string_view field :
       {"hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads"}) {
    const JsonValue* declared = known(json, field);
    const bool is_zero =
        declared != nullptr && (declared->is_boolean() ? !declared->get<bool>() : *declared == 0);
    if (is_zero)
      context.report(prefix + std::string(field), "zero; a model cannot be built with it");
  }
}

// The number of query heads must be a multiple of the number of key heads.
void check_heads(const CheckContext& context, const std::string& prefix, const Family& table) {
  const JsonValue& text = context.on.text_config();
  if (known(text, "kv_lora_rank") != nullptr) return;  // latent attention has one key head
  const auto heads = number_of_fields(table, text, "num_attention_heads");
  const auto shared = number_of_fields(table, text, "num_key_value_heads");
  if (!heads || !shared || *heads == 0) return;
  if (*shared != 0 && *heads % *shared == 0) return;
  context.tell(prefix + "num_key_value_heads",
               "{}, of which num_attention_heads, {}, is not a multiple", *shared, *heads);
}

void check_tower_heads(const CheckContext& context, const TowerTable& tower,
                       const JsonValue& vision) {
  const JsonValue* declared = member(vision, tower.heads);
  if (declared == nullptr) return;
  const std::string place = fmt::format("config.json: vision_config.{}", tower.heads);
  const auto heads = declared->is_boolean() ? std::optional<uint64_t>(declared->get<bool>() ? 1 : 0)
                                            : whole(*declared);
  if (!heads || *heads == 0) {
    return context.tell(place, "{}; expected a whole number above zero", declared->dump());
  }
  const JsonValue* width = known(vision, "embed_dim");
  if (width == nullptr) width = known(vision, "hidden_size");
  const auto size = whole(width);
  if (!size || *size % *heads == 0) return;
  context.tell(place, "{}, of which {} values are not a multiple", *heads, *size);
}

void check_table_fields(const CheckContext& context) {
  const Subject& on = context.on;
  const ParameterReport& report = on.parameters;
  if (!report.is_compared()) return;
  constexpr std::string_view kPlace = "config.json: ";
  const bool is_absent = report.bad_field.find(": no ") != report.bad_field.npos;
  if (!report.bad_field.empty() && !is_absent && !report.is_beyond_limits) {
    const bool begins = report.bad_field.starts_with(kPlace);
    context.report("config.json",
                   begins ? report.bad_field.substr(kPlace.size()) : report.bad_field);
  }
  const Family* defaults = table_of_model_type(on.text_type);
  if (defaults == nullptr) defaults = report.table;
  const std::string prefix = on.text_place();
  check_nulls(context, prefix, on.text_config(), defaults->defaults);
  if (!report.table->traits.text.has(ModelTrait::kNoHeadDim))
    check_heads(context, prefix, *defaults);
  check_zero_fields(context, prefix, on.text_config());
  const JsonValue* vision = known(on.config, "vision_config");
  const TowerTable* tower = tower_of(on.model_type, on.config);
  const bool has_tower = tower != nullptr && vision != nullptr && vision->is_object();
  if (!has_tower || !on.has_vision_tensors()) return;
  check_nulls(context, "config.json: vision_config.", *vision, tower->defaults);
  check_tower_heads(context, *tower, *vision);
}

constexpr Check kTableFieldChecks[] = {
    {"C42", "fields that determine shapes are numbers", "U: vllm*",
     "unsupported operand type(s); Input should be a valid integer; num_heads is not divisible by "
     "num_kv_heads",
     kTakeConfig, check_table_fields},
};

}  // namespace

std::span<const Check> table_field_checks() { return kTableFieldChecks; }

}  // namespace ckpt
