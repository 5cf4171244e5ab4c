// Mutations of a safetensors file that keep it one: most results pass the header's checks.
//
//   bytes ── parse ──▶ entries ── change one or a few ──▶ write: length, offsets and data size
//                                                          fitted ──▶ sometimes one thing broken
//
// Inputs that cannot be parsed are mutated as bytes.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/arithmetic.h"
#include "formats/safetensors.h"
#include "fuzz/mutation.h"

namespace {

using namespace ckpt;
using fuzz::Dice;
using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxDataBytes = 8 << 10;

struct Entry {
  std::string name, dtype;
  std::vector<uint64_t> shape;
};
struct File {
  Json metadata;
  std::vector<Entry> entries;
};

bool parse_entry(const std::string& name, const Json& json, Entry& entry) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape")) return false;
  if (!json["dtype"].is_string() || !json["shape"].is_array()) return false;
  entry.name = name;
  entry.dtype = json["dtype"].get<std::string>();
  for (const Json& axis : json["shape"]) {
    if (!axis.is_number_unsigned()) return false;
    entry.shape.push_back(axis.get<uint64_t>());
  }
  return true;
}

bool parse(std::string_view bytes, File& file) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) return false;
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  if (length > bytes.size()) return false;
  const Json json = Json::parse(bytes.substr(0, length), nullptr, false);
  if (!json.is_object()) return false;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      file.metadata = value;
    } else if (!parse_entry(name, value, file.entries.emplace_back())) {
      return false;
    }
  }
  return true;
}

uint64_t bytes_of(const Entry& entry) {
  const auto dtype = safetensors_dtype(entry.dtype);
  const auto values = product(entry.shape);
  if (!dtype || !values || *values > kMaxDataBytes) return 0;
  return divide_up(*values, element_values(*dtype)) * size_bytes(*dtype);
}

void put_text(std::string& out, const std::string& text) {
  out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Breakage {
  size_t entry = ~size_t{0};
  int which = 0;
  uint64_t value = 0;
};

// Names may come twice here, as no JSON library would write them.
std::string write(const File& file, const Breakage& breakage, Dice& dice) {
  std::string json = "{";
  if (!file.metadata.is_null()) {
    json +=
        "\"__metadata__\":" + file.metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < file.entries.size(); ++i) {
    const Entry& entry = file.entries[i];
    uint64_t begin = offset;
    uint64_t end = offset = offset + bytes_of(entry);
    if (breakage.entry == i) (breakage.which == 0 ? begin : end) = breakage.value;
    if (json.size() > 1) json += ',';
    put_text(json, entry.name);
    json += ":{\"dtype\":";
    put_text(json, entry.dtype);
    json += ",\"shape\":" + Json(entry.shape).dump();
    json += ",\"data_offsets\":" + Json({begin, end}).dump() + '}';
  }
  json += '}';
  json.append(dice.below(9), ' ');
  const uint64_t length = json.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  out += json;
  out.resize(out.size() + std::min(offset, kMaxDataBytes));
  return out;
}

std::string some_dtype(Dice& dice) {
  constexpr std::string_view kCommon[] = {"BF16", "F32", "U8", "F8_E4M3", "F8_E8M0", "F16", "U32"};
  if (!dice.one_in(3)) return std::string(kCommon[dice.below(std::size(kCommon))]);
  const auto dtype = static_cast<Dtype>(dice.below(static_cast<size_t>(Dtype::kU64) + 1));
  return std::string(*safetensors_name(dtype));
}

// The parts of a tensor that a codec stores in several entries: name, scales, of shapes that fit.
void add_composed(File& file, Dice& dice) {
  const std::string name = "m" + std::to_string(dice.below(100)) + ".weight";
  const uint64_t rows = 1 + dice.below(4), blocks = 1 + dice.below(3);
  const std::string stem = name.substr(0, name.size() - 7);
  switch (dice.below(5)) {
    case 0:
      file.entries.push_back({name, "U8", {rows, blocks * 8}});
      file.entries.push_back({name + "_scale", "F8_E4M3", {rows, blocks}});
      file.entries.push_back({name + "_scale_2", "F32", {}});
      return;
    case 1:
      file.entries.push_back({stem + ".weight_packed", "U8", {rows, blocks * 8}});
      file.entries.push_back({stem + ".weight_scale", "F8_E4M3", {rows, blocks}});
      file.entries.push_back({stem + ".weight_global_scale", "F32", {1}});
      return;
    case 2:
      file.entries.push_back({name, "F8_E4M3", {rows, blocks * 32}});
      file.entries.push_back({name + "_scale", "F32", {}});
      return;
    case 3:
      file.entries.push_back({name, "F8_E4M3", {rows, blocks * 32}});
      file.entries.push_back({name + "_scale", "U8", {rows, blocks}});
      return;
    default:
      file.entries.push_back({name, "F8_E4M3", {128, 8}});
      file.entries.push_back({name + "_scale_inv", "F32", {1, 1}});
      return;
  }
}

void change(File& file, Dice& dice) {
  if (file.entries.empty() || dice.one_in(8)) return add_composed(file, dice);
  Entry& entry = dice.of(file.entries);
  constexpr std::string_view kSuffixes[] = {"_scale", "_scale_2", "_scale_inv", "_packed", ".bias"};
  switch (dice.below(8)) {
    case 0:
      entry.dtype = some_dtype(dice);
      return;
    case 1:
      entry.shape.assign(dice.below(4), 1 + dice.below(4));
      if (!entry.shape.empty()) entry.shape.back() = 16 * (1 + dice.below(3));
      return;
    case 2:
      if (!entry.shape.empty()) entry.shape[dice.below(entry.shape.size())] = dice.edge();
      return;
    case 3:
      fuzz::mutate_text(entry.name, 60);
      return;
    case 4:
      entry.name += kSuffixes[dice.below(std::size(kSuffixes))];
      return;
    case 5:  // an axis of length 1 more
      entry.shape.insert(
          entry.shape.begin() + static_cast<std::ptrdiff_t>(dice.below(entry.shape.size() + 1)), 1);
      return;
    case 6:
      file.metadata = dice.one_in(3) ? Json() : Json{{"format", "pt"}};
      return;
    default:
      fuzz::shuffle_one(file.entries, dice);
      return;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  Dice dice(seed);
  File file;
  const bool parsed = parse({reinterpret_cast<const char*>(data), size}, file);
  if ((!parsed && !dice.one_in(8)) || dice.one_in(16)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (!parsed) file = {};
  for (size_t changes = 1 + dice.below(3); changes > 0; --changes) change(file, dice);
  Breakage breakage;
  if (dice.one_in(6)) {
    breakage = {dice.below(file.entries.size() + 1), static_cast<int>(dice.below(2)), dice.edge()};
  }
  std::string bytes = write(file, breakage, dice);
  if (dice.one_in(10)) bytes.resize(dice.below(bytes.size() + 20));
  return fuzz::give(bytes, data, max_size);
}
