// Quantized weights as floats that adapters can be added to, and those that changed in the codecs
// that they had.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/base/counted.h"
#include "core/computed/computed_source.h"
#include "core/model/transform.h"

namespace ckpt {

using Sources = std::set<const ByteSource*>;
// Those that the bytes of a tensor, or what it is made of, are read from; not their inputs.
Sources direct_sources(const Tensor& tensor);

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

}  // namespace ckpt
