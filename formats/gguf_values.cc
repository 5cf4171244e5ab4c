// Types of GGUF: ggml's tensor types, and the reader of a key's value.
//
//   value    u32 type | number of that size, text, or array
//   text     u64 bytes | bytes
//   array    u32 type of its elements | u64 count | elements, without gaps
#include <bit>

#include "formats/gguf.h"

namespace ckpt {
namespace {

Result<MetaType> read_type(Cursor& cursor) {
  const uint64_t at = cursor.position_bytes();
  CKPT_ASSIGN(const uint32_t type, cursor.u32());
  if (type > static_cast<uint32_t>(MetaType::kF64)) {
    return Cursor::fail_at(at, "value type {}; expected 0 to 12", type);
  }
  return static_cast<MetaType>(type);
}

template <class T>
Result<MetaValue> wrap(MetaType type, Result<T> value) {
  return std::move(value).map([&](T read) { return MetaValue{type, std::move(read)}; });
}

// Reads a number with the bits of a T, stored as a Wide.
template <class Wide, class T, class Read>
Result<MetaValue> number(MetaType type, Result<Read> bits) {
  return bits.map([&](Read read) { return MetaValue{type, Wide{std::bit_cast<T>(read)}}; });
}

uint64_t min_element_bytes(MetaType element) {
  if (element == MetaType::kText) return sizeof(uint64_t);
  if (element == MetaType::kArray) return sizeof(uint32_t) + sizeof(uint64_t);
  return size_bytes(element);
}

Result<MetaArray> read_array(Cursor& cursor, uint64_t nesting) {
  if (nesting > kMaxGgufArrayNesting) {
    return unsupported("at byte {}: arrays nested more than {} deep", cursor.position_bytes(),
                       kMaxGgufArrayNesting);
  }
  MetaArray out;
  CKPT_ASSIGN(out.element, read_type(cursor));
  CKPT_ASSIGN(const uint64_t count,
              cursor.count_u64(min_element_bytes(out.element), kMaxGgufArrayCount));
  if (out.element == MetaType::kText) {
    out.texts.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      CKPT_ASSIGN(out.texts.emplace_back(), cursor.text_u64(kMaxGgufTextBytes));
    }
  } else if (out.element == MetaType::kArray) {
    for (uint64_t i = 0; i < count; ++i) {
      CKPT_ASSIGN(out.arrays.emplace_back(), read_array(cursor, nesting + 1));
    }
  } else {
    CKPT_ASSIGN(out.numbers, cursor.bytes(count * size_bytes(out.element)));
  }
  return out;
}

}  // namespace

std::optional<uint32_t> ggml_type(Dtype dtype) {
  const int32_t type = info(dtype).ggml_type;
  return type < 0 ? std::nullopt : std::optional<uint32_t>(type);
}

std::optional<Dtype> dtype_of_ggml_type(uint32_t type) {
  for (uint32_t i = 0; i < kDtypeCount; ++i) {
    if (ggml_type(static_cast<Dtype>(i)) == type) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

Result<MetaValue> read_gguf_value(Cursor& cursor) {
  CKPT_ASSIGN(const MetaType type, read_type(cursor));
  switch (type) {
    case MetaType::kU8: return number<uint64_t, uint8_t>(type, cursor.u8());
    case MetaType::kI8: return number<int64_t, int8_t>(type, cursor.u8());
    case MetaType::kU16: return number<uint64_t, uint16_t>(type, cursor.u16());
    case MetaType::kI16: return number<int64_t, int16_t>(type, cursor.u16());
    case MetaType::kU32: return number<uint64_t, uint32_t>(type, cursor.u32());
    case MetaType::kI32: return number<int64_t, int32_t>(type, cursor.u32());
    case MetaType::kF32: return cursor.u32().map(MetaValue::f32_of_bits);
    case MetaType::kBool: return number<uint64_t, uint8_t>(type, cursor.u8());
    case MetaType::kText: return wrap(type, cursor.text_u64(kMaxGgufTextBytes));
    case MetaType::kArray: return wrap(type, read_array(cursor, 1));
    case MetaType::kU64: return wrap(type, cursor.u64());
    case MetaType::kI64: return number<int64_t, int64_t>(type, cursor.u64());
    case MetaType::kF64:
      break;
  }
  return number<double, double>(type, cursor.u64());
}

}  // namespace ckpt
