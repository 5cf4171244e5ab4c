// model.safetensors.index.json: which file each tensor is in.
//
//   {
//     "metadata": {
//       "total_parameters": 123,
//       "total_size": 246
//     },
//     "weight_map": {
//       "lm_head.weight": "model-00002-of-00002.safetensors",
//       ...
//     }
//   }
//
// Written as transformers does (src/transformers/modeling_utils.py): two spaces, keys sorted, ASCII
// only, one newline at the end. Readers must not trust metadata: total_size is wrong in many files.
//
// If several files of a folder have the same tensor and programs read different ones of them, the
// values are compared.
#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/base/numbered_name.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/io/remote_files.h"
#include "core/json/json_string.h"
#include "formats/json_events.h"
#include "formats/safetensors.h"
#include "formats/torch.h"

namespace ckpt {
namespace {

// Takes weight_map and the numbers and texts of metadata; walks over everything else.
class IndexEvents final : public JsonEvents {
 public:
  SafetensorsIndex index;
  bool saw_weight_map = false;

  bool scalar(std::string_view spelling) override {
    const bool is_text = spelling[0] == '"';
    if (is_text && in_weight_map()) {
      index.weight_map.emplace_back(key_, json_unquoted(spelling));
      return true;
    }
    if (in_metadata()) {
      const auto number = whole_number(spelling);
      if (number) index.metadata.entries.push_back({key_, MetaValue{MetaType::kU64, *number}});
      if (is_text) {
        index.metadata.entries.push_back({key_, MetaValue::text(json_unquoted(spelling))});
      }
    }
    return value();
  }

  bool key(std::string_view spelling) override {
    key_ = json_unquoted(spelling);
    if (depth_ == 1) section_ = key_;
    return true;
  }

  bool open(char bracket, size_t) override {
    if (depth_ == 1 && section_ == "weight_map" && bracket == '{') {
      saw_weight_map = true;
    } else if (!value()) {
      return false;
    }
    if (depth_ == 1 && section_ == "metadata" && bracket == '{') index.has_metadata = true;
    ++depth_;
    return true;
  }
  bool close(size_t) override {
    --depth_;
    return true;
  }

 private:
  bool in_metadata() const { return depth_ == 2 && section_ == "metadata"; }
  bool in_weight_map() const { return depth_ == 2 && section_ == "weight_map"; }

  // A value of any kind: fine, but not inside weight_map and not instead of the root object.
  bool value() {
    if (in_weight_map()) {
      return refuse(fmt::format("weight_map: '{}' is not the name of a file", shorten(key_)));
    }
    return true;
  }

  size_t depth_ = 0;
  std::string section_, key_;
};

// The file must be in the folder itself or below it.
bool is_safe_path(const std::string& path) {
  const std::filesystem::path relative(path);
  if (path.empty() || relative.is_absolute() || path.find('\0') != std::string::npos) return false;
  return std::ranges::none_of(relative, [](const std::filesystem::path& step) {
    return step == ".." || step == "." || step.empty();
  });
}

std::string json_of(const MetaValue& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr ? json_quoted(*text, JsonEscape::kPython)
                         : std::to_string(std::get<uint64_t>(value.value));
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Keys, sorted, and values in JSON: the members of one object, indented, without the braces.
void append_pairs(std::string& out, Pairs& members) {
  std::ranges::sort(members);
  const char* separator = "\n    ";
  for (const auto& [key, value] : members) {
    out += separator;
    append_json_text(out, key, JsonEscape::kPython);
    out += ": " + value;
    separator = ",\n    ";
  }
  if (!members.empty()) out += "\n  ";
}

constexpr uint64_t kMaxComparedOfUrl = uint64_t{256} << 20;

struct Place {
  const SafetensorsFile* file;
  const SafetensorsEntry* entry;
};

// The tensors of all files, in the order in which index_entries() numbers them.
std::vector<Place> places_of(const std::vector<SafetensorsFile>& files) {
  std::vector<Place> out;
  for (const SafetensorsFile& file : files) {
    for (const SafetensorsEntry& entry : file.header.entries) out.push_back({&file, &entry});
  }
  return out;
}

Result<bool> are_same(const Place& a, const Place& b) {
  const uint64_t size = a.entry->end - a.entry->begin;
  const bool are_alike = a.entry->dtype == b.entry->dtype && a.entry->shape == b.entry->shape &&
                         size == b.entry->end - b.entry->begin;
  std::vector<std::byte> bytes_a, bytes_b;
  for (uint64_t at = 0; are_alike && at < size; at += bytes_a.size()) {
    bytes_a.resize(std::min<uint64_t>(size - at, 1 << 20));
    bytes_b.resize(bytes_a.size());
    const auto start = [at](const Place& of) {
      return of.file->header.data_start + of.entry->begin + at;
    };
    CKPT_TRY(a.file->source->read(start(a), bytes_a));
    CKPT_TRY(b.file->source->read(start(b), bytes_b));
    if (bytes_a != bytes_b) return false;
  }
  return are_alike;
}

// Notes the first tensor of which two files have other values.
class Agreement {
 public:
  explicit Agreement(bool is_url) : left_bytes_(is_url ? kMaxComparedOfUrl : UINT64_MAX) {}

  Status compare(const Place& a, const Place& b) {
    if (!found_.empty()) return {};
    const uint64_t size = a.entry->end - a.entry->begin;
    if (size > left_bytes_) {
      found_ = fmt::format("tensor '{}' is in '{}' and in '{}', too large to compare at a URL",
                           a.entry->name, a.file->path, b.file->path);
      return {};
    }
    left_bytes_ -= size;
    CKPT_ASSIGN(const bool same, are_same(a, b));
    if (!same) {
      found_ = fmt::format("tensor '{}' has other values in '{}' than in '{}'", a.entry->name,
                           a.file->path, b.file->path);
    }
    return {};
  }

  void lacks(std::string_view tensor, std::string_view file, std::string_view other) {
    if (found_.empty())
      found_ = fmt::format("tensor '{}' is in '{}', not in '{}'", tensor, file, other);
  }

  const std::string& found() const { return found_; }

 private:
  uint64_t left_bytes_;
  std::string found_;
};

// Leaves the last copy of each tensor that several files hold. With an index, all programs read
// that one; without it, the values must agree. Returns a sentence on each such tensor.
Result<std::vector<std::string>> leave_stale_copies(WeightFiles& weights, bool must_agree,
                                                    Agreement& agreement) {
  std::map<std::string, Place> later;
  std::vector<std::string> found;
  for (SafetensorsFile& file : weights.files | std::views::reverse) {
    std::vector<SafetensorsEntry> kept;
    for (SafetensorsEntry& entry : file.header.entries) {
      const Place* copy = find_mapped(later, entry.name);
      if (copy == nullptr) {
        kept.push_back(std::move(entry));
        continue;
      }
      if (must_agree) CKPT_TRY(agreement.compare({&file, &entry}, *copy));
      found.push_back(fmt::format("{}tensor '{}' {}in '{}' and in '{}'",
                                  weights.index ? "has " : "", entry.name,
                                  weights.index ? "" : "is ", file.path, copy->file->path));
    }
    file.header.entries = std::move(kept);
    for (const SafetensorsEntry& entry : file.header.entries) later[entry.name] = {&file, &entry};
  }
  return found;
}

// Whether these are all files of one saving, by their names: a single one, or "-00001-of-00002" to
// "-00002-of-00002".
bool are_one_saving(std::span<const SafetensorsFile> files) {
  std::set<unsigned> numbers;
  unsigned count = 0;
  for (const SafetensorsFile& file : files) {
    const auto name = parse_numbered(file.path);
    if (!name) return files.size() == 1 && file.path == kSingleName;
    if (count != 0 && name->count != count) return false;
    count = name->count;
    numbers.insert(name->number);
  }
  return count != 0 && numbers.size() == count;
}

// Also reads files that the index does not name, if together they hold all tensors of the missing
// files. A set of files that is complete by its names is read as well: then the index names tensors
// that no file has.
bool take_renamed(WeightFiles& weights) {
  std::set<std::string> wanted;
  for (const auto& [tensor, file] : weights.index->weight_map) wanted.insert(tensor);
  for (const Place& place : places_of(weights.files)) wanted.erase(place.entry->name);
  const auto holds = [&](const SafetensorsFile& file) {
    return std::ranges::any_of(file.header.entries, [&](const SafetensorsEntry& entry) {
      return wanted.contains(entry.name);
    });
  };
  const auto taken = std::ranges::stable_partition(weights.others, std::not_fn(holds));
  std::set<std::string> held;
  for (const SafetensorsFile& file : taken) {
    for (const SafetensorsEntry& entry : file.header.entries) held.insert(entry.name);
  }
  const bool are_whole = weights.files.empty() && are_one_saving(taken);
  if (!are_whole && !std::ranges::includes(held, wanted)) return false;
  std::ranges::move(taken, std::back_inserter(weights.files));
  weights.others.erase(taken.begin(), taken.end());
  std::ranges::sort(weights.files, {}, &SafetensorsFile::path);
  return true;
}

// Compares the files that are read with the others that hold weights, because some programs read
// those instead, or in addition.
Status compare_others(const WeightFiles& weights, Agreement& agreement) {
  const std::vector<Place> places = places_of(weights.files);
  if (weights.others.empty() || places.empty()) return {};
  for (const SafetensorsFile& other : weights.others) {
    const bool is_single = other.path == kSingleName || other.path == kTorchSingleName;
    const bool is_saving =
        is_single || other.path.starts_with("model-") || other.path.starts_with("pytorch_model-");
    if (weights.index ? !is_single : !is_saving) continue;
    std::set<std::string_view> names;
    for (const SafetensorsEntry& entry : other.header.entries) {
      const auto found = weights.entries.find(entry.name);
      if (found) CKPT_TRY(agreement.compare({&other, &entry}, places[*found]));
      if (!found && is_single) agreement.lacks(entry.name, other.path, places[0].file->path);
      names.insert(entry.name);
    }
    for (const Place& place : places) {
      const bool is_there = !is_single || names.contains(place.entry->name);
      if (!is_there) agreement.lacks(place.entry->name, place.file->path, other.path);
    }
  }
  return {};
}

// Scales that accompany a weight, by their last words. NVIDIA's scripts for DeepSeek write them
// into the files and leave the index as it was.
std::string weight_of_scale(std::string_view name) {
  constexpr std::string_view kScales[] = {".weight_scale", ".weight_scale_2", ".weight_scale_inv",
                                          ".input_scale"};
  for (const std::string_view end : kScales) {
    if (name.ends_with(end))
      return std::string(name.substr(0, name.size() - end.size())) + ".weight";
  }
  return {};
}

// "X", "X (and 2 more)": the sentences of one kind of misfit.
void tell(std::vector<std::string>& sentences, const std::vector<std::string>& found) {
  if (found.empty()) return;
  sentences.push_back(
      found.size() == 1 ? found[0] : fmt::format("{} (and {} more)", found[0], found.size() - 1));
}

// Where the index says otherwise than the files that it names.
void tell_index(const WeightFiles& weights, FileMisfit& misfit,
                std::vector<std::string>& sentences) {
  const std::vector<Place> places = places_of(weights.files);
  std::vector<bool> is_named(places.size());
  std::vector<std::string> absent, misplaced, unnamed, ghosts;
  for (const std::string& file : weights.absent) {
    absent.push_back(fmt::format("names the file '{}', which is missing", file));
  }
  for (const auto& [tensor, file] : weights.index->weight_map) {
    const auto found = weights.entries.find(tensor);
    if (found) is_named[*found] = true;
    if (found && places[*found].file->path == file) continue;
    if (!found) ghosts.push_back(fmt::format("names tensor '{}', which no file has", tensor));
    misplaced.push_back(fmt::format("puts tensor '{}' into '{}'{}", tensor, file,
                                    found
                                        ? fmt::format("; it is in '{}'", places[*found].file->path)
                                        : ", which does not have it"));
  }
  for (uint32_t i = 0; i < places.size(); ++i) {
    const auto weight =
        is_named[i] ? std::nullopt : weights.entries.find(weight_of_scale(places[i].entry->name));
    const bool is_scale = weight && is_named[*weight] && places[*weight].file == places[i].file;
    if (is_named[i] || is_scale) continue;
    unnamed.push_back(fmt::format("does not name tensor '{}' of '{}'", places[i].entry->name,
                                  places[i].file->path));
  }
  misfit.omits_tensors = !unnamed.empty();
  tell(sentences, absent);
  if (absent.empty()) tell(sentences, misplaced);
  if (!absent.empty() && !misfit.lacks_tensors) tell(sentences, ghosts);
  tell(sentences, unnamed);
}

void tell_others(const WeightFiles& weights, FileMisfit& misfit,
                 std::vector<std::string>& sentences) {
  if (weights.others.empty()) return;
  std::vector<std::string> files, more;
  for (const SafetensorsFile& file : weights.others) {
    files.push_back(fmt::format("'{}'", file.path));
    for (const SafetensorsEntry& entry : file.header.entries) {
      if (!weights.entries.find(entry.name)) more.push_back(entry.name);
    }
  }
  misfit.has_more = !more.empty();
  const std::string tensors = more.empty()
                                  ? ""
                                  : fmt::format(", with {} that no other file has, such as '{}'",
                                                counted(more.size(), "tensor"), more[0]);
  sentences.push_back(weights.index ? fmt::format("does not name {} of the same folder{}",
                                                  fmt::join(files, ", "), tensors)
                                    : fmt::format("{} {} passed over{}", fmt::join(files, ", "),
                                                  files.size() == 1 ? "is" : "are", tensors));
}

}  // namespace

bool has_more(const SafetensorsFile& file, const NameIndex& entries) {
  return std::ranges::any_of(file.header.entries, [&](const SafetensorsEntry& entry) {
    return !entries.find(entry.name);
  });
}

Status settle_files(const std::filesystem::path& folder, WeightFiles& weights) {
  FileMisfit& misfit = weights.misfit;
  misfit.lacks_file = !weights.absent.empty();
  misfit.lacks_tensors = misfit.lacks_file && !take_renamed(weights);
  Agreement agreement(is_url(folder));
  std::vector<std::string> copies, sentences;
  if (!index_entries(weights.files)) {
    const bool must_agree = !weights.index || misfit.lacks_file;
    CKPT_ASSIGN(copies, leave_stale_copies(weights, must_agree, agreement));
  }
  CKPT_ASSIGN(weights.entries, index_entries(weights.files));
  CKPT_TRY(compare_others(weights, agreement));
  if (weights.index) tell_index(weights, misfit, sentences);
  if (sentences.empty()) tell(sentences, copies);
  misfit.is_fault = !sentences.empty();
  tell_others(weights, misfit, sentences);
  misfit.found = fmt::format("{}", fmt::join(sentences, "; "));
  if (weights.index && !sentences.empty()) {
    misfit.found = fmt::format("{} {}", weights.index_name, misfit.found);
  }
  const std::string place = shell_path(folder.string());
  if (!agreement.found().empty()) {
    misfit.has_conflict = misfit.is_fault = true;
    misfit.found = agreement.found();
    misfit.hint = "removing whichever is left over from an earlier saving";
  } else if (misfit.lacks_tensors) {
    misfit.hint = misfit.has_more ? fmt::format("downloading it, or removing {}, if it is stale",
                                                weights.index_name)
                                  : "downloading it";
  } else if (misfit.has_more && is_url(folder)) {
    misfit.hint = "a copy on this machine, and --step reindex for its index";
  } else if ((misfit.has_more || misfit.lacks_file) && !is_url(folder)) {
    misfit.hint = fmt::format("ckpt patch {} --step reindex", place);
  } else {
    misfit.hint = fmt::format("ckpt convert {} OUT", place);
  }
  return {};
}

Result<SafetensorsIndex> parse_index(std::string_view json) {
  IndexEvents events;
  CKPT_TRY(events.run(json));
  if (!events.saw_weight_map) {
    return corrupt("no object 'weight_map'; expected tensor and file names");
  }
  for (const auto& [tensor, file] : events.index.weight_map) {
    if (!is_safe_path(file)) {
      return corrupt("weight_map: tensor '{}' is in '{}'; expected a file name", shorten(tensor),
                     shorten(file));
    }
  }
  return std::move(events.index);
}

std::string render_index(const Metadata& metadata, Pairs entries) {
  Pairs sums;
  for (const MetaEntry& entry : metadata.entries)
    sums.emplace_back(entry.key, json_of(entry.value));
  for (auto& [tensor, file] : entries) file = json_quoted(file, JsonEscape::kPython);
  std::string out = "{\n  \"metadata\": {";
  append_pairs(out, sums);
  out += "},\n  \"weight_map\": {";
  append_pairs(out, entries);
  out += "}\n}\n";
  return out;
}

}  // namespace ckpt
