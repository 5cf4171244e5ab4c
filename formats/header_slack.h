// How much room for later edits a header may be given.
#pragma once

#include "core/model/format.h"

namespace ckpt {

// Headers are held in memory, one for each file of a split, and readers bound what they take.
// Fails: kUsage.
inline Status check_header_slack(const LayoutOptions& options) {
  constexpr uint64_t kMaxHeaderSlackBytes = uint64_t{64} << 20;
  if (options.header_slack_bytes <= kMaxHeaderSlackBytes) return {};
  return misuse_hint("--header-slack 64K", "--header-slack: {} bytes; at most {} are written",
                     options.header_slack_bytes, kMaxHeaderSlackBytes);
}

}  // namespace ckpt
