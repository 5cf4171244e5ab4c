// rename: gives tensors other names, by prefix or by a glob with one star.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kRename;

}  // namespace ckpt
