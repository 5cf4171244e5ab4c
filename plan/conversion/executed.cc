// Executes a planned conversion. The engine knows neither IN nor the Hub, so this code puts IN in
// front of errors of the data and records the source URLs of finished files.
#include "core/engine/execute.h"
#include "core/io/remembered.h"
#include "plan/conversion/pipeline.h"

namespace ckpt {

Result<ExecuteReport> execute_planned(const PlannedConversion& planned,
                                      const Conversion& conversion, const ExecuteOptions& options) {
  const bool is_share = options.resume.share_count > 0;
  auto report = is_share ? execute_share(planned.plan, options) : execute(planned.plan, options);
  if (!report) {
    const ErrorCode code = report.error().code;
    const bool is_of_input = code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported;
    return Failure(is_of_input ? in_input(std::move(report.error()), conversion.in)
                               : std::move(report.error()));
  }
  if (report->was_made || report->is_ended_elsewhere) return report;
  for (const FileReport& file : report->files) {
    remember_sources(file.path, file.sha256, planned.hub_inputs);
  }
  return report;
}

}  // namespace ckpt
