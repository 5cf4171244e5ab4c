// Types as they are typed for several outputs at once, or in the place of OUT.
//
//   --to q6_k,q5_k_m     OUT model-{type}.gguf     two outputs of one reading
#pragma once

#include "plan/conversion/conversion.h"

namespace ckpt {

// Makes one output a type of `conversion.to`, and replaces {type} and {ftype} in OUT by them.
// Fails: kUsage: an unknown type; several types and an OUT that does not tell them apart; OUT is
// the name of a type.
Status spread_types(Conversion& conversion);

}  // namespace ckpt
