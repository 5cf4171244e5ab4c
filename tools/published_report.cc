#include "tools/published_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/io/folder.h"
#include "tools/published_files.h"
#include "tools/report/data.h"
#include "tools/report/page.h"
#include "tools/targets.h"

namespace ckpt {

bool has_published_report(const std::filesystem::path& folder) {
  constexpr uint64_t kMaxPageBytes = uint64_t{64} << 20;
  const std::filesystem::path path = folder / kReportName;
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::regular) {
    return false;
  }
  const auto text = read_small(path, kMaxPageBytes);
  return text && text->find(kReportMark) != text->npos;
}

Status check_published_report(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kReportName;
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  CKPT_TRY(refuse_link_at(path));
  if (has_published_report(folder)) return {};
  return fail_with_hint(ErrorCode::kUsage, fmt::format("mv {} ..", shell_path(path.string())),
                        "{}: is no report of ckpt, and --report would replace it", path.string());
}

Result<std::string> published_report(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files, bool is_signed,
                                     const Console& console, const CommonOptions& common) {
  ReportQuestion question;
  question.paths = {folder};
  CKPT_ASSIGN(Json data, report_data(question, console, common));
  Json list = Json::array();
  uint64_t size_bytes = 0;
  std::vector<FileDigest> sorted = files;
  std::sort(sorted.begin(), sorted.end(),
            [](const FileDigest& a, const FileDigest& b) { return a.name < b.name; });
  for (const FileDigest& file : sorted) {
    // Written after the page, or the page itself.
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
