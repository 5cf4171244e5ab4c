// Where rows of a folder's tensors lie in the tensors that to-gguf makes of them.
//
// Tensors are known by the bytes they are read from: to-gguf moves slices, and a slice tells which
// rows of which tensor it holds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Rows of one tensor of a folder, which lie together in a tensor of the GGUF; values where the
// folder's tensor has one axis.
struct MovedRows {
  uint64_t first = 0, count = 0;  // in the folder's tensor
  size_t gguf = 0;                // number of the GGUF's tensor
  uint64_t gguf_first = 0;        // row there
};

// Which tensor of a folder bytes are of. Of those that lie in one place; others cannot be told
// apart by their bytes. Of several parts the first counts.
class FolderBytes {
 public:
  explicit FolderBytes(const std::vector<Tensor>& folder);
  struct Place {
    const ByteSource* source;
    uint64_t first_byte, end_byte;
    size_t tensor;
    bool operator<(const Place& other) const {
      return std::pair(source, first_byte) < std::pair(other.source, other.first_byte);
    }
  };
  // Where the first byte of `slice` lies; nullptr: in none of them.
  const Place* find(const Slice& slice) const;

 private:
  std::vector<Place> places_;
};

// The bytes that `made` holds, or is made of.
const Stored& stored_of(const Tensor& made);

// By number of the folder's tensor, in the order of its rows.
using RowMap = std::map<size_t, std::vector<MovedRows>>;

// Of the tensors `made`[i] with i in `wanted`. Requires: `folder` is Stored, plain.
// Fails: kUnsupported: rows of `made` that are no rows of `folder`; kUsage: a tensor of `folder` of
// which only a part is in them.
Result<RowMap> find_moved_rows(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                               const std::vector<size_t>& wanted);

// The columns of `made` as to-gguf has exchanged them, turned round; nullopt when it has not.
// Fails: kUnsupported: values that were changed.
Result<std::optional<std::vector<uint32_t>>> returned_columns(const Tensor& made);

}  // namespace ckpt
