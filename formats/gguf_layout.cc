// Lays out a checkpoint as GGUF files with the same bytes as llama.cpp's writers
// (ggml/src/gguf.cpp, gguf-py/gguf/gguf_writer.py).
//
//   file   header | pad | tensor | pad | ... | last tensor | pad
//
// Every pad consists of zeros up to the alignment, including the last one. Splitting follows
// llama-gguf-split (tools/gguf-split/gguf-split.cpp): tensors in order, with a new file if the
// padded tensor bytes would exceed the limit. All keys go into the first file, three split keys
// into each.
//
// A codec with several parts gives as many consecutive tensors of the file, named NAME + suffix:
// "blk.0.ffn_up" with codec nvfp4_gguf is blk.0.ffn_up.weight and blk.0.ffn_up.scale. The tensors
// of a stack (core/model/stack_name.h) are consecutive and become one tensor of the file:
// "blk.0.ffn_up_exps[0]", "...[1]" are blk.0.ffn_up_exps.weight [2, ...] and .scale [2].
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/arithmetic.h"
#include "core/base/nearest.h"
#include "core/base/words.h"
#include "core/model/name_index.h"
#include "core/model/stack_name.h"
#include "formats/gguf.h"
#include "formats/layouts.h"

namespace ckpt {
namespace {

// ---- bytes of the header -----------------------------------------------------------------------

class Writer {
 public:
  std::vector<std::byte> bytes;

  template <class T>
  void number(T value) {
    raw(std::as_bytes(std::span(&value, 1)));
  }
  void raw(std::span<const std::byte> more) {
    if (more.empty()) return;
    const size_t end = bytes.size();
    bytes.resize(end + more.size());
    std::memcpy(bytes.data() + end, more.data(), more.size());
  }
  void text(std::string_view text) {
    number(uint64_t{text.size()});
    raw(std::as_bytes(std::span(text)));
  }
  void array(const MetaArray& array) {
    number(static_cast<uint32_t>(array.element));
    number(array.count());
    raw(array.numbers);
    texts(array.texts);
    for (const MetaArray& element : array.arrays) this->array(element);
  }
  void texts(const std::vector<std::string>& list) {
    size_t size = bytes.size();
    for (const std::string& element : list) size += sizeof(uint64_t) + element.size();
    bytes.reserve(size);
    for (const std::string& element : list) text(element);
  }
  void value(const MetaValue& value) {
    number(static_cast<uint32_t>(value.type));
    if (const auto* text_value = std::get_if<std::string>(&value.value)) return text(*text_value);
    if (const auto* elements = std::get_if<MetaArray>(&value.value)) return array(*elements);
    if (const auto* real = std::get_if<double>(&value.value)) {
      if (value.type == MetaType::kF32) return number(value.f32_bits());
      return number(*real);
    }
    const auto* positive = std::get_if<uint64_t>(&value.value);
    const uint64_t whole =
        positive != nullptr ? *positive : static_cast<uint64_t>(std::get<int64_t>(value.value));
    raw(std::as_bytes(std::span(&whole, 1)).first(size_bytes(value.type)));
  }
};

constexpr uint64_t kSlackEntryBytes = 8 + kSlackKey.size() + 4 + 8;  // if its text is empty

void write_slack(Writer& writer, uint64_t slack_bytes) {
  if (slack_bytes == 0) return;
  const uint64_t spaces = slack_bytes > kSlackEntryBytes ? slack_bytes - kSlackEntryBytes : 0;
  writer.text(kSlackKey);
  writer.value(MetaValue::text(std::string(spaces, ' ')));
}

// ---- checks ------------------------------------------------------------------------------------

// A tensor of the file: one part of a tensor of the checkpoint, or of a stack of tensors.
struct Entry {
  uint32_t tensor, part;
  std::string name;
  std::vector<uint64_t> shape;
  uint32_t type;
  uint64_t member_bytes;
  uint32_t members = 1;

  uint64_t size_bytes() const { return member_bytes * members; }
};

// The number of tensors from `first` on that form one stack; 0: it is not in a stack.
uint32_t stack_members(const Checkpoint& checkpoint, uint32_t first) {
  const Tensor& tensor = checkpoint.tensors[first];
  const auto stack = stack_member(tensor);
  if (!stack || stack->number != 0) return 0;
  uint32_t count = 1;
  for (uint32_t i = first + 1; i < checkpoint.tensors.size(); ++i, ++count) {
    const Tensor& next = checkpoint.tensors[i];
    const auto member = stack_member(next);
    const bool belongs = member && member->stack == stack->stack && member->number == count &&
                         next.shape == tensor.shape && next.codec == tensor.codec;
    if (!belongs) break;
  }
  return count;
}

void make_stack(Entry& entry, uint32_t members, const Tensor& tensor) {
  entry.members = members;
  entry.name = stack_member(tensor)->stack + std::string(tensor.codec->parts[entry.part].suffix);
  if (entry.part == 0) {
    entry.shape.insert(entry.shape.begin(), members);
  } else {
    entry.shape = {members};
  }
}

// The first part has the tensor's shape; the others are numbers for the entire tensor.
Result<Entry> make_entry(const Tensor& tensor, uint32_t index, uint32_t part, uint32_t members) {
  const PartRule& rule = tensor.codec->parts[part];
  const auto unknown = unknown_type(*tensor.codec);
  const auto type = unknown ? unknown : ggml_type(rule.dtype);
  const bool fits = part == 0
                        ? rule.tile_rows == 1 && rule.tile_values == tensor.codec->block_values
                        : rule.tile_rows == 0 && rule.tile_values == 0;
  if (!type || !fits) {
    return unsupported("stored as {}, for which GGUF has no type", tensor.codec->name);
  }
  Entry entry{index,         part,  tensor.name + std::string(rule.suffix),
              {uint64_t{1}}, *type, part_size_bytes(tensor, part)};
  if (part == 0) entry.shape = unknown ? tensor.stored().part_shapes[0] : tensor.shape;
  if (members > 0) make_stack(entry, members, tensor);
  if (entry.name.size() > kMaxGgufNameBytes) {
    return unsupported("a name of {} bytes; llama.cpp reads at most {}", entry.name.size(),
                       kMaxGgufNameBytes);
  }
  if (entry.shape.size() > kMaxGgufDimensions) {
    return unsupported("{} dimensions; GGUF has at most {}", entry.shape.size(),
                       kMaxGgufDimensions);
  }
  return entry;
}

Result<std::vector<Entry>> make_entries(const Checkpoint& checkpoint) {
  std::vector<Entry> out;
  for (uint32_t i = 0; i < checkpoint.tensors.size();) {
    const Tensor& tensor = checkpoint.tensors[i];
    const uint32_t members = stack_members(checkpoint, i);
    for (uint32_t part = 0; part < tensor.codec->parts.size(); ++part) {
      CKPT_ASSIGN(out.emplace_back(), in(fmt::format("tensor '{}'", tensor.name),
                                         make_entry(tensor, i, part, members)));
    }
    i += std::max<uint32_t>(members, 1);
  }
  if (const auto twice = NameIndex(names_in<std::string_view>(out)).find_twice()) {
    return misuse("two tensors are called '{}'", out[twice->first].name);
  }
  return out;
}

// ---- one file ----------------------------------------------------------------------------------

struct Part {
  std::string path;
  bool is_first = false;  // has the checkpoint's keys
  Metadata own;           // keys that replace these, at the end
  uint64_t alignment = kGgufDefaultAlignment;
  uint64_t slack_bytes = 0;
  uint32_t first = 0, count = 0;  // range of entries
};

void write_info(Writer& writer, const Entry& entry, uint64_t offset) {
  writer.text(entry.name);
  writer.number(static_cast<uint32_t>(entry.shape.size()));
  for (auto axis = entry.shape.rbegin(); axis != entry.shape.rend(); ++axis) writer.number(*axis);
  writer.number(entry.type);
  writer.number(offset);
}

// The input for the layout of a file.
struct Sources {
  const Checkpoint& checkpoint;
  const std::vector<Entry>& entries;
  const LayoutOptions& options;
};

// Returns pointers to avoid copying vocabularies.
std::vector<const MetaEntry*> keys_of(const Checkpoint& checkpoint, const Part& part) {
  std::vector<const MetaEntry*> out;
  if (part.is_first) {
    for (const MetaEntry& entry : checkpoint.metadata.entries) {
      const bool is_replaced = entry.key == kSlackKey || part.own.find(entry.key) != nullptr;
      if (!is_replaced) out.push_back(&entry);
    }
  }
  for (const MetaEntry& entry : part.own.entries) out.push_back(&entry);
  return out;
}

// `places`: the offset of each entry of the part.
std::vector<std::byte> render_header(const Sources& sources, const Part& part,
                                     std::span<const uint64_t> places) {
  const std::vector<const MetaEntry*> keys = keys_of(sources.checkpoint, part);
  Writer writer;
  writer.raw(std::as_bytes(std::span(kGgufMagic)));
  writer.number(kGgufVersion);
  writer.number(uint64_t{part.count});
  writer.number(uint64_t{keys.size() + (part.slack_bytes > 0 ? 1 : 0)});
  for (const MetaEntry* entry : keys) {
    writer.text(entry->key);
    writer.value(entry->value);
  }
  write_slack(writer, part.slack_bytes);
  for (size_t i = 0; i < places.size(); ++i) {
    write_info(writer, sources.entries[part.first + i], places[i]);
  }
  return std::move(writer.bytes);
}

// The slack that keeps the file's first tensor in place, or moves it by a multiple of the possible
// shift; nullopt if the file must be rewritten.
std::optional<uint64_t> slack_in_place(const Part& part, uint64_t header_bytes, uint64_t room_bytes,
                                       const LayoutOptions& options) {
  if (round_up(header_bytes, part.alignment) == room_bytes) return 0;
  if (header_bytes + kSlackEntryBytes <= room_bytes) return room_bytes - header_bytes;
  const uint64_t step = std::max(options.shift_bytes, part.alignment);
  if (options.shift_bytes == 0 || step % options.shift_bytes != 0) return std::nullopt;
  const uint64_t wanted = header_bytes + kSlackEntryBytes + part.slack_bytes;
  return room_bytes + round_up(wanted - room_bytes, step) - header_bytes;
}

// For edits in place: the size of the existing header before the tensors of `file`, whose extents
// count from the end of the header. `data_bytes` is the size of its tensors, including the padding
// of the last one. nullopt if they are not exactly the tensors of one source, in the same places.
std::optional<uint64_t> room_of_header(const Checkpoint& checkpoint, const OutputFile& file,
                                       uint64_t data_bytes) {
  SharedSource source;
  std::optional<uint64_t> room;
  for (const Extent& extent : file.extents) {
    if (extent.size_bytes == 0) continue;
    const Slice* slice = slice_of(checkpoint.tensors[extent.tensor], extent.part);
    if (slice == nullptr || slice->offset_bytes < extent.offset_bytes) return std::nullopt;
    const uint64_t before = slice->offset_bytes - extent.offset_bytes;
    if (!room) {
      source = slice->source;
      room = before;
    }
    if (slice->source != source || before != *room) return std::nullopt;
  }
  if (!room || !source->memory().empty()) return std::nullopt;
  return *room + data_bytes == source->size_bytes() ? room : std::nullopt;
}

Result<OutputFile> lay_out_part(const Sources& sources, Part part) {
  const auto& [checkpoint, entries, options] = sources;
  OutputFile file;
  file.path = part.path;
  uint64_t offset = 0;
  std::vector<uint64_t> places;
  for (uint32_t i = part.first; i < part.first + part.count; ++i) {
    const Entry& entry = entries[i];
    places.push_back(offset);
    for (uint32_t member = 0; member < entry.members; ++member) {
      file.extents.push_back({entry.tensor + member, entry.part, offset, entry.member_bytes});
      const auto end = add(offset, entry.member_bytes);
      if (!end || *end > kMaxTensorBytes) {
        return unsupported("{}: more than {} bytes", part.path, kMaxTensorBytes);
      }
      offset = *end;
    }
    offset = round_up(offset, part.alignment);
  }
  if (const auto room =
          options.keep_places ? room_of_header(checkpoint, file, offset) : std::nullopt) {
    Part bare = part;
    bare.slack_bytes = 0;
    const uint64_t header_bytes = render_header(sources, bare, places).size();
    part.slack_bytes =
        slack_in_place(part, header_bytes, *room, options).value_or(part.slack_bytes);
  }
  file.header = render_header(sources, part, places);
  file.header.resize(round_up(file.header.size(), part.alignment));
  for (Extent& extent : file.extents) extent.offset_bytes += file.header.size();
  file.size_bytes = file.header.size() + offset;
  CKPT_TRY(find_same_file(checkpoint, file));
  return file;
}

// ---- splitting ---------------------------------------------------------------------------------

// The index of the first entry of each file. A tensor larger than the limit has a separate file.
std::vector<uint32_t> find_cuts(const std::vector<Entry>& entries, const LayoutOptions& options) {
  constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  const uint64_t max_bytes = options.max_file_bytes == 0 ? kNoLimit : options.max_file_bytes;
  const uint64_t max_tensors = options.max_file_tensors == 0 ? kNoLimit : options.max_file_tensors;
  std::vector<uint32_t> cuts{0};
  uint64_t open_bytes = 0;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const uint64_t bytes = round_up(entries[i].size_bytes(), kGgufDefaultAlignment);
    const bool is_full = i - cuts.back() >= max_tensors || open_bytes + bytes > max_bytes;
    if (i > cuts.back() && is_full) {
      cuts.push_back(i);
      open_bytes = 0;
    }
    open_bytes += bytes;
  }
  return cuts;
}

void append_split_keys(Metadata& metadata, size_t no, size_t count, size_t tensors) {
  metadata.append(std::string(kSplitNoKey), MetaValue::u16(no));
  metadata.append(std::string(kSplitCountKey), MetaValue::u16(count));
  metadata.append(std::string(kSplitTensorsKey), MetaValue::i32(static_cast<int64_t>(tensors)));
}

// Cuts the output where files of the input end, which Tensor::home states.
std::vector<uint32_t> cuts_between_homes(const Checkpoint& checkpoint,
                                         const std::vector<Entry>& entries) {
  const auto home = [&](uint32_t entry) { return checkpoint.tensors[entries[entry].tensor].home; };
  std::vector<uint32_t> cuts{0};
  for (uint32_t i = 1; i < entries.size(); ++i) {
    if (home(i) != home(i - 1)) cuts.push_back(i);
  }
  return cuts;
}

constexpr std::string_view kGgufEnding = ".gguf";

std::string prefix_of(const Checkpoint& checkpoint, const LayoutOptions& options) {
  std::string prefix = options.out_name.empty() ? checkpoint.name : options.out_name;
  // If set, the first file of a split that is edited in place.
  const auto split = options.keep_places ? parse_split_name(prefix) : std::nullopt;
  if (split) return split->prefix;
  if (has_ending(prefix, kGgufEnding)) prefix.resize(prefix.size() - kGgufEnding.size());
  return prefix;
}

std::vector<Part> plan_parts(const Sources& sources, uint64_t alignment) {
  const auto& [checkpoint, entries, options] = sources;
  const std::vector<uint32_t> cuts =
      options.keep_places ? cuts_between_homes(checkpoint, entries) : find_cuts(entries, options);
  const std::string prefix = prefix_of(checkpoint, options);
  const auto total = static_cast<uint32_t>(entries.size());
  std::vector<Part> parts;
  for (size_t i = 0; i < cuts.size(); ++i) {
    Part& part = parts.emplace_back();
    part.alignment = alignment;
    part.slack_bytes = options.header_slack_bytes;
    part.first = cuts[i];
    part.count = (i + 1 < cuts.size() ? cuts[i + 1] : total) - cuts[i];
    part.is_first = i == 0;
    // Readers use each file's own keys; without this key they would assume 32.
    const bool is_said = i == 0 && checkpoint.metadata.find_unsigned(kAlignmentKey).value_or(
                                       alignment) == alignment;
    if (!is_said && (i == 0 || alignment != kGgufDefaultAlignment)) {
      part.own.append(std::string(kAlignmentKey), MetaValue::u32(alignment));
    }
    if (cuts.size() > 1) append_split_keys(part.own, i, cuts.size(), total);
    const bool has_own = cuts.size() == 1 && has_ending(options.out_name, kGgufEnding);
    part.path = cuts.size() > 1 ? split_name(prefix, i, cuts.size())
                : has_own       ? options.out_name
                                : prefix + std::string(kGgufEnding);
  }
  return parts;
}

}  // namespace

Result<Layout> lay_out_gguf(const Checkpoint& checkpoint, const LayoutOptions& options, Codecs) {
  CKPT_TRY(check_header_slack(options));
  CKPT_ASSIGN(std::vector<Entry> entries, make_entries(checkpoint));
  if (options.keep_places) {  // regardless of the order after steps
    std::ranges::stable_sort(entries, {}, [&](const Entry& entry) -> const std::string& {
      return checkpoint.tensors[entry.tensor].home;
    });
  }
  const Sources sources{checkpoint, entries, options};
  // llama.cpp aborts if the address of a mapped tensor is not a multiple of 32 bytes.
  CKPT_ASSIGN(const uint64_t said, gguf_alignment(checkpoint.metadata));
  const uint64_t alignment = std::max(said, kGgufDefaultAlignment);
  const std::vector<Part> parts = plan_parts(sources, alignment);
  if (parts.size() > kMaxGgufFiles) {
    return misuse_hint("a larger limit", "{} files; GGUF can count {}", parts.size(),
                       kMaxGgufFiles);
  }
  Layout layout;
  for (const Part& part : parts) {
    CKPT_ASSIGN(layout.files.emplace_back(), lay_out_part(sources, part));
  }
  return layout;
}

}  // namespace ckpt
