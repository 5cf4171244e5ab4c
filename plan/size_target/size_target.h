// convert --target-size and --target-bits: a type for each tensor, so that OUT has at most that
// size and the lowest error (docs/TARGETS.md). For a GGUF:
//
//   plans as q8_0 and q4_0 ──▶ tensors whose type is free, what all else takes
//   their values, sampled ──▶ error of each type (measured_file.h) ──▶ choice (choice.h)
//   ──▶ the conversion with --to MIXTURE and a --tensor-type for each
//
// Of a folder: plans as nvfp4 ──▶ layers, those that servers join taken together ──▶ the conversion
// with --fp8 and --keep for those that are to be FP8 and to stay (folder_target.h).
//
// The result is a conversion that a user could type: planning and execution do not know targets.
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
  uint64_t size_bytes = 0;  // of all files of OUT together; or
  double bits = 0;          // of a weight, in the tensors whose type is free

  bool is_of_bits() const { return size_bytes == 0; }
  // The bytes left for so many weights after `fixed_bytes`; 0 where those are too many already.
  uint64_t room(uint64_t weights, uint64_t fixed_bytes) const;
  // "24000 bytes (23.4 KiB)", or "4.600 bits", in these words for bits.
  std::string words_for(uint64_t bytes, uint64_t weights, std::string_view bits_words) const;
};

// nullopt if none was requested. Fails: kUsage: both, not a size, not a number of bits, or another
// option that sets types.
Result<std::optional<SizeTarget>> read_size_target(const Conversion& conversion);

struct ChosenTensor {
  std::string name, role, type;
  uint64_t weights, size_bytes;
  double error;
};
struct ChosenTypes {
  std::vector<ChosenTensor> tensors;  // in the order of the file
  // The largest mixture of llama-quantize that fits, or "" for none; for a folder the type of all
  // layers.
  std::string mixture;
  // For a folder: as ModelOpt counts them; and the keys "fp8" and "keep" of a recipe, with globs.
  std::optional<double> effective_bits;
  Options globs;
  std::optional<double> against;  // cost, as a part of that mixture's
  uint64_t mixture_bytes = 0, out_bytes = 0;
  bool is_mixture = false;   // it was taken, because the gain was not clear
  bool keeps_floors = true;  // choice.h
  std::string note;          // what else a person should know; or ""
};

// `conversion` with types and without the target. Fails: kUsage: a target that is too small, with
// the possible sizes; no tensor to choose a type for; as plan_conversion, measure_types.
Result<std::pair<Conversion, ChosenTypes>> with_chosen_types(const Conversion& conversion,
                                                             const SizeTarget& target,
                                                             Observer& observer, unsigned threads);

// A target becomes types, as if they had been typed. Returns what was chosen; nullopt without a
// target. `is_written`: OUT must be new, or `conversion.force` replaces it. Fails: as recognize(),
// read_size_target() and the choice; kUsage: OUT exists, or is the cache.
using ChosenTarget = std::optional<std::pair<SizeTarget, ChosenTypes>>;
Result<ChosenTarget> resolve_target(Conversion& conversion, bool is_written, Observer& observer,
                                    unsigned threads);

}  // namespace ckpt
