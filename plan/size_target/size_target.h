// convert --target-size and --target-bits: chooses a type for each tensor, so that OUT has at most
// that size and the lowest error (docs/TARGETS.md). For a GGUF:
//
//   plans as q8_0 and q4_0 ──▶ tensors whose type is free, size of everything else
//   their values, sampled ──▶ error of each type (measured_file.h) ──▶ choice (choice.h)
//   ──▶ the conversion with --to MIXTURE and a --tensor-type for each tensor
//
// For a folder: plan as nvfp4 ──▶ layers, grouped as servers join them ──▶ the conversion with
// --fp8 and --keep for the layers that become FP8 or stay (folder_target.h).
//
// The result is a conversion that a user could type; planning and execution know no targets.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/conversion/observer.h"
#include "plan/conversion/pipeline.h"

namespace ckpt {

struct SizeTarget {
  std::string text;         // as typed, with the option: "--target-size 24GB"
  uint64_t size_bytes = 0;  // limit for all files of OUT together; or
  double bits = 0;          // limit per weight, over tensors of free type

  bool is_of_bits() const { return size_bytes == 0; }
  // The bytes left for `weights` weights after `fixed_bytes`; 0 if those already exceed the target.
  uint64_t room(uint64_t weights, uint64_t fixed_bytes) const;
  // Returns "24000 bytes (23.4 KiB)" or, for a target in bits, "4.600 " and `bits_words`.
  std::string words_for(uint64_t bytes, uint64_t weights, std::string_view bits_words) const;
};

// Returns nullopt if no target was requested. Fails: kUsage: both targets, an invalid size or
// number of bits, or another option that sets types.
Result<std::optional<SizeTarget>> read_size_target(const Conversion& conversion);

struct ChosenTensor {
  std::string name, role, type;
  uint64_t weights, size_bytes;
  double error;
};
struct ChosenTypes {
  std::vector<ChosenTensor> tensors;  // in the order of the file
  // The largest mixture of llama-quantize that fits, or ""; for a folder, the type of all layers.
  std::string mixture;
  // For a folder: bits as ModelOpt counts them, and the keys "fp8" and "keep" of a recipe.
  std::optional<double> effective_bits;
  Options globs;
  std::optional<double> against;  // cost relative to that mixture
  uint64_t mixture_bytes = 0, out_bytes = 0;
  bool is_mixture = false;   // the mixture was used: the gain was not clear
  bool keeps_floors = true;  // choice.h
  std::string note;          // a further note for the user, or ""
};

// Returns `conversion` with types and without the target. Fails: kUsage: the target is too small
// (names the possible sizes); no tensor has a free type; as plan_conversion, measure_types.
Result<std::pair<Conversion, ChosenTypes>> with_chosen_types(const Conversion& conversion,
                                                             const SizeTarget& target,
                                                             Observer& observer, unsigned threads);

// Replaces a target in `conversion` by types, as if they had been typed. Returns the choice;
// nullopt without a target. `is_written`: OUT must be new, or `conversion.force` replaces it.
// Fails: as recognize(), read_size_target() and the choice; kUsage: OUT exists, or is the cache.
using ChosenTarget = std::optional<std::pair<SizeTarget, ChosenTypes>>;
Result<ChosenTarget> resolve_target(Conversion& conversion, bool is_written, Observer& observer,
                                    unsigned threads);

}  // namespace ckpt
