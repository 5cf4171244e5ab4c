// One safetensors file: length, header, and the check that the offsets cover it exactly.
//
//   0        8              8 + n                                            size
//   ├─ u64 n ┼─ n bytes JSON ┼─ tensor ┼─ tensor ┼─ ... no gaps, no overlaps ─┤
//
// A reader gets wrong: offsets count from 8 + n, not from the start; the entries are listed in any
// order; a truncated download still has a perfect header.
#include <algorithm>
#include <array>

#include "core/base/nearest.h"
#include "core/io/cursor.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

Result<uint64_t> entry_bytes(const SafetensorsEntry& entry, const Codec& codec) {
  CKPT_TRY(check_shape(entry.shape, codec));
  Tensor shaped;
  shaped.shape = entry.shape;
  shaped.codec = &codec;
  return size_bytes(shaped);
}

Status check_sizes(const SafetensorsHeader& header, Codecs codecs) {
  std::array<const Codec*, kDtypeCount> plain{};
  for (const SafetensorsEntry& entry : header.entries) {
    const Codec*& codec = plain[static_cast<size_t>(entry.dtype)];
    if (codec == nullptr) codec = &plain_codec(codecs, entry.dtype);
    const auto expected = entry_bytes(entry, *codec);
    if (!expected) {
      return Failure(Error(expected.error()).in(fmt::format("tensor '{}'", entry.name)));
    }
    if (entry.begin > entry.end || entry.end - entry.begin != *expected) {
      return corrupt("tensor '{}': data_offsets [{}, {}]; {} of shape [{}] takes {} bytes",
                     entry.name, entry.begin, entry.end, *safetensors_name(entry.dtype),
                     fmt::join(entry.shape, ", "), *expected);
    }
  }
  return {};
}

// Requires: the entries are sorted by offset and begin <= end in each.
Status check_coverage(const SafetensorsHeader& header, uint64_t data_bytes) {
  const std::string* previous = nullptr;
  uint64_t covered = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin > covered) {
      return corrupt("tensor '{}' starts at {}; expected {}: bytes between belong to no tensor",
                     entry.name, entry.begin, covered);
    }
    if (entry.begin < covered) {
      return corrupt("tensor '{}' starts at {}, inside tensor '{}' (ends at {})", entry.name,
                     entry.begin, previous == nullptr ? "" : *previous, covered);
    }
    covered = entry.end;
    previous = &entry.name;
  }
  if (covered > data_bytes) {
    return corrupt_hint("downloading it again",
                        "{} bytes from byte {} on; the tensors need {}: the file is truncated",
                        data_bytes, header.data_start, covered);
  }
  if (covered < data_bytes) {
    return corrupt("{} bytes from byte {} on; the tensors need only {}", data_bytes,
                   header.data_start, covered);
  }
  return {};
}

void sort_by_offset(std::vector<SafetensorsEntry>& entries) {
  const auto before = [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  };
  if (!std::ranges::is_sorted(entries, before)) {
    std::ranges::stable_sort(entries, before);
  }
}

Result<SafetensorsHeader> read_checked(const SharedSource& source, Codecs codecs) {
  CKPT_TRY(refuse_other_files(*source, "a safetensors file"));
  Cursor cursor(source);
  CKPT_ASSIGN(const uint64_t length, cursor.u64());
  if (length > kMaxSafetensorsHeaderBytes) {
    return corrupt("at byte 0: a header of {} bytes; expected at most {}: no safetensors file",
                   length, kMaxSafetensorsHeaderBytes);
  }
  if (length == 0 && cursor.left_bytes() > 0) {
    return corrupt_hint(kHeadIsMissing,
                        "its first 8 bytes are zero; expected the size of a header");
  }
  if (length > cursor.left_bytes()) {
    return corrupt_hint("downloading it again",
                        "at byte 0: a header of {} bytes; only {} are left: the file is truncated",
                        length, cursor.left_bytes());
  }
  CKPT_ASSIGN(std::string json, cursor.text(length));
  if (!json.starts_with('{')) {
    return corrupt("at byte {}: the header does not start with '{{'", sizeof(length));
  }
  CKPT_ASSIGN(SafetensorsHeader header, parse_safetensors_header(json));
  json = {};
  header.data_start = cursor.position_bytes();
  CKPT_TRY(check_sizes(header, codecs));
  sort_by_offset(header.entries);
  CKPT_TRY(check_coverage(header, cursor.left_bytes()));
  return header;
}

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(const SharedSource& source, Codecs codecs) {
  return in_file(source->name(), read_checked(source, codecs));
}

}  // namespace ckpt
