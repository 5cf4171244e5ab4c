// A conversion as people say it, in our words.
#pragma once

#include "core/base/result.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/observer.h"

namespace ckpt {

// Types and profiles in our spelling. Fails: kUsage: a name that is not known, with the nearest; a
// value that its option does not take.
Status settle_names(Conversion& conversion);

// An importance matrix is the diagonal of second moments: what --imatrix takes. Fails: kUsage: two
// importance matrices.
Status settle_moments(Conversion& conversion, Observer& observer);

}  // namespace ckpt
