// A transform turns one Checkpoint into another. It does no I/O and touches no tensor bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/checkpoint.h"
#include "core/imatrix.h"
#include "core/result.h"

namespace ckpt {

// One option of a step; the parser, `ckpt list steps` and the recipe check are made from it.
struct OptionRule {
  std::string_view name;
  std::string_view value;  // what stands for the value in help: "DIR", "GLOB", "yes|no"
  std::string_view help;
  bool repeats = false;
};

// What was given, in order; an option may come more than once.
class Options {
 public:
  void add(std::string key, std::string value) {
    pairs_.emplace_back(std::move(key), std::move(value));
  }
  std::optional<std::string> get(std::string_view key) const;  // the last one
  std::vector<std::string> all(std::string_view key) const;
  bool yes(std::string_view key, bool otherwise = false) const;  // "yes"/"true"/"1"
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// What a transform may use beside the checkpoint.
struct Context {
  Codecs codecs;
  const Imatrix* imatrix = nullptr;
  std::vector<std::string>* notes = nullptr;  // things a person should know; may be null
  // Opens another checkpoint that an option names; headers and documents only.
  std::function<Result<Checkpoint>(const std::filesystem::path&)> open = {};

  void note(std::string text) const {
    if (notes != nullptr) notes->push_back(std::move(text));
  }
};

struct Transform {
  std::string_view name, help;
  std::span<const OptionRule> options;
  Result<Checkpoint> (*apply)(Checkpoint, const Options&, const Context&);
};

using Transforms = std::span<const Transform* const>;

// Shell-style glob over a whole name: * any run, ? one character, [abc] a set. Case-sensitive.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace ckpt
