// How much room for later edits a header may be given.
#pragma once

#include "core/model/format.h"

namespace ckpt {

// Headers are held in memory, one for each file of a split, and readers bound what they take.
inline constexpr uint64_t kMaxHeaderSlackBytes = uint64_t{64} << 20;

// Fails: kUsage above that.
Status check_header_slack(const LayoutOptions& options);

}  // namespace ckpt
