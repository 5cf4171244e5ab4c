// Where values of a folder's tensors lie in tensors of the GGUF whose axes were exchanged, or whose
// rows or values were taken in turn (to_gguf/grids.cc).
//
//   folder's {experts, in, gate up gate up}  ──▶  GGUF's {experts, gate, in} and {experts, up, in}
//
// to-gguf says it in the sources that it makes: a grid of elements of one tensor of the folder. So
// there is no table of changes here: a grid is put in the folder's order and several of them are
// woven, or it is refused.
#pragma once

#include <map>
#include <vector>

#include "core/model/strided_source.h"
#include "core/model/woven_source.h"

namespace ckpt {

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

// What `like` of the folder is woven of, in its order: `found` are the file's tensors, by number.
// Values that are put in another order are decoded to `f32` unless they are plain.
// Fails: kUnsupported: grids that are not all of `like`, or lie in it in no turn.
Result<std::vector<Strand>> strands_of(const Tensor& like, const std::vector<MovedGrid>& grids,
                                       const std::vector<const Tensor*>& found, const Codec& f32);

}  // namespace ckpt
