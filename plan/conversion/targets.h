// Rules for writing: ckpt never overwrites an input, nor a user's file that ckpt did not make.
//
//   OUT, OUT.partial, OUT.partial.ledger   compared with every input file by device and inode,
//                                          including split parts and targets of links
//   OUT with --force                       replaced if all of it belongs to a checkpoint
//                                          (replaced_folder.cc)
//   a model card, a plan, a report         must be new, or written by ckpt
//   an importance matrix                   must be new or, with --force, a readable one
//
// Names cannot tell whether two files are the same, and a folder with weights may also contain
// anything else.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"
#include "core/model/transform.h"

namespace ckpt {

struct Conversion;

// Normalizes OUT: removes trailing slashes and resolves "." and "..". Fails: kUsage for
// "NAME.gguf/", which names both a folder and a file; for "NAME.GGUF", "NAME.bin" and similar names
// of files that ckpt does not write, unless a slash or an existing folder shows that a folder is
// meant; for a path inside a file; for "-".
Result<std::filesystem::path> target_path(const std::filesystem::path& typed);

// Whether `out` has the ending of a single file that ckpt writes.
bool names_own_file(const std::filesystem::path& out);

// Fails: kUsage if OUT is IN or one is inside the other.
Status check_apart(const std::filesystem::path& in, const std::filesystem::path& out);

// An input of a plan: `what` is IN or the option that names it, `path` a file or a folder.
struct InputPath {
  std::string what;
  std::filesystem::path path;
};

// Whether a folder output OUT exists and is empty, or holds only the files of an interrupted run
// (Output::goes_into). Fails: kIo.
Result<bool> goes_into(const std::filesystem::path& out, const Layout& layout);

// Requires that OUT could be written without `force`, for callers that do long work before
// planning. Fails: kUsage; kIo.
Status check_new_out(const std::filesystem::path& out);

// Fails as executing the plan would because of its outputs' places, for a dry run: kUsage; kIo.
// Returns a sentence for each OUT that only --force would replace.
Result<std::vector<std::string>> check_places(const Plan& plan, bool force);

// Whether an existing checkpoint at OUT may be replaced, and how it is read before that.
struct ReplaceOptions {
  bool force = false;
  ReadOptions reading = {};
};
// Checks everything that executing the plan would write, replace or remove, and records the files
// to remove in the plan. Fails: kUsage, naming the input that would be lost, or existing files that
// do not belong to a checkpoint; kIo.
Status check_targets(Plan& plan, const std::vector<InputPath>& inputs,
                     const ReplaceOptions& replacing);

// The files to remove from the folder at `output.path`, relative to it. Fails: kUsage with the list
// of files that would be lost; kIo.
Result<std::vector<std::string>> replaceable_files(const Output& output,
                                                   const ReadOptions& reading);

// The error for an existing `path` that --force does not replace.
Failure not_a_checkpoint(const std::filesystem::path& path);

// Requires that runs of ckpt created everything in the temporary folder of an output. Fails: kUsage
// with the list of other files; kIo.
Status check_unfinished_folder(const Output& output);

// Notes what servers do not let ckpt verify: changes during reading, digests of entire files.
void note_unchecked_sources(std::span<const Output> outputs, const Context& context);

// Requires that `path`, a file of `option` that is written in addition to the outputs, is not one
// of them. An empty path passes. Fails: kUsage.
Status check_own_name(std::string_view option, const std::filesystem::path& path,
                      const Conversion& conversion);

// Requires that `path` is new, or with `force` a plan of ckpt. Fails: kUsage; kIo.
Status check_plan_target(const std::filesystem::path& path, bool force);

// Requires that `path` is new, or with `force` a report of ckpt. Fails: kUsage; kIo.
Status check_report_target(const std::filesystem::path& path, bool force);

// Requires that `path` is new, or with `force` an importance matrix. Fails: kUsage; kIo.
Status check_imatrix_target(const std::filesystem::path& path, bool force);

// Whether a card in a checkpoint may have this name: Markdown, and not "merges.txt".
bool is_card_name(const std::filesystem::path& path);
// The current model card at `path`; empty if it does not exist. Fails: kUsage if it is not
// Markdown; kIo.
Result<std::string> read_card(const std::filesystem::path& path);

// A mark in every report of ckpt, which identifies older reports.
inline constexpr std::string_view kReportMark = "<meta name=\"generator\" content=\"ckpt report\">";
inline constexpr std::string_view kReportName = "report.html";

// Whether `folder` has a regular file report.html that ckpt report wrote.
bool has_published_report(const std::filesystem::path& folder);

// Requires that report.html in `folder` does not exist or is a report. Fails: kUsage; kIo.
Status check_published_report(const std::filesystem::path& folder);

// Requires that existing files in `folder` under the names that `ckpt publish` writes are of the
// expected kind. Fails: kUsage; kIo.
Status check_published_targets(const std::filesystem::path& folder);
// Whether `ckpt publish` wrote `name` about `folder` and would write it again. A patch makes it
// stale and may then remove it. False for a signature. Fails: kIo.
Result<bool> is_stale_record(const std::filesystem::path& folder, std::string_view name);

// Rejects "-": other programs treat it as stdout, but here it would name a file. Fails: kUsage.
Status refuse_stdout(const std::filesystem::path& path);
// Requires a local path. Fails: kUsage for a URL.
Status refuse_url(const std::filesystem::path& path);

// Rejects a link, which is neither replaced nor followed; the message names its target. `option` is
// the option of the path. Fails: kUsage with that name; kIo.
Status refuse_link(const std::filesystem::path& path, std::string_view option);

// Rejects a link at a name that the user cannot choose; the advice is to remove the link.
Status refuse_link_at(const std::filesystem::path& path);

}  // namespace ckpt
