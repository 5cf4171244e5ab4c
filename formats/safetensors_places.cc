#include "formats/safetensors_places.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/io/cursor.h"

namespace ckpt {
namespace {

// The one slice that a part is; null when it is made of several, or is to be encoded.
const Slice* slice_of(const Tensor& tensor, size_t part) {
  if (!tensor.is_stored()) return nullptr;
  const auto& slices = tensor.stored().parts[part];
  return slices.size() == 1 ? &slices[0] : nullptr;
}
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

bool differ_in_ones(std::vector<uint64_t> a, std::vector<uint64_t> b) {
  std::erase(a, 1u);
  std::erase(b, 1u);
  return a == b;
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
    const auto found = by_offset.find(slice->offset_bytes);
    if (found == by_offset.end() || found->second->dtype != entry.dtype) continue;
    if (differ_in_ones(found->second->shape, entry.shape)) entry.shape = found->second->shape;
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
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
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

}  // namespace

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
      const auto home = home_of.find(stray_source(checkpoint, entry));
      if (home == home_of.end() || home->second == i) {
        stay.push_back(std::move(entry));
      } else {
        files[home->second].entries.push_back(std::move(entry));
      }
    }
    files[i].entries = std::move(stay);
  }
}

Result<std::optional<uint64_t>> keep_places(const Checkpoint& checkpoint,
                                            std::vector<LaidEntry>& entries) {
  std::vector<SharedSource> sources;
  for (const LaidEntry& entry : entries) {
    const Slice* slice = slice_of(checkpoint, entry);
    if (slice == nullptr) continue;
    if (std::find(sources.begin(), sources.end(), slice->source) == sources.end()) {
      sources.push_back(slice->source);
    }
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

}  // namespace ckpt
