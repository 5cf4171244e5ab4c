// A transform turns one Checkpoint into another: a description into a description. If it depends on
// values (a scale, the distance of a layer from its base), it reads them with read_values
// (checkpoint.h) or core/chunks/evaluate.h, which are both bounded; its Context opens files.
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

// Input of a transform in addition to the checkpoint.
struct Context {
  Codecs codecs;
  const Imatrix* imatrix = nullptr;
  std::vector<std::string>* notes = nullptr;  // things a person should know; may be null
  // Opens another checkpoint that an option names; headers and documents only.
  std::function<Result<Checkpoint>(const std::filesystem::path&)> open = {};
  // The small files of a folder that an option names; its weights need not exist.
  std::function<Result<std::vector<Document>>(const std::filesystem::path&)> documents = {};
  // The text of a file that an option names, of at most `limit_bytes`.
  std::function<Result<std::string>(const std::filesystem::path&, uint64_t limit_bytes)> file_text =
      {};

  LowRankProduct low_rank = nullptr;

  // The plan is only shown, not executed, so requirements of the execution may be notes.
  bool is_only_shown = false;

  void note(std::string text) const {
    if (notes != nullptr) notes->push_back(std::move(text));
  }
  template <class... Args>
  requires(sizeof...(Args) > 0) void note(fmt::format_string<Args...> format,
                                          Args&&... args) const {
    note(fmt::format(format, std::forward<Args>(args)...));
  }
  // "BEFORE 3 WORDS (the first: 'x')" of those that were counted, if any were.
  void note(const NameCount& names, std::string_view words, std::string_view before = "") const {
    if (names.count() > 0) note(std::string(before) + names.text(words));
  }
  // The same without notes: for work whose result alone counts.
  Context quiet() const {
    Context out = *this;
    out.notes = nullptr;
    return out;
  }
};

// The most that a transform may change. Documents: no tensors, so a folder's weight files need not
// be opened. Names: names, order and number of tensors, but not the bytes of their values.
enum class ChangeScope : uint8_t { kDocuments, kNames, kValues };

struct Transform {
  std::string_view name, help;
  OptionRules options;
  Result<Checkpoint> (*run)(Checkpoint, const OptionValues&, const Context&);
  ChangeScope touches = ChangeScope::kValues;

  // Fails: kUsage, as OptionValues::read; as the step.
  Result<Checkpoint> apply(Checkpoint checkpoint, const Options& given,
                           const Context& context) const;

  // The word for users: "metadata" steps are fast and safe in place, "payload" steps rewrite
  // weights.
  std::string_view effect() const {
    return touches == ChangeScope::kValues ? "payload" : "metadata";
  }
};

using Transforms = std::span<const Transform* const>;

// Fails: kUsage, naming the step: the checkpoint is not of safetensors.
Status expect_safetensors(const Checkpoint& checkpoint, std::string_view step);

// Shell-style glob over a whole name: * any run, ? one character, [abc] a set. Case-sensitive.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace ckpt
