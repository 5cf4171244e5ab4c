// Shared by the pipeline tests: a conversion from words to files.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/engine/execute.h"
#include "plan/conversion/pipeline.h"
#include "tests/support/files.h"

namespace ckpt {

// Plans and carries out.
inline Result<ExecuteReport> run(const Conversion& conversion, const ExecuteOptions& options = {}) {
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  ExecuteOptions with_force = options;
  with_force.force = conversion.force;
  return execute(planned.plan, with_force);
}

// The SHA-256 of the only file that a conversion makes; the error's text when it fails.
inline std::string digest_of(const Conversion& conversion, const ExecuteOptions& options = {}) {
  const auto report = run(conversion, options);
  if (!report) return report.error().text();
  return report->files.size() == 1 ? report->files[0].sha256 : "several files";
}

inline std::string error_of(const Conversion& conversion, const ExecuteOptions& options = {}) {
  const auto report = run(conversion, options);
  return report ? "no error" : report.error().text();
}

}  // namespace ckpt
