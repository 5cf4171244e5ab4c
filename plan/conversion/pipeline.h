// Plans a conversion: reads IN, applies the steps that are needed, and lays out OUT.
#pragma once

#include <string>
#include <vector>

#include "core/model/imatrix.h"
#include "core/model/plan.h"
#include "core/model/transform.h"
#include "core/outputs/execute_options.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

// A weight of an output into which adapters were merged.
struct MergedWeight {
  std::string out, tensor;
  const Codec* codec;      // the type that it is stored in
  double kept;             // share of the adapter's change that is left
  bool is_below_rounding;  // rounding exceeds the adapter's change, or undoes half of it
};

struct PlannedConversion {
  Plan plan;
  std::vector<std::string> notes;       // notes for the user
  std::vector<MergedWeight> merged;     // weights changed by --step lora
  std::vector<OutputVerdict> verdicts;  // of --for, per folder and profile
  std::vector<std::string> hub_inputs;  // URLs with the commit that was read
};

// The input, read once for any number of plans with the same IN and importance matrix.
struct ConversionInput {
  Checkpoint checkpoint;
  Imatrix imatrix;
  std::vector<std::string> notes = {};  // about reading
};

// Both fail: kUsage, kCorrupt, kUnsupported, kIo; nothing is written.
Result<ConversionInput> read_input(const Conversion& conversion);
Result<PlannedConversion> plan_conversion(const Conversion& conversion, ConversionInput input);
Result<PlannedConversion> plan_conversion(const Conversion& conversion);

// Executes the plan or the share in `options`, and records the URLs that files were made from.
// Fails: as execute() and execute_share(); IN precedes errors of the data.
Result<ExecuteReport> execute_planned(const PlannedConversion& planned,
                                      const Conversion& conversion, const ExecuteOptions& options);

// Puts `input` in front of the error, unless it already begins with it or with a file in it.
Error in_input(Error error, const std::filesystem::path& input);

// Measures merged weights that consist of rows of the base. Fails: kIo, kCorrupt, as reading.
Result<std::vector<MergedWeight>> measure_merged(const Output& output);

// A note on quantized weights, and on floats if the change is below their rounding; else "".
std::string note_of(const std::vector<MergedWeight>& merged);

// A note on weights that NVFP4 rounds too coarsely, or "". Fails: kIo, kCorrupt, as reading.
Result<std::string> note_of_small_values(const Output& output);

}  // namespace ckpt
