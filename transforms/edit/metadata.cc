// metadata: sets and removes GGUF keys, or entries of safetensors' __metadata__.
//
//   metadata:set=general.name=Mine                   the type that llama.cpp reads, else the type
//   of
//                                                    the existing key, else text
//   metadata:set=my.number=u32:40960                 a type in front: u8 ... i64, f32, f64, bool,
//                                                    text; new keys need one where the value could
//                                                    be a number or a flag
//   metadata:set=general.tags=["a","b"]              a list: JSON
//   metadata:set=tokenizer.chat_template=@FILE       the text of a file
//   metadata:remove=tokenizer.chat_template
//
// In a Hugging Face folder the entries are those of every weight file (or those that file=GLOB
// names); they are always text.
#include "core/model/metadata.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/base/find.h"
#include "core/base/glob.h"
#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "core/base/result.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/file_metadata.h"

namespace ckpt {
namespace {

// Values of GGUF keys as the user types them.
//
//   5   yarn   ["a", "b"]        of the key's type
//   u32:5   text:5   u32:[1, 2]  of the named type

struct TypedValue {
  std::optional<MetaType> type;  // the named type
  std::string_view value;
};

constexpr MetaType kMetaTypes[] = {MetaType::kU8,  MetaType::kI8,  MetaType::kU16, MetaType::kI16,
                                   MetaType::kU32, MetaType::kI32, MetaType::kF32, MetaType::kBool,
                                   MetaType::kU64, MetaType::kI64, MetaType::kF64, MetaType::kText};

std::optional<MetaValue> parse_number(MetaType type, std::string_view text) {
  const uint32_t bits = size_bytes(type) * 8;
  if (type == MetaType::kF32 || type == MetaType::kF64) {
    const auto value = number_from<double>(text);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    if (type == MetaType::kF64) return MetaValue{type, *value};
    if (std::fabs(*value) > std::numeric_limits<float>::max()) return std::nullopt;
    return MetaValue::f32(*value);
  }
  const bool is_signed = type == MetaType::kI8 || type == MetaType::kI16 ||
                         type == MetaType::kI32 || type == MetaType::kI64;
  if (is_signed) {
    const auto value = number_from<int64_t>(text);
    const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
    if (!value || *value > most || *value < -most - 1) return std::nullopt;
    return MetaValue{type, *value};
  }
  const auto value = number_from<uint64_t>(text);
  if (!value || *value > std::numeric_limits<uint64_t>::max() >> (64 - bits)) return std::nullopt;
  return MetaValue{type, *value};
}

// Appends the stored bytes of a number.
void append_number(std::vector<std::byte>& bytes, const MetaValue& number) {
  const auto append = [&](const auto& value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);  // little-endian, as stored
    bytes.insert(bytes.end(), first, first + size_bytes(number.type));
  };
  if (number.type == MetaType::kF32) {
    append(static_cast<float>(std::get<double>(number.value)));
  } else if (const auto* real = std::get_if<double>(&number.value)) {
    append(*real);
  } else if (const auto* whole = std::get_if<int64_t>(&number.value)) {
    append(*whole);
  } else {
    append(std::get<uint64_t>(number.value));
  }
}

// The types that llama.cpp's --override-kv accepts, and the GGUF types that it uses for them.
constexpr std::pair<std::string_view, MetaType> kOverrideTypes[] = {
    {"int", MetaType::kU32}, {"float", MetaType::kF32}, {"str", MetaType::kText}};

TypedValue split_type(std::string_view text) {
  const size_t colon = text.find(':');
  for (const auto& [word, type] : kOverrideTypes) {
    if (colon != text.npos && text.substr(0, colon) == word) return {type, text.substr(colon + 1)};
  }
  for (const MetaType type : kMetaTypes) {
    if (colon != text.npos && text.substr(0, colon) == name(type)) {
      return {type, text.substr(colon + 1)};
    }
  }
  return {std::nullopt, text};
}

// Parses one value; nullopt if `text` is not of that type, or the type is kArray.
std::optional<MetaValue> parse_value(MetaType type, std::string_view text) {
  if (type == MetaType::kText) {
    return is_utf8(text) ? std::optional(MetaValue::text(std::string(text))) : std::nullopt;
  }
  if (type == MetaType::kArray) return std::nullopt;
  if (type != MetaType::kBool) return parse_number(type, text);
  if (text != "true" && text != "false") return std::nullopt;
  return MetaValue::boolean(text == "true");
}

// Parses a JSON list. Fails: kUsage if it is not a list, or an item has another type.
Result<MetaValue> parse_list(MetaType element, std::string_view text) {
  const auto json = parse_json("value", text);
  if (!json || !json->is_array()) {
    const std::string_view example = element == MetaType::kText ? R"(["en", "de"])" : "[1, 2]";
    return misuse("'{}' is not a list; expected JSON, as {}", shorten(text), example);
  }
  MetaArray out;
  out.element = element;
  for (const JsonValue& item : *json) {
    const auto* word = item.get_ptr<const std::string*>();
    const bool is_text = element == MetaType::kText;
    auto value = is_text == (word != nullptr) ? parse_value(element, is_text ? *word : item.dump())
                                              : std::nullopt;
    if (!value) {
      return misuse("{} in the list is not of type {}", shorten(item.dump()), name(element));
    }
    if (is_text) {
      out.texts.push_back(*word);
    } else {
      append_number(out.numbers, *value);
    }
  }
  return MetaValue::array(std::move(out));
}

// Whether `text` reads as a number, a flag or a list, so that its type must be named.
bool needs_named_type(std::string_view text) {
  constexpr std::string_view kFlags[] = {"true", "false", "True", "False", "TRUE", "FALSE"};
  double number = 0;
  const std::string_view digits = text.substr(text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number =
      error != std::errc::invalid_argument && end == digits.data() + digits.size();
  const bool is_flag = std::ranges::find(kFlags, text) != std::end(kFlags);
  return is_flag || (is_number && !digits.empty()) ||
         (text.starts_with('[') && text.ends_with(']'));
}

// Returns TYPE:VALUE of the first type that can hold `text`; empty if none can.
std::string type_that_holds(std::string_view text) {
  using enum MetaType;
  constexpr MetaType kOfOne[] = {kBool, kU32, kI32, kU64, kI64, kF32, kF64};
  constexpr MetaType kOfList[] = {kI32, kU32, kI64, kU64, kF32, kF64, kBool};
  const bool is_list = text.starts_with('[');
  const bool is_flag = text.find_first_of("tTfF") == 0;
  const std::string value = is_flag ? lower_case(text) : std::string(text);
  const std::string_view digits = std::string_view(value).substr(value.starts_with('+') ? 1 : 0);
  for (const MetaType type : is_list ? std::span<const MetaType>(kOfList) : kOfOne) {
    if (is_list ? parse_list(type, digits).has_value() : parse_value(type, digits).has_value()) {
      return fmt::format("{}:{}", name(type), digits);
    }
  }
  return {};
}

constexpr OptionRule kMetadataOptions[] = {
    option::pair("set", "KEY=[TYPE:]VALUE or KEY=@FILE",
                 "the entry to set; TYPE like u32, f32, bool, text")
        .repeated(),
    option::text("remove", "KEY", "the entry to take out").repeated(),
    option::glob("file", "of safetensors: the weight files").by_default("*"),
};

// Keys that describe the layout of bytes; the program that writes the file sets them.
constexpr std::string_view kLayoutKeys[] = {"general.alignment", "split.no", "split.count",
                                            "split.tensors.count"};

// Entries with an index by key, for many edits.
class KeyedEntries {
 public:
  explicit KeyedEntries(Metadata& metadata) : entries_(metadata.entries) {
    for (size_t i = 0; i < entries_.size(); ++i) places_.emplace(entries_[i].key, i);
  }
  ~KeyedEntries() {
    size_t place = 0;
    std::erase_if(entries_, [&](const MetaEntry&) { return removed_.contains(place++); });
  }
  KeyedEntries(const KeyedEntries&) = delete;
  KeyedEntries& operator=(const KeyedEntries&) = delete;

  const MetaValue* find(const std::string& key) const {
    const size_t* found = find_mapped(places_, key);
    return found == nullptr ? nullptr : &entries_[*found].value;
  }
  void set(const std::string& key, MetaValue value) {
    const auto [place, is_new] = places_.emplace(key, entries_.size());
    if (is_new) entries_.push_back({key, {}});
    entries_[place->second].value = std::move(value);
  }
  bool remove(const std::string& key) {  // returns whether it existed
    const auto found = places_.find(key);
    if (found == places_.end()) return false;
    removed_.insert(found->second);
    places_.erase(found);
    return true;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& [key, place] : places_) out.push_back(key);
    return out;
  }

 private:
  std::vector<MetaEntry>& entries_;
  std::map<std::string, size_t> places_;
  std::set<size_t> removed_;
};

// If `typed` is "@FILE", returns the text of that file; otherwise nullopt.
Result<std::optional<std::string>> text_of_file(const std::string& key, const std::string& typed,
                                                const Context& context) {
  constexpr uint64_t kMaxFileBytes = uint64_t{32} << 20;
  if (!typed.starts_with('@')) return std::nullopt;
  const std::string path = typed.substr(1);
  auto text = path.empty() ? misuse("'@' names no file") : context.file_text(path, kMaxFileBytes);
  if (!text) {
    Error error = std::move(text.error());
    if (error.hint.empty()) error.hint = fmt::format("{}=text:{} for this very text", key, typed);
    return Failure(std::move(error).in(fmt::format("key '{}'", key)));
  }
  if (!is_utf8(*text)) {
    return misuse("key '{}': {} is not text in UTF-8", key, path);
  }
  return std::move(*text);
}

// Sets keys of one GGUF.
class KeySetter {
 public:
  KeySetter(KeyedEntries& metadata, const Context& context)
      : metadata_(metadata), context_(context) {
    const auto* name = find<std::string>("general.architecture");
    if (name != nullptr) architecture_ = *name;
    const auto* tokens = find<MetaArray>("tokenizer.ggml.tokens");
    if (tokens != nullptr) vocabulary_ = tokens->count();
  }

  Status set(const std::string& key, const std::string& given) {
    CKPT_ASSIGN(const std::optional<std::string> file, text_of_file(key, given, context_));
    const TypedValue typed = file ? TypedValue{std::nullopt, *file} : split_type(given);
    if (typed.value.empty() && !typed.type) {
      return misuse_hint(fmt::format("{}=text: for an empty text", key),
                         "key '{}': no value; expected one, or to remove the key", key);
    }
    const auto known = find_gguf_key(architecture_, key);
    if (!known) CKPT_TRY(check_unknown(key, typed, file.has_value()));
    CKPT_ASSIGN(MetaValue value, in(fmt::format("key '{}'", key), parse(key, known, typed)));
    CKPT_TRY(check_token(key, value));
    metadata_.set(key, std::move(value));
    return {};
  }

 private:
  template <class T>
  const T* find(const std::string& key) const {
    const MetaValue* value = metadata_.find(key);
    return value == nullptr ? nullptr : std::get_if<T>(&value->value);
  }

  // Rejects an unknown key if it is a likely typo, or if the type of its value is ambiguous.
  Status check_unknown(const std::string& key, const TypedValue& typed, bool is_file) const {
    if (metadata_.find(key) != nullptr) return {};
    const auto meant = suggest_gguf_key(architecture_, key);
    if (meant && (meant->is_certain || !typed.type)) {
      const std::string own =
          meant->is_certain ? std::string() : fmt::format("; {}=TYPE:VALUE to set it anyway", key);
      return misuse_hint(shell_word(fmt::format("{}={}", meant->key, typed.value)) + own,
                         "key '{}' is not known{}", key,
                         architecture_.empty() ? "" : ", in a file of " + architecture_);
    }
    if (typed.type || is_file || !needs_named_type(typed.value)) return {};
    const std::string typed_value = type_that_holds(typed.value);
    const std::string other = typed_value.empty() ? "" : fmt::format("{}={} or ", key, typed_value);
    return misuse_hint(fmt::format("{}{}=text:{}", other, key, typed.value),
                       "key '{}' is new and the type of '{}' is ambiguous; expected a type", key,
                       shorten(typed.value));
  }

  Result<MetaValue> parse(const std::string& key, const std::optional<GgufKey>& known,
                          const TypedValue& typed) const {
    const MetaValue* old = metadata_.find(key);
    const auto* old_list = find<MetaArray>(key);
    const bool is_list = typed.value.starts_with('[');
    const bool takes_list = known
                                ? std::string_view("UTFPASC").find(known->kind) != std::string::npos
                                : old_list != nullptr;
    if (known && known->kind == 'L' && key != "tokenizer.ggml.suppress_tokens") {
      return unsupported("part of the vocabulary, which cannot be set alone");
    }
    const bool is_text_list = known && known->kind == 'C';
    if (is_list && (takes_list || (known && known->kind == 'L') || is_numbers(typed, known))) {
      const MetaType usual = !known                            ? MetaType::kI32
                             : is_text_list                    ? MetaType::kText
                             : known->type == MetaType::kArray ? MetaType::kI32
                                                               : known->type;
      return parse_list(typed.type.value_or(old_list != nullptr ? old_list->element : usual),
                        typed.value);
    }
    CKPT_ASSIGN(const MetaType type, type_to_set(old, known, typed, key));
    if (type == MetaType::kArray) {
      return misuse("'{}' is not a list; expected JSON, as {}", shorten(typed.value),
                    is_text_list ? R"(["en", "de"])" : "[1, 2]");
    }
    auto value = parse_value(type, typed.value);
    if (!value) {
      return misuse("'{}' is not of type {}", shorten(typed.value), name(type));
    }
    return std::move(*value);
  }

  static bool is_numbers(const TypedValue& typed, const std::optional<GgufKey>& known) {
    return !known && typed.type && *typed.type != MetaType::kText;
  }

  // Returns the type for one value. Fails: kUsage if llama.cpp reads another type.
  static Result<MetaType> type_to_set(const MetaValue* old, const std::optional<GgufKey>& known,
                                      const TypedValue& typed, const std::string& key) {
    if (known && typed.type && *typed.type != known->type && known->type != MetaType::kArray) {
      const bool is_one = parse_value(known->type, typed.value).has_value();
      return misuse("type {}; {} {}{}", name(*typed.type),
                    known->is_read ? "llama.cpp reads" : "expected", name(known->type),
                    is_one ? fmt::format(". Try: {}={}", key, typed.value) : std::string());
    }
    if (typed.type && (!known || known->type != MetaType::kArray)) return *typed.type;
    const bool is_list = old != nullptr && old->type == MetaType::kArray;
    if (known) return is_list && !typed.type ? MetaType::kArray : known->type;
    return old == nullptr ? MetaType::kText : old->type;
  }

  Status check_token(const std::string& key, const MetaValue& value) const {
    if (!vocabulary_ || !key.ends_with("_token_id")) return {};
    const auto* id = std::get_if<uint64_t>(&value.value);
    if (id == nullptr || *id < *vocabulary_) return {};
    return misuse("key '{}': {} is beyond the vocabulary; expected 0 to {}", key, *id,
                  *vocabulary_ - 1);
  }

  KeyedEntries& metadata_;
  const Context& context_;
  std::string architecture_;
  std::optional<uint64_t> vocabulary_;
};

// Removes a key. If it does not exist, notes or reports the key that was probably meant.
Status remove_key(KeyedEntries& metadata, const std::string& key, const Context& context) {
  if (metadata.remove(key)) return {};
  const std::string near = nearest(key, metadata.keys());
  if (near.empty()) {
    context.note("key '{}' does not exist; nothing to remove", key);
    return {};
  }
  return misuse_hint(near, "key '{}' does not exist", key);
}

struct Edit {
  bool sets = false;
  std::string key, value;
};

Result<std::vector<Edit>> read_edits(const OptionValues& options) {
  std::vector<Edit> edits;
  std::map<std::string, bool> seen;
  for (const OptionValues::Value& given : options.given()) {
    if (given.rule->name == "file") continue;
    Edit& edit = edits.emplace_back();
    edit.sets = given.rule->name == "set";
    edit.key = given.text;
    if (edit.sets) std::tie(edit.key, edit.value) = split_pair(given.text);
    if (std::ranges::find(kLayoutKeys, edit.key) != std::end(kLayoutKeys)) {
      return misuse("key '{}' says how the file is laid out; it follows from that", edit.key);
    }
    const auto [place, is_first] = seen.emplace(edit.key, edit.sets);
    if (!is_first) {
      return misuse("key '{}' is {}; expected one of them", edit.key,
                    place->second != edit.sets ? "set and removed"
                    : edit.sets                ? "set twice"
                                               : "removed twice");
    }
  }
  if (edits.empty()) return misuse("nothing to set or remove");
  return edits;
}

Status edit_files(Checkpoint& checkpoint, const std::vector<Edit>& edits, const std::string& glob,
                  const Context& context) {
  bool found = false;
  const Glob wanted(glob);
  // An earlier step made the weights, so no file has entries yet.
  if (checkpoint.file_metadata.empty()) join_file_metadata(checkpoint);
  for (auto& [file, metadata] : checkpoint.file_metadata) {
    if (!file.ends_with(".safetensors") || !wanted.matches(file)) continue;
    found = true;
    KeyedEntries entries(metadata);
    for (const Edit& edit : edits) {
      if (edit.sets) {
        CKPT_ASSIGN(const auto text, text_of_file(edit.key, edit.value, context));
        entries.set(edit.key, MetaValue::text(text.value_or(edit.value)));
      } else {
        CKPT_TRY(remove_key(entries, edit.key, context));
      }
    }
  }
  if (found) return {};
  return misuse("no weight file is called '{}'", glob);
}

Result<Checkpoint> edit_metadata(Checkpoint checkpoint, const OptionValues& options,
                                 const Context& context) {
  CKPT_ASSIGN(const std::vector<Edit> edits, read_edits(options));
  if (checkpoint.format != "gguf") {
    CKPT_TRY(edit_files(checkpoint, edits, options.text("file"), context));
    return checkpoint;
  }
  if (options.has("file")) return misuse("file=GLOB is for safetensors");
  {
    KeyedEntries entries(checkpoint.metadata);
    KeySetter setter(entries, context);
    for (const Edit& edit : edits) {
      CKPT_TRY(edit.sets ? setter.set(edit.key, edit.value)
                         : remove_key(entries, edit.key, context));
    }
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kMetadataEdit{
    "metadata", "sets and removes GGUF keys or safetensors' __metadata__", kMetadataOptions,
    edit_metadata, ChangeScope::kNames};

}  // namespace ckpt
