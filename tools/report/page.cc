#include "tools/report/page.h"

#include "core/base/result.h"
#include "tools/report/report_page.h"

namespace ckpt {

std::string report_page(std::string_view json) {
  constexpr std::string_view kPlace = "/*DATA*/null";
  const size_t at = kReportPage.find(kPlace);
  CKPT_CHECK(at != kReportPage.npos);
  std::string out(kReportPage.substr(0, at));
  for (const char c : json) {
    if (c == '<') {  // "</script>" and "<!--" mean something there
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += kReportPage.substr(at + kPlace.size());
  return out;
}

}  // namespace ckpt
