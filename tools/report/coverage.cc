#include "tools/report/coverage.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "plan/conversion/imatrix_fit.h"

namespace ckpt {

Result<Json> report_coverage(const ImatrixSums& imatrix, const Checkpoint& checkpoint,
                             const Cells& cells) {
  CKPT_ASSIGN(const ImatrixFit fit, in(imatrix.file, fit_imatrix(checkpoint, imatrix)));
  if (fit.entries.empty() || !fit.wrong.empty()) {
    return fail_with_hint(
        ErrorCode::kUsage, "ckpt imatrix show " + shell_path(imatrix.file),
        "{}: not of this model: {}", imatrix.file,
        fit.wrong.empty() ? fmt::format("it has no tensor '{}'", fit.unknown[0]) : fit.wrong[0]);
  }
  Json entries = Json::array();
  for (const FittedEntry& each : fit.entries) {
    const TensorPlace place = place_of(each.name);
    const auto role = std::find(cells.roles.begin(), cells.roles.end(), place.role);
    // A legacy file has one count, which is of no expert.
    if (role == cells.roles.end() || imatrix.is_legacy) continue;
    entries.push_back({{"role", role - cells.roles.begin()},
                       {"layer", place.layer ? Json(*place.layer) : Json()},
                       {"experts", each.entry->counts}});
  }
  return Json{{"file", imatrix.file},          {"kind", imatrix.is_legacy ? "legacy" : "gguf"},
              {"chunks", imatrix.chunk_count}, {"datasets", imatrix.datasets},
              {"entries", std::move(entries)}, {"missing", fit.missing},
              {"unknown", fit.unknown}};
}

}  // namespace ckpt
