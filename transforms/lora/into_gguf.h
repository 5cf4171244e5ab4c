// Adapters merged into a GGUF whose weights stay in the types they have.
//
//   file ── from-gguf, as F32 ─▶ folder ── merge ─▶ folder ── to-gguf ─▶ sums in the file's order
//     │                                                                      │ encoded in its types
//     └───────────────── tensors that no adapter changes, keys ──────────────┴─▶ file
//
// So names and the order of rows are those of both steps, and the bytes are those of a file that
// was decoded, merged and quantized tensor by tensor.
#pragma once

#include <functional>
#include <string>

#include "core/model/transform.h"
#include "transforms/lora/kept_shares.h"

namespace ckpt {

// Merges an adapter into a folder of floats.
using MergeInto = std::function<Status(Checkpoint& folder)>;

struct GgufMerge {
  const Context& context;
  std::string base;       // a folder with the names of the model; empty: the file's keys give them
  bool searches = false;  // for the best blocks, where there is a search
};

// Fails: kUnsupported: a model that does not come back from GGUF, a changed tensor without an
// encoder; kUsage: one that needs an importance matrix; kCorrupt; as `merge`.
Result<Checkpoint> merge_into_gguf(Checkpoint file, const MergeInto& merge, const GgufMerge& how,
                                   KeptShares& kept);

}  // namespace ckpt
