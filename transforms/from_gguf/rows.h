// The positions of a folder's rows in the tensors that to-gguf makes of them.
//
// Tensors are known by the bytes they are read from: to-gguf moves slices, and a slice tells which
// rows of which tensor it holds.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/computed/interleaved_source.h"
#include "core/computed/strided_source.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Rows of one tensor of a folder, which lie together in a tensor of the GGUF; values where the
// folder's tensor has one axis.
struct MovedRows {
  uint64_t first = 0, count = 0;  // in the folder's tensor
  size_t gguf = 0;                // number of the GGUF's tensor
  uint64_t gguf_first = 0;        // row there
};

// The folder's tensor that bytes belong to. Only for tensors in one place; others cannot be told
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

// By number of the folder's tensor, in the order of its rows.
using RowMap = std::map<size_t, std::vector<MovedRows>>;

// Of the tensors `made`[i] with i in `wanted`. Requires: `folder` is Stored, plain.
// Fails: kUnsupported: rows of `made` that are not in `folder`.
Result<RowMap> find_rows_of(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                            const std::vector<size_t>& wanted);
// The same. Fails too: kUsage: a tensor of `folder` of which only a part is in them.
Result<RowMap> find_moved_rows(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                               const std::vector<size_t>& wanted);

// The columns of `made` as to-gguf has exchanged them, turned round; nullopt when it has not.
// Fails: kUnsupported: values that were changed.
Result<std::optional<std::vector<uint32_t>>> returned_columns(const Tensor& made);

// The positions of a folder's values in tensors of the GGUF whose axes were exchanged, or whose
// rows or values were taken in turn (to_gguf/grids.cc).
//
//   folder's {experts, in, gate up gate up}  ──▶  GGUF's {experts, gate, in} and {experts, up, in}
//
// to-gguf says it in the sources that it makes: a grid of elements of one tensor of the folder. So
// this file needs no table of changes: a grid is put in the folder's order and several of them are
// interleaved, or it is rejected.

// A tensor of the GGUF that is a grid of elements of one tensor of the folder.
struct MovedGrid {
  size_t gguf = 0;  // number of the GGUF's tensor
  StridedGrid grid;
  uint64_t element_values = 1;  // of the folder's tensor; a whole row where rows move
};

// By number of the folder's tensor.
using GridMap = std::map<size_t, std::vector<MovedGrid>>;

// Of the tensors `made`[i] with i in `wanted`; those that are such grids leave `wanted`.
// Requires: `folder` is Stored. Fails: kUnsupported: a grid of a part of a tensor.
Result<GridMap> find_moved_grids(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                                 std::vector<size_t>& wanted);

// The parts that `like` of the folder interleaves, in order: `found` are the file's tensors.
// Values that are put in another order are decoded to `f32` unless they are plain.
// Fails: kUnsupported: grids that are not all of `like`, or alternate in no regular way.
Result<std::vector<InterleavedLane>> lanes_of(const Tensor& like,
                                              const std::vector<MovedGrid>& grids,
                                              const std::vector<const Tensor*>& found,
                                              const Codec& f32);

}  // namespace ckpt
