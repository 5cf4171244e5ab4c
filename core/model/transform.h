// A transform turns a Checkpoint into another one: a description into a description. If it depends
// on values (a scale, the distance of a layer from its base), it reads them with read_values
// (checkpoint.h) or core/chunks/evaluate.h, which are both bounded. Its Context opens files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/counted.h"
#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"
#include "core/model/low_rank.h"
#include "core/model/step_options.h"

namespace ckpt {

// The input of a transform in addition to the checkpoint.
struct Context {
  Codecs codecs;
  const Imatrix* imatrix = nullptr;
  std::vector<std::string>* notes = nullptr;  // messages for the user; may be null
  // Opens another checkpoint that an option names: headers and documents only.
  std::function<Result<Checkpoint>(const std::filesystem::path&)> open = {};
  // Reads the small files of a folder that an option names; its weights need not exist.
  std::function<Result<std::vector<Document>>(const std::filesystem::path&)> documents = {};
  // Reads the text of a file that an option names, at most `limit_bytes`.
  std::function<Result<std::string>(const std::filesystem::path&, uint64_t limit_bytes)> file_text =
      {};

  LowRankProduct low_rank = nullptr;

  // The plan is only shown, not executed, so unmet requirements of execution may become notes.
  bool is_only_shown = false;

  void note(std::string text) const {
    if (notes != nullptr) notes->push_back(std::move(text));
  }
  template <class... Args>
  requires(sizeof...(Args) > 0) void note(fmt::format_string<Args...> format,
                                          Args&&... args) const {
    note(fmt::format(format, std::forward<Args>(args)...));
  }
  // Adds the note "BEFORE 3 WORDS (the first: 'x')", if any names were counted.
  void note(const NameCount& names, std::string_view words, std::string_view before = "") const {
    if (names.count() > 0) note(std::string(before) + names.text(words));
  }
  // Returns a copy without notes, for work of which only the result matters.
  Context quiet() const {
    Context out = *this;
    out.notes = nullptr;
    return out;
  }
};

// The largest change that a transform may make. kDocuments: no tensors, so weight files need not be
// opened. kNames: names, order and number of tensors, but not the bytes of their values.
enum class ChangeScope : uint8_t { kDocuments, kNames, kValues };

struct Transform {
  std::string_view name, help;
  OptionRules options;
  Result<Checkpoint> (*run)(Checkpoint, const OptionValues&, const Context&);
  ChangeScope touches = ChangeScope::kValues;

  // Fails: kUsage, as OptionValues::read; as the step itself.
  Result<Checkpoint> apply(Checkpoint checkpoint, const Options& given,
                           const Context& context) const;

  // The word for users: "metadata" steps are fast and safe in place, "payload" steps rewrite
  // weights.
  std::string_view effect() const {
    return touches == ChangeScope::kValues ? "payload" : "metadata";
  }
};

using Transforms = std::span<const Transform* const>;

// Fails: kUsage, naming the step, if the checkpoint is not in the safetensors format.
Status expect_safetensors(const Checkpoint& checkpoint, std::string_view step);

// Matches a case-sensitive glob with an entire name: * any run, ? one character, [abc] a set.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace ckpt
