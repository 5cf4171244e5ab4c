#include "tools/say/tensor_groups.h"

#include <fmt/ranges.h>

#include "transforms/transforms.h"

namespace ckpt {

std::string grouped_names(const std::vector<std::string>& names) {
  // The last word stays outside of the braces: all weights come first, then all biases.
  Groups<std::vector<std::string>> by_ending;
  for (const std::string& name : names) {
    const size_t dot = name.rfind('.');
    const bool is_inner = dot != std::string::npos && name.find('.') != dot;
    by_ending.of(is_inner ? name.substr(dot) : std::string()).push_back(name);
  }
  std::vector<std::string> out;
  for (const auto& [ending, group] : by_ending) {
    std::vector<std::string> stems;
    for (const std::string& name : group)
      stems.push_back(name.substr(0, name.size() - ending.size()));
    for (const std::string& piece : summarize_names(stems)) out.push_back(piece + ending);
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace ckpt
