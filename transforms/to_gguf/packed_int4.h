// INT4 weights as compressed-tensors packs them.
#pragma once

#include <optional>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/codec.h"
#include "core/model/transform.h"

namespace ckpt {

// Tensors X_packed, X_scale and X_shape of INT4 in groups as X, which can be decoded; others as
// they are. Fails: kIo.
Result<std::vector<Tensor>> join_packed_int4(std::vector<Tensor> tensors, Codecs codecs);

// `tensor` as Q4_0 with the codes that it has; nullopt where it is not packed INT4, or the changes
// to it leave no whole blocks.
std::optional<Tensor> with_kept_codes(const Tensor& tensor, Codecs codecs);

// Notes how many of `made` keep their codes, and which of the packed weights of `input` do not.
// Fails: kUsage: none does.
Status note_kept_codes(const Checkpoint& input, const std::vector<Tensor>& made,
                       const Context& context);

}  // namespace ckpt
