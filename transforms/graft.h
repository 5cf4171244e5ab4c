// graft: takes tensors of another checkpoint.
#pragma once

#include "core/transform.h"

namespace ckpt {

extern const Transform kGraft;

}  // namespace ckpt
