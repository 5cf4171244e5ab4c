#include "plan/conversion/convert_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.h"

namespace ckpt {

std::string convert_line(const Conversion& conversion, std::string_view out) {
  const auto typed = std::ranges::find_if(conversion.given, [](const GivenOption& given) {
    return given.name == "IN" && !given.is_from_recipe;
  });
  const std::string in =
      typed == conversion.given.end() ? conversion.in.string() : typed->value;
  return fmt::format("ckpt convert {} {}", shell_path(in), out);
}

}  // namespace ckpt
