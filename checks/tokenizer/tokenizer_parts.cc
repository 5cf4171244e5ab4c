// Checks the parts of tokenizer.json: their types, and the fields that "tokenizers" requires.
//
// Source: each row was tried with release 0.23.3 of the library tokenizers, with every field
// missing, null, and of each type of JSON.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

using PartFaults = std::vector<TokenizerFault>;

// `types` are separated by spaces; `fields` are "NAME=KIND". "NAME?=KIND" may be missing or null,
// "NAME~=KIND" only missing. With `by_fields` the library also accepts a part of unknown `type`,
// and recognizes it by its fields.
struct PartType {
  std::string_view part, types, fields;
  bool by_fields = false;
};
constexpr std::string_view kByteLevel =
    "add_prefix_space=truth trim_offsets=truth use_regex~=truth";
constexpr std::string_view kMetaspace =
    "replacement=letter prepend_scheme~=always|never|first split?=truth add_prefix_space?=truth"
    " str_rep?=text";
constexpr std::string_view kBehaviors =
    "behavior~=Removed|Isolated|MergedWithPrevious|MergedWithNext|Contiguous";
constexpr PartType kPartTypes[] = {
    {"normalizer", "BertNormalizer",
     "clean_text=truth handle_chinese_chars=truth strip_accents?=truth lowercase=truth", true},
    {"normalizer", "Strip", "strip_left=truth strip_right=truth", true},
    {"normalizer", "StripAccents NFC NFD NFKC NFKD Lowercase Nmt ByteLevel", ""},
    {"normalizer", "Sequence", "normalizers=parts", true},
    {"normalizer", "Precompiled", "precompiled_charsmap=base64"},
    {"normalizer", "Replace", "pattern=pattern content=text", true},
    {"normalizer", "Prepend", "prepend=text", true},
    {"pre_tokenizer", "BertPreTokenizer Whitespace WhitespaceSplit UnicodeScripts", ""},
    {"pre_tokenizer", "ByteLevel", kByteLevel},
    {"pre_tokenizer", "CharDelimiterSplit", "delimiter=letter"},
    {"pre_tokenizer", "Metaspace", kMetaspace},
    {"pre_tokenizer", "Sequence", "pretokenizers=parts"},
    {"pre_tokenizer", "Split",
     "pattern=pattern behavior=Removed|Isolated|MergedWithPrevious|MergedWithNext|Contiguous"
     " invert=truth"},
    {"pre_tokenizer", "Punctuation", kBehaviors},
    {"pre_tokenizer", "Digits", "individual_digits=truth"},
    {"pre_tokenizer", "FixedLength", "length~=size"},
    {"post_processor", "RobertaProcessing BertProcessing", "sep=piece cls=piece", true},
    {"post_processor", "ByteLevel", kByteLevel},
    {"post_processor", "TemplateProcessing",
     "single=template pair=template special_tokens=specials", true},
    {"post_processor", "Sequence", "processors=parts"},
    {"decoder", "BPEDecoder", "suffix=text", true},
    {"decoder", "ByteLevel", kByteLevel},
    {"decoder", "WordPiece", "prefix=text cleanup=truth", true},
    {"decoder", "Metaspace", kMetaspace},
    {"decoder", "CTC", "pad_token=text word_delimiter_token=text cleanup=truth", true},
    {"decoder", "Sequence", "decoders=parts"},
    {"decoder", "Replace", "pattern=pattern content=text", true},
    {"decoder", "Fuse ByteFallback", ""},
    {"decoder", "Strip", "content=letter start=size stop=size", true},
    {"truncation", "",
     "direction~=Left|Right max_length=size strategy=LongestFirst|OnlyFirst|OnlySecond"
     " stride=size"},
    {"padding", "",
     "strategy=padding direction=Left|Right pad_to_multiple_of?=size pad_id=id pad_type_id=id"
     " pad_token=text"},
    {"model", "BPE",
     "dropout?=share unk_token?=text continuing_subword_prefix?=text end_of_word_suffix?=text"
     " fuse_unk?=truth byte_fallback?=truth ignore_merges?=truth",
     true},
    {"model", "WordPiece",
     "unk_token=text continuing_subword_prefix=text max_input_chars_per_word=size", true},
    {"model", "WordLevel", "unk_token=text", true},
    {"model", "Unigram", "unk_id?=size byte_fallback~=truth", true},
};

bool is_size(const JsonValue& json) { return json.is_number_unsigned(); }
bool is_of_list(const JsonValue* json, bool (*is)(const JsonValue&)) {
  return json != nullptr && json->is_array() && std::all_of(json->begin(), json->end(), is);
}
bool is_truth(const JsonValue& json) { return json.is_boolean(); }
bool is_text(const JsonValue& json) { return json.is_string(); }

// Whether the value is one code point.
bool is_letter(const JsonValue& json) {
  if (!json.is_string()) return false;
  const auto& text = json.get_ref<const std::string&>();
  return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }) == 1;
}

bool is_share(const JsonValue& json) {
  return json.is_number() && json.get<double>() >= 0 && json.get<double>() <= 1;
}

bool is_piece(const JsonValue& json) {
  return json.is_array() && json.size() == 2 && json[0].is_string() && is_token_id(json[1]);
}

bool is_pattern(const JsonValue& json) {
  return json.is_object() && json.size() == 1 &&
         (text_of(json, "String") != nullptr || text_of(json, "Regex") != nullptr);
}

bool is_padding(const JsonValue& json) {
  if (json.is_string()) return json == "BatchLongest";
  const JsonValue* fixed = member(json, "Fixed");
  return fixed != nullptr && json.size() == 1 && is_size(*fixed);
}

// Whether it decodes to at least four bytes, which hold the size of the rest.
bool is_base64(const JsonValue& json) {
  if (!json.is_string()) return false;
  const auto& text = json.get_ref<const std::string&>();
  const size_t size = std::min(text.find_last_not_of('=') + 1, text.size());
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return size >= 6 && text.find_first_not_of(kLetters) >= size;
}

bool is_template_item(const JsonValue& json) {
  if (!json.is_object() || json.size() != 1) return false;
  const JsonValue* sequence = member(json, "Sequence");
  const JsonValue* item = sequence != nullptr ? sequence : member(json, "SpecialToken");
  if (item == nullptr) return false;
  const std::string* id = text_of(*item, "id");
  const JsonValue* type = member(*item, "type_id");
  if (id == nullptr || type == nullptr || !is_token_id(*type)) return false;
  return sequence == nullptr || *id == "A" || *id == "B";
}
bool is_template(const JsonValue& json) { return is_of_list(&json, is_template_item); }

bool is_special(const JsonValue& json) {
  return text_of(json, "id") != nullptr && is_of_list(member(json, "ids"), is_token_id) &&
         is_of_list(member(json, "tokens"), is_text);
}
bool are_specials(const JsonValue& json) {
  return json.is_object() && std::ranges::all_of(json, is_special);
}

struct PartKind {
  std::string_view name, expected;
  bool (*is)(const JsonValue&);
};
constexpr PartKind kPartKinds[] = {
    {"truth", "true or false", is_truth},
    {"text", "a text", is_text},
    {"letter", "a text of one character", is_letter},
    {"size", "a whole number", is_size},
    {"id", "the ID of a token", is_token_id},
    {"share", "a number from 0 to 1", is_share},
    {"piece", "[text, ID]", is_piece},
    {"pattern", R"({"String": text} or {"Regex": text})", is_pattern},
    {"padding", R"("BatchLongest" or {"Fixed": number})", is_padding},
    {"base64", "a table in base64", is_base64},
    {"template", R"(a list of {"Sequence" or "SpecialToken": {"id", "type_id"}})", is_template},
    {"specials", R"({token: {"id", "ids", "tokens"}})", are_specials},
    {"parts", "a list", [](const JsonValue& json) { return json.is_array(); }},
};

// Returns "" if `value` is of the kind, which is a name or "word|word"; else what was expected.
std::string expected_instead(std::string_view kind, const JsonValue& value) {
  if (const PartKind* known_kind = find_by(kPartKinds, &PartKind::name, kind)) {
    return std::string(known_kind->is(value) ? "" : known_kind->expected);
  }
  std::string words(kind);
  std::ranges::replace(words, '|', ' ');
  if (value.is_string() && has_word(words, value.get_ref<const std::string&>())) return {};
  return fmt::format("one of {}", words);
}

// The fault of the first wrong field; nullopt if all are right.
std::optional<TokenizerFault> field_fault(const PartType& type, const JsonValue& json) {
  for (std::string_view kind : split_words(type.fields)) {
    const size_t sign = kind.find('=');
    std::string_view name = kind.substr(0, sign);
    kind.remove_prefix(sign + 1);
    const bool may_be_null = name.ends_with('?'), may_lack = may_be_null || name.ends_with('~');
    if (may_lack) name.remove_suffix(1);
    const JsonValue* value = member(json, name);
    if (value == nullptr ? may_lack : value->is_null() && may_be_null) continue;
    const std::string expected = expected_instead(kind, value == nullptr ? JsonValue() : *value);
    if (value != nullptr && expected.empty()) continue;
    const std::string found = value == nullptr ? "missing" : value->dump();
    return TokenizerFault{fmt::format(".{}", name),
                          fmt::format("{}; expected {}", found, expected)};
  }
  return std::nullopt;
}

// The first fault that no regex engine compiles: an unclosed bracket or parenthesis, a group of
// another engine, or a repetition of nothing. Empty if none is found.
std::string regex_fault(std::string_view regex) {
  int round = 0;
  bool in_class = false, is_start = true;
  const bool has_comments = regex.find("(?x") != regex.npos;
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    const bool was_start = std::exchange(is_start, false);
    if (c == '\\') {
      if (++i == regex.size()) return "ends with a backslash";
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(' || c == ')') {
      round += c == '(' ? 1 : -1;
      if (round < 0) break;
      is_start = c == '(';
      if (!is_start || !regex.substr(i + 1).starts_with('?')) continue;
      ++i;
      const char group = i + 1 < regex.size() ? regex[i + 1] : ':';
      if (std::string_view("Psua|^").find(group) != std::string_view::npos) {
        return fmt::format("has a group '(?{}', which tokenizers does not know", group);
      }
      is_start = false;
    } else if (c == '|') {
      is_start = true;
    } else if (was_start && !has_comments && (c == '*' || c == '+' || c == '?')) {
      return fmt::format("repeats nothing with '{}'", c);
    }
  }
  return in_class || round != 0 ? "closes not what it opens" : "";
}

// Checks fields that have the right types but contradict each other or do not compile.
void check_values(const std::string& place, const JsonValue& json, PartFaults& out) {
  const std::string* regex = text_of(known(json, "pattern"), "Regex");
  const std::string fault = regex == nullptr ? "" : regex_fault(*regex);
  if (!fault.empty()) out.push_back({place + ".pattern", fmt::format("'{}' {}", *regex, fault)});
  if (const JsonValue* single = known(json, "single")) {
    for (const JsonValue& item : *single) {
      const std::string* id = text_of(member(item, "SpecialToken"), "id");
      if (id == nullptr || member(json["special_tokens"], *id) != nullptr) continue;
      out.push_back({place + ".special_tokens", fmt::format("no '{}', which single adds", *id)});
    }
  }
  const std::string* type = text_of(json, "type");
  if (type == nullptr || *type != "Metaspace") return;
  const JsonValue* prefix = known(json, "add_prefix_space");
  const std::string* scheme = text_of(json, "prepend_scheme");
  if (prefix == nullptr || *prefix != false || (scheme != nullptr && *scheme == "never")) return;
  out.push_back({place + ".add_prefix_space", "false, but prepend_scheme is not 'never'"});
}

bool check_part_type(std::string_view part, const std::string& place, const JsonValue& json,
                     PartFaults& out) {
  const std::string* type = text_of(json, "type");
  const bool goes_by_fields = part != "model" || member(json, "type") == nullptr;
  std::optional<TokenizerFault> fault;
  bool is_known = false;
  for (const PartType& row : kPartTypes) {
    if (row.part != part) continue;
    const bool is_named = row.types.empty() || (type != nullptr && has_word(row.types, *type));
    is_known |= is_named;
    if (!is_named && !(row.by_fields && goes_by_fields)) continue;
    auto found = field_fault(row, json);
    if (!found) return true;
    if (is_named) fault = std::move(found);
  }
  if (fault) {
    out.push_back({place + fault->place, fault->found});
  } else if (!is_known) {
    const JsonValue* given = member(json, "type");
    out.push_back({place, type != nullptr      ? fmt::format("type '{}'", *type)
                          : given == nullptr ? "no type"
                                             : fmt::format("type {}", given->dump())});
  }
  return false;
}

void check_part(std::string_view part, const std::string& place, const JsonValue& json,
                PartFaults& out) {
  if (!json.is_object()) return out.push_back({place, no_object(json)});
  if (!check_part_type(part, place, json, out)) return;
  check_values(place, json, out);
  for (const std::string_view list : {"normalizers", "pretokenizers", "processors", "decoders"}) {
    const JsonValue& inner = list_in(json, list);
    for (size_t i = 0; i < inner.size(); ++i) {
      check_part(part, fmt::format("{}.{}[{}]", place, list, i), inner[i], out);
    }
  }
}

}  // namespace

void find_part_faults(const JsonValue& tokenizer, PartFaults& out) {
  for (const std::string_view part : {"truncation", "padding", "normalizer", "pre_tokenizer",
                                      "post_processor", "decoder", "model"}) {
    const JsonValue* json = known(tokenizer, part);
    if (json != nullptr) check_part(part, fmt::format("tokenizer.json: {}", part), *json, out);
  }
}

}  // namespace ckpt
