// Checks the tokenizer's files.
//
// Sources: transformers 4.57 src/transformers/models/auto/tokenization_auto.py and
// tokenization_utils_base.py; transformers 5 src/transformers/tokenization_utils_tokenizers.py.
// 5.x writes extra_special_tokens as a list, while 4.57 expects a dict under the same key; renaming
// the class alone does not fix the file.
#include <algorithm>
#include <set>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/model/document_names.h"
#include "core/model/token_lists.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

void check_tokenizer_present(const CheckContext& context) {
  if (context.on.is_gguf) return;
  const bool has = std::ranges::any_of(context.on.checkpoint.documents, [](const Document& each) {
    return each.path != "merges.txt" && is_document_of(DocumentKind::kVocabulary, each.path);
  });
  if (!has) context.report("tokenizer.json", "no tokenizer file at all");
  for (const std::string_view path : {"tokenizer.json", "tokenizer_config.json"}) {
    const std::string* fault = find_mapped(context.on.broken, std::string(path));
    if (fault != nullptr) context.report(std::string(path), *fault);
  }
}

void check_class(const CheckContext& context) {
  const std::string* name = text_of(context.on.tokenizer_config, "tokenizer_class");
  if (name == nullptr || knows_tokenizer_class(context.profile, *name)) return;
  context.report(
      "tokenizer_config.json: tokenizer_class",
      fmt::format("'{}', a class of transformers 5", *name), {},
      fmt::format("Tokenizer class {} does not exist or is not currently imported.", *name));
}

void check_extra_tokens(const CheckContext& context) {
  const JsonValue* extra = known(context.on.tokenizer_config, "extra_special_tokens");
  if (extra == nullptr || extra->is_object()) return;
  if (extra->is_array() && !context.profile.has_transformers_4()) return;
  context.report("tokenizer_config.json: extra_special_tokens",
                 extra->is_array() ? "a list, as transformers 5 writes it; 4.57 expects an object"
                                   : "no object");
}

void check_clutter(const CheckContext& context) {
  for (const std::string_view key : {"backend", "is_local", "local_files_only"}) {
    if (member(context.on.tokenizer_config, key) == nullptr) continue;
    return context.report(fmt::format("{}: {}", kTokenizerConfig, key), "a key of transformers 5");
  }
}

void check_slow_files(const CheckContext& context) {
  const std::string* name = text_of(context.on.tokenizer_config, "tokenizer_class");
  if (name == nullptr || name->ends_with("Fast") || context.on.has_document("tokenizer.json"))
    return;
  const bool has_pair =
      context.on.has_document("vocab.json") && context.on.has_document("merges.txt");
  const bool has = has_pair || std::ranges::any_of(
                                   context.on.checkpoint.documents, [](const Document& document) {
                                     const std::string& path = document.path;
                                     return is_document_of(DocumentKind::kVocabulary, path) &&
                                            path != "vocab.json" && path != "merges.txt";
                                   });
  if (has || context.on.tokenizer_config.is_null()) return;
  context.tell(std::string(kTokenizerConfig),
               "class '{}' without tokenizer.json and without its own files", *name);
}

// The regular expressions of all Split pre-tokenizers, joined.
std::string split_patterns(const JsonValue& pre_tokenizer) {
  std::string out;
  for (const JsonValue& part : list_in(pre_tokenizer, "pretokenizers")) out += split_patterns(part);
  const std::string* regex = text_of(known(pre_tokenizer, "pattern"), "Regex");
  if (regex != nullptr) out += *regex;
  return out;
}

void check_pattern(const CheckContext& context) {
  if (!has_trait(context.on.text_type, ModelTrait::kSplitsMarks)) return;
  const JsonValue* pre = known(context.on.tokenizer, "pre_tokenizer");
  if (pre == nullptr) return;
  const std::string pattern = split_patterns(*pre);
  if (pattern.empty() || pattern.find("\\p{M}") != pattern.npos) return;
  context.report("tokenizer.json: pre_tokenizer",
                 "the pattern has no \\p{M}: it is Qwen2's, not Qwen3.5's");
}

// transformers 5 builds the rules of the named class instead of reading those of the file.
void check_class_rules(const CheckContext& context) {
  const std::string* name = text_of(context.on.tokenizer_config, "tokenizer_class");
  const JsonValue* pre = known(context.on.tokenizer, "pre_tokenizer");
  if (name == nullptr || pre == nullptr) return;
  if (!has_trait(context.on.text_type, ModelTrait::kSplitsMarks)) return;
  if (*name != "Qwen2Tokenizer" && *name != "Qwen2TokenizerFast") return;
  if (split_patterns(*pre).find("\\p{M}") == std::string::npos) return;
  // With this key transformers 5 uses the file's rules for any class (docs/TOKENIZERS.md).
  if (is_true(context.on.tokenizer_config, "trust_remote_code")) return;
  if (context.does("choose_tokenizer_by_model_type") &&
      has_trait(context.on.model_type, ModelTrait::kTokenizerByType)) {
    return;
  }
  context.tell("tokenizer_config.json: tokenizer_class",
               "'{}', for which transformers 5 builds Qwen2's pre-tokenizer", *name);
}

void check_truncation(const CheckContext& context) {
  for (const std::string_view key : {"truncation", "padding"}) {
    if (known(context.on.tokenizer, key) == nullptr) continue;
    context.report(fmt::format("tokenizer.json: {}", key), "left over from a training");
  }
  const JsonValue* dropout = known(known(context.on.tokenizer, "model"), "dropout");
  if (dropout == nullptr || !dropout->is_number() || dropout->get<double>() <= 0) return;
  context.report("tokenizer.json: model.dropout",
                 fmt::format("{}; left over from a training", dropout->dump()), Severity::kUnsound,
                 "a text gets other ids at every call");
}

// The largest id in the vocabulary and the added tokens; nullopt if one is not a whole number.
std::optional<uint64_t> largest_id(const Subject& on, std::set<uint64_t>& added, bool& repeats) {
  uint64_t largest = 0;
  const TokenLists& lists = *on.token_lists;
  for (const TokenLists::Token& token : lists.tokens) {
    const bool is_plain = token.id != TokenLists::kOddId;
    largest =
        std::max(largest, is_plain ? uint64_t{token.id} : whole(lists.id_value(token)).value_or(0));
  }
  for (const JsonValue& token : list_in(on.tokenizer, "added_tokens")) {
    const auto value = whole(known(token, "id"));
    if (!value) return std::nullopt;
    repeats = !added.insert(*value).second || repeats;
    largest = std::max(largest, *value);
  }
  return largest;
}

void check_ids(const CheckContext& context) {
  const JsonValue* size = context.on.text_field("vocab_size");
  if (context.on.tokenizer.is_null() || size == nullptr) return;
  std::set<uint64_t> added;
  bool repeats = false;
  const auto largest = largest_id(context.on, added, repeats);
  if (!largest || repeats) {
    context.report("tokenizer.json: added_tokens", "an id that occurs twice, or is not a number");
  }
  const auto vocab_size = whole(*size);
  if (largest && vocab_size && *largest >= *vocab_size) {
    context.tell("tokenizer.json", "token id {}; config.json's vocab_size is {}", *largest,
                 *vocab_size);
  }
}

void check_end(const CheckContext& context) {
  const auto chat_end =
      added_token_id(context.on.tokenizer_config, context.on.tokenizer, "eos_token");
  if (!chat_end || context.on.generation_config.is_null()) return;
  std::set<uint64_t> ends;
  if (const auto one = whole(known(context.on.generation_config, "eos_token_id")))
    ends.insert(*one);
  for (const JsonValue& item : list_in(context.on.generation_config, "eos_token_id")) {
    if (const auto id = whole(item)) ends.insert(*id);
  }
  if (ends.empty() || ends.contains(*chat_end)) return;
  context.tell("generation_config.json: eos_token_id",
               "does not hold {}, the tokenizer's eos_token", *chat_end);
}

void check_template(const CheckContext& context) {
  if (context.on.tokenizer_config.is_null()) return;
  const std::string* text = chat_template(context.on);
  const std::string* inside = listed_template(context.on);
  const Family* table = context.on.parameters.table;
  const bool generates = table == nullptr ||
                         table->architectures.find("ForCausalLM") != std::string_view::npos ||
                         table->architectures.find("ForConditional") != std::string_view::npos;
  if (text == nullptr && generates && !context.on.has_document("chat_template.json")) {
    context.report("chat_template.jinja", "no chat template");
  }
  if (inside != nullptr && *text != *inside) {
    context.report("chat_template.jinja", "differs from the one in tokenizer_config.json");
  }
}

void check_tools(const CheckContext& context) {
  const std::string_view parser = tool_parser(context.on);
  if (parser.empty()) return;
  context.tell("chat_template.jinja",
               "tool calls in {}: --enable-auto-tool-choice --tool-call-parser {}",
               parser == "hermes" ? "JSON" : "XML", parser);
}

void check_llama_ids(const CheckContext& context) {
  // For a folder, the finding is about llama.cpp's converter.
  if (!context.on.is_gguf && !context.is(Program::kLlamaCpp)) return;
  for (const Finding& each : context.on.llama_tokenizer) {
    context.report(each.place, each.found, each.severity, each.symptom, each.fix);
  }
}

constexpr Check kTokenizerChecks[] = {
    {"T01", "the tokenizer is there and can be read", "U: all", "cannot load the tokenizer",
     "copy the tokenizer's files from the source model", check_tokenizer_present},
    {"T02", "the program has the tokenizer's class", "U: vllm* transformers-4", "", "", check_class,
     "tokenizer:for=transformers-4.57"},
    {"T03", "extra_special_tokens is as the reader expects", "U: vllm* sglang transformers*",
     "'list' object has no attribute 'keys'", "", check_extra_tokens,
     "tokenizer:for=transformers-4.57"},
    {"T04", "no keys of another version", "I: vllm-tf4 transformers-4", "ignored by most readers",
     "", check_clutter, "tokenizer:for=transformers-4.57"},
    {"T05", "a slow class has its files", "U: all",
     "expected str, bytes or os.PathLike object, not NoneType",
     "copy tokenizer.json from the source model", check_slow_files},
    {"T06", "the pre-tokenizer is the family's", "S: all",
     "text with accents is cut otherwise; llama.cpp: BPE pre-tokenizer was not recognized",
     "take tokenizer.json from the source model: --step tokenizer:from=DIR", check_pattern},
    {"T13", "the class that is named keeps the file's rules", "S: vllm-tf5 sglang transformers-5",
     "combining marks are cut from their letters: other ids than in training", "",
     check_class_rules, "tokenizer:for=transformers-4.57"},
    {"T07", "no truncation, padding or dropout left", "W: vllm* sglang tensorrt-llm transformers*",
     "prompts are silently cut", "remove them from tokenizer.json", check_truncation},
    {"T08", "token ids fit the vocabulary", "S: all", "index out of range",
     "take tokenizer and config.json from one model", check_ids},
    {"T09", "generation stops where the chat ends", "W: all", "generation does not end", "",
     check_end, "serving-config"},
    {"T10", "one chat template", "W: vllm* sglang tensorrt-llm llama.cpp",
     "wrong chat format, or none", "copy chat_template.jinja from the source model",
     check_template},
    {"T11", "which parser reads tool calls", "I: vllm* sglang", "tool calls stay in the text",
     "see the serve command", check_tools},
    {"T19", "llama.cpp splits texts as the tokenizer does", "W: llama-server",
     "other token ids than in training", "", check_llama_ids},
};

}  // namespace

std::span<const Check> tokenizer_checks() { return kTokenizerChecks; }

}  // namespace ckpt
