// Adapters merged into quantized weights, which stay in the codecs they have.
//
// A GGUF (into_gguf.cc):
//
//   file ── from-gguf, as F32 ─▶ folder ── merge ─▶ folder ── to-gguf ─▶ sums in the file's order
//     │                                                                      │ encoded in its types
//     └───────────────── tensors that no adapter changes, keys ──────────────┴─▶ file
//
// So names and the order of rows are those of both steps, and the bytes are those of a file that
// was decoded, merged and quantized tensor by tensor. Adapters that are GGUF have the file's names
// and need no folder.
//
// Weights of safetensors that are stored as codes with scales, NVFP4 and FP8 (into_codes.cc):
//
//   q_proj, NVFP4 ─▶ F32, + D ─▶ NVFP4     its scale from the sum
//   k_proj, NVFP4 ─▶ F32      ─▶ NVFP4     where servers join both: one tensor scale
//   o_proj, NVFP4 ─▶ o_proj                its bytes
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/counted.h"
#include "core/computed/computed_source.h"
#include "core/model/transform.h"

namespace ckpt {

using Sources = std::set<const ByteSource*>;
// The sources that the bytes of a tensor, or what it is made of, are read from; not their inputs.
Sources direct_sources(const Tensor& tensor);

// Gives quantized weights as floats that adapters can be added to, and encodes those that changed
// in the codecs that they had.
class OwnCodecs {
 public:
  struct Encoding {
    bool searches = false;       // for the best blocks, where there is a search
    bool encodes_later = false;  // another step does, in types that it chooses
  };
  OwnCodecs(const Context& context, Encoding how);

  // A stored tensor as F32; as it is, where it has no values to change.
  Tensor as_floats(const Tensor& tensor) const;
  // Floats of `base` that changed, under the name and in the codec of `like`, which is Stored.
  // Fails: kUnsupported: nothing encodes that; kUsage: a type that needs an importance matrix.
  Result<Tensor> encoded(const Tensor& like, Tensor made);
  // `metadata`: of the base.
  void note(const Metadata& metadata) const;

  const Codec& f32() const { return f32_; }

 private:
  Status set_encoding(Tensor& out);
  Status set_column_weights(Tensor& out);

  const Context& context_;
  Encoding how_;
  const Codec& f32_;
  std::set<std::string_view> types_;
  NameCount without_weights_;
  size_t count_ = 0, searched_ = 0;
  bool lacks_weights_ = false;
};

// Merges an adapter into a checkpoint of floats.
using MergeInto = std::function<Status(Checkpoint& floats)>;

struct QuantizedMerge {
  const Context& context;
  std::string base;       // of a GGUF: a folder with its names; empty: its keys give them
  OwnCodecs::Encoding encoding = {};
  bool has_gguf_names = false;  // the adapter: into the file's tensors, not into a folder
};

// Fails: kUnsupported: a model that does not come back from GGUF, a changed tensor without an
// encoder; kUsage: one that needs an importance matrix; kCorrupt; as `merge`.
Result<Checkpoint> merge_into_gguf(Checkpoint file, const MergeInto& merge,
                                   const QuantizedMerge& how);

// Whether a weight of safetensors is stored so.
bool holds_codes(const Checkpoint& checkpoint);

// Merges into a checkpoint of codes: decodes the weights that change, and encodes them again.
// Fails: kUnsupported for a changed weight that nothing encodes or whose columns were scaled, which
// the error names; as `merge` fails.
Result<Checkpoint> merge_into_codes(Checkpoint checkpoint, const MergeInto& merge,
                                    const QuantizedMerge& how);

}  // namespace ckpt
