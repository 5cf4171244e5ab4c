// Writes a patched checkpoint elsewhere: unchanged files are linked or copied (patch.h).
#include <set>

#include "core/base/threads.h"
#include "core/io/files_read.h"
#include "core/outputs/place.h"
#include "core/patch/patch.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Removes an empty folder. A mount point cannot be removed, which Place reports.
void remove_empty_folder(const fs::path& out) {
  std::error_code error;
  if (fs::symlink_status(out, error).type() == fs::file_type::directory) fs::remove(out, error);
}

class PatchedCopy {
 public:
  PatchedCopy(const Patch& patch, const fs::path& out, LinkWay link, const PatchOptions& options)
      : patch_(patch), options_(options), link_(link), out_{out, {}, patch.after.layout} {
    out_.layout.is_folder = true;
  }

  Result<ExecuteReport> run() {
    remove_empty_folder(out_.path);
    CKPT_ASSIGN(Place place, Place::make(out_, false, Leftovers::kRemove,
                                         [&] { return check_temporary_folder(out_); }));
    const std::set<size_t> files = engine_files();
    CKPT_ASSIGN(const OpenFolder root, OpenFolder::open(partial_path(out_), true));
    CKPT_ASSIGN(ExecuteReport report, write(files, root));
    CKPT_TRY(link_others(files, root));
    CKPT_TRY(check_files_read());
    CKPT_TRY(place.publish());
    return report;
  }

 private:
  // The files that the engine writes; the others are linked, or cloned with another header.
  std::set<size_t> engine_files() const {
    std::set<size_t> out;
    const bool clones = patch_.shift.way == ShiftWay::kClone && link_ == LinkWay::kReflink;
    for (size_t i = 0; i < out_.layout.files.size(); ++i) {
      const PatchedFile* changed = change_of(i);
      std::error_code error;
      if (changed == nullptr) {
        if (!fs::exists(old_path(i), error)) out.insert(i);
        continue;
      }
      const bool shifts =
          changed->change == FileChange::kHeader || changed->change == FileChange::kShifted;
      if (!shifts || !clones) out.insert(i);
    }
    return out;
  }

  const PatchedFile* change_of(size_t file) const {
    for (const PatchedFile& changed : patch_.files) {
      if (changed.change != FileChange::kRemoved && changed.file == file) return &changed;
    }
    return nullptr;
  }

  Result<ExecuteReport> write(const std::set<size_t>& files, const OpenFolder& root) {
    if (files.empty()) return ExecuteReport{};
    Output engine{root.path() / ".written", patch_.after.checkpoint, {}};
    engine.layout.is_folder = true;
    for (const size_t i : files) {
      OutputFile& file = engine.layout.files.emplace_back(out_.layout.files[i]);
      file.path = std::to_string(i);
    }
    Plan plan;
    plan.outputs.push_back(std::move(engine));
    CKPT_ASSIGN(ExecuteReport report, execute(plan, options_.execute));
    size_t next = 0;
    for (const size_t i : files) {
      CKPT_TRY(make_folder_of(i, root));
      CKPT_TRY(root.rename(fmt::format(".written/{}", i), out_.layout.files[i].path));
      report.files[next++].path = final_path(out_, out_.layout.files[i]).string();
    }
    std::error_code error;
    if (!fs::remove(root.path() / ".written", error)) {
      return fail(ErrorCode::kIo, "{}: cannot be removed: {}", (root.path() / ".written").string(),
                  error.message());
    }
    return report;
  }

  Status link_others(const std::set<size_t>& written, const OpenFolder& root) {
    for (size_t i = 0; i < out_.layout.files.size(); ++i) {
      if (written.count(i) != 0) continue;
      CKPT_TRY(check_not_interrupted(options_.execute.interrupted));
      CKPT_TRY(make_folder_of(i, root));
      const FileBelow to{root, out_.layout.files[i].path};
      const PatchedFile* changed = change_of(i);
      if (changed == nullptr) {
        CKPT_TRY(link_file(old_path(i), to, link_));
      } else {
        CKPT_TRY(
            clone_with_header(old_path(i), to, changed->shift_bytes, out_.layout.files[i].header));
      }
    }
    return {};
  }

  Status make_folder_of(size_t file, const OpenFolder& root) const {
    const std::string above = fs::path(out_.layout.files[file].path).parent_path().string();
    return above.empty() ? Status{} : root.make_folder(above);
  }

  fs::path old_path(size_t file) const {
    return final_path(patch_.after, patch_.after.layout.files[file]);
  }

  const Patch& patch_;
  const PatchOptions& options_;
  LinkWay link_;
  Output out_;
};

}  // namespace

bool goes_into_one_file(const Patch& patch, const fs::path& out) {
  const Layout& layout = patch.after.layout;
  const std::string ending = out.extension().string();
  return !layout.is_folder && layout.files.size() == 1 &&
         (ending == patch.path.extension() || ending == "." + patch.after.checkpoint.format);
}

Result<ExecuteReport> write_patched(const Patch& patch, const fs::path& out, LinkWay link,
                                    const PatchOptions& options) {
  if (goes_into_one_file(patch, out)) {
    Plan plan;
    plan.outputs.push_back({out, patch.after.checkpoint, patch.after.layout});
    return execute(plan, options.execute);
  }
  return PatchedCopy(patch, out, link, options).run();
}

}  // namespace ckpt
