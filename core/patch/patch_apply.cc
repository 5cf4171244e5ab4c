// Applies a patch: stages files, commits the journal, executes it (patch.h, journal.h).
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>

#include "core/io/paths.h"
#include "core/patch/patch.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Whether the engine writes the entire file into the staging folder.
bool is_whole(const PatchedFile& file) {
  return file.change == FileChange::kWritten || file.change == FileChange::kRewritten;
}

class Stager {
 public:
  Stager(const Patch& patch, const PatchOptions& options)
      : patch_(patch), options_(options), staging_(staging_of(patch.path)) {}

  // Writes all new files into the staging folder and syncs them.
  Result<ExecuteReport> stage() {
    Plan plan;
    plan.outputs.push_back(staged_output());
    step(options_.hook, "write files");
    CKPT_ASSIGN(ExecuteReport report, execute(plan, options_.execute));
    // There are as many reports as staged files, in the same order.
    size_t next = 0;
    for (const PatchedFile& file : patch_.files) {
      if (file.change == FileChange::kRemoved || clones(file)) continue;
      FileReport& staged = report.files[next++];
      staged.path = (base_of(patch_.path) / file.path).string();
      staged.size_bytes = laid(file).size_bytes;
      if (!is_whole(file)) staged.sha256.clear();  // only its header was hashed
    }
    CKPT_TRY(clone_shifted());
    CKPT_TRY(check_files_read());
    CKPT_TRY(close_to_others());
    return report;
  }

  Journal journal() const {
    Journal journal;
    for (size_t i = 0; i < patch_.files.size(); ++i) {
      const PatchedFile& file = patch_.files[i];
      JournalLine& line = journal.emplace_back();
      line.path = file.path;
      line.staged = i;
      line.kind = JournalLine::Kind::kReplace;
      if (file.change != FileChange::kRemoved) line.staged_bytes = laid(file).size_bytes;
      if (file.change == FileChange::kRemoved) {
        line.kind = JournalLine::Kind::kRemove;
      } else if (!is_whole(file) && !clones(file)) {
        line.kind = file.shift_bytes == 0 ? JournalLine::Kind::kHeader : JournalLine::Kind::kInsert;
        line.new_size_bytes = laid(file).size_bytes;
        line.size_bytes = line.new_size_bytes - file.shift_bytes;
        line.staged_bytes = laid(file).header.size();
      }
    }
    return journal;
  }

 private:
  // The output that the engine writes: new files under their numbers, and headers of others.
  Output staged_output() const {
    Output out{staging_ / "files", patch_.after.checkpoint, {}};
    out.layout.is_folder = true;
    for (size_t i = 0; i < patch_.files.size(); ++i) {
      const PatchedFile& file = patch_.files[i];
      if (file.change == FileChange::kRemoved || clones(file)) continue;
      OutputFile& staged = out.layout.files.emplace_back();
      if (is_whole(file)) {
        staged = laid(file);
      } else {
        staged.header = laid(file).header;
        staged.size_bytes = staged.header.size();
      }
      staged.path = std::to_string(i);
    }
    return out;
  }

  Status clone_shifted() {
    bool cloned = false;
    CKPT_ASSIGN(const OpenFolder staged, OpenFolder::open(staging_ / "files", true));
    for (size_t i = 0; i < patch_.files.size(); ++i) {
      const PatchedFile& file = patch_.files[i];
      if (!clones(file)) continue;
      step(options_.hook, "clone");
      cloned = true;
      CKPT_TRY(clone_with_header(base_of(patch_.path) / file.path, {staged, std::to_string(i)},
                                 file.shift_bytes, laid(file).header));
    }
    return cloned ? staged.sync() : Status{};
  }

  // Makes staged files private: the engine has given them the modes of outputs, which apply only
  // once they are published.
  Status close_to_others() const {
    CKPT_ASSIGN(const OpenFolder staging, OpenFolder::open(staging_, true));
    CKPT_ASSIGN(const Descriptor files, staging.open_file("files", O_RDONLY | O_DIRECTORY));
    (void)!::fchmod(files.get(), 0700);
    return {};
  }

  const OutputFile& laid(const PatchedFile& file) const {
    return patch_.after.layout.files[file.file];
  }
  bool clones(const PatchedFile& file) const {
    return file.change == FileChange::kShifted && patch_.shift.way == ShiftWay::kClone;
  }

  const Patch& patch_;
  const PatchOptions& options_;
  fs::path staging_;
};

// Decides the patch when everything is staged. Renaming a single file is atomic by itself.
Status decide(const fs::path& path, const Journal& journal, const StepHook& hook) {
  if (journal.size() == 1 && journal[0].kind == JournalLine::Kind::kReplace) {
    return carry_out_one(path, journal[0], hook);
  }
  CKPT_TRY(commit(path, journal, hook));
  return carry_out(path, hook);
}

// Fails if such a file appeared. `ckpt publish` checks for the staging folder after writing sums,
// and removes the sums if it exists; so either program sees the other.
Status check_absent(const Patch& patch) {
  for (const std::string& name : patch.absent) {
    const fs::path path = base_of(patch.path) / name;
    CKPT_ASSIGN(const bool exists, is_there(path));
    if (!exists) continue;
    return misuse_hint("the same command again",
                       "{}: appeared while the patch was prepared, and would be of the files "
                       "before it",
                       path.string());
  }
  return {};
}

}  // namespace

Status check_patchable(const Patch& patch) {
  constexpr const char* kOtherPlace = "--out, with a folder that you may write to";
  if (patch.changes_nothing()) return {};
  CKPT_ASSIGN(const PatchState state, patch_state(patch.path));
  if (state != PatchState::kNone) CKPT_TRY(lock_staging(patch.path, false));  // then releases it
  const int denied = denied_in(base_of(patch.path));
  if (denied != 0) {
    return io_failure(staging_of(patch.path), "cannot be made", denied, kOtherPlace);
  }
  // Check before deciding whatever could fail afterwards.
  CKPT_ASSIGN(const OpenFolder base, OpenFolder::open(base_of(patch.path)));
  for (const PatchedFile& file : patch.files) {
    const bool inserts =
        file.change == FileChange::kShifted && patch.shift.way == ShiftWay::kInsert;
    if (file.change != FileChange::kHeader && !inserts) continue;
    const auto opened = base.open_file(file.path, O_RDWR);
    if (opened) continue;
    Error error = opened.error();
    if (!error.hint.empty()) error.hint = kOtherPlace;
    return Failure(std::move(error));
  }
  return {};
}

Result<ExecuteReport> apply_patch(const Patch& patch, const PatchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (patch.changes_nothing()) return ExecuteReport{};
  CKPT_TRY(check_patchable(patch));
  step(options.hook, "begin");
  CKPT_ASSIGN(const Descriptor lock, lock_staging(patch.path, true));
  Stager stager(patch, options);
  auto report = check_absent(patch).and_then([&] { return stager.stage(); });
  const Status done = report ? decide(patch.path, stager.journal(), options.hook)
                             : Status(Failure(std::move(report.error())));
  if (!done) {
    std::error_code ignored;
    const auto state = patch_state(patch.path);
    if (state && *state == PatchState::kLeftovers) {
      fs::remove_all(staging_of(patch.path), ignored);
    }
    return Failure(done.error());
  }
  report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace ckpt
