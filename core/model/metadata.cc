#include "core/model/metadata.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/find.h"

namespace ckpt {
namespace {

struct TypeRow {
  std::string_view name;
  uint32_t size_bytes;
};

// One row per type, in the order of the type numbers.
constexpr std::array<TypeRow, 13> kTypes = {{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"text", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

const TypeRow& row(MetaType type) {
  const auto index = static_cast<size_t>(type);
  CKPT_CHECK(index < kTypes.size());
  return kTypes[index];
}

template <class T>
MetaArray pack(MetaType element, const std::vector<T>& numbers) {
  MetaArray out;
  out.element = element;
  out.numbers.resize(numbers.size() * sizeof(T));
  if (!numbers.empty()) std::memcpy(out.numbers.data(), numbers.data(), out.numbers.size());
  return out;
}

template <class T>
double load(const MetaArray& array, uint64_t index) {
  T value{};
  std::memcpy(&value, array.numbers.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

std::string_view name(MetaType type) { return row(type).name; }
uint32_t size_bytes(MetaType type) { return row(type).size_bytes; }

uint64_t MetaArray::count() const {
  if (element == MetaType::kText) return texts.size();
  if (element == MetaType::kArray) return arrays.size();
  return numbers.size() / ckpt::size_bytes(element);
}

bool MetaValue::operator==(const MetaValue& other) const {
  const auto* const left = std::get_if<double>(&value);
  const auto* const right = std::get_if<double>(&other.value);
  if (type != other.type) return false;
  if (type == MetaType::kBool) {
    return (std::get<uint64_t>(value) != 0) == (std::get<uint64_t>(other.value) != 0);
  }
  if (left == nullptr || right == nullptr) return value == other.value;
  return std::bit_cast<uint64_t>(*left) == std::bit_cast<uint64_t>(*right) ||
         (std::isnan(*left) && std::isnan(*right));
}

//   f32   sign | 8 ones | 23 bits       f64   sign | 11 ones | the same 23 bits | 29 zeros
MetaValue MetaValue::f32_of_bits(uint32_t bits) {
  const auto number = std::bit_cast<float>(bits);
  if (!std::isnan(number)) return {MetaType::kF32, static_cast<double>(number)};
  const uint64_t sign = uint64_t{bits >> 31} << 63, rest = uint64_t{bits & 0x7F'FFFF} << 29;
  return {MetaType::kF32, std::bit_cast<double>(sign | uint64_t{0x7FF} << 52 | rest)};
}

uint32_t MetaValue::f32_bits() const {
  const double number = std::get<double>(value);
  if (!std::isnan(number)) return std::bit_cast<uint32_t>(static_cast<float>(number));
  const auto wide = std::bit_cast<uint64_t>(number);
  const auto sign = static_cast<uint32_t>(wide >> 63) << 31;
  const auto rest = static_cast<uint32_t>(wide >> 29) & 0x7F'FFFF;
  constexpr uint32_t kQuiet = 0x40'0000;
  return sign | 0x7F80'0000 | (rest == 0 ? kQuiet : rest);
}

MetaArray make_text_array(std::vector<std::string> texts) {
  MetaArray out;
  out.element = MetaType::kText;
  out.texts = std::move(texts);
  return out;
}

MetaArray make_i32_array(const std::vector<int32_t>& numbers) {
  return pack(MetaType::kI32, numbers);
}

MetaArray make_u64_array(const std::vector<uint64_t>& numbers) {
  return pack(MetaType::kU64, numbers);
}

MetaArray make_f32_array(const std::vector<float>& numbers) {
  return pack(MetaType::kF32, numbers);
}

MetaArray make_bool_array(const std::vector<bool>& flags) {
  std::vector<uint8_t> bytes(flags.size());
  std::ranges::transform(flags, bytes.begin(),
                         [](bool flag) { return static_cast<uint8_t>(flag ? 1 : 0); });
  return pack(MetaType::kBool, bytes);
}

MetaArray make_byte_array(std::string_view bytes) {
  return pack(MetaType::kU8, std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

double number_at(const MetaArray& array, uint64_t index) {
  CKPT_CHECK(array.holds_numbers());
  CKPT_CHECK(index < array.count());
  switch (array.element) {
    case MetaType::kU8:
    case MetaType::kBool: return load<uint8_t>(array, index);
    case MetaType::kI8: return load<int8_t>(array, index);
    case MetaType::kU16: return load<uint16_t>(array, index);
    case MetaType::kI16: return load<int16_t>(array, index);
    case MetaType::kU32: return load<uint32_t>(array, index);
    case MetaType::kI32: return load<int32_t>(array, index);
    case MetaType::kF32: return load<float>(array, index);
    case MetaType::kU64: return load<uint64_t>(array, index);
    case MetaType::kI64: return load<int64_t>(array, index);
    default: return load<double>(array, index);
  }
}

const MetaValue* Metadata::find(std::string_view key) const {
  const MetaEntry* found = find_by(entries, &MetaEntry::key, key);
  return found == nullptr ? nullptr : &found->value;
}

void Metadata::set(std::string key, MetaValue value) {
  if (MetaEntry* old = find_by(entries, &MetaEntry::key, key)) {
    old->value = std::move(value);
  } else {
    entries.push_back({std::move(key), std::move(value)});
  }
}

void Metadata::append(std::string key, MetaValue value) {
  CKPT_CHECK(find(key) == nullptr);
  entries.push_back({std::move(key), std::move(value)});
}

bool Metadata::remove(std::string_view key) {
  return std::erase_if(entries, [&](const MetaEntry& entry) { return entry.key == key; }) != 0;
}

std::optional<uint64_t> Metadata::find_unsigned(std::string_view key) const {
  const MetaValue* value = find(key);
  if (value == nullptr || value->type == MetaType::kBool) return std::nullopt;
  if (const auto* number = std::get_if<uint64_t>(&value->value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value->value)) {
    if (*number >= 0) return static_cast<uint64_t>(*number);
  }
  return std::nullopt;
}

const std::string* Metadata::find_text(std::string_view key) const {
  const MetaValue* value = find(key);
  return value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
}

std::string_view Metadata::architecture() const {
  const std::string* name = find_text("general.architecture");
  return name == nullptr ? std::string_view() : std::string_view(*name);
}

const MetaArray* Metadata::find_array(std::string_view key) const {
  const MetaValue* value = find(key);
  return value == nullptr ? nullptr : std::get_if<MetaArray>(&value->value);
}

}  // namespace ckpt
