// Checks single output files: an existing file is examined before it is replaced.
#include <algorithm>
#include <set>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/json/json_edit.h"
#include "core/model/document_names.h"
#include "core/resume/unfinished.h"
#include "formats/formats.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/targets.h"
#include "publish/publish.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxPlanFileBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxReportBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxCardBytes = uint64_t{32} << 20;
constexpr uint64_t kMaxRecordBytes = uint64_t{256} << 20;

bool is_record(std::string_view name, const std::string& text) {
  if (name == kSumsName) return parse_sha256sums(text).has_value();
  if (name == kSignatureName) return parse_bundle(text).has_value();
  const auto json = JsonText::parse(text);
  if (!json || !json->find_text("_type").value_or("").starts_with("https://in-toto.io/")) {
    return false;
  }
  const JsonText* at = &*json;
  for (const char* key : {"predicate", "runDetails", "builder"}) {
    at = at == nullptr ? nullptr : at->find(key);
  }
  return at != nullptr && at->find_text("id") == std::string(kBuilderId);
}

// Whether sums list exactly what publish would list. A user's own list of some files holds
// information that the folder alone does not.
Result<bool> lists_whole_folder(const fs::path& folder, const std::string& text) {
  const auto sums = parse_sha256sums(text);
  if (!sums) return false;
  CKPT_ASSIGN(const auto entries,
              list_publishable(folder, {std::string(kSumsName), std::string(kSignatureName)}));
  std::set<std::string_view> listed, present;
  for (const FileDigest& file : *sums) listed.insert(file.name);
  for (const FolderEntry& entry : entries) present.insert(entry.path);
  return listed == present;
}

bool is_plan(const fs::path& path) {
  const auto text = read_small(path, kMaxPlanFileBytes);
  if (!text) return false;
  const auto json = JsonText::parse(*text);
  return json && json->find("ckpt_plan") != nullptr;
}

bool is_report(const fs::path& path) {
  const auto text = read_small(path, kMaxReportBytes);
  return text && text->find(kReportMark) != text->npos;
}

bool is_imatrix(const fs::path& path) { return read_imatrix_sums(path).has_value(); }

// A kind of file that --force may replace.
struct OwnKind {
  std::string_view option, name, names;
  bool (*is_one)(const fs::path& path);
};

Status check_own_target(const fs::path& path, bool force, const OwnKind& kind) {
  CKPT_TRY(refuse_stdout(path));
  CKPT_TRY(check_parent(path));
  CKPT_TRY(refuse_link(path, kind.option));
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  if (!force) {
    return misuse_hint(fmt::format("another name, or --force if it is an older {}", kind.name),
                       "{} {}: exists already", kind.option, path.string());
  }
  if (kind.is_one(path)) return {};
  return misuse_hint("another name", "{} {}: exists and is no {}; --force replaces only {}",
                     kind.option, path.string(), kind.name, kind.names);
}

Status link_failure(const fs::path& path, const std::string& hint) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  const fs::path shown = error ? fs::read_symlink(path, error) : target;
  return misuse_hint(hint, "{}: a link to {}; links are neither replaced nor followed",
                     path.string(), shown.string());
}

}  // namespace

Status refuse_url(const fs::path& path) {
  if (!is_url(path)) return {};
  return misuse_hint("a path of this machine", "{}: a URL, which is read and never written",
                     path.string());
}

Status refuse_stdout(const fs::path& path) {
  CKPT_TRY(refuse_url(path));
  for (const char* stream : {"/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/1"}) {
    if (path != stream) continue;
    return misuse_hint("the name of a file",
                       "{}: a stream; OUT is written in several places at a time", stream);
  }
  if (path != "-") return {};
  return misuse_hint("a file name, or ./- for a file called that",
                     "-: only a plan goes to stdout (--plan-out -)");
}

Status refuse_link(const fs::path& path, std::string_view option) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return {};
  const fs::path target = fs::canonical(path, error);
  const bool is_name = !error && (fs::is_regular_file(target) || fs::is_directory(target));
  const std::string name = is_name ? shell_path(target.string()) : "another name";
  return link_failure(path, option.empty() || !is_name ? name : fmt::format("{} {}", option, name));
}

Status refuse_link_at(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return {};
  return link_failure(path, "rm " + shell_path(path.string()));
}

Status check_own_name(std::string_view option, const fs::path& path, const Conversion& conversion) {
  if (path.empty()) return {};
  std::vector<fs::path> outs = {conversion.out, conversion.mmproj};
  for (const AlsoOutput& also : conversion.also) outs.push_back(also.out);
  const bool is_out = std::ranges::any_of(outs, [&](const fs::path& out) {
    return !out.empty() && real_place(out) == real_place(path);
  });
  if (!is_out) return {};
  return misuse_hint("a name of its own", "--{} {}: the name of {}", option, path.string(),
                     real_place(conversion.out) == real_place(path) ? "OUT" : "another output");
}

Status check_plan_target(const fs::path& path, bool force) {
  return check_own_target(path, force, {"--plan-out", "plan", "plans", is_plan});
}

Status check_report_target(const fs::path& path, bool force) {
  return check_own_target(path, force, {"--out", "report", "reports", is_report});
}

Status check_imatrix_target(const fs::path& path, bool force) {
  return check_own_target(path, force,
                          {"--out", "importance matrix", "importance matrices", is_imatrix});
}

bool is_card_name(const fs::path& path) {
  const std::string ending = lower_case(path.extension().string());
  const std::string name = path.filename().string();
  return (ending == ".md" || ending == ".markdown" || ending == ".txt") &&
         (!is_document(name) || is_document_of(DocumentKind::kWords, name));
}

Result<std::string> read_card(const fs::path& path) {
  CKPT_TRY(refuse_unfinished_output(parent_of(path)));
  CKPT_TRY(check_parent(path));
  CKPT_TRY(refuse_link(path, "--card"));
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return std::string();
  const auto refused = [&](std::string_view found) {
    return misuse_hint("--card README.md",
                       "--card {}: {}; expected a new file, or Markdown to put the block into",
                       path.string(), found);
  };
  if (!is_card_name(path)) return refused("exists already");
  CKPT_ASSIGN(std::string text, read_small(path, kMaxCardBytes));
  if (text.find('\0') != text.npos) return refused("exists and is not a text file");
  return text;
}

Result<bool> is_stale_record(const fs::path& folder, std::string_view name) {
  const fs::path path = folder / name;
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) return false;
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxRecordBytes));
  if (name == kReportName) return text.find(kReportMark) != text.npos;
  if (name == kSumsName) return lists_whole_folder(folder, text);
  return name == kProvenanceName && is_record(name, text);
}

Status check_published_targets(const fs::path& folder) {
  for (const std::string_view name : {kSumsName, kSignatureName, kProvenanceName}) {
    const fs::path path = folder / name;
    CKPT_ASSIGN(const bool exists, is_there(path));
    if (!exists) continue;
    CKPT_TRY(refuse_link_at(path));
    CKPT_ASSIGN(const std::string text, read_small(path, kMaxRecordBytes));
    if (is_record(name, text)) continue;
    return misuse_hint(fmt::format("mv {} elsewhere", shell_path(path.string())),
                       "{}: is not what ckpt publish writes under this name", path.string());
  }
  return {};
}

bool has_published_report(const fs::path& folder) {
  const fs::path path = folder / kReportName;
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::regular && is_report(path);
}

Status check_published_report(const fs::path& folder) {
  const fs::path path = folder / kReportName;
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  CKPT_TRY(refuse_link_at(path));
  if (has_published_report(folder)) return {};
  return misuse_hint(fmt::format("mv {} elsewhere", shell_path(path.string())),
                     "{}: is not a report of ckpt, and --report would replace it", path.string());
}

}  // namespace ckpt
