#include "formats/torch.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/readers/pickle.h"
#include "core/readers/zip.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

using Node = Pickle::Node;
using Kind = Pickle::Kind;

constexpr std::string_view kTorchStart = "pytorch_model", kTorchEnding = ".bin";
constexpr std::string_view kZipStart = "PK", kPickleStart = "\x80\x02";
constexpr int kMaxWrappers = 4;  // a parameter around a tensor
constexpr const char* kSaveAgain =
    "torch.save(model.state_dict(), FILE), or save_pretrained, with a newer PyTorch";

struct StorageType {
  std::string_view name;
  Dtype dtype;
};
constexpr StorageType kStorageTypes[] = {{"torch FloatStorage", Dtype::kF32},
                                         {"torch HalfStorage", Dtype::kF16},
                                         {"torch BFloat16Storage", Dtype::kBF16},
                                         {"torch DoubleStorage", Dtype::kF64},
                                         {"torch LongStorage", Dtype::kI64},
                                         {"torch IntStorage", Dtype::kI32},
                                         {"torch ShortStorage", Dtype::kI16},
                                         {"torch CharStorage", Dtype::kI8},
                                         {"torch ByteStorage", Dtype::kU8},
                                         {"torch BoolStorage", Dtype::kBool},
                                         {"torch float8_e4m3fn", Dtype::kF8E4M3},
                                         {"torch float8_e5m2", Dtype::kF8E5M2},
                                         {"torch float8_e8m0fnu", Dtype::kF8E8M0},
                                         {"torch uint16", Dtype::kU16},
                                         {"torch uint32", Dtype::kU32},
                                         {"torch uint64", Dtype::kU64},
                                         {"torch.storage UntypedStorage", Dtype::kU8}};

std::optional<Dtype> storage_dtype(std::string_view name) {
  const StorageType* found = find_by(kStorageTypes, &StorageType::name, name);
  return found == nullptr ? std::nullopt : std::optional(found->dtype);
}

struct TorchStorage {
  Slice bytes;
  std::string type;
};

// The entries that PyTorch writes, by what stands behind the archive's name, which they share.
struct TorchArchive {
  SharedSource source;
  std::map<std::string, const ZipEntry*> storages;  // by key
  const ZipEntry *pickle = nullptr, *byte_order = nullptr;
  std::map<std::string, TorchStorage> found;  // those that were asked for
};

// PyTorch looks names up without regard to case, and of two that are one it takes either.
Result<TorchArchive> sorted_archive(const SharedSource& source,
                                    const std::vector<ZipEntry>& entries) {
  TorchArchive out{source, {}, nullptr, nullptr, {}};
  const std::string first = entries.empty() ? std::string() : entries.front().name;
  const std::string root = first.substr(0, first.find('/') + 1);
  std::set<std::string> names;
  for (const ZipEntry& entry : entries) {
    if (!names.insert(lower_case(entry.name)).second) {
      return corrupt("the zip has two entries of the name '{}'", entry.name);
    }
    if (!entry.name.starts_with(root)) {
      return corrupt("entry '{}' is outside '{}', the folder of the first one; expected one folder",
                     entry.name, root);
    }
    const std::string rest = entry.name.substr(root.size());
    if (rest == "data.pkl") out.pickle = &entry;
    if (rest == "byteorder") out.byte_order = &entry;
    if (rest.starts_with("data/")) out.storages.emplace(rest.substr(5), &entry);
    if (rest == "constants.pkl") {
      return unsupported_hint(kSaveAgain, "a program of TorchScript; expected a state_dict");
    }
  }
  if (out.pickle != nullptr && !root.empty()) return out;
  return unsupported("a zip without {}data.pkl; expected one of torch.save",
                     root.empty() ? "NAME/" : root);
}

class TorchReader {
 public:
  TorchReader(TorchArchive archive, const Pickle& pickle)
      : archive_(std::move(archive)), pickle_(pickle) {}

  Result<SafetensorsHeader> run() {
    const Node& root = pickle_.root();
    if (root.kind != Kind::kDict) return no_tensors("holds no dict");
    SafetensorsHeader out;
    out.metadata.entries.push_back({"format", MetaValue::text("pt")});
    for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
      const Node& key = pickle_.node(root.items[i]);
      if (key.kind != Kind::kText) return no_tensors("has a key that is not a text");
      if (key.text.size() > kMaxNameBytes || !is_utf8(key.text)) {
        return corrupt("a tensor's name of {} bytes is too long or no UTF-8", key.text.size());
      }
      CKPT_ASSIGN(SafetensorsEntry entry, in(fmt::format("tensor '{}'", key.text),
                                             tensor(pickle_.node(root.items[i + 1]))));
      entry.name = key.text;
      out.entries.push_back(std::move(entry));
    }
    if (out.entries.empty()) return no_tensors("holds an empty dict");
    std::ranges::stable_sort(out.entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
      return a.begin < b.begin;
    });
    return out;
  }

 private:
  static Failure no_tensors(std::string_view what) {
    return unsupported_hint(kSaveAgain,
                            "the pickle {}; expected a dict of tensors alone, a state_dict", what);
  }

  const Node& item(const Node& list, size_t i) const { return pickle_.node(list.items[i]); }

  // A call and its arguments; nullptr for everything else.
  const Node* arguments_of(const Node& node, std::string_view& callee) const {
    if (node.kind != Kind::kCall || node.items.size() != 2) return nullptr;
    callee = item(node, 0).text;
    const Node& arguments = item(node, 1);
    return arguments.kind == Kind::kList ? &arguments : nullptr;
  }

  Result<SafetensorsEntry> tensor(const Node& value) {
    const Node* node = &value;
    std::string_view callee;
    for (int depth = 0; depth < kMaxWrappers; ++depth) {
      const Node* arguments = arguments_of(*node, callee);
      if (arguments == nullptr || arguments->items.empty()) break;
      if (node->is_changed) {
        return unsupported_hint(kSaveAgain,
                                "a tensor whose state is set after it is made, which is not read");
      }
      if (callee == "torch._utils _rebuild_tensor_v2") return plain_view(*arguments, false);
      if (callee == "torch._utils _rebuild_tensor_v3") return plain_view(*arguments, true);
      if (callee != "torch._utils _rebuild_parameter" &&
          callee != "torch._utils _rebuild_parameter_with_state") {
        break;
      }
      node = &item(*arguments, 0);
    }
    return unsupported_hint(
        kSaveAgain, "{}; expected a tensor: only a state_dict is read",
        callee.empty() ? "a value of another kind" : fmt::format("made by '{}'", callee));
  }

  // A view without anything that PyTorch does when it is read: the last argument says so. The one
  // before it is a type, where `has_type`.
  Result<SafetensorsEntry> plain_view(const Node& arguments, bool has_type) {
    const size_t least = has_type ? 7 : 4, metadata = has_type ? 7 : 6;
    const size_t count = arguments.items.size();
    if (count < least || count > metadata + 1) return corrupt("made of {} parts", count);
    if (count > metadata) CKPT_TRY(check_lazy(item(arguments, metadata)));
    return view(arguments, has_type ? item(arguments, 6).text : std::string());
  }

  // {"neg": True}: the values are to be negated when they are read; "conj" is of complex ones.
  // PyTorch sets every named bit, whatever its value.
  Status check_lazy(const Node& metadata) const {
    if (metadata.kind == Kind::kNone) return {};
    if (metadata.kind != Kind::kDict) return corrupt("metadata that is not a dict");
    if (metadata.items.empty()) return {};
    return unsupported_hint("saving it again as tensor.resolve_neg().resolve_conj()",
                            "saved with the bit '{}', which changes its values when they are read; "
                            "expected plain values",
                            item(metadata, 0).text);
  }

  // ('storage', type, key, location, number of values)
  Result<TorchStorage> storage(const Node& node) {
    const bool is_id = node.kind == Kind::kCall && node.items.size() == 1;
    const Node* id = is_id ? &item(node, 0) : nullptr;
    if (id == nullptr || id->kind != Kind::kList || id->items.size() != 5 ||
        item(*id, 0).text != "storage") {
      return corrupt("no storage; expected one of the file");
    }
    const std::string& key = item(*id, 2).text;
    const auto* entry = find_mapped(archive_.storages, key);
    if (entry == nullptr) return corrupt("storage '{}' is not in the file", key);
    if (item(*id, 3).text == "meta") {
      return unsupported("of the device 'meta', whose tensors have no values");
    }
    TorchStorage* found = find_mapped(archive_.found, key);
    if (found == nullptr) {
      CKPT_ASSIGN(Slice slice, find_zip_entry(archive_.source, **entry));
      TorchStorage storage{std::move(slice), item(*id, 1).text};
      found = &archive_.found.emplace(key, std::move(storage)).first->second;
    }
    CKPT_TRY(check_storage(*id, *found));
    return *found;
  }

  // PyTorch uses the type of the first request, and the declared number of values.
  Status check_storage(const Node& id, const TorchStorage& storage) const {
    const std::string &type = item(id, 1).text, &key = item(id, 2).text;
    if (storage.type != type) {
      return corrupt("storage '{}' is of two types, '{}' and '{}'", key, storage.type, type);
    }
    const auto dtype = storage_dtype(type);
    if (!dtype) return unsupported("values of type '{}', which is not read", type);
    const Node& values = item(id, 4);
    const uint64_t unit = size_bytes(*dtype), size = storage.bytes.size_bytes;
    if (values.kind == Kind::kInt && values.whole >= 0 &&
        static_cast<uint64_t>(values.whole) == size / unit) {
      return {};
    }
    return corrupt("storage '{}' has {} bytes; expected {} values of {} bytes", key, size,
                   values.whole, unit);
  }

  Result<std::vector<uint64_t>> whole_numbers(const Node& list) const {
    std::vector<uint64_t> out;
    const bool is_list = list.kind == Kind::kList && list.items.size() <= kMaxDimensions;
    for (size_t i = 0; is_list && i < list.items.size(); ++i) {
      const Node& number = item(list, i);
      if (number.kind != Kind::kInt || number.whole < 0) break;
      out.push_back(static_cast<uint64_t>(number.whole));
    }
    if (is_list && out.size() == list.items.size()) return out;
    return corrupt("a shape or strides that are not a list of up to {} numbers", kMaxDimensions);
  }

  // (storage, offset, shape, strides, ...); offset and strides count values.
  Result<SafetensorsEntry> view(const Node& arguments, std::string_view type) {
    CKPT_ASSIGN(const TorchStorage from, storage(item(arguments, 0)));
    const std::string name(type.empty() ? from.type : type);
    const auto dtype = storage_dtype(name);
    if (!dtype) return unsupported("values of type '{}', which is not read", name);
    SafetensorsEntry out;
    out.dtype = *dtype;
    CKPT_ASSIGN(out.shape, whole_numbers(item(arguments, 2)));
    CKPT_ASSIGN(const std::vector<uint64_t> strides, whole_numbers(item(arguments, 3)));
    CKPT_TRY(check_strides(out.shape, strides));
    const uint64_t value_bytes = size_bytes(*dtype);
    const auto values = product(out.shape);
    const auto length = values ? multiply(*values, value_bytes) : std::nullopt;
    const Node& offset = item(arguments, 1);
    const bool is_known = offset.kind == Kind::kInt && offset.whole >= 0;
    const auto start =
        is_known ? multiply(static_cast<uint64_t>(offset.whole), value_bytes) : std::nullopt;
    if (!length || !start || *start > from.bytes.size_bytes ||
        *length > from.bytes.size_bytes - *start) {
      return corrupt("[{}] of {} is not within its storage of {} bytes", fmt::join(out.shape, ", "),
                     info(*dtype).name, from.bytes.size_bytes);
    }
    out.begin = from.bytes.offset_bytes + *start;
    out.end = out.begin + *length;
    return out;
  }

  // Of axes of one value, and of no values at all, the strides mean nothing.
  static Status check_strides(const std::vector<uint64_t>& shape,
                              const std::vector<uint64_t>& strides) {
    if (shape.size() != strides.size()) return corrupt("strides of other axes");
    if (std::ranges::count(shape, 0) != 0) return {};
    uint64_t expected = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (shape[axis] != 1 && strides[axis] != expected) {
        return unsupported_hint("saving it again as tensor.contiguous()",
                                "[{}] lies with strides [{}]; expected rows that follow each other",
                                fmt::join(shape, ", "), fmt::join(strides, ", "));
      }
      const auto next = multiply(expected, shape[axis]);
      if (!next) return corrupt("more values than can be counted");
      expected = *next;
    }
    return {};
  }

  TorchArchive archive_;
  const Pickle& pickle_;
};

Status check_byte_order(const TorchArchive& archive) {
  if (archive.byte_order == nullptr) return {};
  CKPT_ASSIGN(const Slice slice, find_zip_entry(archive.source, *archive.byte_order));
  constexpr std::string_view kLittle = "little";
  CKPT_ASSIGN(const std::string text, bytes_at(*slice.source, slice.offset_bytes, kLittle.size()));
  if (slice.size_bytes == kLittle.size() && text == kLittle) return {};
  return unsupported("saved on a machine of another byte order than little");
}

}  // namespace

bool is_torch_weights(const std::string& name) {
  return name == "pytorch_model.bin" ||
         (name.starts_with("pytorch_model-") && name.ends_with(kTorchEnding));
}

std::string torch_file_as_safetensors(const std::string& name) {
  std::string stem = name.substr(0, name.rfind('.'));
  if (stem.starts_with(kTorchStart)) stem.replace(0, kTorchStart.size(), "model");
  return stem + std::string(kSafetensorsEnding);
}

bool is_torch_file(const std::filesystem::path& path) {
  const auto source = open_file(path);
  if (!source) return false;
  const std::string start = bytes_at(**source, 0, kZipStart.size()).value_or("");
  constexpr std::string_view kEndings[] = {".bin", ".pt", ".pth", ".ckpt"};
  const bool is_called_so =
      std::ranges::count(kEndings, lower_case(path.extension().string())) != 0;
  if (is_called_so && (start == kZipStart || start == kPickleStart)) return true;
  const auto entries = start == kZipStart ? read_zip_directory(**source) : std::vector<ZipEntry>();
  return entries && std::ranges::any_of(*entries, [](const ZipEntry& entry) {
           return entry.name.ends_with("/data.pkl");
         });
}

Result<SafetensorsHeader> read_torch_header(const SharedSource& source) {
  CKPT_ASSIGN(const std::string start, bytes_at(*source, 0, kZipStart.size()));
  if (start == kPickleStart) {
    return unsupported_hint(kSaveAgain, "saved by a PyTorch before 1.6, whose files are not zips");
  }
  if (start != kZipStart) {
    CKPT_TRY(refuse_other_files(*source, "a file of PyTorch"));
    return unsupported("not a file of PyTorch; expected a zip");
  }
  CKPT_ASSIGN(const std::vector<ZipEntry> entries, read_zip_directory(*source));
  CKPT_ASSIGN(const TorchArchive archive, sorted_archive(source, entries));
  CKPT_TRY(check_byte_order(archive));
  CKPT_ASSIGN(const Slice slice, find_zip_entry(source, *archive.pickle));
  if (slice.size_bytes > kMaxTorchPickleBytes) {
    return unsupported("a pickle of {} bytes; at most {} are read", slice.size_bytes,
                       kMaxTorchPickleBytes);
  }
  CKPT_ASSIGN(const std::string bytes, bytes_at(*source, slice.offset_bytes, slice.size_bytes));
  CKPT_ASSIGN(const Pickle pickle, Pickle::parse(bytes, slice.offset_bytes));
  auto header = TorchReader(archive, pickle).run();
  if (header) return header;
  std::vector<std::string> content;
  for (const Node& node : pickle.nodes()) {
    if (node.kind == Kind::kText || node.kind == Kind::kName) content.push_back(node.text);
  }
  CKPT_TRY(refuse_partial(content, PartialBy::kContent));
  return header;
}

}  // namespace ckpt
