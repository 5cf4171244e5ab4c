// Globs that choose tensors, such as the tensors of keep= that keep their type, and a record of
// globs that matched nothing.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/glob.h"
#include "core/model/transform.h"

namespace ckpt {

class KeepRules {
 public:
  explicit KeepRules(std::vector<std::string> globs)
      : globs_(std::move(globs)), list_(globs_), matches_(globs_.size()), effects_(globs_.size()) {}

  // Whether a glob matches one of the tensor's names. `changes`: its type would change otherwise.
  bool matches(std::initializer_list<std::string_view> names, bool changes) {
    std::set<uint32_t> found;
    for (const std::string_view name : names) {
      const std::vector<uint32_t> here = list_.matching(name);
      found.insert(here.begin(), here.end());
    }
    for (const uint32_t i : found) {
      ++matches_[i];
      effects_[i] += changes ? 1 : 0;
    }
    return !found.empty();
  }

  // The first glob that matched nothing; nullptr if all did.
  const std::string* first_unmatched() const {
    const auto found = std::ranges::find(matches_, uint64_t{0});
    return found == matches_.end() ? nullptr
                                   : &globs_[static_cast<size_t>(found - matches_.begin())];
  }
  void note(const Context& context) const {
    for (size_t i = 0; i < globs_.size(); ++i) {
      if (matches_[i] == 0) {
        context.note("keep={} matches no tensor", globs_[i]);
      } else if (effects_[i] == 0) {
        context.note(
            "keep={} has no effect: none of the {} tensors it matches would have another type",
            globs_[i], matches_[i]);
      }
    }
  }

 private:
  std::vector<std::string> globs_;
  GlobList list_;
  std::vector<uint64_t> matches_, effects_;
};

}  // namespace ckpt
