// The page that a report is: report/page.html with its data.
#pragma once

#include <string>
#include <string_view>

namespace ckpt {

// What every report of ckpt holds, so that an older one is known for what it is.
inline constexpr std::string_view kReportMark = "<meta name=\"generator\" content=\"ckpt report\">";

// `json` stands in a script element of the page, where nothing ends it early.
std::string report_page(std::string_view json);

}  // namespace ckpt
