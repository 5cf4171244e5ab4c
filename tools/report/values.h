// The parts of a report that need the values of two checkpoints.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/value_chunks.h"
#include "tools/report/cells.h"
#include "tools/say/console.h"

namespace ckpt {

struct WorstTensor {
  std::string name;
  std::optional<size_t> cell;  // nullopt where names were changed for the comparison
  uint64_t weights = 0;
  ValueDifference difference;
  ValueHistograms histograms;
  HistogramLimits limits;
};

struct ReportedValues {
  uint64_t compared = 0, not_compared = 0;  // tensors
  ValueDifference total;
  std::vector<WorstTensor> worst;  // by relative error, at most 20; none that is the same
};

// Reads the values of both, `base` being what `checkpoint` is measured against, and adds those of
// each tensor to its cell. Fails: as value_sides and compare_values.
Result<ReportedValues> report_values(const Checkpoint& base, const Checkpoint& checkpoint,
                                     Cells& cells, const Console& console,
                                     const CommonOptions& common);

}  // namespace ckpt
