// Types of GGUF: ggml's tensor types, and reading the value of a key.
//
//   value    u32 type | number of that size, text, or array
//   text     u64 bytes | bytes
//   array    u32 type of its elements | u64 count | elements, packed
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
Result<MetaValue> wrap(MetaType type, Result<T> number) {
  if (!number) return Failure(std::move(number.error()));
  return MetaValue{type, *number};
}

template <class T>
Result<uint64_t> widen(Result<T> number) {
  if (!number) return Failure(std::move(number.error()));
  return uint64_t{*number};
}

template <class Signed, class T>
Result<int64_t> widen_signed(Result<T> number) {
  if (!number) return Failure(std::move(number.error()));
  return int64_t{static_cast<Signed>(*number)};
}

Result<double> as_double(Result<uint64_t> bits) {
  if (!bits) return Failure(std::move(bits.error()));
  return std::bit_cast<double>(*bits);
}

Result<double> as_double(Result<float> number) {
  if (!number) return Failure(std::move(number.error()));
  return double{*number};
}

// Any non-zero byte means true to ggml, and is written as 1.
Result<uint64_t> read_bool(Cursor& cursor) {
  CKPT_ASSIGN(const uint8_t byte, cursor.u8());
  return uint64_t{byte != 0 ? 1u : 0u};
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
      CKPT_ASSIGN(std::string text, cursor.text_u64(kMaxGgufTextBytes));
      out.texts.push_back(std::move(text));
    }
  } else if (out.element == MetaType::kArray) {
    for (uint64_t i = 0; i < count; ++i) {
      CKPT_ASSIGN(MetaArray inner, read_array(cursor, nesting + 1));
      out.arrays.push_back(std::move(inner));
    }
  } else {
    CKPT_ASSIGN(out.numbers, cursor.bytes(count * size_bytes(out.element)));
    if (out.element == MetaType::kBool) {
      for (std::byte& flag : out.numbers) flag = std::byte{flag != std::byte{0}};
    }
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
    case MetaType::kU8:
      return wrap(type, widen(cursor.u8()));
    case MetaType::kI8:
      return wrap(type, widen_signed<int8_t>(cursor.u8()));
    case MetaType::kU16:
      return wrap(type, widen(cursor.u16()));
    case MetaType::kI16:
      return wrap(type, widen_signed<int16_t>(cursor.u16()));
    case MetaType::kU32:
      return wrap(type, widen(cursor.u32()));
    case MetaType::kI32:
      return wrap(type, widen_signed<int32_t>(cursor.u32()));
    case MetaType::kF32:
      return wrap(type, as_double(cursor.f32()));
    case MetaType::kBool:
      return wrap(type, read_bool(cursor));
    case MetaType::kText:
      return wrap(type, cursor.text_u64(kMaxGgufTextBytes));
    case MetaType::kArray:
      return wrap(type, read_array(cursor, 1));
    case MetaType::kU64:
      return wrap(type, cursor.u64());
    case MetaType::kI64:
      return wrap(type, widen_signed<int64_t>(cursor.u64()));
    case MetaType::kF64:
      break;
  }
  return wrap(type, as_double(cursor.u64()));
}

}  // namespace ckpt
