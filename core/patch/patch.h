// Patches in place: only files that differ are changed, all of them or none.
//
//   before ─ lay out ─▶ files ┐
//                             ├─ plan_patch ─▶ what to do with each file ─ apply ─▶ the folder
//   after  ─ lay out ─▶ files ┘
// Both layouts are made with LayoutOptions::keep_places. A file that is the same in both is not
// opened for writing, even if its JSON is spelled differently. A changed header overwrites the old
// one if it has the same size; the bytes after it move only if the file system can move them
// without copying (core/io/shift.h); otherwise the file is rewritten. All new files are first
// written and synced next to the checkpoint; then a journal (core/patch/journal.h) puts them in
// place.
//
// A file that is a link, or has another hard link, is never overwritten, because the bytes would
// also change under the other name, for example in the Hub's cache. Its name gets a new file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/execute.h"
#include "core/io/shift.h"
#include "core/model/plan.h"
#include "core/patch/journal.h"

namespace ckpt {

enum class FileChange : uint8_t {
  kWritten,    // a document, or a file without tensors: written completely
  kHeader,     // the header is overwritten; tensor bytes are not touched
  kShifted,    // the header grows, or must not change under another name: shares or inserts blocks
  kRewritten,  // tensor bytes are copied or made
  kRemoved,
};
std::string_view name(FileChange change);

struct PatchedFile {
  std::string path;  // as in the layout, or the file to remove
  FileChange change = FileChange::kWritten;
  bool is_new = false;       // no file has this name yet
  size_t file = 0;           // in Patch::after's layout; unused for kRemoved
  uint64_t shift_bytes = 0;  // for kShifted; 0: only the header changes, in a clone
  uint64_t written_bytes = 0;
};

struct Patch {
  std::filesystem::path path;      // the patched folder, or its first file
  Output after;                    // all files in their new state; after.path = path
  std::vector<PatchedFile> files;  // files that differ, in layout order, removed ones last
  ShiftAbility shift;
  // Files in the folder that did not exist while planning; if they appear, they must be removed.
  std::vector<std::string> absent = {};

  uint64_t written_bytes() const;
  bool changes_nothing() const { return files.empty(); }
};

// The files of a checkpoint that has only documents, which kDocuments patches compare.
Layout lay_out_documents(const Checkpoint& checkpoint);

// Compares two checkpoints with the same kind of layout. Fails: kUsage if a file cannot be replaced
// without leaving the folder; kIo.
Result<Patch> plan_patch(const std::filesystem::path& path, const Output& before, Output after,
                         const ShiftAbility& shift);
// Adds the removal of a file in the folder, if it exists. Fails: kIo.
Status remove_also(Patch& patch, const std::string& name);

// Fails as apply_patch() does before it writes anything, also for a dry run: kIo if this user may
// not write the files or the folder; kUsage for a staging folder that another program made.
Status check_patchable(const Patch& patch);

struct PatchOptions {
  ExecuteOptions execute;
  StepHook hook = {};
};
// Executes the patch. Requires: recover_patch() has run. Fails: as execute(), commit() and
// carry_out(); until the journal exists, the checkpoint does not change.
Result<ExecuteReport> apply_patch(const Patch& patch, const PatchOptions& options);

// Whether write_patched() makes `out` a file, because `patch.path` is one; otherwise a folder.
bool goes_into_one_file(const Patch& patch, const std::filesystem::path& out);
// Writes the patched checkpoint to `out` as a new one; `patch.path` does not change. Unchanged
// files are transferred by `link`. Fails: as execute() and link_file(); kUsage if `out` exists.
Result<ExecuteReport> write_patched(const Patch& patch, const std::filesystem::path& out,
                                    LinkWay link, const PatchOptions& options);

}  // namespace ckpt
