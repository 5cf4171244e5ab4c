// A share of a plan: what one of several programs does of it, each on a machine of its own, on one
// file system.
//
//   all bytes of all files, one after the other:  |--- 1 of 4 ---|--- 2 of 4 ---|--- ...
//   a task belongs to every share that its first run of bytes reaches into
//
// Machines cut tasks by their own threads and memory, so a task at a border may be done twice. It
// writes the same bytes to the same places.
#include <fcntl.h>
#include <sys/stat.h>

#include <set>

#include "core/engine/execute.h"
#include "core/io/descriptor.h"
#include "core/io/ownership.h"
#include "core/outputs/place.h"
#include "core/resume/ledger.h"
#include "core/resume/ledger_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The first bytes of a file are `header`.
bool begins_with(const fs::path& path, const std::vector<std::byte>& header) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::vector<std::byte> found(header.size());
  return file.is_open() && read_all(file.get(), found, 0) == std::ssize(found) && found == header;
}

// True when every file of every output lies under its final name: with the size and the header that
// the plan gives it, and not older than `since_ns` (since 1970).
bool is_made(const Plan& plan, int64_t since_ns) {
  for (const Output& output : plan.outputs) {
    for (const OutputFile& file : output.layout.files) {
      const fs::path path = final_path(output, file);
      struct stat status{};
      if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
      const FileState state = state_of(status);
      if (state.size_bytes != file.size_bytes || state.modified_ns < since_ns) {
        return false;
      }
      if (!begins_with(path, file.header)) return false;
    }
  }
  return true;
}

// True when the run that gives final names has begun, or all shares are done.
struct ShareProgress {
  bool is_ending = false;
  std::vector<uint32_t> missing;
};

Result<ShareProgress> progress_of_shares(const Plan& plan, const ExecuteOptions& options) {
  CKPT_ASSIGN(PlanDigest digest, digest_of(plan, options));
  const LedgerHead head{digest.sha256, {}, std::move(digest.inputs)};
  CKPT_ASSIGN(const std::vector<LedgerFile> ledgers, find_ledgers(plan, head));
  ShareProgress out;
  std::set<uint32_t> complete;
  for (const LedgerFile& ledger : ledgers) {
    if (!ledger.is_ours) continue;
    for (const LedgerEntry& entry : ledger.content.entries) {
      out.is_ending = out.is_ending || entry.kind == LedgerEntry::Kind::kPublish;
    }
    const bool counts = ledger.share_count == options.resume.share_count;
    if (counts && ledger.is_complete) complete.insert(ledger.share_number);
  }
  for (uint32_t i = 1; i <= options.resume.share_count; ++i) {
    if (complete.count(i) == 0) out.missing.push_back(i);
  }
  return out;
}

// For outputs after the first: it only names the plan.
void remove_ledger(const fs::path& path, std::string_view plan_sha256) {
  std::error_code error;
  if (!fs::exists(path, error)) return;  // opening would make it
  auto ledger = Ledger::open(path);
  if (!ledger) return;
  const auto content = ledger->read();
  const bool is_of_plan = content && *content && (*content)->head.plan == plan_sha256;
  if (ledger->was_empty() || is_of_plan) ledger->remove();
}

// Leftovers of a program that started while another renamed the outputs: partial files that nobody
// needs, and ledgers of them.
void remove_leftovers(const Plan& plan, const ExecuteOptions& options) {
  const auto digest = digest_of(plan, options);
  if (!digest) return;
  const auto ledgers = find_ledgers(plan, {digest->sha256, {}, digest->inputs});
  if (!ledgers) return;
  std::error_code error;
  for (const LedgerFile& ledger : *ledgers) {
    if (ledger.share_count > 0) continue;
    // Its owner is about to do this. Opening it would recreate it if it was removed.
    if (!ledger.is_ours) return;
    auto whole = Ledger::open(ledger.path);
    if (!whole) return;
    whole->remove();
  }
  for (size_t i = 1; i < plan.outputs.size(); ++i) {
    remove_ledger(ledger_path(plan.outputs[i]), digest->sha256);
  }
  const auto remove_ours = [&](const fs::path& path) {
    if (require_ours(path, Guard::kOwner)) fs::remove_all(path, error);
  };
  for (const Output& output : plan.outputs) {
    if (output.layout.is_folder) remove_ours(partial_path(output));
    for (const OutputFile& file : output.layout.files) {
      if (!output.layout.is_folder) remove_ours(partial_path(output, file));
    }
  }
  for (const LedgerFile& ledger : *ledgers) {
    if (ledger.is_ours && ledger.share_count > 0) fs::remove(ledger.path, error);
  }
}

ExecuteReport report_made(const Plan& plan, const ExecuteOptions& options) {
  remove_leftovers(plan, options);
  ExecuteReport report;
  report.was_made = true;
  for (const Output& output : plan.outputs) {
    for (const OutputFile& file : output.layout.files) {
      report.files.push_back({final_path(output, file).string(), file.size_bytes, {}});
    }
  }
  return report;
}

// Whether another program holds the ledger of the whole plan. It is held here no longer than that
// takes: whoever finds it held leaves it to its owner to remove.
bool another_run_holds_plan(const Plan& plan) {
  auto probe = Ledger::open(ledger_path(plan.outputs[0]));
  if (probe && probe->was_empty()) probe->remove();
  return !probe && probe.error().code == ErrorCode::kUsage;
}

// The rest, as a run of everything whose bytes are all there.
Result<ExecuteReport> end_all(const Plan& plan, const ExecuteOptions& options) {
  ExecuteOptions whole = options;
  whole.resume.share_count = 0;
  const int64_t since_ns = options.resume.since_ns;
  if (is_made(plan, since_ns)) return report_made(plan, options);
  auto report = execute(plan, whole);
  if (report || report.error().code != ErrorCode::kUsage) return report;
  // Another program was faster, or is at it.
  if (is_made(plan, since_ns)) return report_made(plan, options);
  if (!another_run_holds_plan(plan)) {
    return is_made(plan, since_ns) ? report_made(plan, options) : std::move(report);
  }
  ExecuteReport others;
  others.is_ended_elsewhere = true;
  return others;
}

}  // namespace

Result<ExecuteReport> execute_share(const Plan& plan, const ExecuteOptions& options) {
  const int64_t since_ns = options.resume.since_ns;
  if (is_made(plan, since_ns)) return report_made(plan, options);
  CKPT_ASSIGN(ShareProgress progress, progress_of_shares(plan, options));
  if (progress.is_ending) return end_all(plan, options);
  auto report = execute(plan, options);
  if (is_made(plan, since_ns)) return report_made(plan, options);
  if (!report) return report;
  CKPT_ASSIGN(progress, progress_of_shares(plan, options));
  if (progress.missing.empty()) return end_all(plan, options);
  if (is_made(plan, since_ns)) return report_made(plan, options);
  report->missing_shares = std::move(progress.missing);
  return report;
}

}  // namespace ckpt
