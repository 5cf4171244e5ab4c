#include "formats/torch.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

using Node = Pickle::Node;
using Kind = Pickle::Kind;

constexpr std::string_view kFullStateDict = "pytorch_model_fsdp.bin";  // accelerate's
constexpr std::string_view kTorchStart = "pytorch_model", kTorchEnding = ".bin";
constexpr std::string_view kZipStart = "PK", kPickleStart = "\x80\x02";
constexpr int kMaxWrappers = 4;  // a parameter around a tensor
constexpr const char* kSaveAgain =
    "torch.save(model.state_dict(), FILE), or save_pretrained, with a newer PyTorch";

// A type of values by the class of its storage, and by its name in torch.
struct TorchType {
  std::string_view storage, name;
  Dtype dtype;
};
constexpr TorchType kTorchTypes[] = {
    {"torch FloatStorage", "torch float32", Dtype::kF32},
    {"torch HalfStorage", "torch float16", Dtype::kF16},
    {"torch BFloat16Storage", "torch bfloat16", Dtype::kBF16},
    {"torch DoubleStorage", "torch float64", Dtype::kF64},
    {"torch LongStorage", "torch int64", Dtype::kI64},
    {"torch IntStorage", "torch int32", Dtype::kI32},
    {"torch ShortStorage", "torch int16", Dtype::kI16},
    {"torch CharStorage", "torch int8", Dtype::kI8},
    {"torch ByteStorage", "torch uint8", Dtype::kU8},
    {"torch BoolStorage", "torch bool", Dtype::kBool},
    {"torch.storage UntypedStorage", "", Dtype::kU8},
    {"", "torch float8_e4m3fn", Dtype::kF8E4M3},
    {"", "torch float8_e5m2", Dtype::kF8E5M2},
    {"", "torch float8_e8m0fnu", Dtype::kF8E8M0},
    {"", "torch uint16", Dtype::kU16},
    {"", "torch uint32", Dtype::kU32},
    {"", "torch uint64", Dtype::kU64}};

// Values from the first of a view to its last, in the order of memory; nullopt beyond 64 bits.
std::optional<uint64_t> spanned_values(const std::vector<uint64_t>& shape,
                                       const std::vector<uint64_t>& strides) {
  if (std::ranges::count(shape, 0) != 0) return 0;
  std::optional<uint64_t> out = 1;
  for (size_t axis = 0; axis < shape.size() && out; ++axis) {
    const auto span = multiply(shape[axis] - 1, strides[axis]);
    out = span ? add(*out, *span) : std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<Dtype> torch_dtype(std::string_view name) {
  const auto* found = std::ranges::find_if(kTorchTypes, [&](const TorchType& type) {
    return !name.empty() && (type.storage == name || type.name == name);
  });
  return found == std::end(kTorchTypes) ? std::nullopt : std::optional(found->dtype);
}

// ---- the archive --------------------------------------------------------------------------------

// PyTorch looks names up without regard to case, and of two that are one it takes either.
Status TorchFile::sort_entries() {
  const std::string first = entries_.empty() ? std::string() : entries_.front().name;
  const std::string root = first.substr(0, first.find('/') + 1);
  std::set<std::string> names;
  for (const ZipEntry& entry : entries_) {
    if (!names.insert(lower_case(entry.name)).second) {
      return corrupt("the zip has two entries of the name '{}'", entry.name);
    }
    if (!entry.name.starts_with(root)) {
      return corrupt("entry '{}' is outside '{}', the folder of the first one; expected one folder",
                     entry.name, root);
    }
    const std::string rest = entry.name.substr(root.size());
    if (rest == "data.pkl") pickle_entry_ = &entry;
    if (rest == "byteorder") byte_order_ = &entry;
    if (rest.starts_with("data/")) storages_.emplace(rest.substr(5), &entry);
    if (rest == "constants.pkl") {
      return unsupported_hint(kSaveAgain, "a program of TorchScript; expected a state_dict");
    }
  }
  if (pickle_entry_ != nullptr && !root.empty()) return {};
  return unsupported("a zip without {}data.pkl; expected one of torch.save",
                     root.empty() ? "NAME/" : root);
}

Status TorchFile::check_byte_order() const {
  if (byte_order_ == nullptr) return {};
  CKPT_ASSIGN(const Slice slice, find_zip_entry(archive_, *byte_order_));
  constexpr std::string_view kLittle = "little";
  CKPT_ASSIGN(const std::string text, bytes_at(*slice.source, slice.offset_bytes, kLittle.size()));
  if (slice.size_bytes == kLittle.size() && text == kLittle) return {};
  return unsupported("saved on a machine of another byte order than little");
}

Result<Slice> TorchFile::bytes_of(const ZipEntry& entry) const {
  CKPT_ASSIGN(Slice out, find_zip_entry(archive_, entry));
  if (checks_ == nullptr) return out;
  CKPT_ASSIGN(const bool has_sum, check_zip_sum(out, entry));
  ++(has_sum ? checks_->sums : checks_->without_sums);
  return out;
}

Result<TorchFile> TorchFile::open(const Slice& archive, WeightChecks* checks) {
  CKPT_ASSIGN(std::vector<ZipEntry> entries, read_zip_directory(archive));
  return open(archive, std::move(entries), checks);
}

Result<TorchFile> TorchFile::open(const Slice& archive, std::vector<ZipEntry> entries,
                                  WeightChecks* checks) {
  TorchFile out;
  out.checks_ = checks;
  out.archive_ = archive;
  out.entries_ = std::move(entries);
  CKPT_TRY(out.sort_entries());
  CKPT_TRY(out.check_byte_order());
  CKPT_ASSIGN(const Slice slice, out.bytes_of(*out.pickle_entry_));
  if (slice.size_bytes > kMaxTorchPickleBytes) {
    return unsupported("a pickle of {} bytes; at most {} are read", slice.size_bytes,
                       kMaxTorchPickleBytes);
  }
  CKPT_ASSIGN(const std::string bytes,
              bytes_at(*slice.source, slice.offset_bytes, slice.size_bytes));
  CKPT_ASSIGN(out.pickle_, Pickle::parse(bytes, slice.offset_bytes));
  return out;
}

// ---- tensors ------------------------------------------------------------------------------------

const Node& TorchFile::item(const Node& list, size_t i) const {
  return pickle_.node(list.items[i]);
}

// The arguments of a call; nullptr for everything else.
const Node* TorchFile::arguments_of(const Node& node) const {
  if (node.kind != Kind::kCall || node.items.size() != 2) return nullptr;
  const Node& arguments = item(node, 1);
  return arguments.kind == Kind::kList ? &arguments : nullptr;
}

// (function, type, its arguments, attributes) with attributes set on a plain tensor: its values are
// those of the function.
bool TorchFile::is_of_plain_type(const Node& arguments) const {
  return arguments.items.size() == 4 && item(arguments, 2).kind == Kind::kList &&
         item(arguments, 0).text == "torch._utils _rebuild_tensor_v2" &&
         item(arguments, 1).text == "torch Tensor";
}

Result<TorchView> TorchFile::tensor(const Node& value) {
  const Node* node = &value;
  std::string_view callee;
  for (int depth = 0; depth < kMaxWrappers; ++depth) {
    const Node* arguments = arguments_of(*node);
    callee = pickle_.made_by(*node);
    if (arguments == nullptr || arguments->items.empty()) break;
    if (node->is_changed) {
      return unsupported_hint(kSaveAgain,
                              "a tensor whose state is set after it is made, which is not read");
    }
    if (callee == "torch._utils _rebuild_tensor_v2") return plain_view(*arguments, false);
    if (callee == "torch._utils _rebuild_tensor_v3") return plain_view(*arguments, true);
    if (callee == "torch._tensor _rebuild_from_type_v2" && is_of_plain_type(*arguments)) {
      return plain_view(item(*arguments, 2), false);
    }
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
Result<TorchView> TorchFile::plain_view(const Node& arguments, bool has_type) {
  const size_t least = has_type ? 7 : 4, metadata = has_type ? 7 : 6;
  const size_t count = arguments.items.size();
  if (count < least || count > metadata + 1) return corrupt("made of {} parts", count);
  if (count > metadata) CKPT_TRY(check_lazy(item(arguments, metadata)));
  return view(arguments, has_type ? item(arguments, 6).text : std::string());
}

// {"neg": True}: the values are to be negated when they are read; "conj" is of complex ones.
// PyTorch sets every named bit, whatever its value.
Status TorchFile::check_lazy(const Node& metadata) const {
  if (metadata.kind == Kind::kNone) return {};
  if (metadata.kind != Kind::kDict) return corrupt("metadata that is not a dict");
  if (metadata.items.empty()) return {};
  return unsupported_hint("saving it again as tensor.resolve_neg().resolve_conj()",
                          "saved with the bit '{}', which changes its values when they are read; "
                          "expected plain values",
                          item(metadata, 0).text);
}

// ('storage', type, key, location, number of values)
Result<TorchFile::Storage> TorchFile::storage(const Node& node) {
  const bool is_id = node.kind == Kind::kCall && node.items.size() == 1;
  const Node* id = is_id ? &item(node, 0) : nullptr;
  if (id == nullptr || id->kind != Kind::kList || id->items.size() != 5 ||
      item(*id, 0).text != "storage") {
    return corrupt("no storage; expected one of the file");
  }
  const std::string& key = item(*id, 2).text;
  const auto* entry = find_mapped(storages_, key);
  if (entry == nullptr) return corrupt("storage '{}' is not in the file", key);
  if (item(*id, 3).text == "meta") {
    return unsupported("of the device 'meta', whose tensors have no values");
  }
  Storage* found = find_mapped(found_, key);
  if (found == nullptr) {
    CKPT_ASSIGN(Slice slice, bytes_of(**entry));
    Storage made{std::move(slice), item(*id, 1).text};
    found = &found_.emplace(key, std::move(made)).first->second;
  }
  CKPT_TRY(check_storage(*id, *found));
  return *found;
}

// PyTorch uses the type of the first request, and the declared number of values.
Status TorchFile::check_storage(const Node& id, const Storage& storage) const {
  const std::string &type = item(id, 1).text, &key = item(id, 2).text;
  if (storage.type != type) {
    return corrupt("storage '{}' is of two types, '{}' and '{}'", key, storage.type, type);
  }
  const auto dtype = torch_dtype(type);
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

Result<std::vector<uint64_t>> TorchFile::whole_numbers(const Node& list) const {
  const auto found = pickle_.numbers(&list, kMaxDimensions);
  if (found) return *found;
  return corrupt("a shape or strides that are not a list of up to {} numbers", kMaxDimensions);
}

// (storage, offset, shape, strides, ...); offset and strides count values.
Result<TorchView> TorchFile::view(const Node& arguments, std::string_view type) {
  CKPT_ASSIGN(const Storage from, storage(item(arguments, 0)));
  const std::string name(type.empty() ? from.type : type);
  const auto dtype = torch_dtype(name);
  if (!dtype) return unsupported("values of type '{}', which is not read", name);
  TorchView out;
  out.dtype = *dtype;
  CKPT_ASSIGN(out.shape, whole_numbers(item(arguments, 2)));
  CKPT_ASSIGN(out.strides, whole_numbers(item(arguments, 3)));
  if (out.shape.size() != out.strides.size()) return corrupt("strides of other axes");
  const uint64_t value_bytes = size_bytes(*dtype);
  const auto values = spanned_values(out.shape, out.strides);
  const auto length = values ? multiply(*values, value_bytes) : std::nullopt;
  const Node& offset = item(arguments, 1);
  const bool is_known = offset.kind == Kind::kInt && offset.whole >= 0;
  const auto start =
      is_known ? multiply(static_cast<uint64_t>(offset.whole), value_bytes) : std::nullopt;
  if (!product(out.shape) || !length || !start || *start > from.bytes.size_bytes ||
      *length > from.bytes.size_bytes - *start) {
    return corrupt("[{}] of {} is not within its storage of {} bytes", fmt::join(out.shape, ", "),
                   info(*dtype).name, from.bytes.size_bytes);
  }
  out.bytes = {from.bytes.source, from.bytes.offset_bytes + *start, *length};
  return out;
}

// Strides mean nothing for axes of one value, nor if there are no values at all.
bool TorchView::is_contiguous() const {
  uint64_t expected = 1;
  if (std::ranges::count(shape, 0) != 0) return true;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

// ---- a state_dict -------------------------------------------------------------------------------

namespace {

Failure no_tensors(std::string_view what) {
  return unsupported_hint(kSaveAgain,
                          "the pickle {}; expected a dict of tensors alone, a state_dict", what);
}

Result<SafetensorsEntry> entry_of(TorchFile& file, const Node& value) {
  CKPT_ASSIGN(const TorchView view, file.tensor(value));
  if (!view.is_contiguous()) {
    return unsupported_hint("saving it again as tensor.contiguous()",
                            "[{}] lies with strides [{}]; expected rows that follow each other",
                            fmt::join(view.shape, ", "), fmt::join(view.strides, ", "));
  }
  return SafetensorsEntry{
      {}, view.dtype, view.shape, view.bytes.offset_bytes,
      view.bytes.offset_bytes + view.bytes.size_bytes};
}

Result<SafetensorsHeader> state_dict_of(TorchFile& file) {
  const Pickle& pickle = file.pickle();
  const Node& root = pickle.root();
  if (root.kind != Kind::kDict) return no_tensors("holds no dict");
  SafetensorsHeader out;
  out.metadata.entries.push_back({"format", MetaValue::text("pt")});
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const Node& key = pickle.node(root.items[i]);
    if (key.kind != Kind::kText) return no_tensors("has a key that is not a text");
    if (key.text.size() > kMaxNameBytes || !is_utf8(key.text)) {
      return corrupt("a tensor's name of {} bytes is too long or no UTF-8", key.text.size());
    }
    CKPT_ASSIGN(SafetensorsEntry entry, in(fmt::format("tensor '{}'", key.text),
                                           entry_of(file, pickle.node(root.items[i + 1]))));
    entry.name = key.text;
    out.entries.push_back(std::move(entry));
  }
  if (out.entries.empty()) return no_tensors("holds an empty dict");
  std::ranges::stable_sort(out.entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin < b.begin;
  });
  return out;
}

}  // namespace

bool is_torch_weights(const std::string& name) {
  return name == kTorchSingleName || name == kTorchAdapterName || name == kFullStateDict ||
         (name.starts_with("pytorch_model-") && name.ends_with(kTorchEnding));
}

std::string torch_file_as_safetensors(const std::string& name) {
  if (name == kFullStateDict) return std::string(kSingleName);
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
  const auto entries =
      start == kZipStart ? read_zip_directory(entire(*source)) : std::vector<ZipEntry>();
  return entries && std::ranges::any_of(*entries, [](const ZipEntry& entry) {
           return entry.name.ends_with("/data.pkl");
         });
}

Result<SafetensorsHeader> read_torch_header(const SharedSource& source, WeightChecks* checks) {
  CKPT_ASSIGN(const std::string start, bytes_at(*source, 0, kZipStart.size()));
  if (start == kPickleStart) {
    return unsupported_hint(kSaveAgain, "saved by a PyTorch before 1.6, whose files are not zips");
  }
  if (start != kZipStart) {
    CKPT_TRY(refuse_other_files(*source, "a file of PyTorch"));
    return unsupported("not a file of PyTorch; expected a zip");
  }
  CKPT_ASSIGN(TorchFile file, TorchFile::open(entire(source), checks));
  auto header = state_dict_of(file);
  if (header) return header;
  std::vector<std::string> content;
  for (const Node& node : file.pickle().nodes()) {
    if (node.kind == Kind::kText || node.kind == Kind::kName) content.push_back(node.text);
  }
  CKPT_TRY(refuse_partial(content, PartialBy::kContent));
  return header;
}

}  // namespace ckpt
