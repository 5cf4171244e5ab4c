#include "core/resume.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <optional>

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

bool has_inode(const std::optional<struct stat>& status, uint64_t inode) {
  return status && status->st_ino == inode;
}

// What gets a final name: one folder, or each file.
size_t names_of(const Output& output) {
  return output.layout.is_folder ? 1 : output.layout.files.size();
}
fs::path partial_name(const Output& output, size_t i) {
  return output.layout.is_folder ? partial_path(output)
                                 : partial_path(output, output.layout.files[i]);
}
fs::path final_name(const Output& output, size_t i) {
  return output.layout.is_folder ? output.path : final_path(output, output.layout.files[i]);
}

bool leftovers_exist(const Plan& plan) {
  for (const Output& output : plan.outputs) {
    for (size_t i = 0; i < names_of(output); ++i) {
      if (stat_of(partial_name(output, i))) return true;
    }
  }
  return false;
}

bool same_paths(const std::vector<InputFile>& a, const std::vector<InputFile>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const InputFile& x, const InputFile& y) { return x.path == y.path; });
}

}  // namespace

fs::path ledger_path(const Output& output) {
  return fs::path(partial_path(output).string() + ".ledger");
}

Resume::~Resume() {
  stop();
  if (kept_) return;
  // The first one, which says what the others are part of, goes last.
  for (size_t i = ledgers_.size(); i-- > 0;) ledgers_[i].remove();
}

void Resume::note(const std::string& text) const {
  if (options_.progress != nullptr) options_.progress->note(text);
}

Result<std::unique_ptr<Resume>> Resume::begin(const Plan& plan, const ExecuteOptions& options) {
  const std::string version = fmt::format("{}{}", options.resume.version,
                                          options.allow_nonfinite ? " allow-nonfinite" : "");
  CKPT_ASSIGN(PlanDigest digest, digest_of(plan, version));
  std::unique_ptr<Resume> resume(new Resume(plan, options));
  resume->kept_ = true;  // nothing is ours until it was read
  Status decided =
      resume->decide({digest.sha256, options.resume.command, std::move(digest.inputs)});
  if (decided) return resume;
  for (Ledger& ledger : resume->ledgers_) {
    if (ledger.was_empty()) ledger.remove();
  }
  return Failure(std::move(decided.error()));
}

// Says what differs, as exactly as can be known.
Status Resume::refuse(const Ledger& ledger, const LedgerHead& found, const LedgerHead& head) const {
  const std::string partial = ledger.path().stem().string();
  const std::string changed = changed_input(found.inputs, head.inputs, true);
  if (same_paths(found.inputs, head.inputs) && !changed.empty()) {
    return fail_with_hint(ErrorCode::kUsage, "--force to begin anew",
                          "{}: begun before its input changed: {}", partial, changed);
  }
  if (found.command == head.command) {
    return fail_with_hint(ErrorCode::kUsage, "--force to begin anew",
                          "{}: begun by the same command when it planned something else: "
                          "documents of the input or the version of ckpt have changed",
                          partial);
  }
  return fail_with_hint(ErrorCode::kUsage, "that command to finish it, or --force to begin anew",
                        "{}: begun by another command: {}", partial, found.command);
}

Status Resume::decide(LedgerHead head) {
  std::optional<LedgerContent> first;
  for (const Output& output : plan_.outputs) {
    std::error_code error;
    const fs::path path = ledger_path(output);
    if (path.has_parent_path() && !fs::is_directory(path.parent_path(), error)) {
      return fail_with_hint(
          ErrorCode::kUsage, fmt::format("mkdir -p {}", path.parent_path().string()),
          "{}: there is no such folder to write into", path.parent_path().string());
    }
    CKPT_ASSIGN(Ledger ledger, Ledger::open(path));
    CKPT_ASSIGN(std::optional<LedgerContent> content, ledger.read());
    const bool same = content && content->head.plan == head.plan &&
                      changed_input(content->head.inputs, head.inputs, true).empty();
    if (content && !same && !options_.force) return refuse(ledger, content->head, head);
    if (ledgers_.empty() && same) first = std::move(content);
    ledgers_.push_back(std::move(ledger));
  }
  kept_ = false;
  if (first) {
    take(*first);
  } else if (leftovers_exist(plan_)) {
    note(fmt::format("{}: what an earlier run left is not gone on with; begun anew",
                     partial_path(plan_.outputs[0]).string()));
  }
  if (leftovers_ == Leftovers::kPublish) return {};
  const bool goes_on = leftovers_ == Leftovers::kKeep;
  for (size_t i = goes_on ? 1 : 0; i < ledgers_.size(); ++i) CKPT_TRY(ledgers_[i].begin(head));
  return goes_on ? ledgers_[0].go_on(*first) : Status{};
}

// True when every output stands, whole, under its temporary or its final name.
bool Resume::is_ready(const LedgerContent& content) const {
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
    const bool is_partial =
        has_inode(stat_of(partial_name(output, entry.numbers[1])), entry.numbers[2]);
    const bool is_final =
        has_inode(stat_of(final_name(output, entry.numbers[1])), entry.numbers[2]);
    found += is_partial || is_final ? 1 : 0;
    // Exchanged, but what was replaced is still to go.
    std::error_code ignored;
    if (is_final && !is_partial) fs::remove_all(partial_name(output, entry.numbers[1]), ignored);
  }
  if (names == 0 || found != names || digests != files) return false;
  for (const Output& output : plan_.outputs) {
    for (const OutputFile& file : output.layout.files) {
      const auto partial = stat_of(partial_path(output, file));
      const auto status = partial ? partial : stat_of(final_path(output, file));
      if (!status || static_cast<uint64_t>(status->st_size) != file.size_bytes) return false;
      // Edited since.
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

void Resume::take(const LedgerContent& content) {
  if (is_ready(content)) {
    leftovers_ = Leftovers::kPublish;
    take_reports(content);
    return;
  }
  for (const LedgerEntry& entry : content.entries) {
    const uint64_t* numbers = entry.numbers;
    if (entry.kind == Kind::kScan) {
      const auto scan = static_cast<uint32_t>(numbers[0]);
      scanned_rows_[scan].add(numbers[1], numbers[2]);
      float& amax = amax_[scan];
      amax = std::max(amax, std::bit_cast<float>(static_cast<uint32_t>(numbers[3])));
    }
    if (entry.kind != Kind::kWrote || numbers[0] >= plan_.outputs.size()) continue;
    if (numbers[1] >= plan_.outputs[numbers[0]].layout.files.size()) continue;
    const LedgerKeeper::FileNumber file{numbers[0], numbers[1]};
    written_[file].add(numbers[2], numbers[3]);
  }
  uint64_t bytes = 0;
  for (auto file = written_.begin(); file != written_.end();) {
    const Output& output = plan_.outputs[file->first.first];
    const OutputFile& layout = output.layout.files[file->first.second];
    const auto status = stat_of(partial_path(output, layout));
    const bool there = status && S_ISREG(status->st_mode) &&
                       static_cast<uint64_t>(status->st_size) == layout.size_bytes &&
                       file->second.runs().rbegin()->second <= layout.size_bytes;
    bytes += there ? file->second.size() : 0;
    file = there ? std::next(file) : written_.erase(file);
  }
  if (written_.empty() && amax_.empty()) return;
  leftovers_ = Leftovers::kKeep;
  note(fmt::format("going on with {}: {} bytes of it are finished",
                   partial_path(plan_.outputs[0]).string(), bytes));
}

bool Resume::is_done(const Jobs& jobs, const Task& task) const {
  if (leftovers_ != Leftovers::kKeep) return false;
  if (task.kind == Task::Kind::kScan) {
    const auto rows = scanned_rows_.find(task.job);
    return rows != scanned_rows_.end() && rows->second.contains(task.first, task.count);
  }
  const std::vector<OutputRange> ranges = ranges_of(jobs, task);
  return std::all_of(ranges.begin(), ranges.end(), [&](const OutputRange& range) {
    const auto found = written_.find({range.output, range.file});
    return found != written_.end() && found->second.contains(range.offset_bytes, range.size_bytes);
  });
}

void Resume::add_known(uint32_t scan, Stats& stats) const {
  const auto found = amax_.find(scan);
  if (found != amax_.end()) combine(stats, Stats{found->second, 0});
}

void Resume::start(OutputFiles& files, LedgerKeeper::Failed failed) {
  std::set<LedgerKeeper::FileNumber> written;
  for (const auto& [file, runs] : written_) written.insert(file);
  keeper_ = std::make_unique<LedgerKeeper>(
      ledgers_[0], std::move(written),
      [&files](LedgerKeeper::FileNumber file) {
        return files.writer(file.first, file.second).sync_data();
      },
      std::move(failed));
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
  // Without it a run that is killed between two renames could not be gone on with; no more than
  // that.
  const Status written = ledgers_[0].append(lines);
  return written ? ledgers_[0].sync() : Status{};
}

bool Resume::keep() {
  stop();
  const bool has_any = leftovers_ == Leftovers::kPublish || !written_.empty() || !amax_.empty() ||
                       (keeper_ && keeper_->wrote_anything());
  kept_ = has_any;
  return has_any;
}

}  // namespace ckpt
