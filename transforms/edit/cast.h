// The cast step; see cast.cc.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kCast;

}  // namespace ckpt
