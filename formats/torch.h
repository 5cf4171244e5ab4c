// PyTorch's files of weights; private to formats/.
//
//   zip, not compressed   NAME/data.pkl   {"model.norm.weight": tensor, ...}
//                         NAME/data/0     the bytes of a storage; tensors are views of them
//                         NAME/byteorder  "little"
//   a tensor              _rebuild_tensor_v2(storage, offset, shape, strides, ...)
//   folder                pytorch_model.bin, or pytorch_model-00001-of-00003.bin and
//                         pytorch_model.bin.index.json
//
// The pickle is read as data (core/readers/pickle.h): the calls that make tensors are known, and
// all others are rejected. Source: PyTorch torch/serialization.py, _utils.py.
#pragma once

#include <filesystem>

#include <map>

#include "core/readers/pickle.h"
#include "core/readers/zip.h"
#include "formats/safetensors.h"

namespace ckpt {

inline constexpr uint64_t kMaxTorchPickleBytes = uint64_t{32} << 20;
inline constexpr std::string_view kTorchIndexName = "pytorch_model.bin.index.json";
inline constexpr std::string_view kTorchSingleName = "pytorch_model.bin";
inline constexpr std::string_view kTorchAdapterName = "adapter_model.bin";

// "pytorch_model-00001-of-00003.bin" -> "model-00001-of-00003.safetensors": what a file of these
// weights is called in other formats.
std::string torch_file_as_safetensors(const std::string& name);
// One of those two names, or "pytorch_model_fsdp.bin".
bool is_torch_weights(const std::string& name);
// A zip with a pickle in it, or a file of that ending which begins as one.
bool is_torch_file(const std::filesystem::path& path);

// The type that a class of storages, or torch itself, calls so: "torch FloatStorage" or
// "torch float32".
std::optional<Dtype> torch_dtype(std::string_view name);

// A tensor as torch.save writes it.
struct TorchView {
  Dtype dtype = Dtype::kF32;
  std::vector<uint64_t> shape, strides;  // strides in values
  Slice bytes;                           // from the first value to the last one
  bool is_contiguous() const;            // rows follow each other
};

// A zip as torch.save writes it, in a file or in a part of one.
class TorchFile {
 public:
  TorchFile(TorchFile&&) noexcept = default;
  TorchFile& operator=(TorchFile&&) noexcept = default;
  // Fails: kCorrupt: not such a zip; kUnsupported: of another byte order, a pickle above
  // kMaxTorchPickleBytes or that is not read; kIo.
  // If `checks` is given, compares the CRC-32 of the pickle, and of each storage in tensor().
  static Result<TorchFile> open(const Slice& archive, WeightChecks* checks = nullptr);
  static Result<TorchFile> open(const Slice& archive, std::vector<ZipEntry> entries,
                                WeightChecks* checks = nullptr);

  const Pickle& pickle() const { return pickle_; }
  // Fails: kCorrupt: beyond its storage; kUnsupported: made in another way, of an unknown type.
  Result<TorchView> tensor(const Pickle::Node& value);

 private:
  TorchFile() = default;
  struct Storage {
    Slice bytes;
    std::string type;
  };
  Status sort_entries();
  Status check_byte_order() const;
  Result<Slice> bytes_of(const ZipEntry& entry) const;
  const Pickle::Node& item(const Pickle::Node& list, size_t i) const;
  const Pickle::Node* arguments_of(const Pickle::Node& node) const;
  bool is_of_plain_type(const Pickle::Node& arguments) const;
  Result<TorchView> plain_view(const Pickle::Node& arguments, bool has_type);
  Status check_lazy(const Pickle::Node& metadata) const;
  Result<Storage> storage(const Pickle::Node& node);
  Status check_storage(const Pickle::Node& id, const Storage& storage) const;
  Result<std::vector<uint64_t>> whole_numbers(const Pickle::Node& list) const;
  Result<TorchView> view(const Pickle::Node& arguments, std::string_view type);

  Slice archive_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, const ZipEntry*> storages_;  // by key
  const ZipEntry *pickle_entry_ = nullptr, *byte_order_ = nullptr;
  Pickle pickle_;
  std::map<std::string, Storage> found_;  // those that were asked for
  WeightChecks* checks_ = nullptr;
};

// The tensors of a file, as a header of safetensors would list them. Fails: kCorrupt: truncated, a
// view beyond its storage; kUnsupported: not a dict of tensors, strides that are not those of
// rows, a file of PyTorch before 1.6; kIo.
Result<SafetensorsHeader> read_torch_header(const SharedSource& source,
                                            WeightChecks* checks = nullptr);

}  // namespace ckpt
