// config: sets and removes members of config.json, or of another JSON document.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kConfigEdit;

}  // namespace ckpt
