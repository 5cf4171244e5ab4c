// report.html of a folder that is published: what ckpt report shows, with the digests at hand.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "publish/publish.h"
#include "tools/console.h"

namespace ckpt {

inline constexpr std::string_view kReportName = "report.html";

// Whether `folder` has a file of that name, no link, that ckpt report has made.
bool has_published_report(const std::filesystem::path& folder);

// Requires that `folder` has no file of that name, or a report. Fails: kUsage; kIo.
Status check_published_report(const std::filesystem::path& folder);

// The page of `folder`, whose files are `files`; sums are written beside it, and where `is_signed`
// a signature. Fails: as report_data.
Result<std::string> published_report(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files, bool is_signed,
                                     const Console& console, const CommonOptions& common);

}  // namespace ckpt
