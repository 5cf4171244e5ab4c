// The flags of convert that are options of the steps it adds (added_steps.h): what they take, and
// the words of --help, are those of the steps' own rules.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/step_options.h"

namespace ckpt {

struct StepFlag {
  std::string_view name;        // without dashes: "no-mtp"
  std::string_view step;        // whose rule it is; other added steps that have `key` take it too
  std::string_view key;         // what steps call it: "mtp"
  std::string_view value = {};  // of a flag that takes none: what it means, "no"
  std::string_view help = {};   // instead of the rule's
  std::string_view more = {};   // behind the rule's

  const OptionRule& rule() const;
  bool takes_value() const { return value.empty(); }
  std::string whole_help() const;
};

std::span<const StepFlag> step_flags();
const StepFlag* find_step_flag(std::string_view name);  // nullptr: none of that name
bool is_path_flag(std::string_view name,
                  std::string_view value);  // of a step, and its value is a path

}  // namespace ckpt
