// How a checkpoint becomes safetensors files: the same bytes as the upstream writers give.
//
//   entries of a file  by dtype, the largest of safetensors' enumeration first, then by name
//                      (safetensors/src/tensor.rs `prepare`)
//   header             compact JSON, __metadata__ first, spaces up to a multiple of 8
//   shards             files the tensors came from; or cut at a size as huggingface_hub does
//                      (serialization/_base.py), in the order of the checkpoint
//
// A reader gets wrong: a tensor larger than the limit gets a file of its own *at once*, so that it
// comes before the file that was being filled.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/io/cursor.h"
#include "core/json/json_string.h"
#include "core/model/name_index.h"
#include "formats/layouts.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace {

// Files that are edited where they stand: their tensors keep places, order and written shapes.
//
//   old  n | {"a":..., "b":...}      | bytes of a | bytes of b
//   new  n | {"x":..., "b":...} pad  | bytes of a | bytes of b      nothing moves
//
// Upstream writers sort entries by dtype and name, but every reader takes any order of the bytes
// (safetensors/src/tensor.rs `validate`), so a new name moves nothing.

// One entry of a header that is being laid out.
struct LaidEntry {
  uint32_t tensor, part;
  Dtype dtype;
  std::string name;
  std::vector<uint64_t> shape;
  uint64_t size_bytes;
};

struct LaidFile {
  std::string path;
  std::vector<LaidEntry> entries;
};

const Slice* slice_of(const Checkpoint& checkpoint, const LaidEntry& entry) {
  return slice_of(checkpoint.tensors[entry.tensor], entry.part);
}

// For a part in another file than the first part of its tensor: that file.
const ByteSource* stray_source(const Checkpoint& checkpoint, const LaidEntry& entry) {
  if (entry.part == 0) return nullptr;
  const Slice* slice = slice_of(checkpoint, entry);
  const Slice* first = slice_of(checkpoint.tensors[entry.tensor], 0);
  const bool strays = slice != nullptr && first != nullptr && first->source != slice->source;
  return strays ? slice->source.get() : nullptr;
}

// The header of a source that is a safetensors file; nullopt for a blob and any other file.
Result<std::optional<SafetensorsHeader>> header_of(const SharedSource& source) {
  if (!source->memory().empty()) return std::nullopt;
  Cursor cursor(source);
  const auto length = cursor.u64();
  if (!length && length.error().code == ErrorCode::kIo) return Failure(length.error());
  if (!length || *length > kMaxSafetensorsHeaderBytes || *length > cursor.left_bytes()) {
    return std::nullopt;
  }
  const auto json = cursor.text(*length);
  if (!json && json.error().code == ErrorCode::kIo) return Failure(json.error());
  if (!json || !json->starts_with('{')) return std::nullopt;
  auto header = parse_safetensors_header(*json);
  if (!header) return std::nullopt;
  header->data_start = cursor.position_bytes();
  return std::optional(std::move(*header));
}

// A scale may be written as [] or as [1], [rows] or [rows, 1]: as it was, it stays.
void keep_shapes(const Checkpoint& checkpoint, const SafetensorsHeader& header,
                 const SharedSource& source, std::vector<LaidEntry>& entries) {
  std::unordered_map<uint64_t, const SafetensorsEntry*> by_offset;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin < entry.end) by_offset[header.data_start + entry.begin] = &entry;
  }
  for (LaidEntry& entry : entries) {
    if (checkpoint.tensors[entry.tensor].codec->parts.size() < 2) continue;
    const Slice* slice = slice_of(checkpoint, entry);
    if (slice == nullptr || slice->source != source) continue;
    const auto* found = find_mapped(by_offset, slice->offset_bytes);
    if (found == nullptr || (*found)->dtype != entry.dtype) continue;
    const std::vector<uint64_t>& written = (*found)->shape;
    if (same_but_for_axes_of_one(written, entry.shape)) entry.shape = written;
  }
}

// True when the entries, in order of their places, cover bytes [data_start, end) of the source.
bool sort_by_place(const Checkpoint& checkpoint, const SharedSource& source, uint64_t data_start,
                   std::vector<LaidEntry>& entries) {
  std::vector<std::pair<uint64_t, LaidEntry>> placed;
  placed.reserve(entries.size());
  for (const LaidEntry& entry : entries) {
    const Slice* slice = slice_of(checkpoint, entry);
    const bool here = slice != nullptr && slice->source == source;
    if (!here && entry.size_bytes != 0) return false;
    placed.emplace_back(here ? slice->offset_bytes : data_start, entry);
  }
  std::ranges::stable_sort(placed, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.size_bytes < b.second.size_bytes;
  });
  uint64_t end = data_start;
  for (const auto& [offset, entry] : placed) {
    if (offset != end) return false;
    end += entry.size_bytes;
  }
  if (end != source->size_bytes()) return false;
  for (size_t i = 0; i < entries.size(); ++i) entries[i] = std::move(placed[i].second);
  return true;
}

// Parts of a tensor that came from another file than its first part go back into that file.
void return_parts(const Checkpoint& checkpoint, std::vector<LaidFile>& files) {
  std::map<const ByteSource*, size_t> home_of;
  for (size_t i = 0; i < files.size(); ++i) {
    for (const LaidEntry& entry : files[i].entries) {
      const Slice* slice = entry.part == 0 ? slice_of(checkpoint, entry) : nullptr;
      if (slice != nullptr) home_of.emplace(slice->source.get(), i);
    }
  }
  for (size_t i = 0; i < files.size(); ++i) {
    std::vector<LaidEntry> stay;
    for (LaidEntry& entry : files[i].entries) {
      const size_t* home = find_mapped(home_of, stray_source(checkpoint, entry));
      if (home == nullptr || *home == i) {
        stay.push_back(std::move(entry));
      } else {
        files[*home].entries.push_back(std::move(entry));
      }
    }
    files[i].entries = std::move(stay);
  }
}

// Gives the entries the shapes that their file wrote them with, and, when they are all that one
// file holds, its order. Gives the bytes that the JSON of that file's header has room for; nullopt
// when the file must be rewritten.
Result<std::optional<uint64_t>> keep_places(const Checkpoint& checkpoint,
                                            std::vector<LaidEntry>& entries) {
  std::vector<SharedSource> sources;
  for (const LaidEntry& entry : entries) {
    const Slice* slice = slice_of(checkpoint, entry);
    if (slice == nullptr) continue;
    if (std::ranges::count(sources, slice->source) == 0) sources.push_back(slice->source);
  }
  std::optional<SafetensorsHeader> header;
  for (const SharedSource& source : sources) {
    CKPT_ASSIGN(header, header_of(source));
    if (header) keep_shapes(checkpoint, *header, source, entries);
  }
  if (sources.size() != 1 || !header) return std::nullopt;
  if (!sort_by_place(checkpoint, sources[0], header->data_start, entries)) return std::nullopt;
  return std::optional(header->data_start - sizeof(uint64_t));
}

constexpr uint64_t kDefaultShardBytes = 50'000'000'000;  // transformers 5, save_pretrained

// A file and the tensors in it.
struct Shard {
  std::string path;
  std::vector<uint32_t> tensors;
};

Status add_entries(const Tensor& tensor, uint32_t index, std::vector<LaidEntry>& entries) {
  for (uint32_t part = 0; part < tensor.codec->parts.size(); ++part) {
    const PartRule& rule = tensor.codec->parts[part];
    if (!safetensors_name(rule.dtype)) {
      return unsupported_hint("quantize to bf16 first, or write GGUF",
                              "tensor '{}': {} cannot be stored in safetensors", tensor.name,
                              tensor.codec->name);
    }
    auto shape = part_entry_shape(rule, tensor.shape);
    if (!shape) {
      return unsupported("tensor '{}': shape [{}] does not fit the tiles of {}", tensor.name,
                         fmt::join(tensor.shape, ", "), tensor.codec->name);
    }
    if (tensor.is_stored() && !tensor.stored().part_shapes.empty() &&
        same_but_for_axes_of_one(tensor.stored().part_shapes[part], *shape)) {
      shape = tensor.stored().part_shapes[part];
    }
    std::string name = tensor.name + std::string(rule.suffix);
    if (name == "__metadata__" || !is_utf8(name)) {
      return unsupported("tensor '{}': not a possible name in safetensors", name);
    }
    if (name.size() > kMaxNameBytes) {
      return unsupported("tensor '{}': a name of {} bytes; expected at most {}", shorten(name),
                         name.size(), kMaxNameBytes);
    }
    entries.push_back({index, part, rule.dtype, std::move(name), std::move(*shape),
                       part_size_bytes(tensor, part)});
  }
  return {};
}

// ---- which tensor goes into which file ---------------------------------------------------------

bool is_home(const std::string& home) { return has_ending(home, kSafetensorsEnding); }

// The files the tensors came from; tensors from elsewhere go where the one before them goes.
std::vector<Shard> keep_homes(const Checkpoint& checkpoint) {
  const auto first = std::ranges::find_if(
      checkpoint.tensors, [](const Tensor& tensor) { return is_home(tensor.home); });
  std::map<std::string, std::vector<uint32_t>> files;
  const std::string* home = &first->home;
  for (uint32_t i = 0; i < checkpoint.tensors.size(); ++i) {
    if (is_home(checkpoint.tensors[i].home)) home = &checkpoint.tensors[i].home;
    files[*home].push_back(i);
  }
  std::vector<Shard> shards;
  for (auto& [path, tensors] : files) shards.push_back({path, std::move(tensors)});
  return shards;
}

std::vector<Shard> cut_at(const Checkpoint& checkpoint, uint64_t max_bytes) {
  std::vector<Shard> shards;
  Shard open;
  uint64_t open_bytes = 0;
  for (uint32_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const uint64_t bytes = size_bytes(checkpoint.tensors[i]);
    if (bytes > max_bytes) {
      shards.push_back({{}, {i}});
      continue;
    }
    if (open_bytes + bytes > max_bytes) {
      shards.push_back(std::move(open));
      open = {};
      open_bytes = 0;
    }
    open.tensors.push_back(i);
    open_bytes += bytes;
  }
  if (!open.tensors.empty() || shards.empty()) shards.push_back(std::move(open));
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].path = shards.size() == 1
                         ? std::string(kSingleName)
                         : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
  }
  return shards;
}

std::vector<Shard> plan_shards(const Checkpoint& checkpoint, const LayoutOptions& options) {
  if (has_ending(options.out_name, kSafetensorsEnding)) {
    Shard all{options.out_name, {}};
    for (uint32_t i = 0; i < checkpoint.tensors.size(); ++i) all.tensors.push_back(i);
    return {std::move(all)};
  }
  const bool has_homes = std::ranges::any_of(
      checkpoint.tensors, [](const Tensor& tensor) { return is_home(tensor.home); });
  if (options.max_file_bytes == 0 && has_homes) {
    std::vector<Shard> kept = keep_homes(checkpoint);
    // transformers reads model.safetensors and then no other file.
    const bool hides_others =
        kept.size() > 1 && std::ranges::find(kept, kSingleName, &Shard::path) != kept.end();
    if (options.keep_places || !hides_others) return kept;
  }
  return cut_at(checkpoint,
                options.max_file_bytes == 0 ? kDefaultShardBytes : options.max_file_bytes);
}

Status check_names(const std::vector<LaidFile>& files) {
  std::vector<std::string_view> names;
  for (const LaidFile& file : files) {
    for (const LaidEntry& entry : file.entries) names.push_back(entry.name);
  }
  const NameIndex index(std::move(names));
  const auto twice = index.find_twice();
  if (!twice) return {};
  return misuse("two tensors are called '{}'", index.name(twice->first));
}

Result<std::vector<LaidFile>> plan_files(const Checkpoint& checkpoint,
                                         const LayoutOptions& options) {
  std::vector<LaidFile> files;
  for (const Shard& shard : plan_shards(checkpoint, options)) {
    LaidFile& file = files.emplace_back(LaidFile{shard.path, {}});
    for (const uint32_t index : shard.tensors) {
      CKPT_TRY(add_entries(checkpoint.tensors[index], index, file.entries));
    }
  }
  CKPT_TRY(check_names(files));
  if (options.keep_places) return_parts(checkpoint, files);
  return files;
}

// ---- the header --------------------------------------------------------------------------------

// The __metadata__ of new files: the keys of all that were read, the first of each; else
// transformers'.
std::vector<MetaEntry> metadata_of_new_files(const Checkpoint& checkpoint) {
  std::vector<MetaEntry> out;
  std::unordered_set<std::string_view> known;
  bool is_any_read = false;
  for (const auto& [file, metadata] : checkpoint.file_metadata) {
    if (!is_home(file)) continue;
    is_any_read = true;
    for (const MetaEntry& entry : metadata.entries) {
      if (known.insert(entry.key).second) out.push_back(entry);
    }
  }
  if (!is_any_read) out.push_back({"format", MetaValue::text("pt")});
  return out;
}

void append_metadata(std::string& out, const std::vector<MetaEntry>& metadata) {
  if (metadata.empty()) return;
  out += "\"__metadata__\":{";
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (i != 0) out += ',';
    append_json_text(out, metadata[i].key, JsonEscape::kSerde);
    out += ':';
    const auto* text = std::get_if<std::string>(&metadata[i].value.value);
    CKPT_CHECK(text != nullptr);
    append_json_text(out, *text, JsonEscape::kSerde);
  }
  out += "},";
}

std::string render_header(const std::vector<MetaEntry>& metadata,
                          const std::vector<LaidEntry>& entries) {
  std::string out = "{";
  append_metadata(out, metadata);
  uint64_t offset = 0;
  for (const LaidEntry& entry : entries) {
    append_json_text(out, entry.name, JsonEscape::kSerde);
    fmt::format_to(std::back_inserter(out),
                   ":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}},",
                   *safetensors_name(entry.dtype), fmt::join(entry.shape, ","), offset,
                   offset + entry.size_bytes);
    offset += entry.size_bytes;
  }
  if (out.back() == ',') out.pop_back();
  out += '}';
  return out;
}

// Bytes of JSON that a header is padded to. Where the tensors keep their places it fills the room
// before them, or moves them by whole multiples of what they can be moved by.
uint64_t padded_length(uint64_t json_bytes, const std::optional<uint64_t>& room_bytes,
                       const LayoutOptions& options) {
  const uint64_t slack_bytes = options.header_slack_bytes;
  if (room_bytes && json_bytes <= *room_bytes) return *room_bytes;
  if (room_bytes && options.shift_bytes != 0) {
    return *room_bytes + round_up(json_bytes + slack_bytes - *room_bytes, options.shift_bytes);
  }
  return round_up(json_bytes, 8) + round_up(slack_bytes, 8);
}

Result<std::vector<std::byte>> header_bytes(std::string json, uint64_t length) {
  if (length > kMaxSafetensorsHeaderBytes) {
    return unsupported_hint("more and smaller files (--shard-size)",
                            "a header of {} bytes; readers accept at most {}", length,
                            kMaxSafetensorsHeaderBytes);
  }
  json.resize(length, ' ');
  std::vector<std::byte> out(sizeof(length) + length);
  std::memcpy(out.data(), &length, sizeof(length));
  std::memcpy(out.data() + sizeof(length), json.data(), json.size());
  return out;
}

Result<OutputFile> lay_out_file(const Checkpoint& checkpoint, const std::string& path,
                                std::vector<LaidEntry> entries,
                                const std::vector<MetaEntry>& metadata_if_new,
                                const LayoutOptions& options) {
  std::ranges::sort(entries, [](const LaidEntry& a, const LaidEntry& b) {
    return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
  });
  std::optional<uint64_t> room_bytes;
  if (options.keep_places) {
    CKPT_ASSIGN(room_bytes, keep_places(checkpoint, entries));
  }
  const Metadata* own = find_mapped(checkpoint.file_metadata, path);
  std::string json = render_header(own != nullptr ? own->entries : metadata_if_new, entries);
  const uint64_t length = padded_length(json.size(), room_bytes, options);
  OutputFile file;
  file.path = path;
  CKPT_ASSIGN(file.header, in(path, header_bytes(std::move(json), length)));
  file.size_bytes = file.header.size();
  file.extents.reserve(entries.size());
  for (const LaidEntry& entry : entries) {
    file.extents.push_back({entry.tensor, entry.part, file.size_bytes, entry.size_bytes});
    const auto end = add(file.size_bytes, entry.size_bytes);
    if (!end) return unsupported("{}: more than 2^64 bytes", path);
    file.size_bytes = *end;
  }
  CKPT_TRY(find_same_file(checkpoint, file));
  return file;
}

// ---- other than tensors ------------------------------------------------------------------------

OutputFile text_file(std::string path, std::string_view text) {
  OutputFile file;
  file.path = std::move(path);
  const auto bytes = std::as_bytes(std::span(text));
  file.header.assign(bytes.begin(), bytes.end());
  file.size_bytes = file.header.size();
  return file;
}

// total_size always follows from the tensors. total_parameters counts what a model calls a
// parameter, so it is kept while the tensors are; otherwise it is the number of values.
Metadata index_metadata(const Checkpoint& checkpoint) {
  uint64_t bytes = 0, values = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    bytes += size_bytes(tensor);
    values += tensor.values();
  }
  const auto* old = find_mapped(checkpoint.file_metadata, std::string(kIndexName));
  const bool had_index = old != nullptr;
  Metadata out = had_index ? *old : Metadata{};
  const bool unchanged = out.find_unsigned("total_size") == bytes;
  if (!had_index || (out.find("total_parameters") != nullptr && !unchanged)) {
    out.set("total_parameters", {MetaType::kU64, values});
  }
  out.set("total_size", {MetaType::kU64, bytes});
  return out;
}

Status append_documents(const Checkpoint& checkpoint, std::vector<OutputFile>& files) {
  std::set<std::string_view> paths;
  for (const OutputFile& file : files) paths.insert(file.path);
  std::vector<OutputFile> documents;
  for (const Document& document : checkpoint.documents) {
    if (!paths.insert(document.path).second) {
      return misuse("document '{}' has the name of another output file", document.path);
    }
    documents.push_back(text_file(document.path, document.text()));
  }
  std::move(documents.begin(), documents.end(), std::back_inserter(files));
  return {};
}

}  // namespace

Result<Layout> lay_out_safetensors(const Checkpoint& checkpoint, const LayoutOptions& options,
                                   Codecs) {
  CKPT_TRY(check_header_slack(options));
  Layout layout;
  layout.is_folder = !has_ending(options.out_name, kSafetensorsEnding);
  CKPT_ASSIGN(std::vector<LaidFile> files, plan_files(checkpoint, options));
  const std::vector<MetaEntry> metadata_if_new = metadata_of_new_files(checkpoint);
  std::vector<std::pair<std::string, std::string>> weight_map;
  for (LaidFile& laid : files) {
    for (const LaidEntry& entry : laid.entries) weight_map.emplace_back(entry.name, laid.path);
    CKPT_ASSIGN(
        layout.files.emplace_back(),
        lay_out_file(checkpoint, laid.path, std::move(laid.entries), metadata_if_new, options));
  }
  if (!layout.is_folder) return layout;
  const bool had_index =
      checkpoint.file_metadata.count(std::string(kIndexName)) != 0 && options.max_file_bytes == 0;
  if (layout.files.size() > 1 || had_index) {
    for (const OutputFile& file : layout.files) {
      if (is_utf8(file.path)) continue;
      return unsupported("file name '{}': not UTF-8, so no index can have it", file.path);
    }
    layout.files.push_back(text_file(
        std::string(kIndexName), render_index(index_metadata(checkpoint), std::move(weight_map))));
  }
  CKPT_TRY(append_documents(checkpoint, layout.files));
  return layout;
}

}  // namespace ckpt
