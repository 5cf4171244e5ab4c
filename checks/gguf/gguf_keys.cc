// Checks the keys of a GGUF: those that llama.cpp v0.5.0 requires, and the types that it accepts
// (models/gguf_keys.cc).
#include <algorithm>
#include <unordered_set>

#include "checks/gguf/gguf_rules.h"
#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

// Keys of all architectures.
constexpr std::string_view kGgufCommonKeys =
    "context_length! embedding_length! embedding_length_out attention.causal pooling_type"
    " block_count! nextn_predict_layers expert_count expert_used_count expert_group_count"
    " expert_group_used_count feed_forward_length attention.head_count attention.head_count_kv"
    " rope.scaling.finetuned rope.scaling.original_context_length rope.freq_base rope.scaling.type"
    " rope.scaling.factor rope.scaling.attn_factor rope.scaling.alpha attention.key_length"
    " attention.value_length rope.dimension_count attention.key_length_swa"
    " attention.value_length_swa rope.dimension_count_swa classifier.output_labels";
constexpr std::string_view kRequiredKeys = " general.architecture tokenizer.ggml.model ";

bool is_flag_or_number(MetaType type) {
  return type == MetaType::kBool || type == MetaType::kU32 || type == MetaType::kI32;
}

struct KeyCounts {
  uint64_t blocks, trunk;
};

// The fault of a value for a key of this kind, or "".
std::string fault_of_array(const MetaArray& array, char kind, const KeyCounts& counts) {
  if (kind == 't' || kind == 'u' || kind == 'f' || kind == 'b') return "an array";
  const bool are_of_trunk = kind == 'T' || kind == 'F';
  const uint64_t wanted = kind == 'S' ? 4 : are_of_trunk ? counts.trunk : counts.blocks;
  const bool are_texts = kind == 'C', are_wide = kind == 'N';
  const bool is_any_length = kind == 'P' || kind == 'A' || are_wide || are_texts;
  if (!is_any_length && array.count() != wanted) {
    return fmt::format("{} values; expected {}", array.count(), wanted);
  }
  if (array.count() > 512 && !are_texts) {
    return fmt::format("{} values; expected at most 512", array.count());
  }
  const MetaType own = are_texts  ? MetaType::kText
                       : are_wide ? MetaType::kU64
                                  : MetaType::kF32;
  const bool is_exact = are_texts || are_wide || kind == 'F' || kind == 'G';
  const bool is_right = is_exact ? array.element == own : is_flag_or_number(array.element);
  return is_right ? std::string() : fmt::format("an array of {}", name(array.element));
}

std::string fault_of(const MetaValue& value, const GgufKey& key, const KeyCounts& counts) {
  if (const auto* array = std::get_if<MetaArray>(&value.value)) {
    return fault_of_array(*array, key.kind, counts);
  }
  return value.type == key.type ? std::string()
                                : fmt::format("{}; expected {}", name(value.type), name(key.type));
}

void check_key(const CheckContext& context, const std::string& key, const GgufKey& known,
               const KeyCounts& counts) {
  const MetaValue* value = context.on.checkpoint.metadata.find(key);
  if (value == nullptr || known.kind == 'L') return;  // lists: check_token_lists()
  std::string fault = fault_of(*value, known, counts);
  if (fault.empty()) return;
  context.report(key, std::move(fault), {}, "key has wrong type or array length");
}

void check_required(const CheckContext& context, const std::string& key) {
  if (context.on.checkpoint.metadata.find(key) == nullptr) context.report(key, "missing");
}

void check_keys_of_file(const CheckContext& context, const KeyCounts& counts) {
  for (const std::string_view word : split_words(gguf_keys_of_file())) {
    const std::string key(word.substr(0, word.find(':')));
    if (has_word(kRequiredKeys, key)) check_required(context, key);
    if (const auto known = find_gguf_key({}, key)) check_key(context, key, *known, counts);
  }
}

// `list` is a list of keys as in GgufArchitecture.
void check_keys_of(const CheckContext& context, const std::string& architecture,
                   std::string_view list, const KeyCounts& counts) {
  for (std::string_view word : split_words(list)) {
    const bool is_required = word.ends_with('!');
    if (is_required) word.remove_suffix(1);
    const size_t colon = std::min(word.find(':'), word.size());
    const bool is_of_file = word.starts_with('/');
    const std::string key = is_of_file
                                ? std::string(word.substr(1, colon - 1))
                                : fmt::format("{}.{}", architecture, word.substr(0, colon));
    auto known = find_gguf_key(architecture, key);
    if (!known) continue;
    if (colon < word.size()) *known = {word[colon + 1], MetaType::kArray};
    if (is_required) check_required(context, key);
    // The loader ignores an optional list that is not an array.
    const MetaValue* value = context.on.checkpoint.metadata.find(key);
    const bool is_list = value != nullptr && std::holds_alternative<MetaArray>(value->value);
    const bool is_passed = has_word("A C N", std::string_view(&known->kind, 1)) && !is_required &&
                           !is_list;
    if (!is_passed) check_key(context, key, *known, counts);
  }
}

// Checks keys that the loader reads only if another one is absent, or for some numbers of blocks.
void check_keys_in_place(const CheckContext& context, const std::string& architecture,
                         Sliding sliding, const KeyCounts& counts) {
  const auto check_one = [&](std::string_view name) {
    const std::string key = fmt::format("{}.{}", architecture, name);
    if (const auto known = find_gguf_key(architecture, key))
      check_key(context, key, *known, counts);
  };
  const bool has_factor =
      context.on.checkpoint.metadata.find(architecture + ".rope.scaling.factor") != nullptr;
  if (!has_factor) check_one("rope.scale_linear");
  if (sliding == Sliding::kOf64Layers && counts.trunk == 64) check_one("rope.freq_base_swa");
}

// Checks the element types of token lists.
void check_token_lists(const CheckContext& context) {
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"tokenizer.ggml.tokens", "string"},
      {"tokenizer.ggml.merges", "string"},
      {"tokenizer.ggml.scores", "f32 i32"},
      {"tokenizer.ggml.token_type", "i32"},
      {"tokenizer.ggml.suppress_tokens", "i32"}};
  for (const auto& [key, types] : kLists) {
    const MetaValue* value = context.on.checkpoint.metadata.find(key);
    if (value == nullptr) continue;
    const MetaArray* array = std::get_if<MetaArray>(&value->value);
    const MetaType element = array == nullptr ? value->type : array->element;
    const bool fits =
        element == MetaType::kText ? types == "string" : has_word(types, name(element));
    if (array != nullptr && fits) continue;
    context.tell(std::string(key), "{} {}; expected an array of {}",
                 array == nullptr ? "one" : "an array of", name(element), types);
  }
}

void check_nested_arrays(const CheckContext& context) {
  for (const MetaEntry& entry : context.on.checkpoint.metadata.entries) {
    const auto* array = std::get_if<MetaArray>(&entry.value.value);
    if (array == nullptr || array->element != MetaType::kArray) continue;
    context.report(entry.key, "an array of arrays", {}, "invalid GGUF type");
  }
}

// Rotation divides by powers of these bases.
void check_bases(const CheckContext& context, const std::string& architecture) {
  for (const std::string_view end : {"rope.freq_base", "rope.freq_base_swa"}) {
    const std::string key = fmt::format("{}.{}", architecture, end);
    const MetaValue* found = context.on.checkpoint.metadata.find(key);
    const double* base = found == nullptr ? nullptr : std::get_if<double>(&found->value);
    if (base == nullptr || *base > 0) continue;
    context.report(key, fmt::format("{}; expected a number above zero", *base), Severity::kUnsound,
                   "NaN logits");
  }
}

}  // namespace

// A text that occurs twice makes the library's two token tables differ, at which it stops.
void check_gguf_tokens(const CheckContext& context) {
  const Metadata& metadata = context.on.checkpoint.metadata;
  const std::string* model = metadata.find_text("tokenizer.ggml.model");
  if (model == nullptr || has_word(kGgufNoTokenizer, *model)) return;
  check_token_lists(context);
  const MetaArray* tokens = metadata.find_array("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->element != MetaType::kText) return;
  std::unordered_set<std::string_view> seen;
  for (uint64_t id = 0; id < tokens->texts.size(); ++id) {
    const std::string& text = tokens->texts[id];
    if (text.empty() || seen.insert(text).second) continue;
    context.report(fmt::format("tokenizer.ggml.tokens[{}]", id),
                   "the same text as an earlier token", {},
                   "GGML_ASSERT(id_to_token.size() == token_to_id.size())");
    break;
  }
}

void check_gguf_keys(const CheckContext& context, const std::string& architecture) {
  const Metadata& metadata = context.on.checkpoint.metadata;
  const uint64_t blocks = metadata.find_unsigned(architecture + ".block_count").value_or(0);
  const uint64_t nextn = metadata.find_unsigned(architecture + ".nextn_predict_layers").value_or(0);
  const KeyCounts counts{blocks, blocks - std::min(blocks, nextn)};
  const size_t before = context.out.size();
  check_nested_arrays(context);
  check_keys_of_file(context, counts);
  const GgufArchitecture* rules = find_gguf_architecture(architecture);
  if (rules == nullptr) return;
  check_keys_of(context, architecture, kGgufCommonKeys, counts);
  check_keys_of(context, architecture, rules->norm, counts);
  check_keys_of(context, architecture, rules->keys, counts);
  check_keys_in_place(context, architecture, rules->sliding, counts);
  check_bases(context, architecture);
  if (context.out.size() != before) return;  // unknown keys make numbers meaningless
  const GgufNumbers numbers(context.on.checkpoint, *rules);
  if (blocks == 0 || blocks > 512) return;
  if (std::string fault = numbers.fault(); !fault.empty()) {
    context.report(architecture, std::move(fault), {}, "GGML_ASSERT(...) failed");
  }
}

}  // namespace ckpt
