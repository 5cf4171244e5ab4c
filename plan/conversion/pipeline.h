// From words to a plan: reads IN, applies the steps that a conversion needs, lays OUT out.
#pragma once

#include <string>
#include <vector>

#include "core/model/imatrix.h"
#include "core/model/plan.h"
#include "core/model/transform.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/kept_shares.h"

namespace ckpt {

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
};

// Both fail: kUsage, kCorrupt, kUnsupported, kIo; nothing was written.
Result<ConversionInput> read_input(const Conversion& conversion);
Result<PlannedConversion> plan_conversion(const Conversion& conversion, ConversionInput input);
Result<PlannedConversion> plan_conversion(const Conversion& conversion);

// `error` with the input in front, unless it begins with it or with a file in it.
Error in_input(Error error, const std::filesystem::path& input);

}  // namespace ckpt
