// Replaces the names that people type in a conversion by those that ckpt uses.
#pragma once

#include "core/base/result.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/observer.h"

namespace ckpt {

// Types and profiles in ckpt's spelling. Fails: kUsage: an unknown name, with the nearest; a value
// that its option does not accept.
Status settle_names(Conversion& conversion);

// An importance matrix that was given as --moments is treated as --imatrix, because it is the
// diagonal of second moments. Fails: kUsage: two importance matrices.
Status settle_moments(Conversion& conversion, Observer& observer);

}  // namespace ckpt
