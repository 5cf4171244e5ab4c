#include "core/resume/resume.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/io/folder.h"
#include "core/io/ownership.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

using Kind = LedgerEntry::Kind;

std::optional<struct stat> stat_of(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// Whether a run of this user was about to rename the file with this name. It may already have its
// final mode.
bool is_own_rename(const fs::path& path, uint64_t inode) {
  const auto status = stat_of(path);
  return status && status->st_ino == inode && is_ours(path, *status, Guard::kOwner);
}

// Does the same for the final name, where root's outputs belong to the owner of the folder.
bool is_published_here(const fs::path& path, uint64_t inode) {
  const auto status = stat_of(path);
  if (!status || status->st_ino != inode) return false;
  if (is_ours(path, *status, Guard::kOwner)) return true;
  const auto parent = stat_of(parent_of(path));
  return ::geteuid() == 0 && parent && parent->st_uid == status->st_uid;
}

// The number of paths to rename: one folder, or each file.
size_t names_of(const Output& output) {
  return has_one_name(output) ? 1 : output.layout.files.size();
}
fs::path partial_name(const Output& output, size_t i) {
  return has_one_name(output) ? partial_path(output) : partial_path(output, output.layout.files[i]);
}
fs::path final_name(const Output& output, size_t i) {
  return has_one_name(output) ? output.path : final_path(output, output.layout.files[i]);
}

// Whether one of the temporary names is taken, or may be.
bool have_temporaries(const Plan& plan) {
  struct stat status {};
  for (const Output& output : plan.outputs) {
    for (size_t i = 0; i < names_of(output); ++i) {
      if (::lstat(partial_name(output, i).c_str(), &status) == 0) return true;
      if (errno != ENOENT && errno != ENOTDIR) return true;
    }
  }
  return false;
}

// Fails if one of them belongs to another user.
Result<bool> leftovers_exist(const Plan& plan) {
  for (const Output& output : plan.outputs) {
    for (size_t i = 0; i < names_of(output); ++i) {
      CKPT_TRY(require_ours(partial_name(output, i), Guard::kOwner));
    }
  }
  return have_temporaries(plan);
}

bool same_paths(const std::vector<InputFile>& a, const std::vector<InputFile>& b) {
  return std::ranges::equal(a, b, {}, &InputFile::path, &InputFile::path);
}

}  // namespace

Resume::~Resume() {
  stop();
  // A temporary file without a ledger is not accepted as ours, and other shares may write to it.
  if (kept_ || have_temporaries(plan_)) return;
  std::error_code ignored;
  for (const fs::path& share : shares_) fs::remove(share, ignored);
  // Removes the first ledger last, because it tells what the others belong to.
  for (size_t i = ledgers_.size(); i-- > 0;) ledgers_[i].remove();
}

void Resume::note(const std::string& text) const {
  if (options_.progress != nullptr) options_.progress->note(text);
}

Result<std::unique_ptr<Resume>> Resume::begin(const Plan& plan, const ExecuteOptions& options) {
  CKPT_ASSIGN(PlanDigest digest, digest_of(plan, options));
  std::unique_ptr<Resume> resume(new Resume(plan, options));
  resume->kept_ = true;  // keep everything until it was read
  Status decided = resume->decide(
      {digest.sha256, options.resume.command, std::move(digest.inputs), command_folder()});
  if (decided) return resume;
  for (Ledger& ledger : resume->ledgers_) {
    if (ledger.was_made() || (ledger.was_empty() && !have_temporaries(plan))) ledger.remove();
  }
  return Failure(std::move(decided.error()));
}

// Reports the difference as precisely as possible.
Status Resume::refuse(const fs::path& ledger, const LedgerHead& found,
                      const LedgerHead& head) const {
  const std::string partial = ledger.stem().string();
  const std::string changed = changed_input(found.inputs, head.inputs, true);
  if (same_paths(found.inputs, head.inputs) && !changed.empty()) {
    return misuse_hint({"--force to start over", Remedy::kForce},
                       "{}: begun before its input changed: {}", partial, changed);
  }
  if (command_from_here(found) == head.command) {
    return misuse_hint({"--force to start over", Remedy::kForce},
                       "{}: begun by the same command when it planned something else: documents of "
                       "the input or the version of ckpt have changed",
                       partial);
  }
  return misuse_hint("that command to finish it, or --force to start over",
                     "{}: begun by another command: {}", partial, command_from_here(found));
}

Status Resume::open_all(const LedgerHead& head) {
  for (const Output& output : plan_.outputs) {
    CKPT_ASSIGN(Ledger ledger, Ledger::open(ledger_path(output)));
    CKPT_ASSIGN(std::optional<LedgerContent> content, ledger.read());
    const bool same = content && content->head.plan == head.plan &&
                      changed_input(content->head.inputs, head.inputs, true).empty();
    if (content && !same && !options_.force) return refuse(ledger.path(), content->head, head);
    if (ledgers_.empty() && same) own_ = std::move(content);
    ledgers_.push_back(std::move(ledger));
  }
  return {};
}

// Opens the ledger of a share. If the same share is running elsewhere, opens an additional one.
Status Resume::open_share() {
  const std::string path = share_ledger_path(plan_.outputs[0], options_.resume).string();
  constexpr unsigned kMostAtOnce = 9;
  for (unsigned i = 1;; ++i) {
    auto ledger = Ledger::open(i == 1 ? path : fmt::format("{}.{}", path, i));
    if (!ledger && ledger.error().code == ErrorCode::kUsage && i < kMostAtOnce) continue;
    if (!ledger) return Failure(std::move(ledger.error()));
    ledgers_.push_back(std::move(*ledger));
    return {};
  }
}

// Reads finished work of shares, including earlier runs of this one.
Status Resume::read_shares(const LedgerHead& head) {
  CKPT_ASSIGN(std::vector<LedgerFile> found, find_ledgers(plan_, head));
  for (LedgerFile& ledger : found) {
    const bool is_own = ledger.path == ledgers_[0].path();
    const bool is_known = !ledger.content.head.plan.empty();
    if (is_known && !ledger.is_ours && !options_.force) {
      return refuse(ledger.path, ledger.content.head, head);
    }
    if (ledger.is_ours && (is_share() || !is_own)) CKPT_TRY(add(ledger.content));
    if (is_own && is_share() && ledger.is_ours) own_ = std::move(ledger.content);
    if (!is_share() && ledger.share_count > 0) shares_.push_back(ledger.path);
  }
  return {};
}

Status Resume::begin_ledgers(const LedgerHead& head) {
  if (leftovers_ == Leftovers::kPublish) return {};
  const bool goes_on = own_ && (is_share() || leftovers_ == Leftovers::kKeep);
  for (size_t i = goes_on ? 1 : 0; i < ledgers_.size(); ++i) CKPT_TRY(ledgers_[i].begin(head));
  return goes_on ? ledgers_[0].continue_after(*own_) : Status{};
}

Status Resume::decide(const LedgerHead& head) {
  for (const Output& output : plan_.outputs) CKPT_TRY(check_parent(output.path));
  CKPT_TRY(is_share() ? open_share() : open_all(head));
  CKPT_ASSIGN(const bool is_whole, own_ ? is_ready(*own_) : false);
  if (own_ && !is_whole) CKPT_TRY(add(*own_));
  CKPT_TRY(read_shares(head));
  CKPT_ASSIGN(const bool has_leftovers, leftovers_exist(plan_));
  if (is_whole) {
    leftovers_ = Leftovers::kPublish;
    take_reports(*own_);
  } else if (is_share() || !written_.empty() || !amax_.empty()) {
    leftovers_ = Leftovers::kKeep;
  } else if (has_leftovers) {
    note(fmt::format("{}: cannot resume the previous run; starting over",
                     partial_path(plan_.outputs[0]).string()));
  }
  uint64_t bytes = 0;
  for (const auto& [file, runs] : written_) bytes += runs.size();
  if (bytes > 0) {
    note(fmt::format("resuming {}: {} already written", partial_path(plan_.outputs[0]).string(),
                     human_bytes(bytes)));
  }
  CKPT_TRY(begin_ledgers(head));
  kept_ = false;
  return {};
}

// Removes the replaced folder, which has the temporary name after publishing.
Status Resume::clear_replaced(const Output& output) const {
  const fs::path left = partial_path(output);
  CKPT_ASSIGN(const bool is_left, is_there(left));
  if (!is_left) return {};
  CKPT_TRY(require_ours(left, Guard::kOwner));
  CKPT_ASSIGN(OpenFolder parent, OpenFolder::open(parent_of(output.path)));
  CKPT_ASSIGN(const std::string kept, remove_replaced(output, parent, partial_path(output)));
  if (!kept.empty()) note(kept);
  return {};
}

// Whether every output is complete under its temporary or final name.
Result<bool> Resume::is_ready(const LedgerContent& content) const {
  const auto ledger = stat_of(ledgers_[0].path());
  size_t names = 0, found = 0, digests = 0, files = 0;
  for (const Output& output : plan_.outputs) {
    names += names_of(output);
    files += output.layout.files.size();
  }
  for (const LedgerEntry& entry : content.entries) {
    digests += entry.kind == Kind::kDigest ? 1 : 0;
    if (entry.kind != Kind::kPublish || entry.numbers[0] >= plan_.outputs.size()) continue;
    const Output& output = plan_.outputs[entry.numbers[0]];
    if (entry.numbers[1] >= names_of(output)) continue;
    const bool is_partial = is_own_rename(partial_name(output, entry.numbers[1]), entry.numbers[2]);
    const bool is_final = is_published_here(final_name(output, entry.numbers[1]), entry.numbers[2]);
    found += is_partial || is_final ? 1 : 0;
    // The folders are exchanged, but the replaced one is not removed yet.
    if (is_final && !is_partial && has_one_name(output)) CKPT_TRY(clear_replaced(output));
  }
  if (names == 0 || found != names || digests != files) return false;
  for (const Output& output : plan_.outputs) {
    for (const OutputFile& file : output.layout.files) {
      const auto partial = stat_of(partial_path(output, file));
      const auto status = partial ? partial : stat_of(final_path(output, file));
      if (!status || static_cast<uint64_t>(status->st_size) != file.size_bytes) return false;
      // It was edited since.
      if (!ledger || is_before(ledger->st_mtim, status->st_mtim)) return false;
    }
  }
  return true;
}

void Resume::take_reports(const LedgerContent& content) {
  for (uint32_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    for (uint32_t j = 0; j < output.layout.files.size(); ++j) {
      const OutputFile& file = output.layout.files[j];
      FileReport report{final_path(output, file).string(), file.size_bytes, {}};
      for (const LedgerEntry& entry : content.entries) {
        const bool its = entry.kind == Kind::kDigest && entry.numbers[0] == i;
        if (its && entry.numbers[1] == j) report.sha256 = entry.sha256;
      }
      reports_.push_back(std::move(report));
    }
  }
}

Status Resume::add(const LedgerContent& content) {
  std::map<LedgerKeeper::FileNumber, bool> is_there;
  for (const LedgerEntry& entry : content.entries) {
    const uint64_t* numbers = entry.numbers;
    if (entry.kind == Kind::kScan) {
      const auto scan = static_cast<uint32_t>(numbers[0]);
      scanned_rows_[scan].add(numbers[1], numbers[2]);
      float& amax = amax_[scan];
      amax = std::max(amax, std::bit_cast<float>(static_cast<uint32_t>(numbers[3])));
    }
    const LedgerKeeper::FileNumber file{numbers[0], numbers[1]};
    if (entry.kind == Kind::kFile) CKPT_SET(is_there[file], is_same_partial(plan_, entry));
    if (entry.kind == Kind::kWrote && is_there[file]) written_[file].add(numbers[2], numbers[3]);
    if (entry.kind == Kind::kHashed && is_there[file]) hashed_[file] = {numbers[2], entry.sha256};
  }
  return {};
}

bool Resume::is_done(const Jobs& jobs, const Task& task) const {
  if (leftovers_ != Leftovers::kKeep) return false;
  if (task.kind == Task::Kind::kScan) {
    const RangeSet* rows = find_mapped(scanned_rows_, task.job);
    return rows != nullptr && rows->contains(task.first, task.count);
  }
  const std::vector<OutputRange> ranges = ranges_of(jobs, task);
  return std::ranges::all_of(ranges, [&](const OutputRange& range) {
    const RangeSet* found =
        find_mapped(written_, LedgerKeeper::FileNumber(range.output, range.file));
    return found != nullptr && found->contains(range.offset_bytes, range.size_bytes);
  });
}

Stats Resume::known(uint32_t scan) const {
  const float* found = find_mapped(amax_, scan);
  return {found == nullptr ? 0 : *found, 0};
}

void Resume::start(OutputFiles& files, LedgerKeeper::Failed failed) {
  std::set<LedgerKeeper::FileNumber> written;
  for (const auto& [file, runs] : written_) written.insert(file);
  std::string lines;
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    for (size_t j = 0; j < output.layout.files.size(); ++j) {
      const fs::path path = partial_path(output, output.layout.files[j]);
      const auto status = stat_of(path);
      if (status) lines += fmt::format("file {} {} {} {}\n", i, j, status->st_ino, birth_ns(path));
    }
  }
  // Without these lines the recorded work is ignored and done again.
  (void)ledgers_[0].append(lines);
  if (leftovers_ == Leftovers::kKeep) {
    for (const auto& [file, state] : hashed_) {
      files.writer(file.first, file.second).resume_hash(state);
    }
  }
  const auto sync = [&files](LedgerKeeper::FileNumber file) -> Result<Sha256State> {
    FileWriter& writer = files.writer(file.first, file.second);
    Sha256State hashed = writer.hashed();
    CKPT_TRY(writer.sync_data());
    return hashed;
  };
  keeper_ =
      std::make_unique<LedgerKeeper>(ledgers_[0], std::move(written), sync, std::move(failed));
}

void Resume::finished(const Jobs& jobs, const Task& task, const Stats& stats) {
  if (task.kind == Task::Kind::kScan) {
    keeper_->scanned(task, stats.amax);
  } else {
    keeper_->wrote(ranges_of(jobs, task));
  }
}

Status Resume::ready(const std::vector<FileReport>& reports) {
  std::string lines = "synced\n";
  size_t next = 0;
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    for (size_t j = 0; j < output.layout.files.size(); ++j) {
      lines += fmt::format("digest {} {} {}\n", i, j, reports[next++].sha256);
    }
    for (size_t j = 0; j < names_of(output); ++j) {
      const auto status = stat_of(partial_name(output, j));
      if (status) lines += fmt::format("publish {} {} {}\n", i, j, status->st_ino);
    }
  }
  lines += "synced\n";
  // Without this line a run that is killed between two renames could not be resumed; nothing else
  // depends on it.
  const Status written = ledgers_[0].append(lines);
  return written ? ledgers_[0].sync() : Status{};
}

Status Resume::complete() {
  kept_ = true;
  CKPT_TRY(ledgers_[0].append("synced\ncomplete\nsynced\n"));
  return ledgers_[0].sync();
}

void Resume::forget() {
  stop();
  for (Ledger& ledger : ledgers_) ledger.clear();
}

bool Resume::keep() {
  stop();
  bool has_any = leftovers_ == Leftovers::kPublish || !written_.empty() || !amax_.empty() ||
                 (keeper_ && keeper_->wrote_anything());
  // Keep a share's temporary files, which other shares may use: without a ledger next to them,
  // every later run would treat them as foreign.
  if (!has_any && is_share()) {
    const auto exist = leftovers_exist(plan_);
    has_any = !exist || *exist;
  }
  kept_ = has_any;
  return has_any;
}

}  // namespace ckpt
