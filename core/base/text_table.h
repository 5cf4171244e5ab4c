// Tables in data/*.txt.
#pragma once

#include <string_view>
#include <vector>

namespace ckpt {

// The lines of `text` that are neither empty nor comments ("#"); cells are between "|", without the
// spaces around them, and empty from the last written one up to `columns`.
std::vector<std::vector<std::string_view>> table_rows(std::string_view text, size_t columns);

}  // namespace ckpt
