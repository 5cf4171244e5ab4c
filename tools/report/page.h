// The page that a report is: report/page.html with its data.
#pragma once

#include <string>
#include <string_view>

namespace ckpt {

// `json` is in a script element of the page, where nothing ends it early.
std::string report_page(std::string_view json);

}  // namespace ckpt
