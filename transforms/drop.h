// drop: leaves tensors out.
#pragma once

#include "core/transform.h"

namespace ckpt {

extern const Transform kDrop;

}  // namespace ckpt
