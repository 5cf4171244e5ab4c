#include "tools/report/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "plan/conversion/targets.h"
#include "tools/report/data.h"

namespace ckpt {

std::string report_page(std::string_view json) {
  constexpr std::string_view kPlace = "/*DATA*/null";
  const size_t at = kReportPage.find(kPlace);
  CKPT_CHECK(at != kReportPage.npos);
  std::string out(kReportPage.substr(0, at));
  for (const char c : json) {
    if (c == '<') {  // "</script>" and "<!--" have a meaning there
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += kReportPage.substr(at + kPlace.size());
  return out;
}

Result<std::string> published_report(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files, bool is_signed,
                                     const Console& console, const CommonOptions& common) {
  ReportQuestion question;
  question.paths = {folder.string()};
  question.is_published = true;
  CKPT_ASSIGN(Json data, report_data(question, console, common));
  Json list = Json::array();
  uint64_t size_bytes = 0;
  std::vector<FileDigest> sorted = files;
  std::ranges::sort(sorted, {}, &FileDigest::name);
  for (const FileDigest& file : sorted) {
    // The report itself, and provenance.json, which is written after it.
    if (file.name == kReportName || file.name == kProvenanceName) continue;
    list.push_back({{"name", file.name}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
    size_bytes += file.size_bytes;
  }
  Json& one = data["checkpoints"][0];
  one["files"] = std::move(list);
  one["size_bytes"] = size_bytes;
  one["published"] = {{"sums", true},
                      {"signature", is_signed ? Json(kSignatureName) : Json()},
                      {"provenance", nullptr}};
  return report_page(data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace ckpt
