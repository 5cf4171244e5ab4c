// Checks the values in tokenizer_config.json.
//
// Sources: transformers 4.57.6 src/transformers/tokenization_utils_base.py (special tokens,
// added_tokens_decoder, padding_side), models/llama/tokenization_llama_fast.py and
// models/auto/tokenization_auto.py.
// A special token may be an object, but it must be marked as AddedToken; Llama's class adds the
// first token before every text by default.
#include <algorithm>
#include <array>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::string_view kPlace = "tokenizer_config.json";
constexpr std::array<std::string_view, 7> kSpecial = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// Whether `json` is a token object. 5.x makes an empty token if the content is missing.
bool is_added_token(const CheckContext& context, const JsonValue& json) {
  const std::string* type = text_of(json, "__type");
  const bool needs_content = !context.profile.has_tokenizers_of_5();
  return type != nullptr && *type == "AddedToken" &&
         (text_of(json, "content") != nullptr ||
          (!needs_content && member(json, "content") == nullptr));
}

// special_tokens_map.json if 4.57 reads it, because added_tokens_decoder is missing; else null.
const Document* special_map(const CheckContext& context) {
  const bool is_read = context.profile.has_transformers_4() &&
                       member(context.on.tokenizer_config, "added_tokens_decoder") == nullptr;
  return is_read ? context.on.checkpoint.find_document("special_tokens_map.json") : nullptr;
}

void check_special_map(const CheckContext& context) {
  const Document* document = special_map(context);
  if (document == nullptr) return;
  const auto json = document->values();
  if (json && (*json)->is_object()) return;
  context.report(document->path, json ? no_object(**json) : json.error().what);
}

// Without added_tokens_decoder, 4.57 requires the list in tokenizer.json.
void check_added_list(const CheckContext& context) {
  const bool is_asked = context.profile.has_transformers_4() && context.on.tokenizer.is_object() &&
                        context.on.tokenizer_config.is_object() &&
                        member(context.on.tokenizer_config, "added_tokens_decoder") == nullptr;
  if (is_asked && member(context.on.tokenizer, "added_tokens") == nullptr) {
    context.report("tokenizer.json: added_tokens",
                   "absent, and tokenizer_config.json has no added_tokens_decoder");
  }
}

// Whether special_tokens_map.json has the key, so that tokenizer_config.json's is ignored.
bool is_replaced(const CheckContext& context, std::string_view key) {
  const Document* document = special_map(context);
  if (document == nullptr) return false;
  const auto json = document->values();
  return json && member(**json, key) != nullptr;
}

void check_special(const CheckContext& context) {
  check_special_map(context);
  check_added_list(context);
  const JsonValue& config = context.on.tokenizer_config;
  for (const std::string_view key : kSpecial) {
    const JsonValue* value = known(config, key);
    if (value == nullptr || value->is_string() || is_added_token(context, *value)) continue;
    if (is_replaced(context, key)) continue;
    context.tell(fmt::format("{}: {}", kPlace, key),
                 "{}; expected a text, or an object of __type AddedToken", value->dump());
  }
  const JsonValue* more = known(config, "additional_special_tokens");
  const bool are_tokens =
      more == nullptr || context.profile.has_tokenizers_of_5() ||
      (more->is_array() && std::ranges::all_of(*more, [&](const JsonValue& item) {
         return item.is_string() || is_added_token(context, item);
       }));
  if (!are_tokens) {
    context.report(fmt::format("{}: additional_special_tokens", kPlace), "no list of tokens");
  }
  for (const std::string_view key : {"padding_side", "truncation_side"}) {
    const JsonValue* value = member(config, key);
    if (value == nullptr || *value == "left" || *value == "right") continue;
    context.tell(fmt::format("{}: {}", kPlace, key), "{}; expected \"left\" or \"right\"",
                 value->dump());
  }
}

// The fault of one entry of added_tokens_decoder, or "".
std::string fault_of(const std::string& id, const JsonValue& token) {
  if (!are_digits(id)) return "its key is not a token id";
  if (!token.is_object()) return "no object";
  const JsonValue* content = member(token, "content");
  if (content != nullptr && !content->is_string()) return "content is not a text";
  for (const std::string_view key : {"lstrip", "rstrip", "single_word", "normalized", "special"}) {
    const JsonValue* value = member(token, key);
    if (value != nullptr && !value->is_boolean())
      return fmt::format("{} is not true or false", key);
  }
  return {};
}

void check_decoder(const CheckContext& context) {
  const JsonValue* decoder = member(context.on.tokenizer_config, "added_tokens_decoder");
  if (decoder == nullptr) return;
  if (!decoder->is_object()) {
    return context.report(fmt::format("{}: added_tokens_decoder", kPlace), "no object");
  }
  for (const auto& [id, token] : decoder->items()) {
    std::string fault = fault_of(id, token);
    if (fault.empty()) continue;
    return context.report(fmt::format("{}: added_tokens_decoder.{}", kPlace, id), std::move(fault));
  }
}

// Classes whose fast form changes the normalizer, without "Tokenizer" or "TokenizerFast".
constexpr std::string_view kAskNormalizer =
    " Bert ConvBert DistilBert Electra Funnel LayoutLM LayoutLMv2 Lxmert MobileBert MPNet RoFormer"
    " Splinter SqueezeBert ";

void check_normalizer(const CheckContext& context, std::string_view name) {
  const bool is_read =
      context.on.has_document("tokenizer.json") && context.on.tokenizer.is_object();
  const bool asks = has_word(kAskNormalizer, name.substr(0, name.find("Tokenizer")));
  if (!is_read || !asks || known(context.on.tokenizer, "normalizer") != nullptr) return;
  context.tell("tokenizer.json: normalizer", "none, and {} changes it", name);
}

// Checks classes that put bos_token before every text unless add_bos_token is false.
void check_first_token(const CheckContext& context) {
  const JsonValue& config = context.on.tokenizer_config;
  const std::string* name = text_of(config, "tokenizer_class");
  if (name != nullptr) check_normalizer(context, *name);
  if (name == nullptr ||
      !has_word(" LlamaTokenizer LlamaTokenizerFast CodeLlamaTokenizer CodeLlamaTokenizerFast"
                " GemmaTokenizer GemmaTokenizerFast ",
                *name)) {
    return;
  }
  const JsonValue* adds = member(config, "add_bos_token");
  const JsonValue* first = member(config, "bos_token");
  if (first == nullptr || !first->is_null() || (adds != nullptr && !is_truthy(adds))) return;
  context.tell(fmt::format("{}: bos_token", kPlace), "null, and {} puts it before every text",
               *name);
}

// Without a class, transformers uses the class that it finds by model_type.
void check_tokenizer_class(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.model_type.empty()) return;
  const JsonValue* name = member(on.tokenizer_config, "tokenizer_class");
  if (name != nullptr && name->is_string()) return;
  if (name != nullptr && !name->is_null()) {
    return context.tell(fmt::format("{}: tokenizer_class", kPlace), "{}; expected a name",
                        name->dump());
  }
  if (text_of(on.config, "tokenizer_class") != nullptr) return;
  const bool has_words = on.has_document("vocab.json") && on.has_document("merges.txt");
  // For these, 4.57 only knows a class without a fast form.
  if (has_trait(on.model_type, ModelTrait::kSlowTokenizerByType) && !has_words) {
    return context.tell(std::string(kPlace),
                        "no tokenizer_class; '{}' has GPT2Tokenizer then, whose vocab.json and "
                        "merges.txt are not there",
                        on.model_type);
  }
  if (knows_model_type(*find_profile("transformers-4.57"), on.model_type)) return;
  context.tell(std::string(kPlace), "no tokenizer_class, and transformers 4.57 does not know '{}'",
               on.model_type);
}

// Words that transformers requires when it reads the file; "" if `value` is one. Source:
// transformers 5.17.0 and 4.57.1 src/transformers/generation/configuration_utils.py
// (GenerationConfig.validate), tried with several values of each field.
constexpr std::string_view kCaches =
    " static offloaded_static sliding_window hybrid hybrid_chunked offloaded_hybrid"
    " offloaded_hybrid_chunked dynamic offloaded quantized ";
constexpr std::string_view kWatermarks =
    " greenlist_ratio bias hashing_key seeding_scheme context_width ";
constexpr std::string_view kArguments =
    "logits_processor stopping_criteria prefix_allowed_tokens_fn synced_gpus assistant_model"
    " streamer negative_prompt_ids negative_prompt_attention_mask";

std::string_view expected_sequences(const JsonValue& json, const JsonValue& value, bool is_old) {
  const JsonValue* beams = known(json, "num_beams");
  const double searched = beams == nullptr ? 1 : number(*beams).value_or(UINT32_MAX);
  const bool samples = is_truthy(member(json, "do_sample"));
  constexpr std::string_view kExpected = "1 without sampling, or at most num_beams";
  if (is_old && searched == 1) return samples || value == 1 || value == true ? "" : kExpected;
  if (!counts_as_number(value)) return "a number";
  const double asked = number(value).value_or(1);
  if (asked <= 1 || (searched == 1 && samples)) return "";
  return asked <= searched ? "" : kExpected;
}

bool is_watermark(const JsonValue& value) {
  return value.is_object() && std::ranges::all_of(value.items(), [](const auto& item) {
           return has_word(kWatermarks, item.key());
         });
}

// `is_old` means transformers 4.57.
std::string_view expected_of(const JsonValue& json, std::string_view key, const JsonValue& value,
                             bool is_old) {
  if (key == "num_return_sequences" && (is_old || !value.is_null())) {
    return expected_sequences(json, value, is_old);
  }
  if (key == "early_stopping" && (is_old || !value.is_null())) {
    const bool is_truth = value.is_boolean() || (value.is_number() && (value == 0 || value == 1));
    return is_truth || value == "never" ? "" : "true, false or \"never\"";
  }
  if (has_word(fmt::format(" {} ", kArguments), key)) return "no such key";
  if (value.is_null()) return "";
  if (key == "max_new_tokens") {
    const bool is_above = value.is_boolean() ? value.get<bool>() : number(value).value_or(0) > 0;
    return is_above ? "" : "a number above zero";
  }
  if (key == "cache_implementation") {
    const auto* name = value.get_ptr<const std::string*>();
    const std::string_view own = is_old ? "dynamic_full" : "paged";
    return name != nullptr && (*name == own || has_word(kCaches, *name)) ? "" : "a known cache";
  }
  if (key == "compile_config") return "nothing";
  if (key == "watermarking_config") return is_watermark(value) ? "" : "an object of its fields";
  const bool is_list = value.is_structured() || value.is_string();  // sequences in Python
  return key == "suppress_tokens" && !is_old && !is_list ? "a list" : "";
}

// Servers read the file with the same class.
void check_generation_rules(const CheckContext& context, const JsonValue& json) {
  for (const auto& [key, value] : json.items()) {
    const std::string_view expected =
        expected_of(json, key, value, context.profile.has_transformers_4());
    if (expected.empty()) continue;
    const bool is_reader = context.is(Program::kTransformers);
    context.report(fmt::format("generation_config.json: {}", key),
                   fmt::format("{}; expected {}", value.dump(), expected),
                   is_reader ? std::optional(Severity::kUnloaded) : std::nullopt,
                   "ValueError while GenerationConfig is made");
  }
}

// Programs read this file even if they do not need it, and compare its fields with numbers.
void check_generation_values(const CheckContext& context) {
  const Document* document = context.on.checkpoint.find_document("generation_config.json");
  if (document == nullptr) return;
  const auto json = document->values();
  if (!json) return;  // ignored with a warning
  if (!(*json)->is_object()) return context.report("generation_config.json", no_object(**json));
  check_generation_rules(context, **json);
  const JsonValue* pad = known(**json, "pad_token_id");
  if (pad == nullptr || counts_as_number(*pad)) return;
  context.tell("generation_config.json: pad_token_id", "{}; expected a number", pad->dump());
}

// Fields of tokenizer_config.json in transformers 5 and 4.57, as 5.17.0 and 4.57.1 accepted or
// rejected each kind of value with six and three classes; no letters: the field is not checked.
// Letters: b true or false, w a number, n null, s a text, S an empty text, l a list, e an empty
// list or object, d an object, t a list of tokens, k tokens by names, K those of 4.57, x texts by
// names, A an entry for code.
struct TokenizerField {
  std::string_view name, letters, letters_4;
};
constexpr TokenizerField kTokenizerFields[] = {
    {"model_max_length", "bwn", ""},
    {"extra_special_tokens", "ntk", "lK"},
    {"model_input_names", "sld", ""},
    {"auto_map", "A", "A"},
    {"split_special_tokens", "b", "b"},
    {"init_inputs", "e", "eS"},
    {"tokenizer_class", "sn", ""},
    {"tokenizer_object", "n", "n"},
    {"model_specific_special_tokens", "nx", ""},
};
// Methods of the base class of tokenizers; a field with such a name is rejected. Source:
// src/transformers/tokenization_utils_base.py (conflicts with the method).
constexpr std::string_view kMethods =
    " add_special_tokens add_tokens apply_chat_template batch_decode clean_up_tokenization"
    " convert_added_tokens convert_ids_to_tokens convert_to_native_format convert_tokens_to_ids"
    " convert_tokens_to_string decode encode encode_message_with_chat_template get_added_vocab"
    " get_chat_template get_response_parser get_special_tokens_mask get_vocab"
    " num_special_tokens_to_add pad parse_response push_to_hub register_for_auto_class"
    " save_chat_templates save_pretrained save_vocabulary set_truncation_and_padding tokenize"
    " train_new_from_iterator update_post_processor ";

// Whether the value is a token, or an object that transformers 5 turns into one.
bool is_token_or_object(const JsonValue& value) { return value.is_string() || value.is_object(); }

bool is_token(const JsonValue& value) {
  const std::string* type = text_of(value, "__type");
  return value.is_string() || (type != nullptr && *type == "AddedToken");
}

// Whether code is named: a list [slow class, fast class] with at least one of them, alone or below
// AutoTokenizer, or only the slow class.
bool names_code(const JsonValue& map) {
  const JsonValue* code = map.is_object() ? known(map, "AutoTokenizer") : &map;
  if (code == nullptr || code->is_string()) return map.is_object();
  return code->is_array() && code->size() > 1 && ((*code)[0].is_string() || (*code)[1].is_string());
}

bool is_of_letter(const JsonValue& value, char letter) {
  switch (letter) {
    case 'b': return value.is_boolean();
    case 'w': return value.is_number();
    case 'n': return value.is_null();
    case 's': return value.is_string();
    case 'S': return value == "";
    case 'l': return value.is_array();
    case 'e': return value.is_structured() && value.empty();
    case 'd': return value.is_object();
    case 't': return value.is_array() && std::ranges::all_of(value, is_token);
    case 'K': return value.is_object() && std::ranges::all_of(value, is_token);
    case 'x': return value.is_object() && std::ranges::all_of(value, &JsonValue::is_string);
    case 'A': return names_code(value);
    default:
      return value.is_object() && std::ranges::all_of(value, [](const JsonValue& item) {
               return item.is_null() || is_token_or_object(item);
             });
  }
}

// Without added_tokens_decoder in the configuration, transformers also reads these files.
void check_older_files(const CheckContext& context) {
  if (member(context.on.tokenizer_config, "added_tokens_decoder") != nullptr) return;
  for (const char* path : {"special_tokens_map.json", "added_tokens.json"}) {
    const Document* document = context.on.checkpoint.find_document(path);
    if (document == nullptr) continue;
    const auto json = document->values();
    if (!json) continue;  // F00
    if (!(*json)->is_object()) {
      context.report(path, no_object(**json));
      continue;
    }
    const bool has_ids = std::string_view(path) == "added_tokens.json";
    for (const auto& [key, value] : (*json)->items()) {
      const bool is_special = std::ranges::count(kSpecial, key) != 0;
      const bool is_bad = has_ids ? !value.is_number_integer()
                                  : is_special && !value.is_null() && !is_token_or_object(value);
      if (is_bad) {
        context.tell(fmt::format("{}: {}", path, key), "{}; expected {}", value.dump(),
                     has_ids ? "an id" : "a token");
      }
    }
  }
}

// Classes of transformers 5 that read these two fields; others ignore them or are unknown here.
constexpr std::string_view kAskInputs =
    " GemmaTokenizer GemmaTokenizerFast LlamaTokenizer LlamaTokenizerFast Qwen2Tokenizer"
    " Qwen2TokenizerFast Qwen3_5Tokenizer ";

bool takes_field(const JsonValue& config, const TokenizerField& field, bool is_5,
                 const JsonValue& value) {
  const std::string* name = text_of(config, "tokenizer_class");
  const bool may_pass = is_5 && (name == nullptr || !has_word(kAskInputs, *name));
  const bool is_passed =
      may_pass && (field.name == "tokenizer_object" ||
                   (field.name == "init_inputs" && (value.is_structured() || value.is_string())));
  const std::string_view letters = is_5 ? field.letters : field.letters_4;
  return is_passed || letters.empty() ||
         std::ranges::any_of(letters, [&](char letter) { return is_of_letter(value, letter); });
}

// For 4.57: faults of fields that name other files of the folder or SentencePiece models.
std::string_view fault_of_source(const CheckContext& context, std::string_view key,
                                 const JsonValue& value) {
  const bool has_fast = context.on.has_document("tokenizer.json");
  const bool has_model = context.on.has_document("tokenizer.model");
  const bool has_slow =
      has_model || (context.on.has_document("vocab.json") && context.on.has_document("merges.txt"));
  if (key == "tokenizer_file" && has_fast && !value.is_null()) {
    return "which is read in the place of the folder's tokenizer.json";
  }
  if (key == "from_slow" && is_truthy(&value) && !has_slow) {
    return "and the folder has no files of a slow tokenizer";
  }
  if (key == "sp_model_kwargs" && has_model && !has_fast && !value.is_null() &&
      !value.is_object()) {
    return "which is not of the kind that the class takes";
  }
  return {};
}

void check_config_kinds(const CheckContext& context) {
  const JsonValue& config = context.on.tokenizer_config;
  if (!config.is_object()) return;
  const bool is_5 = context.profile.has_tokenizers_of_5();
  const auto report = [&](std::string_view key, std::string_view why) {
    context.tell(fmt::format("{}: {}", kPlace, key), "{}, {}", member(config, key)->dump(), why);
  };
  for (const TokenizerField& field : kTokenizerFields) {
    const JsonValue* value = member(config, field.name);
    if (value == nullptr || takes_field(config, field, is_5, *value)) continue;
    const bool is_t03 =
        field.name == "extra_special_tokens" && !value->is_structured() && !value->is_null();
    if (!is_t03) report(field.name, "which is not of the kind that the class takes");
  }
  for (const auto& item : config.items()) {
    if (is_5 && has_word(kMethods, item.key())) report(item.key(), "under the name of a method");
    const std::string_view fault =
        is_5 ? std::string_view() : fault_of_source(context, item.key(), item.value());
    if (!fault.empty()) report(item.key(), fault);
  }
  if (!is_5) return;
  const std::string* class_name = text_of(config, "tokenizer_class");
  const JsonValue* adds = member(config, "add_prefix_space");
  if (adds == nullptr || adds->is_boolean() || class_name == nullptr)
    return check_older_files(context);
  const bool is_gpt2 = has_word(" GPT2Tokenizer GPT2TokenizerFast ", *class_name);
  const bool may_be_null =
      has_word(" Qwen2Tokenizer Qwen2TokenizerFast Qwen3_5Tokenizer ", *class_name);
  if (is_gpt2 || (may_be_null && !adds->is_null())) {
    report("add_prefix_space", fmt::format("and {} takes only true or false", *class_name));
  }
  check_older_files(context);
}

constexpr Check kTokenizerValueChecks[] = {
    {"T15", "special tokens are texts", "U: all",
     "Special token eos_token has to be either str or AddedToken",
     "take tokenizer_config.json from the source model", check_special},
    {"T16", "added_tokens_decoder is of its form", "U: vllm* sglang transformers*",
     "'NoneType' object has no attribute 'items'; invalid literal for int()",
     "take tokenizer_config.json from the source model", check_decoder},
    {"T17", "the class that is named finds what it asks for", "U: vllm-tf4 transformers-4",
     "add_bos_token = True but bos_token = None; the JSON object must be str, bytes or bytearray",
     "take tokenizer_config.json from the source model", check_first_token},
    {"T18", "tokenizer_class is set, or follows from the model",
     "U: vllm-tf4 transformers-4, W: vllm-tf5",
     "The checkpoint you are trying to load has model type ... but Transformers does not recognize "
     "this architecture",
     "", check_tokenizer_class, "tokenizer:for=transformers-4.57"},
    {"T21", "tokenizer_config.json's fields are of their types", "U: vllm* sglang transformers*",
     "TypeError; conflicts with the method", "take tokenizer_config.json from the source model",
     check_config_kinds},
    {"F07", "generation_config.json is of its form",
     "U: vllm* sglang, W: tensorrt-llm transformers*",
     "'NoneType' object does not support item assignment",
     "take generation_config.json from the source model", check_generation_values},
};

}  // namespace

std::span<const Check> tokenizer_value_checks() { return kTokenizerValueChecks; }

}  // namespace ckpt
