// The tensors of a folder from those of a GGUF: to-gguf's changes, undone.
//
//   folder's q_proj, rows 0 1 2 3 ──▶ GGUF's attn_q, rows 0 2 1 3
//   with_rows_of(attn_q, "0 2 1 3") ──▶ q_proj, in the GGUF's own type or decoded
//
// Rows move as bytes of the file, whatever their type; columns, sums and exponentials are undone in
// F32 and rounded once. Values whose axes were exchanged move as bytes too where they are plain,
// and are decoded where they are not.
#pragma once

#include "transforms/from_gguf/grids.h"
#include "transforms/from_gguf/rows.h"
#include "transforms/from_gguf/skeleton.h"

namespace ckpt {

// What lies where: to-gguf's tensors, and the file's of the same names, by number.
struct TensorPairs {
  const std::vector<Tensor>& made;
  const std::vector<const Tensor*>& found;
};

struct TargetTypes {
  const Codec& target;
  const Codec& f32;
};

// `like` of the folder, whose rows lie where `rows` say, stored as `types.target`; one that is
// MXFP4 as ggml's blocks of it. Fails: kUnsupported: values that were changed in a way that has no
// inverse, and MXFP4 of another type.
Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedRows>& rows,
                               const TensorPairs& pairs, const TargetTypes& types);
// The same of values that lie in another order.
Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedGrid>& grids,
                               const TensorPairs& pairs, const TargetTypes& types);

}  // namespace ckpt
