// Reading one GGUF file.
//
//   tensor info   text name | u32 dimensions | u64 each, innermost first | u32 type | u64 offset
//
// A reader gets wrong: dimensions are innermost first (we turn them round); offsets count from the
// end of the header rounded up to the alignment; a file of the other byte order has the same magic.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "core/arithmetic.h"
#include "formats/gguf.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

struct TensorInfo {
  Tensor tensor;
  uint64_t offset = 0;
};

Status read_version(Cursor& cursor) {
  CKPT_ASSIGN(const uint32_t version, cursor.u32());
  if (version == 2 || version == kGgufVersion) return {};
  if ((version & 0xFFFF) == 0 && version != 0) {
    return fail_with_hint(ErrorCode::kUnsupported, "gguf-convert-endian of the gguf Python package",
                          "a big-endian GGUF file; only little-endian ones are read");
  }
  if (version == 1) {
    return fail_with_hint(ErrorCode::kUnsupported, "converting the model anew",
                          "GGUF version 1; versions 2 and 3 are read");
  }
  return fail(version == 0 ? ErrorCode::kCorrupt : ErrorCode::kUnsupported,
              "GGUF version {}; versions 2 and 3 are read", version);
}

Status read_keys(Cursor& cursor, uint64_t count, Metadata& metadata) {
  std::unordered_set<std::string> seen;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string place = fmt::format("key {} of {}", i + 1, count);
    auto key = in(place, cursor.text_u64(kMaxGgufKeyBytes));
    if (!key) return Failure(std::move(key.error()));
    if (key->empty()) return fail(ErrorCode::kCorrupt, "{}: an empty name", place);
    if (!seen.insert(*key).second) return fail(ErrorCode::kCorrupt, "key '{}' comes twice", *key);
    auto value = in(fmt::format("key '{}'", *key), read_gguf_value(cursor));
    if (!value) return Failure(std::move(value.error()));
    metadata.entries.push_back({std::move(*key), std::move(*value)});
  }
  return {};
}

Result<std::vector<uint64_t>> read_shape(Cursor& cursor) {
  CKPT_ASSIGN(const uint32_t dimensions, cursor.u32());
  if (dimensions > kMaxGgufDimensions) {
    return fail(ErrorCode::kCorrupt, "{} dimensions; expected at most {}", dimensions,
                kMaxGgufDimensions);
  }
  std::vector<uint64_t> shape(dimensions);
  for (uint64_t& axis : shape) {
    CKPT_ASSIGN(axis, cursor.u64());
  }
  std::reverse(shape.begin(), shape.end());
  return shape;
}

Result<const Codec*> read_codec(Cursor& cursor, Codecs codecs) {
  CKPT_ASSIGN(const uint32_t type, cursor.u32());
  const auto dtype = dtype_of_ggml_type(type);
  if (!dtype) {
    return fail(ErrorCode::kUnsupported, "ggml type {}, which is not known or was removed", type);
  }
  const Codec* codec = find_codec(codecs, info(*dtype).name);
  if (codec == nullptr) {
    return fail(ErrorCode::kUnsupported, "stored as {}; not expected here", info(*dtype).name);
  }
  return codec;
}

Status read_info_body(Cursor& cursor, Codecs codecs, TensorInfo& info) {
  CKPT_ASSIGN(info.tensor.shape, read_shape(cursor));
  CKPT_ASSIGN(info.tensor.codec, read_codec(cursor, codecs));
  CKPT_TRY(check_shape(info.tensor.shape, *info.tensor.codec));
  CKPT_ASSIGN(info.offset, cursor.u64());
  return {};
}

Result<std::vector<TensorInfo>> read_infos(Cursor& cursor, uint64_t count, Codecs codecs) {
  std::vector<TensorInfo> infos;
  infos.reserve(count);
  std::unordered_set<std::string> seen;
  for (uint64_t i = 0; i < count; ++i) {
    TensorInfo& info = infos.emplace_back();
    auto name = cursor.text_u64(kMaxGgufNameBytes);
    if (!name) {
      return Failure(
          std::move(name.error()).in(fmt::format("name of tensor {} of {}", i + 1, count)));
    }
    info.tensor.name = std::move(*name);
    if (!seen.insert(info.tensor.name).second) {
      return fail(ErrorCode::kCorrupt, "tensor '{}' comes twice", info.tensor.name);
    }
    Status body = read_info_body(cursor, codecs, info);
    if (!body) {
      return Failure(std::move(body.error()).in(fmt::format("tensor '{}'", info.tensor.name)));
    }
  }
  return infos;
}

// Offsets must be the running sum of padded sizes, and the last tensor inside the file. Some
// writers leave out the padding after the last one.
Status check_offsets(const std::vector<TensorInfo>& infos, uint64_t alignment,
                     uint64_t data_bytes) {
  uint64_t expected = 0;
  for (const TensorInfo& info : infos) {
    const std::string& name = info.tensor.name;
    if (info.offset != expected) {
      return fail(ErrorCode::kCorrupt, "tensor '{}': offset {}; expected {}", name, info.offset,
                  expected);
    }
    const uint64_t bytes = size_bytes(info.tensor);
    const auto end = add(expected, bytes);
    if (!end || (bytes > 0 && *end > data_bytes)) {
      return fail_with_hint(ErrorCode::kCorrupt, "downloading it again",
                            "tensor '{}': {} bytes at {}; the file has {} bytes of data: it is "
                            "truncated",
                            name, bytes, expected, data_bytes);
    }
    expected = round_up(*end, alignment);
  }
  return {};
}

Result<GgufFile> read_checked(SharedSource source, Codecs codecs) {
  if (source->size_bytes() == 0) CKPT_TRY(refuse_other_files(*source, "a GGUF file"));
  Cursor cursor(source);
  CKPT_ASSIGN(const std::string magic, cursor.text(kGgufMagic.size()));
  if (magic != kGgufMagic) {
    CKPT_TRY(refuse_other_files(*source, "a GGUF file"));
    return fail(ErrorCode::kUnsupported, "not a GGUF file: it does not start with 'GGUF'");
  }
  CKPT_TRY(read_version(cursor));
  constexpr uint64_t kMinInfoBytes = 8 + 4 + 4 + 8;  // name, dimensions, type, offset
  constexpr uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;   // name, type, value
  auto tensors = in("number of tensors", cursor.count_u64(kMinInfoBytes, kMaxTensors));
  if (!tensors) return Failure(std::move(tensors.error()));
  auto keys = in("number of keys", cursor.count_u64(kMinKeyBytes, kMaxGgufKeys));
  if (!keys) return Failure(std::move(keys.error()));

  GgufFile file;
  CKPT_TRY(read_keys(cursor, *keys, file.metadata));
  CKPT_ASSIGN(const uint64_t alignment, gguf_alignment(file.metadata));
  CKPT_ASSIGN(std::vector<TensorInfo> infos, read_infos(cursor, *tensors, codecs));
  const uint64_t data_start = round_up(cursor.position_bytes(), alignment);
  const uint64_t size = source->size_bytes();
  CKPT_TRY(check_offsets(infos, alignment, data_start > size ? 0 : size - data_start));
  file.tensors.reserve(infos.size());
  for (TensorInfo& info : infos) {
    const uint64_t bytes = size_bytes(info.tensor);
    // An empty tensor after the last byte of a file without its final padding starts at the end.
    const uint64_t offset = std::min(data_start + info.offset, size);
    info.tensor.origin = Stored{{{Slice{source, offset, bytes}}}, {}};
    file.tensors.push_back(std::move(info.tensor));
  }
  file.source = std::move(source);
  return file;
}

}  // namespace

Result<uint64_t> gguf_alignment(const Metadata& metadata) {
  const MetaValue* value = metadata.find(kAlignmentKey);
  if (value == nullptr) return kGgufDefaultAlignment;
  if (value->type != MetaType::kU32) {
    return fail(ErrorCode::kCorrupt, "key '{}' has type {}; expected u32", kAlignmentKey,
                name(value->type));
  }
  const uint64_t alignment = std::get<uint64_t>(value->value);
  if (!std::has_single_bit(alignment) || alignment > kMaxGgufAlignment) {
    return fail(ErrorCode::kCorrupt, "key '{}' is {}; expected a power of two up to {}",
                kAlignmentKey, alignment, kMaxGgufAlignment);
  }
  return alignment;
}

Result<GgufFile> read_gguf_file(const std::filesystem::path& path, Codecs codecs) {
  CKPT_ASSIGN(SharedSource source, open_file(path));
  return in_file(path.string(), read_checked(std::move(source), codecs));
}

}  // namespace ckpt
