// A transform turns one Checkpoint into another: a description into a description. What it must
// know of values (a scale, how far a layer is from its base) it asks for by read_values
// (checkpoint.h) and by core/chunks/evaluate.h, both bounded; its Context opens files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"
#include "core/model/low_rank.h"
#include "core/model/step_options.h"

namespace ckpt {

// A weight that was decoded, and that an adapter was merged into.
struct MergedWeight {
  std::string tensor, codec;  // the one that it was decoded from
  double kept;                // part of what was added that is left when it is encoded so again
  bool is_below_rounding;     // what was added is smaller than the error of encoding
};

// Input of a transform in addition to the checkpoint.
struct Context {
  Codecs codecs;
  const Imatrix* imatrix = nullptr;
  std::vector<std::string>* notes = nullptr;  // things a person should know; may be null
  // Opens another checkpoint that an option names; headers and documents only.
  std::function<Result<Checkpoint>(const std::filesystem::path&)> open = {};
  // The small files of a folder that an option names; its weights need not be there.
  std::function<Result<std::vector<Document>>(const std::filesystem::path&)> documents = {};
  // The text of a file that an option names, of at most `limit_bytes`.
  std::function<Result<std::string>(const std::filesystem::path&, uint64_t limit_bytes)> file_text =
      {};

  LowRankProduct low_rank = nullptr;

  // The plan is shown and not carried out, so what only its execution lacks may be a note.
  bool is_only_shown = false;

  std::vector<MergedWeight>* merged = nullptr;  // may be null

  void note(std::string text) const {
    if (notes != nullptr) notes->push_back(std::move(text));
  }
};

// The most that a transform may change. Documents: no tensors, so that a folder's weight
// files need not be opened. Names: names, order and number of tensors, never a byte of their
// values.
enum class Touches : uint8_t { kDocuments, kNames, kValues };

struct Transform {
  std::string_view name, help;
  OptionRules options;
  Result<Checkpoint> (*run)(Checkpoint, const OptionValues&, const Context&);
  Touches touches = Touches::kValues;

  // Fails: kUsage, as OptionValues::read; as the step.
  Result<Checkpoint> apply(Checkpoint checkpoint, const Options& given,
                           const Context& context) const;

  // As people say it: "metadata" steps are cheap and safe in place, "payload" steps rewrite
  // weights.
  std::string_view effect() const { return touches == Touches::kValues ? "payload" : "metadata"; }
};

using Transforms = std::span<const Transform* const>;

// Shell-style glob over a whole name: * any run, ? one character, [abc] a set. Case-sensitive.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace ckpt
