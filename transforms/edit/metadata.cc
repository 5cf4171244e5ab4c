// metadata: sets and removes GGUF keys, or entries of safetensors' __metadata__.
//
//   metadata:set=general.name=Mine                   the type that llama.cpp reads the key as, else
//                                                    the one that it has, else text
//   metadata:set=my.number=u32:40960                 a type in front: u8 ... i64, f32, f64, bool,
//                                                    text
//   metadata:remove=tokenizer.chat_template
//
// In a Hugging Face folder the entries are those of every weight file (or those that file=GLOB
// names); they are always text.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/glob.h"
#include "core/model/transform.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr OptionRule kMetadataOptions[] = {
    option::pair("set", "KEY=[TYPE:]VALUE", "the entry to set; TYPE like u32, f32, bool, text")
        .repeated(),
    option::text("remove", "KEY", "the entry to take out").repeated(),
    option::glob("file", "of safetensors: the weight files").by_default("*"),
};

// Keys that say how the bytes lie; whoever writes the file sets them.
constexpr std::string_view kLayoutKeys[] = {"general.alignment", "split.no", "split.count",
                                            "split.tensors.count"};

constexpr MetaType kMetaTypes[] = {MetaType::kU8,  MetaType::kI8,  MetaType::kU16, MetaType::kI16,
                                   MetaType::kU32, MetaType::kI32, MetaType::kF32, MetaType::kBool,
                                   MetaType::kU64, MetaType::kI64, MetaType::kF64, MetaType::kText};

struct Typed {
  std::optional<MetaType> type;
  std::string_view value;
};
Typed split_type(std::string_view text) {
  const size_t colon = text.find(':');
  for (const MetaType type : kMetaTypes) {
    if (colon != text.npos && text.substr(0, colon) == name(type)) {
      return {type, text.substr(colon + 1)};
    }
  }
  return {std::nullopt, text};
}

template <class T>
bool parse_whole(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<MetaValue> parse_number(MetaType type, std::string_view text) {
  const uint32_t bits = size_bytes(type) * 8;
  if (type == MetaType::kF32 || type == MetaType::kF64) {
    double value = 0;
    if (!parse_whole(text, value) || !std::isfinite(value)) return std::nullopt;
    if (type == MetaType::kF64) return MetaValue{type, value};
    if (std::fabs(value) > std::numeric_limits<float>::max()) return std::nullopt;
    return MetaValue::f32(value);
  }
  const bool is_signed = type == MetaType::kI8 || type == MetaType::kI16 ||
                         type == MetaType::kI32 || type == MetaType::kI64;
  if (is_signed) {
    int64_t value = 0;
    const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
    if (!parse_whole(text, value) || value > most || value < -most - 1) return std::nullopt;
    return MetaValue{type, value};
  }
  uint64_t value = 0;
  const uint64_t most = std::numeric_limits<uint64_t>::max() >> (64 - bits);
  if (!parse_whole(text, value) || value > most) return std::nullopt;
  return MetaValue{type, value};
}

std::optional<MetaValue> parse_value(MetaType type, std::string_view text) {
  if (type == MetaType::kText) return MetaValue::text(std::string(text));
  if (type == MetaType::kArray) return std::nullopt;
  if (type != MetaType::kBool) return parse_number(type, text);
  if (text != "true" && text != "false") return std::nullopt;
  return MetaValue::boolean(text == "true");
}

// Entries that many edits find by key.
class KeyedEntries {
 public:
  explicit KeyedEntries(Metadata& metadata) : entries_(metadata.entries) {
    for (size_t i = 0; i < entries_.size(); ++i) places_.emplace(entries_[i].key, i);
    is_removed_.resize(entries_.size());
  }
  ~KeyedEntries() {
    size_t place = 0;
    std::erase_if(entries_, [&](const MetaEntry&) { return is_removed_[place++]; });
  }
  KeyedEntries(const KeyedEntries&) = delete;
  KeyedEntries& operator=(const KeyedEntries&) = delete;

  const MetaValue* find(const std::string& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : &entries_[found->second].value;
  }
  void set(const std::string& key, MetaValue value) {
    const auto [place, is_new] = places_.emplace(key, entries_.size());
    if (is_new) {
      entries_.push_back({key, std::move(value)});
      is_removed_.push_back(false);
    } else {
      entries_[place->second].value = std::move(value);
    }
  }
  void remove(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    is_removed_[found->second] = true;
    places_.erase(found);
  }

 private:
  std::vector<MetaEntry>& entries_;
  std::map<std::string, size_t> places_;
  std::vector<bool> is_removed_;
};

// Of a value to set; fails: kUsage: not the type that llama.cpp reads.
Result<MetaType> type_to_set(const MetaValue* old, const std::optional<GgufKey>& known,
                             const Typed& typed, const std::string& key) {
  if (known && typed.type && *typed.type != known->type && known->type != MetaType::kArray) {
    const bool is_one = parse_value(known->type, typed.value).has_value();
    return fail(ErrorCode::kUsage, "key '{}': type {}; llama.cpp reads {}{}", key,
                name(*typed.type), name(known->type),
                is_one ? fmt::format(". Try: {}={}", key, typed.value) : std::string());
  }
  if (typed.type && (!known || known->type != MetaType::kArray)) return *typed.type;
  const bool is_list = old != nullptr && old->type == MetaType::kArray;
  if (known) return is_list && !typed.type ? MetaType::kArray : known->type;
  return old == nullptr ? MetaType::kText : old->type;
}

Status set_key(KeyedEntries& metadata, const std::string& architecture, const std::string& key,
               std::string_view text) {
  const Typed typed = split_type(text);
  CKPT_ASSIGN(const MetaType type,
              type_to_set(metadata.find(key), find_gguf_key(architecture, key), typed, key));
  if (type == MetaType::kArray) {
    return fail(ErrorCode::kUnsupported, "key '{}' is an array; only single values are set", key);
  }
  auto value = parse_value(type, typed.value);
  if (!value) {
    return fail(ErrorCode::kUsage, "key '{}': '{}' is no {}", key, typed.value, name(type));
  }
  metadata.set(key, std::move(*value));
  return {};
}

struct Edit {
  bool sets = false;
  std::string key, value;
};

Result<std::vector<Edit>> read_edits(const OptionValues& options) {
  std::vector<Edit> edits;
  for (const OptionValues::Value& given : options.given()) {
    if (given.rule->name == "file") continue;
    Edit& edit = edits.emplace_back();
    edit.sets = given.rule->name == "set";
    edit.key = given.text;
    if (edit.sets) std::tie(edit.key, edit.value) = split_pair(given.text);
    if (std::find(std::begin(kLayoutKeys), std::end(kLayoutKeys), edit.key) !=
        std::end(kLayoutKeys)) {
      return fail(ErrorCode::kUsage, "key '{}' says how the file is laid out; it follows from that",
                  edit.key);
    }
  }
  if (edits.empty()) return fail(ErrorCode::kUsage, "nothing to set or remove");
  return edits;
}

Status edit_files(Checkpoint& checkpoint, const std::vector<Edit>& edits, const std::string& glob) {
  bool found = false;
  const Glob wanted(glob);
  for (auto& [file, metadata] : checkpoint.file_metadata) {
    if (!file.ends_with(".safetensors") || !wanted.matches(file)) continue;
    found = true;
    KeyedEntries entries(metadata);
    for (const Edit& edit : edits) {
      if (edit.sets) {
        entries.set(edit.key, MetaValue::text(edit.value));
      } else {
        entries.remove(edit.key);
      }
    }
  }
  if (found) return {};
  return fail(ErrorCode::kUsage, "no weight file is called '{}'", glob);
}

Result<Checkpoint> edit_metadata(Checkpoint checkpoint, const OptionValues& options,
                                 const Context&) {
  CKPT_ASSIGN(const std::vector<Edit> edits, read_edits(options));
  if (checkpoint.format != "gguf") {
    CKPT_TRY(edit_files(checkpoint, edits, options.text("file")));
    return checkpoint;
  }
  if (options.has("file")) return fail(ErrorCode::kUsage, "file=GLOB is for safetensors");
  const std::string* name = checkpoint.metadata.find_text("general.architecture");
  const std::string architecture = name == nullptr ? std::string() : *name;
  {
    KeyedEntries entries(checkpoint.metadata);
    for (const Edit& edit : edits) {
      if (edit.sets) {
        CKPT_TRY(set_key(entries, architecture, edit.key, edit.value));
      } else {
        entries.remove(edit.key);
      }
    }
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kMetadataEdit{
    "metadata", "sets and removes GGUF keys or safetensors' __metadata__", kMetadataOptions,
    edit_metadata, Touches::kNames};

}  // namespace ckpt
