// From the entries of safetensors files to tensors.
//
// A codec with several parts (NVFP4: codes, block scales, tensor scale) is recognized by its rules
// alone: entries called NAME + suffix, with the dtypes of the parts and the shapes that follow from
// the shape of the first. A codec whose shapes fit exactly comes before one whose shapes fit but
// for axes of length 1: a number that belongs to the whole tensor is written as [] by some and as
// [1] by others. What does not fit stays what it is: plain tensors.
#include <algorithm>
#include <array>

#include "core/base/arithmetic.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace {

struct EntryRef {
  uint32_t file, entry;
};

class Assembler {
 public:
  Assembler(std::vector<SafetensorsFile>& files, const NameIndex& index, Codecs codecs)
      : files_(files), index_(index) {
    entries_.reserve(index.size());
    for (uint32_t file = 0; file < files.size(); ++file) {
      for (uint32_t entry = 0; entry < files[file].header.entries.size(); ++entry) {
        entries_.push_back({file, entry});
      }
    }
    uses_.resize(entries_.size(), kFree);
    for (const Codec* codec : codecs) {
      if (codec->parts.size() > 1 && is_recognizable(*codec)) composed_.push_back(codec);
    }
    // The codec with most parts first: it explains most entries.
    std::ranges::stable_sort(composed_, [](const Codec* a, const Codec* b) {
      return a->parts.size() > b->parts.size();
    });
    for (size_t dtype = 0; dtype < kDtypeCount; ++dtype) {
      if (safetensors_name(static_cast<Dtype>(dtype))) {
        plain_[dtype] = &plain_codec(codecs, static_cast<Dtype>(dtype));
      }
    }
  }

  Result<std::vector<Tensor>> run() {
    size_t parts = 0;
    for (uint32_t number = 0; number < entries_.size() && !composed_.empty(); ++number) {
      CKPT_TRY(find_composed_at(number));
    }
    for (const uint32_t use : uses_) parts += use == kPart ? 1 : 0;
    std::vector<Tensor> tensors;
    tensors.reserve(entries_.size() - parts);
    for (uint32_t number = 0; number < entries_.size(); ++number) append_tensor(number, tensors);
    return tensors;
  }

 private:
  // The first part has an element for every few values, so the shape follows from it.
  static bool is_recognizable(const Codec& codec) {
    const PartRule& first = codec.parts[0];
    return first.tile_rows == 1 && first.tile_values > 0;
  }

  SafetensorsEntry& entry_of(uint32_t number) const {
    return files_[entries_[number].file].header.entries[entries_[number].entry];
  }

  struct Composed {
    const Codec* codec = nullptr;
    std::string name;
    std::vector<uint64_t> shape;
    std::vector<uint32_t> parts;  // numbers of entries
  };

  enum class Fit : bool { kExact, kButForAxesOfOne };

  // The tensor of `codec` whose first part is entry `number`; codec stays null when there is none.
  Composed compose(uint32_t number, const Codec& codec, Fit fit) const {
    const SafetensorsEntry& first = entry_of(number);
    const PartRule& rule = codec.parts[0];
    if (first.dtype != rule.dtype || first.shape.empty()) return {};
    if (!first.name.ends_with(rule.suffix)) return {};
    Composed out;
    out.name = first.name.substr(0, first.name.size() - rule.suffix.size());
    out.shape = first.shape;
    const auto row = multiply(first.shape.back() / element_values(rule.dtype), rule.tile_values);
    if (!row || *row == 0) return {};
    out.shape.back() = *row;
    if (!check_shape(out.shape, codec)) return {};
    for (const PartRule& part : codec.parts) {
      const auto found = index_.find(out.name + std::string(part.suffix));
      if (!found) return {};
      const SafetensorsEntry& entry = entry_of(*found);
      const auto expected = part_entry_shape(part, out.shape);
      if (entry.dtype != part.dtype || !expected || !fits(entry.shape, *expected, fit)) return {};
      if (is_by_column(part, entry.shape, out.shape)) return {};
      out.parts.push_back(*found);
    }
    out.codec = &codec;
    return out;
  }

  static bool fits(const std::vector<uint64_t>& found, const std::vector<uint64_t>& expected,
                   Fit fit) {
    return fit == Fit::kExact ? found == expected : same_but_for_axes_of_one(found, expected);
  }

  // Scales [1, N] of a weight [N, N] belong to its columns, though they are as many as its rows.
  static bool is_by_column(const PartRule& part, const std::vector<uint64_t>& scales,
                           const std::vector<uint64_t>& weight) {
    const bool is_by_row = part.tile_rows == 1 && part.tile_values == 0;
    return is_by_row && scales.size() >= weight.size() && scales.back() != 1;
  }

  // Fails: kCorrupt: an entry is claimed twice.
  Status find_composed_at(uint32_t number) {
    const Dtype dtype = entry_of(number).dtype;
    for (const Fit fit : {Fit::kExact, Fit::kButForAxesOfOne}) {
      for (const Codec* codec : composed_) {
        if (codec->parts[0].dtype != dtype) continue;
        Composed found = compose(number, *codec, fit);
        if (found.codec == nullptr) continue;
        CKPT_TRY(check_claims(found));
        for (const uint32_t part : found.parts) uses_[part] = kPart;
        uses_[number] = static_cast<uint32_t>(found_.size());
        found_.push_back(std::move(found));
        return {};
      }
    }
    return {};
  }

  // A layer has its weight once: as codes with scales or plain, in one layout.
  Status check_claims(const Composed& composed) const {
    const std::string& first = entry_of(composed.parts[0]).name;
    for (const uint32_t part : composed.parts) {
      if (uses_[part] == kFree) continue;
      return corrupt("'{}' belongs to '{}' and to another tensor of scaled codes",
                     entry_of(part).name, first);
    }
    const auto same = index_.find(composed.name);
    if (!same || std::ranges::count(composed.parts, *same) != 0) return {};
    return corrupt_hint("removing the one that is left over",
                        "'{}' and '{}' are both the weight of one layer; expected one of them",
                        first, composed.name);
  }

  Slice slice_of(uint32_t number) const {
    const SafetensorsFile& file = files_[entries_[number].file];
    const SafetensorsEntry& entry = entry_of(number);
    return {file.source, file.header.data_start + entry.begin, entry.end - entry.begin};
  }

  // Some write more axes of length 1 than the codec has: 128 x 128 blocks as [N/128, 1, K/128, 1].
  void keep_shapes(const Composed& composed, Stored& stored) const {
    bool is_other = false;
    for (size_t i = 0; i < composed.parts.size(); ++i) {
      const auto expected = part_entry_shape(composed.codec->parts[i], composed.shape);
      stored.part_shapes.push_back(entry_of(composed.parts[i]).shape);
      is_other = is_other || stored.part_shapes.back() != expected;
    }
    if (!is_other) stored.part_shapes.clear();
  }

  void append_tensor(uint32_t number, std::vector<Tensor>& tensors) {
    if (uses_[number] == kPart) return;
    Tensor& tensor = tensors.emplace_back();
    tensor.home = files_[entries_[number].file].path;
    Stored stored;
    if (uses_[number] == kFree) {
      SafetensorsEntry& entry = entry_of(number);
      tensor.name = std::move(entry.name);
      tensor.shape = std::move(entry.shape);
      tensor.codec = plain_[static_cast<size_t>(entry.dtype)];
      stored.parts.push_back({slice_of(number)});
    } else {
      Composed& composed = found_[uses_[number]];
      for (const uint32_t part : composed.parts) stored.parts.push_back({slice_of(part)});
      keep_shapes(composed, stored);
      tensor.name = std::move(composed.name);
      tensor.shape = std::move(composed.shape);
      tensor.codec = composed.codec;
    }
    tensor.origin = std::move(stored);
  }

  // The role of an entry: a separate tensor, a part of one whose first part is another, or
  // (a number into found_) the first part of one.
  static constexpr uint32_t kFree = UINT32_MAX, kPart = UINT32_MAX - 1;

  std::vector<SafetensorsFile>& files_;
  const NameIndex& index_;
  std::vector<EntryRef> entries_;  // by the number that index_ has for them
  std::vector<uint32_t> uses_;
  std::vector<const Codec*> composed_;
  std::array<const Codec*, kDtypeCount> plain_{};
  std::vector<Composed> found_;
};

}  // namespace

bool same_but_for_axes_of_one(std::vector<uint64_t> a, std::vector<uint64_t> b) {
  std::erase(a, 1u);
  std::erase(b, 1u);
  return a == b;
}

std::optional<std::vector<uint64_t>> part_entry_shape(const PartRule& rule,
                                                      const std::vector<uint64_t>& shape) {
  if (rule.tile_rows == 0 && rule.tile_values == 0) {
    return rule.is_vector ? std::vector<uint64_t>{1} : std::vector<uint64_t>{};
  }
  std::vector<uint64_t> out = shape;
  if (out.empty()) return out;
  if (rule.is_vector && rule.tile_rows == 1 && rule.tile_values == 0) {
    out.pop_back();
    return out;
  }
  const uint64_t elements = rule.tile_values == 0 ? 1 : divide_up(shape.back(), rule.tile_values);
  out.back() = elements * element_values(rule.dtype);
  if (rule.tile_rows == 1) return out;
  if (rule.tile_rows == 0 || shape.size() < 2) return std::vector<uint64_t>{1, out.back()};
  uint64_t& rows = out[out.size() - 2];
  // Tiles run over the rows of the whole tensor, so a matrix of a stack must hold whole ones.
  if (shape.size() > 2 && rows % rule.tile_rows != 0) return std::nullopt;
  rows = divide_up(rows, rule.tile_rows);
  if (!rule.is_spread) return out;
  if (shape.size() > 2) return std::nullopt;
  if (rows * out.back() == 1) return std::vector<uint64_t>{};
  return std::vector<uint64_t>{rows, 1, out.back(), 1};
}

Result<NameIndex> index_entries(const std::vector<SafetensorsFile>& files) {
  std::vector<std::string_view> names;
  std::vector<uint32_t> file_of;
  for (uint32_t file = 0; file < files.size(); ++file) {
    for (const SafetensorsEntry& entry : files[file].header.entries) {
      names.push_back(entry.name);
      file_of.push_back(file);
    }
  }
  NameIndex index(std::move(names));
  if (const auto twice = index.find_twice()) {
    return corrupt("tensor '{}' is in '{}' and in '{}'", index.name(twice->first),
                   files[file_of[twice->first]].path, files[file_of[twice->second]].path);
  }
  return index;
}

Result<std::vector<Tensor>> assemble_tensors(std::vector<SafetensorsFile>& files,
                                             const NameIndex& index, Codecs codecs) {
  return Assembler(files, index, codecs).run();
}

}  // namespace ckpt
