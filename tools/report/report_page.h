// The page that `ckpt report` fills (report/page.html with its styles and scripts, docs/REPORT.md).
#pragma once

#include <string_view>

namespace ckpt {

// One HTML file, ASCII. `/*DATA*/null` is in it once, for the JSON of the report with every `<`
// written as \u003c.
extern const std::string_view kReportPage;

}  // namespace ckpt
