// Mutations of a GGUF file that keep it a GGUF file: most results pass the header's checks.
//
//   bytes ── parse ──▶ keys, tensor infos ── change one or a few ──▶ write: counts, lengths,
//                                                                     offsets and data size fitted
//                                                                 ──▶ sometimes one thing broken
//
// Inputs that cannot be parsed are mutated as bytes.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/arithmetic.h"
#include "core/model/dtype.h"
#include "formats/gguf.h"
#include "fuzz/mutation.h"

namespace {

using namespace ckpt;
using fuzz::Dice;

constexpr size_t kMaxDataBytes = 8 << 10;

struct Key {
  std::string name;
  uint32_t type;
  std::string value;  // as stored
};
struct Info {
  std::string name;
  std::vector<uint64_t> axes;  // innermost first
  uint32_t type = 0;
};
struct File {
  uint32_t version = 3;
  std::vector<Key> keys;
  std::vector<Info> infos;
  std::string data;
};

// Takes pieces off the front; `sound` falls when they are not there.
struct Reader {
  std::string_view left;
  bool sound = true;

  std::string_view take(uint64_t size) {
    sound = sound && size <= left.size();
    const std::string_view out = left.substr(0, sound ? size : 0);
    left.remove_prefix(out.size());
    return out;
  }
  template <class T>
  T number() {
    T value{};
    const std::string_view raw = take(sizeof(T));
    if (sound) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::string text() { return std::string(take(number<uint64_t>())); }
  void skip_value(uint32_t type, int depth) {
    if (type == 8) {
      text();
    } else if (type == 9) {
      const auto element = number<uint32_t>();
      const auto count = number<uint64_t>();
      sound = sound && element <= 12 && count <= left.size() && depth < 8;
      for (uint64_t i = 0; sound && i < count; ++i) skip_value(element, depth + 1);
    } else {
      sound = sound && type <= 12;
      if (sound) take(size_bytes(static_cast<MetaType>(type)));
    }
  }
};

std::optional<File> parse(std::string_view bytes) {
  Reader reader{bytes};
  File file;
  if (reader.take(4) != kGgufMagic) return std::nullopt;
  file.version = reader.number<uint32_t>();
  const auto infos = reader.number<uint64_t>(), keys = reader.number<uint64_t>();
  for (uint64_t i = 0; reader.sound && i < keys; ++i) {
    Key& key = file.keys.emplace_back();
    key.name = reader.text();
    key.type = reader.number<uint32_t>();
    const std::string_view before = reader.left;
    reader.skip_value(key.type, 0);
    key.value = before.substr(0, before.size() - reader.left.size());
  }
  for (uint64_t i = 0; reader.sound && i < infos; ++i) {
    Info& info = file.infos.emplace_back();
    info.name = reader.text();
    const auto axes = reader.number<uint32_t>();
    for (uint32_t axis = 0; reader.sound && axis < axes; ++axis) {
      info.axes.push_back(reader.number<uint64_t>());
    }
    info.type = reader.number<uint32_t>();
    reader.number<uint64_t>();
  }
  if (!reader.sound) return std::nullopt;
  file.data = reader.left;
  return file;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void put_text(std::string& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out += text;
}

uint64_t alignment_of(const File& file) {
  for (const Key& key : file.keys) {
    if (key.name != kAlignmentKey || key.type != 4 || key.value.size() != 4) continue;
    uint32_t value = 0;
    std::memcpy(&value, key.value.data(), 4);
    if (value != 0 && value <= 4096) return value;
  }
  return kGgufDefaultAlignment;
}

uint64_t bytes_of(const Info& info) {
  const auto dtype = dtype_of_ggml_type(info.type);
  const auto values = product(info.axes);
  if (!dtype || !values || *values > (uint64_t{1} << 40)) return 0;
  return *values / element_values(*dtype) * size_bytes(*dtype);
}

std::string write(const File& file) {
  const uint64_t alignment = alignment_of(file);
  std::string out(kGgufMagic);
  put(out, file.version);
  put(out, uint64_t{file.infos.size()});
  put(out, uint64_t{file.keys.size()});
  for (const Key& key : file.keys) {
    put_text(out, key.name);
    put(out, key.type);
    out += key.value;
  }
  uint64_t offset = 0;
  for (const Info& info : file.infos) {
    put_text(out, info.name);
    put(out, static_cast<uint32_t>(info.axes.size()));
    for (const uint64_t axis : info.axes) put(out, axis);
    put(out, info.type);
    put(out, offset);
    offset = divide_up(offset + bytes_of(info), alignment) * alignment;
  }
  out.resize(divide_up(out.size(), alignment) * alignment);
  const uint64_t data = std::min<uint64_t>(offset, kMaxDataBytes);
  std::string filled = file.data.substr(0, data);
  filled.resize(data);
  return out + filled;
}

std::string some_number(Dice& dice, uint32_t type) {
  const uint64_t value = dice.edge();
  return std::string(reinterpret_cast<const char*>(&value),
                     size_bytes(static_cast<MetaType>(type)));
}

std::string some_value(Dice& dice, uint32_t type, int depth) {
  std::string out;
  if (type == 8) {
    put_text(out, std::string(dice.below(20), 'x'));
  } else if (type == 9) {
    const auto element = static_cast<uint32_t>(dice.below(depth > 3 ? 9 : 13));
    const uint64_t count = dice.below(4);
    put(out, element);
    put(out, count);
    for (uint64_t i = 0; i < count; ++i) out += some_value(dice, element, depth + 1);
  } else {
    out = some_number(dice, type);
  }
  return out;
}

Key some_key(Dice& dice) {
  constexpr std::string_view kNames[] = {kAlignmentKey,
                                         kSplitNoKey,
                                         kSplitCountKey,
                                         kSplitTensorsKey,
                                         kSlackKey,
                                         "general.name",
                                         "imatrix.datasets",
                                         "imatrix.chunk_count",
                                         "imatrix.chunk_size",
                                         "general.file_type",
                                         "tokenizer.ggml.tokens"};
  Key key;
  key.name = kNames[dice.below(std::size(kNames))];
  key.type = static_cast<uint32_t>(dice.below(13));
  if (key.name == kAlignmentKey && !dice.one_in(8)) {
    key.type = 4;
    put(key.value, uint32_t{1} << dice.below(8));
  } else {
    key.value = some_value(dice, key.type, 0);
  }
  return key;
}

void change_key(File& file, Dice& dice) {
  if (file.keys.empty() || dice.one_in(6)) {
    file.keys.push_back(some_key(dice));
    return;
  }
  Key& key = dice.of(file.keys);
  switch (dice.below(4)) {
    case 0:
      key.type = static_cast<uint32_t>(dice.below(13));
      key.value = some_value(dice, key.type, 0);
      return;
    case 1:
      fuzz::mutate_text(key.name, 70);
      return;
    case 2:
      if (key.type == 8) {
        std::string text = key.value.substr(std::min<size_t>(8, key.value.size()));
        fuzz::mutate_text(text, 100);
        key.value.clear();
        put_text(key.value, text);
      } else {
        fuzz::mutate_text(key.value, key.value.size());
      }
      return;
    default:
      fuzz::shuffle_one(file.keys, dice);
      return;
  }
}

void change_info(File& file, Dice& dice) {
  if (file.infos.empty() || dice.one_in(6)) {
    file.infos.push_back({"t" + std::to_string(dice.below(1000)), {32, 1 + dice.below(4)}, 0});
  }
  Info& info = dice.of(file.infos);
  const auto dtype = dtype_of_ggml_type(info.type);
  const uint64_t block = dtype ? element_values(*dtype) : 1;
  switch (dice.below(6)) {
    case 0:
      info.type = static_cast<uint32_t>(dice.below(43));
      return;
    case 1:
      info.axes.assign(dice.below(5), 1 + dice.below(3));
      if (!info.axes.empty()) info.axes[0] = block * dice.below(4);
      return;
    case 2:
      if (!info.axes.empty()) info.axes[dice.below(info.axes.size())] = dice.edge();
      return;
    case 3:
      fuzz::mutate_text(info.name, 64);
      return;
    case 4:
      info.name += dice.one_in(2) ? ".scale" : ".weight";
      return;
    default:
      fuzz::shuffle_one(file.infos, dice);
      return;
  }
}

// One number of the header, wherever it lies, or the end.
void break_one(std::string& bytes, Dice& dice) {
  const uint64_t value = dice.edge();
  const size_t size = size_t{1} << dice.below(4);
  switch (dice.below(4)) {
    case 0:
      bytes.resize(dice.below(bytes.size() + 1));
      return;
    case 1:
      bytes.append(dice.below(40), '\0');
      return;
    default:
      if (bytes.size() < size) return;
      std::memcpy(bytes.data() + dice.below(bytes.size() - size + 1), &value, size);
      return;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  Dice dice(seed);
  auto file = parse({reinterpret_cast<const char*>(data), size});
  if (!file && !dice.one_in(8)) return LLVMFuzzerMutate(data, size, max_size);
  if (!file) file.emplace();
  for (size_t changes = 1 + dice.below(4); changes > 0; --changes) {
    dice.one_in(2) ? change_key(*file, dice) : change_info(*file, dice);
  }
  std::string bytes = write(*file);
  if (dice.one_in(4)) break_one(bytes, dice);
  return fuzz::give(bytes, data, max_size);
}
