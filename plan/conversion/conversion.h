// A conversion as requested by a command line, a recipe, a plan file or a program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/findings.h"
#include "plan/conversion/steps.h"

namespace ckpt {

// An option that was given, with its long name without dashes.
struct GivenOption {
  std::string name;
  std::string value;  // "" for a flag
  bool is_from_recipe = false;
};

// A further output that is made while reading IN once: OUT2=TYPE2.
struct AlsoOutput {
  std::filesystem::path out;
  std::string to;
};

struct Conversion {
  std::filesystem::path in, out;
  std::string to;                  // a type; empty: keep the types
  std::string weights;             // of a trainer's checkpoint: "model", "master"; empty: usual
  std::vector<std::string> steps;  // "name:key=value,key=value"
  std::vector<Step> recipe_steps;  // steps of a recipe, if none were typed
  // Options of the added steps, by the names of their flags (option_table.h) and in the given
  // order: for --keep and --tensor-type the last match wins. "yes" stands for a flag without a
  // value.
  Options flags;
  std::string imatrix;              // path of a file
  std::string imatrix_name;         // name to record in a GGUF; empty: `imatrix`
  bool is_beside_export = false;    // the export step quantizes another output
  bool is_beside_folder = false;    // OUT, to which --for applies, is a folder
  std::filesystem::path tokenizer;  // a folder to take the tokenizer from
  std::vector<AlsoOutput> also;
  std::filesystem::path mmproj;       // path of the projector, made in the same run
  bool mmproj_only = false;           // OUT is the projector
  std::vector<std::string> profiles;  // programs that OUT is fixed for
  std::string base;                   // the unquantized model's folder, for fixes that need it
  bool allow_nonfinite = false;       // applies when the plan is executed
  // The largest file of a folder and the largest .gguf file; 0 means the format's default,
  // kAutoFileBytes equal files. If all outputs are of one kind, either number applies.
  uint64_t shard_bytes = 0, split_bytes = 0;
  uint64_t split_tensors = 0;         // most tensors in one .gguf file; 0 means no limit
  uint64_t header_slack_bytes = 0;
  // A target for which types are chosen before planning (size_target/size_target.h).
  std::string target_size, target_bits;
  std::filesystem::path target_cache;  // file that keeps measured errors for the next run
  std::string sensitivity;  // a file with the weight of each tensor in that choice
  bool force = false;
  bool if_needed = false;  // do nothing if OUT is up to date
  bool is_only_shown = false;  // --dry-run
  ReadOptions reading;         // for IN and all other inputs
  // Options that were typed or set by a recipe, in order. Each must have an effect (added_steps.h).
  // Empty if a program made the conversion.
  std::vector<GivenOption> given;
};

// Whether a program of --for will load an output and compute correct results.
struct OutputVerdict {
  std::filesystem::path out;
  Verdict verdict;
  bool is_good() const { return verdict.loads && verdict.sound; }
};

}  // namespace ckpt
