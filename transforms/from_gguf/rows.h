// The positions of a folder's rows in the tensors that to-gguf makes of them.
//
// Tensors are identified by their bytes: to-gguf moves slices, and a slice identifies the rows and
// the tensor that it contains.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/computed/interleaved_source.h"
#include "core/computed/strided_source.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Adjacent rows of a folder's tensor that are also adjacent in a tensor of the GGUF. If the
// folder's tensor has one axis, its values count as rows.
struct MovedRows {
  uint64_t first = 0, count = 0;  // in the folder's tensor
  size_t gguf = 0;                // index of the GGUF's tensor
  uint64_t gguf_first = 0;        // its row in the GGUF
};

// Finds the folder's tensor that contains given bytes. Works only for tensors in one place, because
// bytes cannot identify others. If a tensor has several parts, the first counts.
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
  // The position of the first byte of `slice`; nullptr if no tensor contains it.
  const Place* find(const Slice& slice) const;

 private:
  std::vector<Place> places_;
};

// Maps the index of a folder's tensor to its rows, in order.
using RowMap = std::map<size_t, std::vector<MovedRows>>;

// Maps rows for the tensors `made`[i] with i in `wanted`. Requires: `folder` is Stored, plain.
// Fails: kUnsupported: `folder` lacks rows of `made`.
Result<RowMap> find_rows_of(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                            const std::vector<size_t>& wanted);
// Does the same. Also fails: kUsage: `made` contains only a part of a folder's tensor.
Result<RowMap> find_moved_rows(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                               const std::vector<size_t>& wanted);

// Returns the inverse of the column order that to-gguf gave to `made`; nullopt if it kept the
// order. Fails: kUnsupported: values were changed.
Result<std::optional<std::vector<uint32_t>>> returned_columns(const Tensor& made);

// The positions of a folder's values in GGUF tensors if to-gguf exchanged axes or interleaved rows
// or values (to_gguf/grids.cc).
//
//   folder's {experts, in, gate up gate up}  ──▶  GGUF's {experts, gate, in} and {experts, up, in}
//
// to-gguf represents such an order as a source: a grid of elements of one folder tensor. So this
// file needs no table of changes: it puts a grid into the folder's order and interleaves several
// grids, or rejects them.

// A GGUF tensor that is a grid of elements of one folder tensor.
struct MovedGrid {
  size_t gguf = 0;  // index of the GGUF's tensor
  StridedGrid grid;
  uint64_t element_values = 1;  // per element, in the folder's tensor; an entire row if rows move
};

// Maps the index of a folder's tensor to its grids.
using GridMap = std::map<size_t, std::vector<MovedGrid>>;

// Maps grids for the tensors `made`[i] with i in `wanted`, and removes these i from `wanted`.
// Requires: `folder` is Stored. Fails: kUnsupported: a grid of a part of a tensor.
Result<GridMap> find_moved_grids(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                                 std::vector<size_t>& wanted);

// Returns the parts, in order, that `like` of the folder interleaves; `found` are the file's
// tensors. Values in another order are decoded to `f32` unless they are plain. Fails: kUnsupported:
// grids that do not cover `like`, or alternate irregularly.
Result<std::vector<InterleavedLane>> lanes_of(const Tensor& like,
                                              const std::vector<MovedGrid>& grids,
                                              const std::vector<const Tensor*>& found,
                                              const Codec& f32);

}  // namespace ckpt
