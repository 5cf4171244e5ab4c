// The beginning of a suggested conversion.
#pragma once

#include <string>
#include <string_view>

#include "plan/conversion/conversion.h"

namespace ckpt {

// "ckpt convert IN OUT", IN as it was typed; `out`: a word of a shell. The command line adds the
// other options.
std::string convert_line(const Conversion& conversion, std::string_view out);

}  // namespace ckpt
