// Typed, ordered key/value pairs, as in GGUF metadata (docs/formats/gguf.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

// Value types with the numbers of GGUF (ggml/include/gguf.h `enum gguf_type`).
enum class MetaType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kText = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
std::string_view name(MetaType type);
// The size of one stored number; 0 for text and arrays.
uint32_t size_bytes(MetaType type);

// Elements of one type. Numbers are packed, little-endian, exactly as stored.
struct MetaArray {
  MetaType element = MetaType::kU32;
  std::vector<std::byte> numbers;
  std::vector<std::string> texts;  // if element == kText
  std::vector<MetaArray> arrays;   // if element == kArray
  uint64_t count() const;
  bool holds_numbers() const { return element != MetaType::kText && element != MetaType::kArray; }
  bool operator==(const MetaArray&) const = default;
};

// The type determines the alternative: unsigned types and bool are in uint64_t, signed ones in
// int64_t, f32 and f64 in double, which holds an f32 exactly. A bool keeps its byte; any byte
// except 0 is true.
struct MetaValue {
  MetaType type = MetaType::kU32;
  std::variant<uint64_t, int64_t, double, std::string, MetaArray> value;
  // Compares numbers by their bits; all NaN are equal, and so are all true bytes.
  bool operator==(const MetaValue& other) const;

  static MetaValue u16(uint64_t v) { return {MetaType::kU16, v}; }
  static MetaValue u32(uint64_t v) { return {MetaType::kU32, v}; }
  static MetaValue i32(int64_t v) { return {MetaType::kI32, v}; }
  static MetaValue f32(double v) {
    return {MetaType::kF32, static_cast<double>(static_cast<float>(v))};
  }
  // Takes bits, because converting a signalling NaN would make it quiet.
  static MetaValue f32_of_bits(uint32_t bits);
  uint32_t f32_bits() const;  // Requires: kF32.
  static MetaValue boolean(bool v) { return {MetaType::kBool, static_cast<uint64_t>(v ? 1 : 0)}; }
  static MetaValue text(std::string v) { return {MetaType::kText, std::move(v)}; }
  static MetaValue array(MetaArray v) { return {MetaType::kArray, std::move(v)}; }
};

MetaArray make_text_array(std::vector<std::string> texts);
MetaArray make_i32_array(const std::vector<int32_t>& numbers);
MetaArray make_u64_array(const std::vector<uint64_t>& numbers);
MetaArray make_f32_array(const std::vector<float>& numbers);
MetaArray make_bool_array(const std::vector<bool>& flags);
MetaArray make_byte_array(std::string_view bytes);  // an array of U8
// Returns element `index` of a number array as a double. Requires: the element is a number and
// index is in range.
double number_at(const MetaArray& array, uint64_t index);

struct MetaEntry {
  std::string key;
  MetaValue value;
  bool operator==(const MetaEntry&) const = default;
};

// Key/value pairs in order, because the order affects the bytes.
class Metadata {
 public:
  const MetaValue* find(std::string_view key) const;
  // Replaces the value in place, or appends it.
  void set(std::string key, MetaValue value);
  void append(std::string key, MetaValue value);  // Requires: the key is new.
  bool remove(std::string_view key);              // returns whether it existed
  // Return whole numbers, widened; nullopt if absent or of another kind.
  std::optional<uint64_t> find_unsigned(std::string_view key) const;
  const std::string* find_text(std::string_view key) const;
  const MetaArray* find_array(std::string_view key) const;
  std::string_view architecture() const;  // general.architecture; empty if absent

  std::vector<MetaEntry> entries;
  bool operator==(const Metadata&) const = default;
};

}  // namespace ckpt
