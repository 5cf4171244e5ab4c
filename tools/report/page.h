// The page that a report is: report/page.html with its data.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

// One HTML file, ASCII, of report/page.html with its styles and scripts (docs/REPORT.md).
// `/*DATA*/null` is in it once, for the JSON of the report with every `<` written as \u003c.
extern const std::string_view kReportPage;

// `json` is in a script element of the page, where nothing ends it early.
std::string report_page(std::string_view json);

// report.html of a folder that is published: what ckpt report shows, with the digests at hand.
// The page of `folder`, whose files are `files`; sums are written next to it, and where `is_signed`
// a signature. Fails: as report_data.
Result<std::string> published_report(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files, bool is_signed,
                                     const Console& console, const CommonOptions& common);

}  // namespace ckpt
