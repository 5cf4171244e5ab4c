// A transform turns one Checkpoint into another. It does no I/O and touches no tensor bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"

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
  // The small files of a folder that an option names; its weights need not be there.
  std::function<Result<std::vector<Document>>(const std::filesystem::path&)> documents = {};

  void note(std::string text) const {
    if (notes != nullptr) notes->push_back(std::move(text));
  }
};

// What a transform may change at most. Documents: nothing of the tensors, so that a folder's weight
// files need not be opened. Names: names, order and number of tensors, never a byte of their
// values.
enum class Touches : uint8_t { kDocuments, kNames, kValues };

struct Transform {
  std::string_view name, help;
  std::span<const OptionRule> options;
  Result<Checkpoint> (*apply)(Checkpoint, const Options&, const Context&);
  Touches touches = Touches::kValues;

  // As people say it: "metadata" steps are cheap and safe in place, "payload" steps rewrite
  // weights.
  std::string_view effect() const { return touches == Touches::kValues ? "payload" : "metadata"; }
};

using Transforms = std::span<const Transform* const>;

// Shell-style glob over a whole name: * any run, ? one character, [abc] a set. Case-sensitive.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace ckpt
