// Here, and not beside main(), so that tests can link what asks for it.
#include "tools/line/commands.h"

namespace ckpt {

std::atomic<bool> interrupted{false};

}  // namespace ckpt
