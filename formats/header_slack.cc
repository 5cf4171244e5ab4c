#include "formats/header_slack.h"

namespace ckpt {

Status check_header_slack(const LayoutOptions& options) {
  if (options.header_slack_bytes <= kMaxHeaderSlackBytes) return {};
  return misuse_hint("--header-slack 64K", "--header-slack: {} bytes; at most {} are written",
                     options.header_slack_bytes, kMaxHeaderSlackBytes);
}

}  // namespace ckpt
