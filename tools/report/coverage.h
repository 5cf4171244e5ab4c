// Statistics of an importance matrix for a checkpoint, in a report.
#pragma once

#include "core/model/imatrix.h"
#include "tools/report/cells.h"
#include "tools/say/console.h"

namespace ckpt {

// {"file", "kind", "chunks", "datasets", "entries": [{"role", "layer", "experts"}], "missing",
// "unknown"}. Fails: kUsage where it is not of this model: no name or a size does not fit; as
// fit_imatrix.
Result<Json> report_coverage(const ImatrixSums& imatrix, const Checkpoint& checkpoint,
                             const Cells& cells);

}  // namespace ckpt
