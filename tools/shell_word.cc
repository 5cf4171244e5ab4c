#include "tools/commands.h"

namespace ckpt {

std::string shell_word(std::string_view path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@,";
  if (!path.empty() && path.find_first_not_of(kPlain) == path.npos) return std::string(path);
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace ckpt
