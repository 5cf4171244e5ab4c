// From the entries of safetensors files to tensors.
//
// A codec with several parts (NVFP4: codes, block scales, tensor scale) is recognised by its rules
// alone: entries called NAME + suffix, with the dtypes of the parts and the shapes that follow from
// the shape of the first. A codec whose shapes fit exactly comes before one whose shapes fit but
// for axes of length 1: a number that belongs to the whole tensor is written as [] by some and as
// [1] by others. What does not fit stays what it is: plain tensors.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/arithmetic.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace {

struct EntryRef {
  size_t file, entry;
};

class Assembler {
 public:
  Assembler(const std::vector<SafetensorsFile>& files, Codecs codecs) : files_(files) {
    for (const Codec* codec : codecs) {
      if (codec->parts.size() > 1 && is_recognisable(*codec)) composed_.push_back(codec);
    }
    // The codec with most parts first: it explains most entries.
    std::stable_sort(composed_.begin(), composed_.end(), [](const Codec* a, const Codec* b) {
      return a->parts.size() > b->parts.size();
    });
    for (size_t dtype = 0; dtype < kDtypeCount; ++dtype) {
      if (safetensors_name(static_cast<Dtype>(dtype))) {
        plain_[dtype] = &plain_codec(codecs, static_cast<Dtype>(dtype));
      }
    }
  }

  Result<std::vector<Tensor>> run() {
    CKPT_TRY(index_names());
    find_composed();
    std::vector<Tensor> tensors;
    tensors.reserve(by_name_.size());
    for (size_t file = 0; file < files_.size(); ++file) {
      for (size_t entry = 0; entry < files_[file].header.entries.size(); ++entry) {
        append_tensor({file, entry}, tensors);
      }
    }
    return tensors;
  }

 private:
  // The first part has an element for every few values, so the shape follows from it.
  static bool is_recognisable(const Codec& codec) {
    const PartRule& first = codec.parts[0];
    return first.tile_rows == 1 && first.tile_values > 0;
  }

  const SafetensorsEntry& entry_of(EntryRef ref) const {
    return files_[ref.file].header.entries[ref.entry];
  }

  Status index_names() {
    size_t count = 0;
    for (const SafetensorsFile& file : files_) count += file.header.entries.size();
    by_name_.reserve(count);
    for (size_t file = 0; file < files_.size(); ++file) {
      const auto& entries = files_[file].header.entries;
      for (size_t entry = 0; entry < entries.size(); ++entry) {
        const auto [at, added] = by_name_.try_emplace(entries[entry].name, EntryRef{file, entry});
        if (!added) {
          return fail(ErrorCode::kCorrupt, "tensor '{}' is in '{}' and in '{}'",
                      entries[entry].name, files_[at->second.file].path, files_[file].path);
        }
      }
    }
    return {};
  }

  struct Composed {
    const Codec* codec = nullptr;
    std::string name;
    std::vector<uint64_t> shape;
    std::vector<EntryRef> parts;
  };

  enum class Fit : bool { kExact, kButForAxesOfOne };

  // The tensor of `codec` whose first part is `ref`; codec stays null when there is none.
  Composed compose(EntryRef ref, const Codec& codec, Fit fit) const {
    const SafetensorsEntry& first = entry_of(ref);
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
      const auto found = by_name_.find(out.name + std::string(part.suffix));
      if (found == by_name_.end()) return {};
      const SafetensorsEntry& entry = entry_of(found->second);
      const auto expected = part_entry_shape(part, out.shape);
      if (entry.dtype != part.dtype || !expected || !fits(entry.shape, *expected, fit)) return {};
      out.parts.push_back(found->second);
    }
    out.codec = &codec;
    return out;
  }

  static bool fits(const std::vector<uint64_t>& found, const std::vector<uint64_t>& expected,
                   Fit fit) {
    return fit == Fit::kExact ? found == expected : same_but_for_axes_of_one(found, expected);
  }

  void find_composed() {
    for (size_t file = 0; file < files_.size() && !composed_.empty(); ++file) {
      for (size_t entry = 0; entry < files_[file].header.entries.size(); ++entry) {
        find_composed_at({file, entry});
      }
    }
  }

  void find_composed_at(EntryRef ref) {
    for (const Fit fit : {Fit::kExact, Fit::kButForAxesOfOne}) {
      for (const Codec* codec : composed_) {
        Composed found = compose(ref, *codec, fit);
        if (found.codec == nullptr) continue;
        for (const EntryRef& part : found.parts) used_[&entry_of(part)] = nullptr;
        found_.push_back(std::make_unique<Composed>(std::move(found)));
        used_[&entry_of(ref)] = found_.back().get();
        return;
      }
    }
  }

  Slice slice_of(EntryRef ref) const {
    const SafetensorsFile& file = files_[ref.file];
    const SafetensorsEntry& entry = entry_of(ref);
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

  void append_tensor(EntryRef ref, std::vector<Tensor>& tensors) const {
    const SafetensorsEntry& entry = entry_of(ref);
    const auto used = used_.find(&entry);
    if (used != used_.end() && used->second == nullptr) return;
    Tensor& tensor = tensors.emplace_back();
    tensor.home = files_[ref.file].path;
    Stored stored;
    if (used == used_.end()) {
      tensor.name = entry.name;
      tensor.shape = entry.shape;
      tensor.codec = plain_[static_cast<size_t>(entry.dtype)];
      stored.parts.push_back({slice_of(ref)});
    } else {
      tensor.name = used->second->name;
      tensor.shape = used->second->shape;
      tensor.codec = used->second->codec;
      for (const EntryRef& part : used->second->parts) stored.parts.push_back({slice_of(part)});
      keep_shapes(*used->second, stored);
    }
    tensor.origin = std::move(stored);
  }

  const std::vector<SafetensorsFile>& files_;
  std::vector<const Codec*> composed_;
  std::array<const Codec*, kDtypeCount> plain_{};
  std::unordered_map<std::string_view, EntryRef> by_name_;
  std::vector<std::unique_ptr<Composed>> found_;
  // Entries that are part of a composed tensor: the tensor for its first part, null for the rest.
  std::unordered_map<const SafetensorsEntry*, const Composed*> used_;
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
  return out;
}

Result<std::vector<Tensor>> assemble_tensors(const std::vector<SafetensorsFile>& files,
                                             Codecs codecs) {
  return Assembler(files, codecs).run();
}

}  // namespace ckpt
