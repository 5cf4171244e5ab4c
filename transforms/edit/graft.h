// graft: takes tensors of another checkpoint.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kGraft;

}  // namespace ckpt
