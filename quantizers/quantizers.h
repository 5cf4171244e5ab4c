// The list of codecs: the only header of this folder that others include.
#pragma once

#include "core/codec.h"

namespace ckpt {

// Every codec, the plain one of each Dtype among them.
Codecs all_codecs();

}  // namespace ckpt
