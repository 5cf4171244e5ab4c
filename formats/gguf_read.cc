// Reads one GGUF file.
//
//   tensor info   text name | u32 dimensions | u64 each, innermost first | u32 type | u64 offset
//
// Pitfalls for readers: dimensions are innermost first (reversed here); offsets count from the end
// of the header rounded up to the alignment; files of the other byte order have the same magic.
#include <algorithm>
#include <bit>
#include <map>

#include "core/base/arithmetic.h"
#include "core/base/nearest.h"
#include "core/model/name_index.h"
#include "formats/formats.h"
#include "formats/gguf.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

// Tensors that have no bytes yet, and their offsets in the file.
struct TensorInfos {
  std::vector<Tensor> tensors;
  std::vector<uint64_t> offsets;
};

// Made at compile time, because a tensor only points to its codec.
struct UnknownCodecs {
  static constexpr PartRule kBytes[] = {{"", Dtype::kU8, 1, 1}};
  char names[1000][16] = {};
  Codec codecs[1000] = {};
  constexpr UnknownCodecs() {
    for (uint32_t type = 0; type < std::size(codecs); ++type) {
      char* end = std::ranges::copy(std::string_view("ggml type "), names[type]).out;
      for (uint32_t scale = 100; scale > 0; scale /= 10) {
        if (type >= scale) *end++ = static_cast<char>('0' + type / scale % 10);
      }
      codecs[type].name = names[type];
      codecs[type].parts = kBytes;
      codecs[type].band_rows = codecs[type].block_values = 1;
    }
  }
};
constinit const UnknownCodecs kUnknownCodecs;

Status read_version(Cursor& cursor) {
  CKPT_ASSIGN(const uint32_t version, cursor.u32());
  if (version == 2 || version == kGgufVersion) return {};
  if ((version & 0xFFFF) == 0 && version != 0) {
    return unsupported_hint("gguf-convert-endian of the gguf Python package",
                            "a big-endian GGUF file; only little-endian ones are read");
  }
  if (version == 1) {
    return unsupported_hint("converting the model again",
                            "GGUF version 1; versions 2 and 3 are read");
  }
  return fail(version == 0 ? ErrorCode::kCorrupt : ErrorCode::kUnsupported,
              "GGUF version {}; versions 2 and 3 are read", version);
}

// Of a key that comes twice, the first value counts, as it did in llama.cpp before it rejected
// these files.
Status read_keys(Cursor& cursor, uint64_t count, GgufFile& file) {
  Metadata& metadata = file.metadata;
  metadata.entries.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string place = fmt::format("key {} of {}", i + 1, count);
    const uint64_t at = cursor.position_bytes();
    CKPT_ASSIGN(std::string key, in(place, cursor.text_u64(kMaxGgufKeyBytes)));
    if (key.empty()) return in(place, Status(Cursor::fail_at(at, "an empty name")));
    CKPT_ASSIGN(MetaValue value, in(fmt::format("key '{}'", key), read_gguf_value(cursor)));
    metadata.entries.push_back({std::move(key), std::move(value)});
  }
  std::vector<std::string_view> keys;
  keys.reserve(count);
  for (const MetaEntry& entry : metadata.entries) keys.push_back(entry.key);
  const NameIndex index(keys);
  if (!index.find_twice()) return {};
  Metadata kept;
  for (uint32_t i = 0; i < keys.size(); ++i) {
    MetaEntry& entry = metadata.entries[i];
    (index.find(keys[i]) == i ? kept.entries : file.repeated.entries).push_back(entry);
  }
  metadata = std::move(kept);
  return {};
}

Result<std::vector<uint64_t>> read_shape(Cursor& cursor) {
  const uint64_t at = cursor.position_bytes();
  CKPT_ASSIGN(const uint32_t dimensions, cursor.u32());
  if (dimensions > kMaxGgufDimensions) {
    return Cursor::fail_at(at, "{} dimensions; expected at most {}", dimensions,
                           kMaxGgufDimensions);
  }
  std::vector<uint64_t> shape(dimensions);
  for (uint64_t& axis : shape) {
    CKPT_ASSIGN(axis, cursor.u64());
  }
  std::ranges::reverse(shape);
  return shape;
}

Result<const Codec*> read_codec(Cursor& cursor, Codecs codecs) {
  const uint64_t at = cursor.position_bytes();
  CKPT_ASSIGN(const uint32_t type, cursor.u32());
  const auto dtype = dtype_of_ggml_type(type);
  const Codec* codec =
      find_codec(codecs, dtype ? info(*dtype).name : fmt::format("ggml type {}", type));
  if (codec == nullptr && !dtype) {
    return unsupported("at byte {}: ggml type {}, which is not known or was removed", at, type);
  }
  if (codec == nullptr) {
    return unsupported("stored as {}; not expected here", info(*dtype).name);
  }
  return codec;
}

// Returns the offset.
Result<uint64_t> read_info_body(Cursor& cursor, Codecs codecs, Tensor& tensor) {
  CKPT_ASSIGN(tensor.shape, read_shape(cursor));
  CKPT_ASSIGN(tensor.codec, read_codec(cursor, codecs));
  CKPT_TRY(check_shape(tensor.shape, *tensor.codec));
  return cursor.u64();
}

Result<TensorInfos> read_infos(Cursor& cursor, uint64_t count, Codecs codecs) {
  TensorInfos infos;
  infos.tensors.reserve(count);
  infos.offsets.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    Tensor& tensor = infos.tensors.emplace_back();
    CKPT_ASSIGN(tensor.name, in(fmt::format("name of tensor {} of {}", i + 1, count),
                                cursor.text_u64(kMaxGgufNameBytes)));
    CKPT_ASSIGN(infos.offsets.emplace_back(), in(fmt::format("tensor '{}'", tensor.name),
                                                 read_info_body(cursor, codecs, tensor)));
  }
  if (const auto twice = NameIndex(names_in<std::string_view>(infos.tensors)).find_twice()) {
    return corrupt("tensor '{}' comes twice", infos.tensors[twice->first].name);
  }
  return infos;
}

// Only the offset of the next tensor determines the size of a tensor of unknown type.
void size_unknown(uint64_t data_bytes, TensorInfos& infos) {
  for (size_t i = 0; i < infos.tensors.size(); ++i) {
    Tensor& tensor = infos.tensors[i];
    if (!unknown_type(*tensor.codec)) continue;
    const uint64_t end = i + 1 < infos.tensors.size() ? infos.offsets[i + 1] : data_bytes;
    tensor.origin = Stored{{}, {tensor.shape}};
    tensor.shape = {end - std::min(end, infos.offsets[i])};
  }
}

// Requires that offsets are the running sum of padded sizes, and that the last tensor is inside the
// file. Some writers omit the padding after the last tensor.
Status check_offsets(const TensorInfos& infos, uint64_t alignment, uint64_t data_start,
                     uint64_t file_bytes) {
  const uint64_t data_bytes = data_start > file_bytes ? 0 : file_bytes - data_start;
  uint64_t expected = 0;
  for (size_t i = 0; i < infos.tensors.size(); ++i) {
    const std::string& name = infos.tensors[i].name;
    if (infos.offsets[i] != expected) {
      return corrupt("tensor '{}': offset {}; expected {}", name, infos.offsets[i], expected);
    }
    const uint64_t bytes = size_bytes(infos.tensors[i]);
    const auto end = add(expected, bytes);
    if (!end || (bytes > 0 && *end > data_bytes)) {
      return corrupt_hint("downloading it again",
                          "tensor '{}': {} bytes at byte {}; the file ends at byte {}: it is "
                          "truncated",
                          name, bytes, data_start + expected, file_bytes);
    }
    expected = round_up(*end, alignment);
  }
  return {};
}

Result<GgufFile> read_checked_gguf(SharedSource source, Codecs codecs) {
  if (source->size_bytes() == 0) CKPT_TRY(refuse_other_files(*source, "a GGUF file"));
  Cursor cursor(source);
  CKPT_ASSIGN(const std::string magic, cursor.text(kGgufMagic.size()));
  if (magic != kGgufMagic) {
    CKPT_TRY(refuse_other_files(*source, "a GGUF file"));
    if (magic == std::string(kGgufMagic.size(), '\0')) {
      return corrupt_hint(kHeadIsMissing, "its first bytes are zero; expected 'GGUF'");
    }
    return corrupt("not a GGUF file: it does not start with 'GGUF'");
  }
  CKPT_TRY(read_version(cursor));
  constexpr uint64_t kMinInfoBytes = 8 + 4 + 4 + 8;  // name, dimensions, type, offset
  constexpr uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;   // name, type, value
  CKPT_ASSIGN(const uint64_t tensors,
              in("number of tensors", cursor.count_u64(kMinInfoBytes, kMaxTensors)));
  CKPT_ASSIGN(const uint64_t keys,
              in("number of keys", cursor.count_u64(kMinKeyBytes, kMaxGgufKeys)));
  GgufFile file;
  CKPT_TRY(read_keys(cursor, keys, file));
  CKPT_ASSIGN(const uint64_t alignment, gguf_alignment(file.metadata));
  CKPT_ASSIGN(TensorInfos infos, read_infos(cursor, tensors, codecs));
  const uint64_t data_start = round_up(cursor.position_bytes(), alignment);
  const uint64_t size = source->size_bytes();
  size_unknown(size - std::min(size, data_start), infos);
  CKPT_TRY(check_offsets(infos, alignment, data_start, size));
  for (size_t i = 0; i < infos.tensors.size(); ++i) {
    const uint64_t bytes = size_bytes(infos.tensors[i]);
    // An empty tensor after the last byte of a file without final padding starts at the end.
    const uint64_t offset = std::min(data_start + infos.offsets[i], size);
    std::get<Stored>(infos.tensors[i].origin).parts = {{Slice{source, offset, bytes}}};
  }
  file.tensors = std::move(infos.tensors);
  file.source = std::move(source);
  return file;
}

}  // namespace

std::string bytes_after_tensors(const Checkpoint& checkpoint) {
  if (checkpoint.format != kGguf.name) return {};
  const auto alignment = gguf_alignment(checkpoint.metadata);
  std::map<std::string, std::pair<uint64_t, uint64_t>> ends;  // of the last tensor, of the file
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto* const stored = std::get_if<Stored>(&tensor.origin);
    if (stored == nullptr) continue;
    for (const Slice& slice : stored->parts.front()) {
      auto& [last, end] = ends[slice.source->name()];
      last = std::max(last, slice.offset_bytes + slice.size_bytes);
      end = slice.source->size_bytes();
    }
  }
  for (const auto& [file, place] : ends) {
    const uint64_t padded = round_up(place.first, alignment ? *alignment : kGgufDefaultAlignment);
    if (place.second <= padded) continue;
    return fmt::format("{}: {} bytes after the last tensor", file, place.second - padded);
  }
  return {};
}

Result<uint64_t> gguf_alignment(const Metadata& metadata) {
  const MetaValue* value = metadata.find(kAlignmentKey);
  if (value == nullptr) return kGgufDefaultAlignment;
  if (value->type != MetaType::kU32) {
    return corrupt("key '{}' has type {}; expected u32", kAlignmentKey, name(value->type));
  }
  const uint64_t alignment = std::get<uint64_t>(value->value);
  if (!std::has_single_bit(alignment) || alignment > kMaxGgufAlignment) {
    return corrupt("key '{}' is {}; expected a power of two up to {}", kAlignmentKey, alignment,
                   kMaxGgufAlignment);
  }
  return alignment;
}

std::span<const Codec> unknown_codecs() { return kUnknownCodecs.codecs; }

std::optional<uint32_t> unknown_type(const Codec& codec) {
  const bool is_one = std::less_equal()(unknown_codecs().data(), &codec) &&
                      std::less_equal()(&codec, &unknown_codecs().back());
  if (!is_one) return std::nullopt;
  return static_cast<uint32_t>(&codec - unknown_codecs().data());
}

Result<GgufFile> read_gguf_source(SharedSource source, Codecs codecs) {
  const std::string name = source->name();
  return in_file(name, read_checked_gguf(std::move(source), codecs));
}

Result<GgufFile> read_gguf_file(const std::filesystem::path& path, Codecs codecs) {
  CKPT_ASSIGN(SharedSource source, open_file(path));
  return read_gguf_source(std::move(source), codecs);
}

}  // namespace ckpt
