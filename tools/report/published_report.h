// report.html of a folder that is published: what ckpt report shows, with the digests at hand.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

// The page of `folder`, whose files are `files`; sums are written next to it, and where `is_signed`
// a signature. Fails: as report_data.
Result<std::string> published_report(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files, bool is_signed,
                                     const Console& console, const CommonOptions& common);

}  // namespace ckpt
