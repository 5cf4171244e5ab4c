// Checks the class with which transformers 5 reads tokenizer.json. Most classes use the file's
// vocabulary and merges, and build the other rules themselves:
//
//   bytes     BPE of bytes as letters (GPT-2)   prefixed  pieces, "▁" before each text (Llama 2)
//   unigram   pieces with scores (T5)           bare      pieces, no "▁" before it (Gemma)
//   words     WordPiece (BERT)
//
// data/profiles/run/tokenizer_classes.py ran each class with each kind; the results are in
// data/profiles/transformers-5.17.txt.
// Source: transformers 5.17.0 src/transformers/models/auto/tokenization_auto.py (from_pretrained),
// tokenization_utils_tokenizers.py (convert_to_native_format).
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "core/model/token_lists.h"

namespace ckpt {
namespace {

constexpr const char* kClassPlace = "tokenizer_config.json: tokenizer_class";
constexpr std::string_view kSplitSection = "tokenizer pre_tokenizer ";
// Classes that use the entire tokenizer.json.
constexpr std::string_view kBackends =
    " TokenizersBackend PythonBackend PreTrainedTokenizer MistralCommonBackend ";

bool is_listed(const Profile& profile, std::string_view list, std::string_view word) {
  return has_listed(profile.transformers(), list, word, false);
}

std::string_view section_of(const Profile& profile, std::string_view start, std::string_view word) {
  return section_with(profile.transformers(), start, word);
}

std::string_view without_fast(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

bool is_backend(std::string_view name) { return has_word(kBackends, name); }

bool names_own_code(const JsonValue& config) {
  const JsonValue* map = known(config, "auto_map");
  return map != nullptr && (map->is_array() || known(*map, "AutoTokenizer") != nullptr);
}

// Whether the program's transformers has the class that tokenizer_config.json states.
bool knows_stated_class(const Subject& on, const Profile& profile) {
  const std::string* stated = text_of(on.tokenizer_config, "tokenizer_class");
  const std::string_view name = stated == nullptr ? std::string_view() : *stated;
  if (!profile.has_tokenizers_of_5()) return name.empty() || knows_tokenizer_class(profile, name);
  const std::string section = fmt::format("tokenizer class {}", without_fast(name));
  return is_backend(without_fast(name)) || profile.transformers().lists.contains(section);
}

// Whether transformers 5 has a tokenizer for the model type, taken in place of an unknown class.
bool has_tokenizer_of_type(const Subject& on, const Profile& profile) {
  const auto others = listed_for(profile, "configurations of other types", on.model_type);
  const std::string_view type = others.empty() ? std::string_view(on.model_type) : others[0];
  return profile.has_tokenizers_of_5() && !section_of(profile, "tokenizer class ", type).empty();
}

// Whether transformers 5 reads the folder's tokenizer.json for this program with a specific class.
bool reads_by_class(const Subject& on, const Profile& profile) {
  if (!profile.has_tokenizers_of_5() || !on.tokenizer.is_object()) return false;
  return !profile.does("choose_tokenizer_by_model_type") ||
         !has_trait(on.model_type, ModelTrait::kTokenizerByType);
}

bool has_part(const JsonValue* part, std::string_view type) {
  if (part == nullptr) return false;
  const std::string* own = text_of(*part, "type");
  if (own != nullptr && *own == type) return true;
  for (const std::string_view list : {"normalizers", "pretokenizers"}) {
    for (const JsonValue& each : list_in(*part, list)) {
      if (has_part(&each, type)) return true;
    }
  }
  return false;
}

std::string json_of(const JsonValue& part) {
  return part.dump(-1, ' ', false, JsonValue::error_handler_t::replace);
}

bool holds(const JsonValue* part, std::string_view text) {
  return part != nullptr && json_of(*part).find(text) != std::string::npos;
}

// The kind of rules: one of the words above, or "other".
std::string_view kind_of_rules(const JsonValue& tokenizer) {
  const JsonValue* model = known(tokenizer, "model");
  const std::string* type = text_of(model, "type");
  if (type == nullptr) return "other";
  if (*type == "WordPiece") return "words";
  if (*type == "Unigram") return "unigram";
  const std::string* suffix = text_of(*model, "end_of_word_suffix");
  if (*type != "BPE" || (suffix != nullptr && !suffix->empty())) return "other";
  const JsonValue* normalizer = known(tokenizer, "normalizer");
  const JsonValue* cutter = known(tokenizer, "pre_tokenizer");
  if (has_part(normalizer, "ByteLevel") || has_part(cutter, "ByteLevel")) return "bytes";
  const bool is_space = has_part(cutter, "Metaspace") && !holds(cutter, "\"never\"");
  if (has_part(normalizer, "Prepend") || is_space) return "prefixed";
  return holds(normalizer, "▁") || holds(cutter, "▁") ? "bare" : "other";
}

// Removes rules that do not affect ids, or that tokenizer_config.json determines.
JsonValue plain_rules(const JsonValue& rules) {
  JsonValue out = rules;
  if (out.is_object()) {
    out.erase("trim_offsets");
    out.erase("add_prefix_space");
  }
  if (out.is_structured()) {
    for (JsonValue& each : out) each = plain_rules(each);
  }
  return out;
}

// The number of consecutive digits that stay together: 1, 3, or any number.
size_t digits_together(const JsonValue& rules) {
  const std::string text = json_of(rules);
  constexpr std::string_view kDigit = "\\\\p{N}";
  if (text.find("\"individual_digits\":true") != text.npos) return 1;
  if (text.find("\\\\p{N}{1,3}") != text.npos) return 3;
  for (size_t at = text.find(kDigit); at != text.npos; at = text.find(kDigit, at + 1)) {
    const char before = at == 0 ? '|' : text[at - 1];
    const char after = at + kDigit.size() < text.size() ? text[at + kDigit.size()] : '|';
    if (before == '|' && (after == '|' || after == '"')) return 1;
  }
  return SIZE_MAX;
}

// A token of more than `most` digits, which splitting every `most` digits makes unreachable; or "".
std::string_view longer_number(const TokenLists& lists, size_t most) {
  for (const TokenLists::Token& token : lists.tokens) {
    if (token.text.size() > most && are_digits(token.text)) return token.text;
  }
  return {};
}

// Checks byte rules that are split in another way than the file's.
void check_cuts(const CheckContext& context, const std::string& name) {
  const JsonValue* cutter = known(context.on.tokenizer, "pre_tokenizer");
  const std::string_view section = section_of(context.profile, kSplitSection, name);
  if (section.empty() || cutter == nullptr) return;
  const auto built = parse_json(context.profile.name, section);
  if (!built || plain_rules(*built) == plain_rules(*cutter)) return;
  const bool is_t13 =
      has_trait(context.on.text_type, ModelTrait::kSplitsMarks) && name == "Qwen2Tokenizer";
  if (is_t13) return;
  const size_t here = digits_together(*cutter), there = digits_together(*built);
  const std::string_view lost = here == there
                                    ? std::string_view()
                                    : longer_number(*context.on.token_lists, std::min(here, there));
  if (!lost.empty()) {
    return context.tell(
        kClassPlace,
        "'{}', for which transformers 5 builds its own pre-tokenizer: it cuts digits "
        "differently from tokenizer.json, which has the token '{}'",
        name, lost);
  }
  context.report(
      kClassPlace,
      fmt::format("'{}', for which transformers 5 builds its own pre-tokenizer, which is not "
                  "that of tokenizer.json",
                  name),
      Severity::kWarning, "some texts may get other ids than in training");
}

struct Outcome {
  std::string name;       // name of the class
  std::string_view kind;  // kind of the file's rules
  const Profile& profile;
  bool has_list(std::string_view what) const {
    return is_listed(profile, fmt::format("tokenizer classes that {} {}", what, kind), name);
  }
};

// Some classes read this field and then add no "▁" before a text.
bool turns_off_space_prefix(const CheckContext& context, const std::string& name) {
  const JsonValue* adds = known(context.on.tokenizer_config, "add_prefix_space");
  return adds != nullptr && *adds == false &&
         is_listed(context.profile, "tokenizer classes that follow add_prefix_space", name);
}

void check_rebuilt_rules(const CheckContext& context) {
  if (!reads_by_class(context.on, context.profile)) return;
  const std::string name = tokenizer_class_of_5(context.on, context.profile);
  if (name.empty()) return;
  const Outcome outcome{name, kind_of_rules(context.on.tokenizer), context.profile};
  const JsonValue* adds = member(context.on.tokenizer_config, "add_prefix_space");
  // T21 covers GPT2Tokenizer.
  if (adds != nullptr && adds->is_null() && name != "GPT2Tokenizer" &&
      is_listed(context.profile, "tokenizer classes that refuse null add_prefix_space", name)) {
    return context.report(kClassPlace,
                          fmt::format("'{}', which stops at \"add_prefix_space\": null", name),
                          Severity::kUnloaded, "TypeError: 'None' is not an instance of 'bool'");
  }
  if (outcome.has_list("refuse")) {
    return context.report(kClassPlace,
                          fmt::format("'{}', which is not made from a model of type {}, as "
                                      "tokenizer.json has it",
                                      name, json_of(context.on.tokenizer["model"]["type"])),
                          Severity::kUnloaded, "TypeError while the tokenizer is made");
  }
  const bool is_swapped = turns_off_space_prefix(context, name) && outcome.kind != "bytes";
  const bool is_changed = is_swapped ? outcome.kind != "bare" : outcome.has_list("change");
  if (is_changed) {
    return context.tell(
        kClassPlace,
        "'{}', for which transformers 5 builds its own rules; those of tokenizer.json "
        "are of another kind",
        name);
  }
  const bool is_edge = outcome.has_list("change edges of") && outcome.kind == "prefixed" &&
                       has_part(known(context.on.tokenizer, "normalizer"), "Prepend");
  if (is_edge) {
    return context.report(
        kClassPlace,
        fmt::format("'{}', for which transformers 5 puts the space before a text in "
                    "its own way",
                    name),
        Severity::kWarning,
        "texts that start with a space, or follow a special token, get other ids "
        "than by tokenizer.json");
  }
  if (outcome.kind == "bytes") check_cuts(context, name);
}

constexpr Check kClassRuleChecks[] = {
    {"T24", "transformers 5 gives the ids of tokenizer.json", "S: vllm-tf5 sglang transformers-5",
     "other ids than in training",
     "ckpt patch IN --step tokenizer:for=transformers-4.57,class=PreTrainedTokenizerFast; or take "
     "the tokenizer's files from the source model",
     check_rebuilt_rules},
};

}  // namespace

bool needs_own_code(const Subject& on, const Profile& profile, std::string_view document) {
  if (document == "tokenizer_config.json")
    return names_own_code(on.tokenizer_config) && !knows_stated_class(on, profile) &&
           !has_tokenizer_of_type(on, profile);
  return document == "config.json" && known(on.config, "auto_map") != nullptr &&
         !knows_model_type(profile, on.model_type);
}

bool has_tokens_by_own_code(const Subject& on, const Profile& profile) {
  const auto& held = on.checkpoint.code_files;
  const bool is_there =
      held && std::ranges::all_of(named_code(on.checkpoint), [&](const NamedFile& file) {
        return file.document != "tokenizer_config.json" ||
               std::ranges::count(*held, file.path) != 0;
      });
  return is_there && names_own_code(on.tokenizer_config) && !knows_stated_class(on, profile) &&
         !on.tokenizer.is_object();
}

std::string tokenizer_class_of_5(const Subject& on, const Profile& profile) {
  const bool keeps_all = is_true(on.tokenizer_config, "trust_remote_code");
  if (keeps_all || names_own_code(on.tokenizer_config)) return {};
  const std::string* declared = text_of(on.tokenizer_config, "tokenizer_class");
  if (declared == nullptr) declared = text_of(on.config, "tokenizer_class");
  const std::string_view own = section_of(profile, "tokenizer class ", on.model_type);
  if (declared == nullptr) return std::string(is_backend(own) ? std::string_view() : own);
  const std::string_view named = without_fast(*declared);
  const bool is_overruled = !own.empty() && own != "by model type" && own != named;
  if (is_overruled && is_backend(own)) return {};
  const bool by_type =
      is_overruled && is_listed(profile, "tokenizer class by model type", on.model_type);
  const std::string_view out = by_type ? own : named;
  const bool keeps_bytes = out == "LlamaTokenizer" && !by_type && own != "MistralCommonBackend" &&
                           profile.transformers().does("keep_bytes_under_llama_tokenizer");
  if (keeps_bytes && kind_of_rules(on.tokenizer) == "bytes") return {};
  return std::string(is_backend(out) ? std::string_view() : out);
}

bool rebuilds_tokenizer(const Subject& on, const Profile& profile) {
  const std::string name = tokenizer_class_of_5(on, profile);
  return !name.empty() && (!section_of(profile, "tokenizer classes that ", name).empty() ||
                           !section_of(profile, kSplitSection, name).empty());
}

std::string tokenizer_not_checked(const Subject& on, const Profile& profile) {
  if (profile.runs_llama_server() && !on.base_not_compared.empty()) {
    return fmt::format("the tokenizer, with that of BASE: {}", on.base_not_compared);
  }
  if (!reads_by_class(on, profile)) return {};
  if (names_own_code(on.tokenizer_config)) {
    return "the tokenizer: its class is Python code that the folder names";
  }
  const Outcome outcome{tokenizer_class_of_5(on, profile), kind_of_rules(on.tokenizer), profile};
  const bool is_other = is_listed(profile, "tokenizer classes of other files", outcome.name);
  const bool is_open =
      outcome.has_list("may change") ||
      (outcome.kind == "unigram" && outcome.has_list("change edges of")) ||
      (outcome.kind == "other" &&
       (is_listed(profile, "tokenizer classes that change bytes", outcome.name) ||
        !section_of(profile, kSplitSection, outcome.name).empty()));
  if (!is_other && !is_open) return {};
  return fmt::format("the tokenizer: what '{}' of transformers 5 makes of this tokenizer.json",
                     outcome.name);
}

std::span<const Check> class_rule_checks() { return kClassRuleChecks; }

}  // namespace ckpt
