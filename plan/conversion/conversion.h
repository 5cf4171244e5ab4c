// A conversion as requested by a command line, a recipe, a plan file or a program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/findings.h"
#include "plan/conversion/steps.h"

namespace ckpt {

// An option as it was given, by its long name without dashes.
struct GivenOption {
  std::string name;
  std::string value;  // "" for a flag
  bool is_from_recipe = false;
};

// One more output from the same reading: OUT2=TYPE2.
struct AlsoOutput {
  std::filesystem::path out;
  std::string to;
};

struct Conversion {
  std::filesystem::path in, out;
  std::string to;                  // a type; empty: keep the types
  std::vector<std::string> steps;  // "name:key=value,key=value"
  std::vector<Step> recipe_steps;  // those of a recipe, when none were typed
  // Options of the steps that are added, by the names of their flags (option_table.h) and in the
  // order they were given: of --keep and --tensor-type the last match wins. "yes" for one without a
  // value.
  Options flags;
  std::string imatrix;              // a file
  std::string imatrix_name;         // what a GGUF calls it; empty: as `imatrix` does
  bool is_beside_export = false;    // another output is quantized by that step
  bool is_beside_folder = false;    // OUT, which --for is about, is a folder and not this
  std::filesystem::path tokenizer;  // a folder to take the tokenizer from
  std::vector<AlsoOutput> also;
  std::filesystem::path mmproj;       // a file for the projector, made from the same reading
  bool mmproj_only = false;           // OUT is the projector
  std::vector<std::string> profiles;  // OUT gets the fixes that these ask for
  std::string base;                   // the unquantized model's folder, for fixes that need it
  bool allow_nonfinite = false;       // for the execution of the plan
  // Largest file of a folder, and largest .gguf file; 0 = as the format does. If all outputs are of
  // one kind, either number serves.
  uint64_t shard_bytes = 0, split_bytes = 0;
  uint64_t split_tensors = 0;         // most tensors of a .gguf file; 0 = any number
  uint64_t header_slack_bytes = 0;
  // The target that types are chosen for before planning (size_target/size_target.h).
  std::string target_size, target_bits;
  std::filesystem::path target_cache;  // measured errors, saved for the next run
  std::string sensitivity;  // a file with the weight of each tensor in that choice
  bool force = false;
  bool if_needed = false;  // do nothing if OUT already is the result
  bool is_only_shown = false;  // --dry-run
  ReadOptions reading;         // of IN and of everything else that is read
  // Options typed or set by a recipe, in order: each must have an effect (added_steps.h). Empty
  // for a conversion that a program made.
  std::vector<GivenOption> given;
};

// Whether a program that --for names will load an output, and compute the right results.
struct OutputVerdict {
  std::filesystem::path out;
  Verdict verdict;
  bool is_good() const { return verdict.loads && verdict.sound; }
};

}  // namespace ckpt
