// From words to a plan: reads IN, applies the steps that a conversion needs, lays OUT out.
#pragma once

#include <string>
#include <vector>

#include "core/model/plan.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

struct PlannedConversion {
  Plan plan;
  std::string in_format;
  std::vector<std::string> notes;       // things a person should know
  std::vector<OutputVerdict> verdicts;  // of --for, for each folder and profile
};

// Fails: kUsage, kCorrupt, kUnsupported, kIo; nothing was written.
Result<PlannedConversion> plan_conversion(const Conversion& conversion);

// `error` with the input in front, unless it begins with it or with a file in it.
Error in_input(Error error, const std::filesystem::path& input);

}  // namespace ckpt
