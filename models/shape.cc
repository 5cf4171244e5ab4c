#include "models/shape.h"

#include <algorithm>
#include <charconv>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr int kMaxDepth = 4;  // of defaults that are made of other fields

// Values that classes use for null where their default is another number.
constexpr ClassDefault kNullValues[] = {{"num_key_value_heads", "num_attention_heads"},
                                        {"head_dim", "hidden_size/num_attention_heads"}};

bool is_number(const ClassDefault& row) {
  return row.compute == nullptr && row.value[0] >= '0' && row.value[0] <= '9';
}

// Returns the entry of `list` for `layer`, or the one number that all entries are. If there is
// neither, or `list` is another value, returns `list`.
const JsonValue& entry_of(const JsonValue& list, std::optional<uint64_t> layer) {
  if (!list.is_array() || list.size() < 2) return list;
  if (layer && *layer < list.size()) return list[*layer];
  const bool are_equal =
      std::ranges::all_of(list, [&](const JsonValue& entry) { return entry == list[0]; });
  return are_equal ? list[0] : list;
}

Failure too_large(std::string_view text) {
  return unsupported("config.json: {} is beyond 64 bits", text);
}

}  // namespace

const ClassDefault* Fields::find_default(std::string_view field) const {
  for (const auto list : {defaults_, others_}) {
    for (const ClassDefault& row : list) {
      const bool is_for_keys = row.read_by == ReadBy::kKeys;
      if (row.field != field || (is_for_keys && rows_ != ReadBy::kAll)) continue;
      if (is_for_keys && !row.unless.empty() && config_.contains(row.unless)) continue;
      return &row;
    }
  }
  return nullptr;
}

const ClassDefault* Fields::default_of(std::string_view field) const {
  const ClassDefault* found = find_default(field);
  const JsonValue* null = member(config_, field);
  const bool is_null = null != nullptr && null->is_null();
  if (!is_null || found == nullptr || !is_number(*found)) return found;
  return find_by(kNullValues, &ClassDefault::field, field);
}

const JsonValue* Fields::declared(std::string_view field) const {
  if (const JsonValue* found = known(config_, field)) return found;
  if (const size_t dot = field.find('.'); dot != field.npos) {
    return known(known(config_, field.substr(0, dot)), field.substr(dot + 1));
  }
  if (field == "num_experts") return known(config_, "num_local_experts");
  return field == "num_local_experts" ? known(config_, "num_experts") : nullptr;
}

Result<uint64_t> Fields::count(std::string_view field, int depth) const {
  if (const JsonValue* found = declared(field)) {
    found = &entry_of(*found, layer_);
    if (found->is_boolean()) return found->get<bool>() ? 1 : 0;  // as Python counts
    const auto value = whole(*found);
    if (value && *value <= UINT32_MAX) return *value;
    return corrupt("config.json: {} is {}; expected a whole number", field,
                   found->dump(-1, ' ', true, JsonValue::error_handler_t::replace));
  }
  const ClassDefault* value = default_of(field);
  if (value == nullptr || depth > kMaxDepth) {
    if (!config_.contains(field)) return corrupt("config.json: no {}", field);
    return corrupt("config.json: {} is null; expected a whole number", field);
  }
  return value->compute != nullptr ? value->compute(*this) : sum(value->value, depth + 1);
}

Result<uint64_t> Fields::count_or_zero(std::string_view field) const {
  if (declared(field) == nullptr && default_of(field) == nullptr) return 0;
  return count(field);
}

bool Fields::is_true(std::string_view field) const {
  if (const JsonValue* found = declared(field)) return is_truthy(found);
  const ClassDefault* value = default_of(field);
  if (value == nullptr) return false;
  return value->compute == nullptr ? value->value != "0" : value->compute(*this).value_or(0) != 0;
}

Result<uint64_t> Fields::operand(std::string_view text, int depth) const {
  uint64_t value = 0;
  if (text[0] < '0' || text[0] > '9') return count(text, depth);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<uint64_t> Fields::factor(std::string_view text, int depth) const {
  CKPT_ASSIGN(const uint64_t value, operand(take_word(text, '/'), depth));
  if (text.empty()) return value;
  CKPT_ASSIGN(const uint64_t under, operand(text, depth));
  if (under == 0) return corrupt("config.json: {} is 0", text);
  return value / under;
}

Result<uint64_t> Fields::product(std::string_view text, int depth) const {
  uint64_t out = 1;
  for (std::string_view rest = text; !rest.empty();) {
    CKPT_ASSIGN(const uint64_t value, factor(take_word(rest, '*'), depth));
    const auto next = multiply(out, value);
    if (!next) return too_large(text);
    out = *next;
  }
  return out;
}

Result<uint64_t> Fields::sum(std::string_view text, int depth) const {
  uint64_t out = 0;
  for (std::string_view rest = text; !rest.empty();) {
    CKPT_ASSIGN(const uint64_t value, product(take_word(rest, '+'), depth));
    const auto next = add(out, value);
    if (!next) return too_large(text);
    out = *next;
  }
  return out;
}

Result<std::vector<uint64_t>> Fields::shape(std::string_view text) const {
  std::vector<uint64_t> out;
  while (!text.empty()) {
    CKPT_ASSIGN(out.emplace_back(), sum(take_word(text), 0));
  }
  return out;
}

bool ties_head_by_default(const Family& table) {
  return table.traits.text.has(ModelTrait::kTiesOutside) ||
         Fields(JsonValue::object(), table.defaults).is_true("tie_word_embeddings");
}

HeadTies head_ties(const JsonValue& config) {
  constexpr std::string_view kTie = "tie_word_embeddings";
  HeadTies out;
  if (const JsonValue* declared = member(config, kTie)) out.outer = is_truthy(declared);
  const JsonValue* text = known(config, "text_config");
  if (text == nullptr || !text->is_object()) text = &config;
  const JsonValue* declared = text == &config ? nullptr : member(*text, kTie);
  if (declared != nullptr) out.inner = is_truthy(declared);
  const JsonValue& classes = list_in(config, "architectures");
  const auto* name = classes.empty() ? nullptr : classes[0].get_ptr<const std::string*>();
  const bool has_head = name != nullptr && !name->ends_with("Model");
  const Family* table = has_head ? table_of_architecture(*name) : nullptr;
  const std::string* type = text_of(*text, "model_type");
  const Family* own = type == nullptr ? nullptr : table_of_model_type(*type);
  out.by_class = table != nullptr && ties_head_by_default(*table);
  if (table != nullptr && own == nullptr) own = table;
  out.by_text_class = table != nullptr && own != nullptr && ties_head_by_default(*own);
  return out;
}

Result<uint64_t> number_of_fields(const Family& table, const JsonValue& config,
                                  std::string_view text) {
  CKPT_ASSIGN(const auto numbers, numbers_of_fields(table, config, text));
  CKPT_CHECK(numbers.size() == 1);
  return numbers[0];
}

Result<std::vector<uint64_t>> numbers_of_fields(const Family& table, const JsonValue& config,
                                                std::string_view text) {
  return Fields(config, table.defaults).shape(text);
}

}  // namespace ckpt
