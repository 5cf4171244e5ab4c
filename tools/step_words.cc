#include "tools/step_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transforms/transforms.h"

namespace ckpt {
namespace {

std::string names_of(std::span<const StepWords> steps) {
  std::string out;
  for (const StepWords& step : steps) out += fmt::format("{}{}", out.empty() ? "" : " ", step.name);
  return out;
}

}  // namespace

std::vector<StepWords> step_words() {
  std::vector<StepWords> out;
  for (const Transform* step : all_transforms()) {
    StepWords& words = out.emplace_back(StepWords{step->name, {}, {}});
    for (const OptionRule& rule : step->options) {
      words.keys.push_back(fmt::format("{}=", rule.name));
      for (const std::string& choice : rule.words()) {
        words.values.push_back(fmt::format("{}={}", rule.name, choice));
      }
    }
  }
  return out;
}

std::string bash_step_function(std::span<const StepWords> steps) {
  std::string cases;
  for (const StepWords& step : steps) {
    cases += fmt::format("    {}) keys='{}' values='{}' ;;\n", step.name, fmt::join(step.keys, " "),
                         fmt::join(step.values, " "));
  }
  return fmt::format(
      "_ckpt_step() {{\n"
      "  local keys='' values='' options=${{1#*:}} one\n"
      "  words=''\n"
      "  if [[ $1 != *:* ]]; then words='{0}'; return; fi\n"
      "  case ${{1%%:*}} in\n"
      "{1}"
      "  esac\n"
      "  local last=${{options##*,}}\n"
      "  if [[ $last == *=* ]]; then keys=$values; fi\n"
      "  for one in $keys; do words+=\"${{1%\"$last\"}}$one \"; done\n"
      "}}\n",
      names_of(steps), cases);
}

std::string zsh_step_function(std::span<const StepWords> steps) {
  std::string cases;
  for (const StepWords& step : steps) {
    cases += fmt::format("    {}) keys=({}) values=({}) ;;\n", step.name, fmt::join(step.keys, " "),
                         fmt::join(step.values, " "));
  }
  return fmt::format(
      "_ckpt_step() {{\n"
      "  local -a keys values\n"
      "  if [[ $PREFIX != *:* ]]; then compadd -- {0}; return; fi\n"
      "  case ${{PREFIX%%:*}} in\n"
      "{1}"
      "  esac\n"
      "  compset -P '*[:,]'\n"
      "  if [[ $PREFIX == *=* ]]; then compadd -- $values; else compadd -S '' -- $keys; fi\n"
      "}}\n",
      names_of(steps), cases);
}

std::string fish_step_function(std::span<const StepWords> steps) {
  std::string cases;
  for (const StepWords& step : steps) {
    cases += fmt::format("    case '{}:*'\n      set keys {}\n      set values {}\n", step.name,
                         fmt::join(step.keys, " "), fmt::join(step.values, " "));
  }
  return fmt::format(
      "function __ckpt_step\n"
      "  set -l word (commandline -ct | string replace -r '^--step=' '')\n"
      "  set -l keys\n"
      "  set -l values\n"
      "  switch \"$word\"\n"
      "{1}"
      "    case '*'\n"
      "      printf '%s\\n' {0}\n"
      "      return\n"
      "  end\n"
      "  set -l before (string replace -r '[^:,]*$' '' -- $word)\n"
      "  if string match -qr '=[^,]*$' -- $word\n"
      "    set keys $values\n"
      "  end\n"
      "  for one in $keys\n"
      "    printf '%s\\n' $before$one\n"
      "  end\n"
      "end\n",
      names_of(steps), cases);
}

}  // namespace ckpt
