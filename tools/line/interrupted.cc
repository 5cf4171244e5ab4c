// Here, and not next to main(), so that tests can link its users.
#include "tools/line/commands.h"

namespace ckpt {

std::atomic<bool> interrupted{false};

}  // namespace ckpt
