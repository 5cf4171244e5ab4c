// Rules for writing: nothing that is written or replaced is an input, or a file of the
// person's that no run of ckpt has made.
//
//   OUT, OUT.partial, OUT.partial.ledger   compared with every file that is read, by device and
//                                          inode: a split's other parts and what links lead to too
//   OUT with --force                       replaced when all of it is a checkpoint's
//                                          (replaced_folder.cc)
//   a model card, a plan, a report         new, or one that ckpt wrote
//   an importance matrix                   new, or with --force one that can be read
//
// Names do not tell whether two files are one, and a folder that holds weights may hold everything
// else too.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"

namespace ckpt {

// OUT as it was typed, without slashes at its end; "." and ".." by their names. Fails: kUsage for
// "NAME.gguf/", which names a folder and a file at once, and for "-".
Result<std::filesystem::path> target_path(const std::filesystem::path& typed);

// Fails with kUsage where OUT is IN or one lies inside the other.
Status check_apart(const std::filesystem::path& in, const std::filesystem::path& out);

// An input of a plan: `what` is IN or the option that named it, `path` a file or a folder.
struct InputPath {
  std::string what;
  std::filesystem::path path;
};

// Whether OUT, a folder's, is a folder that is there and empty, or holds what an interrupted run
// left in it (Output::goes_into). Fails: kIo.
Result<bool> goes_into(const std::filesystem::path& out, const Layout& layout);

// Whether OUT could be written without `force`: for those who work long before there is a plan.
// Fails: kUsage; kIo.
Status check_new_out(const std::filesystem::path& out);

// Whether a checkpoint that is at OUT may go, and how it is read before that.
struct Replacing {
  bool force = false;
  ReadOptions reading = {};
};
// Looks at everything that carrying the plan out would write, replace or remove, and notes in the
// plan what goes. Fails: kUsage, naming the input that would be lost, or what is there and no
// checkpoint's; kIo.
Status check_targets(Plan& plan, const std::vector<InputPath>& inputs, const Replacing& replacing);

// ---- folders that --force replaces (replaced_folder.cc) -----------------------------------------

// The files of the folder at `output.path` that go, relative to it. Fails: kUsage with the list of
// what would be lost; kIo.
Result<std::vector<std::string>> replaceable_files(const Output& output,
                                                   const ReadOptions& reading);

// Requires of what stands under the temporary name of a folder that runs of ckpt have put it there.
// Fails: kUsage with the list of the rest; kIo.
Status check_unfinished_folder(const Output& output);

// ---- single files (small_targets.cc) ------------------------------------------------------------

// Requires that `path` is new, or with `force` a plan of ckpt. Fails: kUsage; kIo.
Status check_plan_target(const std::filesystem::path& path, bool force);

// Requires that `path` is new, or with `force` a report of ckpt. Fails: kUsage; kIo.
Status check_report_target(const std::filesystem::path& path, bool force);

// Requires that `path` is new, or with `force` an importance matrix. Fails: kUsage; kIo.
Status check_imatrix_target(const std::filesystem::path& path, bool force);

// The model card at `path` as it is now; empty when there is none. Fails: kUsage for what is no
// Markdown; kIo.
Result<std::string> read_card(const std::filesystem::path& path);

// ---- report.html of a folder that is published --------------------------------------------------

// A mark in every report of ckpt, by which an older one is recognized.
inline constexpr std::string_view kReportMark = "<meta name=\"generator\" content=\"ckpt report\">";
inline constexpr std::string_view kReportName = "report.html";

// Whether `folder` has a file of that name, no link, that ckpt report has made.
bool has_published_report(const std::filesystem::path& folder);

// Requires that `folder` has no file of that name, or a report. Fails: kUsage; kIo.
Status check_published_report(const std::filesystem::path& folder);

// Requires that what has the name of a file that `ckpt publish` writes into `folder` is one of its
// kind. Fails: kUsage; kIo.
Status check_published_targets(const std::filesystem::path& folder);
// Whether ckpt publish wrote `name` about `folder` and would write it again: a patch, which makes
// it stale, may then remove it. False for a signature. Fails: kIo.
Result<bool> is_stale_record(const std::filesystem::path& folder, std::string_view name);

// A whole file, a key or a recipe. Fails: kUnsupported above the limit; kIo.
Result<std::string> read_small(const std::filesystem::path& path, uint64_t limit_bytes);

// "-" is stdout to other programs, and here would be a file of that name. Fails: kUsage.
Status refuse_stdout(const std::filesystem::path& path);
// Requires a path of this machine. Fails: kUsage for a URL.
Status refuse_url(const std::filesystem::path& path);

// A link is not replaced and not followed: what it leads to has a name of its own. `option` is
// what the path was given as. Fails: kUsage with that name; kIo.
Status refuse_link(const std::filesystem::path& path, std::string_view option);

// The same for a file whose name is not the person's choice: the link can only be removed.
Status refuse_link_at(const std::filesystem::path& path);

}  // namespace ckpt
