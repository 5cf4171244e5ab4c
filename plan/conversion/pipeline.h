// From words to a plan: reads IN, applies the steps that a conversion needs, lays OUT out.
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
  const Codec* codec;      // that it is stored in
  double kept;             // share of the change that is left in it
  bool is_below_rounding;  // the error of storing the weight exceeds the change, or undoes half
};

struct PlannedConversion {
  Plan plan;
  std::vector<std::string> notes;       // things a person should know
  std::vector<MergedWeight> merged;     // by --step lora
  std::vector<OutputVerdict> verdicts;  // of --for, for each folder and profile
  std::vector<std::string> hub_inputs;  // URLs, each with the commit that is read
};

// Read once for any number of plans of the same IN and importance matrix.
struct ConversionInput {
  Checkpoint checkpoint;
  Imatrix imatrix;
  std::vector<std::string> notes = {};  // about reading
};

// Both fail: kUsage, kCorrupt, kUnsupported, kIo; nothing was written.
Result<ConversionInput> read_input(const Conversion& conversion);
Result<PlannedConversion> plan_conversion(const Conversion& conversion, ConversionInput input);
Result<PlannedConversion> plan_conversion(const Conversion& conversion);

// Executes the plan, or the share that `options` name; the files get the URLs they were made from.
// Fails: as execute() and execute_share(), an error of the data with IN in front.
Result<ExecuteReport> execute_planned(const PlannedConversion& planned,
                                      const Conversion& conversion, const ExecuteOptions& options);

// `error` with the input in front, unless it begins with it or with a file in it.
Error in_input(Error error, const std::filesystem::path& input);

// Of those whose values come from rows of the base. Fails: kIo, kCorrupt, as reading them.
Result<std::vector<MergedWeight>> measure_merged(const Output& output);

// About quantized weights, and about floats if the change is below their rounding; else empty.
std::string note_of(const std::vector<MergedWeight>& merged);

// Empty if no weight lost much. Fails: kIo, kCorrupt, as reading them.
Result<std::string> note_of_small_values(const Output& output);

}  // namespace ckpt
