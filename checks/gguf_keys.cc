// The keys of a GGUF: those that llama.cpp v0.5.0 must find, and the types that it takes. Sources:
// src/llama-model-loader.cpp (get_key, get_arr, get_key_or_arr: another type is an error wherever a
// key is read), src/llama-vocab.cpp (load).
#include <algorithm>
#include <unordered_set>

#include "checks/gguf_rules.h"
#include "checks/subject.h"

namespace ckpt {
namespace {

constexpr std::string_view kTokenizerKeys =
    "general.architecture:t! general.name:t general.file_type:u tokenizer.ggml.model:t!"
    " tokenizer.ggml.pre:t tokenizer.ggml.token_type_count:u tokenizer.ggml.add_space_prefix:b"
    " tokenizer.ggml.remove_extra_whitespaces:b tokenizer.ggml.bos_token_id:u"
    " tokenizer.ggml.eos_token_id:u tokenizer.ggml.eot_token_id:u tokenizer.ggml.eom_token_id:u"
    " tokenizer.ggml.unknown_token_id:u tokenizer.ggml.seperator_token_id:u"
    " tokenizer.ggml.padding_token_id:u tokenizer.ggml.mask_token_id:u"
    " tokenizer.ggml.fim_pre_token_id:u tokenizer.ggml.fim_suf_token_id:u"
    " tokenizer.ggml.fim_mid_token_id:u tokenizer.ggml.fim_pad_token_id:u"
    " tokenizer.ggml.fim_rep_token_id:u tokenizer.ggml.fim_sep_token_id:u"
    " tokenizer.ggml.prefix_token_id:u tokenizer.ggml.suffix_token_id:u"
    " tokenizer.ggml.middle_token_id:u tokenizer.ggml.add_bos_token:b"
    " tokenizer.ggml.add_eos_token:b tokenizer.ggml.add_sep_token:b"
    " tokenizer.ggml.normalizer.lowercase:b tokenizer.ggml.normalizer.strip_accents:b";

bool is_flag_or_number(MetaType type) {
  return type == MetaType::kBool || type == MetaType::kU32 || type == MetaType::kI32;
}

struct KeyCounts {
  uint64_t blocks, trunk;
};

// What is wrong with a value for a key of this kind; empty: nothing.
std::string fault_of_array(const MetaArray& array, char kind, const KeyCounts& counts) {
  if (kind == 't' || kind == 'u' || kind == 'f' || kind == 'b') return "an array";
  const uint64_t wanted = kind == 'S' ? 4 : kind == 'T' ? counts.trunk : counts.blocks;
  const bool is_any_length = kind == 'P' || kind == 'A';
  if (!is_any_length && array.count() != wanted) {
    return fmt::format("{} values; expected {}", array.count(), wanted);
  }
  if (array.count() > 512) return fmt::format("{} values; expected at most 512", array.count());
  return is_flag_or_number(array.element) ? std::string()
                                          : fmt::format("an array of {}", name(array.element));
}

std::string fault_of(const MetaValue& value, char kind, const KeyCounts& counts) {
  if (const auto* array = std::get_if<MetaArray>(&value.value)) {
    return fault_of_array(*array, kind, counts);
  }
  MetaType wanted = MetaType::kU32;
  if (kind == 'f') wanted = MetaType::kF32;
  if (kind == 'b') wanted = MetaType::kBool;
  if (kind == 't') wanted = MetaType::kText;
  if (kind == 'S') wanted = MetaType::kI32;
  if (kind == 'A') wanted = MetaType::kArray;
  return value.type == wanted ? std::string()
                              : fmt::format("{}; expected {}", name(value.type), name(wanted));
}

// `list` as in GgufArchitecture.
void look_list(const Look& look, std::string_view prefix, std::string_view list,
               const KeyCounts& counts) {
  while (!list.empty()) {
    std::string_view word = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    const size_t colon = word.find(':');
    if (colon == word.npos) continue;
    const std::string key = fmt::format("{}{}", prefix, word.substr(0, colon));
    const MetaValue* value = look.on.checkpoint.metadata.find(key);
    if (value == nullptr) {
      if (word.ends_with('!')) look.report(key, "missing");
      continue;
    }
    std::string fault = fault_of(*value, word[colon + 1], counts);
    if (fault.empty()) continue;
    look.out.push_back({key, std::move(fault), {}, "key has wrong type or array length", {}});
  }
}

const MetaArray* array_of(const Look& look, std::string_view key) {
  const MetaValue* value = look.on.checkpoint.metadata.find(key);
  return value == nullptr ? nullptr : std::get_if<MetaArray>(&value->value);
}

// Token lists have one element type each.
void look_token_lists(const Look& look) {
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"tokenizer.ggml.tokens", " string "},
      {"tokenizer.ggml.merges", " string "},
      {"tokenizer.ggml.scores", " f32 i32 "},
      {"tokenizer.ggml.token_type", " i32 "}};
  for (const auto& [key, types] : kLists) {
    const MetaValue* value = look.on.checkpoint.metadata.find(key);
    if (value == nullptr) continue;
    const MetaArray* array = std::get_if<MetaArray>(&value->value);
    const MetaType element = array == nullptr ? value->type : array->element;
    const bool is_text = element == MetaType::kText && types == " string ";
    const bool is_float = element == MetaType::kF32 && types.starts_with(" f32");
    const bool is_whole = element == MetaType::kI32 && types.ends_with(" i32 ");
    if (array != nullptr && (is_text || is_float || is_whole)) continue;
    look.report(std::string(key), fmt::format("{} {}; expected an array of {}",
                                              array == nullptr ? "one" : "an array of",
                                              name(element), types.substr(1, types.size() - 2)));
  }
}

}  // namespace

// Once a text stands twice, the library's two tables of tokens differ, and it stops.
Status look_gguf_tokens(const Look& look) {
  const std::string* model = look.on.checkpoint.metadata.find_text("tokenizer.ggml.model");
  if (model == nullptr || *model == "none" || *model == "no_vocab") return {};
  look_token_lists(look);
  const MetaArray* tokens = array_of(look, "tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->element != MetaType::kText) return {};
  std::unordered_set<std::string_view> seen;
  for (uint64_t id = 0; id < tokens->texts.size(); ++id) {
    const std::string& text = tokens->texts[id];
    if (text.empty() || seen.insert(text).second) continue;
    look.out.push_back({fmt::format("tokenizer.ggml.tokens[{}]", id),
                        "the text of an earlier token",
                        {},
                        "GGML_ASSERT(id_to_token.size() == token_to_id.size())",
                        {}});
    break;
  }
  return {};
}

Status look_gguf_keys(const Look& look, const std::string& architecture) {
  const uint64_t blocks =
      look.on.checkpoint.metadata.find_unsigned(architecture + ".block_count").value_or(0);
  const uint64_t nextn =
      look.on.checkpoint.metadata.find_unsigned(architecture + ".nextn_predict_layers").value_or(0);
  const KeyCounts counts{blocks, blocks - std::min(blocks, nextn)};
  look_list(look, "", kTokenizerKeys, counts);
  const GgufArchitecture* rules = find_gguf_architecture(architecture);
  if (rules == nullptr) return {};
  const std::string prefix = architecture + ".";
  look_list(look, prefix, kGgufCommonKeys, counts);
  look_list(look, prefix, rules->keys, counts);
  const GgufNumbers numbers(look.on.checkpoint, *rules);
  if (blocks == 0 || blocks > 512) return {};
  if (std::string fault = numbers.fault(); !fault.empty()) {
    look.out.push_back({architecture, std::move(fault), {}, "GGML_ASSERT(...) failed", {}});
  }
  return {};
}

}  // namespace ckpt
