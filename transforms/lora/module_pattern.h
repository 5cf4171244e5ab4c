// Regular expressions that name modules, as PEFT reads the keys of rank_pattern and alpha_pattern.
//
//   'q_proj', 'layers.2.mlp.up_proj', '.*\.0\.mlp\.(gate|up)_proj'
//
// A key fits a module when it matches the entire name, or all of it behind a dot.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

class ModulePattern {
 public:
  // Fails: kUnsupported for what is not literals, classes, groups, alternatives and repetitions.
  static Result<ModulePattern> parse(std::string_view text);
  // Takes time that grows with the square of the name's length, whatever the pattern.
  bool matches(std::string_view module) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace ckpt
