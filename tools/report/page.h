// The HTML page of a report: report/page.html with the data inserted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

// One ASCII HTML file made of report/page.html with its styles and scripts (docs/REPORT.md). It
// contains `/*DATA*/null` once, in place of which the report's JSON goes, with each `<` as \u003c.
extern const std::string_view kReportPage;

// Returns the page with `json` inserted so that nothing in it can end the script element.
std::string report_page(std::string_view json);

// Returns report.html for a published folder, as ckpt report makes it, using known digests. The
// page describes `folder` with its `files`, next to which sums and, if `is_signed`, a signature are
// written. Fails: as report_data.
Result<std::string> published_report(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files, bool is_signed,
                                     const Console& console, const CommonOptions& common);

}  // namespace ckpt
