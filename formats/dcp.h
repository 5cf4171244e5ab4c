// A distributed checkpoint of PyTorch (DCP) and its index; private to formats/.
//
//   .metadata   a pickle: Metadata
//     state_dict_metadata   key ▸ TensorStorageMetadata: type, size, chunks (offsets, sizes)
//     storage_data          MetadataIndex (key, offsets) ▸ _StorageInfo: file, offset, length
//     planner_data          key ▸ its place in the nested dicts that were saved
//
// Source: torch/distributed/checkpoint/metadata.py, filesystem.py.
#pragma once

#include <string>
#include <vector>

#include "core/io/bytes.h"
#include "core/model/dtype.h"
#include "formats/trainer.h"

namespace ckpt {

// The part of a key that marks other state of a module of Megatron than its tensors.
inline constexpr std::string_view kExtraState = "_extra_state";

inline constexpr uint64_t kMaxDcpMetadataBytes = uint64_t{512} << 20;

// The place of a chunk in a file, where it is stored as torch.save writes it.
struct DcpChunk {
  std::vector<uint64_t> offsets, sizes;
  std::string file;
  uint64_t offset_bytes = 0, size_bytes = 0;
  bool is_zstd = false;  // the item is compressed
};

struct DcpTensor {
  std::string key;
  TrainerPath path;
  Dtype dtype = Dtype::kF32;
  std::vector<uint64_t> shape;
  std::vector<DcpChunk> chunks;
};

struct DcpMetadata {
  std::vector<DcpTensor> tensors;   // weights
  std::vector<DcpTensor> masters;   // if asked for; `path` is that of their weight
  bool has_masters = false;
  std::vector<std::string> others;  // keys of everything else
};

// Reads the index and executes nothing in it. Fails: kCorrupt: the pickle is not such an index;
// kUnsupported: it has more than kMaxDcpMetadataBytes, or a type or storage that ckpt does not
// read; kIo.
Result<DcpMetadata> read_dcp_metadata(const SharedSource& source, bool with_masters = false);

// The tensors of a folder that torch.distributed.checkpoint wrote, named as in its index.
struct DcpTensors {
  std::vector<Tensor> tensors;
  std::vector<TrainerPath> paths;     // of each
  std::vector<std::string> not_read;  // as TrainerWeights
  std::string values = {};
  uint64_t ranks = 0;
};
Result<DcpTensors> read_dcp_tensors(const TrainerFolder& from);
// Whether the folder has an index, or files that belong to one.
bool has_dcp_files(const std::vector<std::string>& names);

}  // namespace ckpt
