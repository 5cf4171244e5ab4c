// drop: leaves tensors out.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kDrop;

}  // namespace ckpt
