// A separate file from main(), so that tests can link code that uses the flag.
#include "tools/line/commands.h"

namespace ckpt {

std::atomic<bool> interrupted{false};

}  // namespace ckpt
