// What `--step NAME:key=value,...` takes, for the completion of shells.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

struct StepWords {
  std::string_view name;
  std::vector<std::string> keys;    // "type="
  std::vector<std::string> values;  // "type=bf16", of options that take one of a few words
};
std::vector<StepWords> step_words();

// Functions that complete what stands in the word after --step: names, keys and values.
//   bash   _ckpt_step WORD sets `words` to whole words that begin like WORD
//   zsh    _ckpt_step, an action of _arguments
//   fish   __ckpt_step prints whole words
std::string bash_step_function(std::span<const StepWords> steps);
std::string zsh_step_function(std::span<const StepWords> steps);
std::string fish_step_function(std::span<const StepWords> steps);

}  // namespace ckpt
