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

#include "formats/safetensors.h"

namespace ckpt {

inline constexpr uint64_t kMaxTorchPickleBytes = uint64_t{32} << 20;
inline constexpr std::string_view kTorchIndexName = "pytorch_model.bin.index.json";

// "pytorch_model-00001-of-00003.bin" -> "model-00001-of-00003.safetensors": what a file of these
// weights is called in other formats.
std::string torch_file_as_safetensors(const std::string& name);
bool is_torch_weights(const std::string& name);  // one of those two names
// A zip with a pickle in it, or a file of that ending which begins as one.
bool is_torch_file(const std::filesystem::path& path);

// The tensors of a file, as a header of safetensors would list them. Fails: kCorrupt: truncated, a
// view beyond its storage; kUnsupported: not a dict of tensors, strides that are not those of
// rows, a file of PyTorch before 1.6; kIo.
Result<SafetensorsHeader> read_torch_header(const SharedSource& source);

}  // namespace ckpt
