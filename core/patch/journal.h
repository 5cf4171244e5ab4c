// The journal of a patch stores its remaining work, so that the next run can finish a killed patch.
//
//   FOLDER/.ckpt-patch/          the data of a patch in progress (for a file: .NAME.ckpt-patch/)
//     files/0, files/1, ...      entire new files and new headers, written and synced
//     journal                    appears last, by rename: from here on the patch will happen
//
//   no journal   the checkpoint is unchanged; staged files are removed
//   a journal    its lines are executed in order, repeatedly if necessary: each can be repeated
//
//     ckpt-patch 3
//     of 71c4...                              SHA-256 of the checkpoint's identity, place and lines
//     replace 0 812 config.json               files/0, of 812 bytes, gets the name
//     header 1 96 4096 model.safetensors      files/1 replaces the start of a file of 4096 bytes
//     insert 2 4192 4096 8192 model.gguf      grows at the start to 8192 bytes, gets files/2
//     remove SHA256SUMS
//     end
//
// Unpacked archives and shared folders may contain journals that others wrote. A journal is
// executed only if the user who runs the program wrote it, nobody else could write to it or to its
// folder, it was made in this folder (its digest covers inode and birth time of the folder), and it
// names only files of the checkpoint. A user who has copied or moved the folder can waive the third
// condition (JournalFrom::kCopied). A rejected journal stays: the files may be in two states, and
// nothing else can finish them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/descriptor.h"

namespace ckpt {

// The staging folder of a patch, and its owner.
//
//   FOLDER/.ckpt-patch/          for a folder       private to the user until the patch is decided;
//   FOLDER/.NAME.ckpt-patch/     for a file         then others can see that it exists

// Called before every step that changes something on disk; tests end the process there.
using StepHook = std::function<void(std::string_view step)>;

inline void step(const StepHook& hook, std::string_view what) {
  if (hook) hook(what);
}

// The staging folder for a patch of `path` (a folder or a file).
std::filesystem::path staging_of(const std::filesystem::path& path);
std::filesystem::path journal_of(const std::filesystem::path& path);
// The folder that the paths of a journal are relative to.
std::filesystem::path base_of(const std::filesystem::path& path);

// Locks the staging folder while a patch runs, until the result is closed or the process ends, so
// that other programs notice. Creates the folder if `make` is set. Fails: kUsage if another program
// holds the lock, or if the folder belongs to another user or others can write to it; kIo.
Result<Descriptor> lock_staging(const std::filesystem::path& path, bool make);

enum class PatchState : uint8_t { kNone, kLeftovers, kUnfinished };
// Fails: kIo if this cannot be determined.
Result<PatchState> patch_state(const std::filesystem::path& path);
// Fails: kUsage if an interrupted patch left the checkpoint, or a patch of its folder left this
// file, between two states; kIo.
Status refuse_unfinished_patch(const std::filesystem::path& path);

// Whether an interrupted patch of the folder of `file` changes it. Fails: kIo.
Result<bool> is_changed_with_folder(const std::filesystem::path& file);

// Fails: kUsage if the journal, or the folder of its new files, belongs to another user or others
// can write to it.
Status require_own_journal(const std::filesystem::path& path);
// Lets others see whether a journal exists, and nothing else.
Status show_staging(const std::filesystem::path& path);
// Removes the staging folder with its content. Fails: kIo.
Status remove_staging(const std::filesystem::path& path, const StepHook& hook);

// Binds a journal to its place: lower-case hex SHA-256 of the identity of the folder that is or
// contains the checkpoint, its name there, the identity of its staging folder, and `lines`. Fails:
// kIo.
Result<std::string> digest_of_journal(const std::filesystem::path& path, std::string_view lines);

struct JournalLine {
  enum class Kind : uint8_t { kReplace, kHeader, kInsert, kRemove };
  Kind kind;
  std::string path;         // relative to the folder that is or contains the checkpoint
  uint64_t staged = 0;      // number of the file in files/
  uint64_t staged_bytes = 0;
  uint64_t size_bytes = 0;  // present size of the file; kHeader, kInsert
  uint64_t new_size_bytes = 0;
  bool operator==(const JournalLine&) const = default;
};
using Journal = std::vector<JournalLine>;

// A journal and its checkpoint: `of` is digest_of_journal().
struct BoundJournal {
  std::string of;
  Journal lines;
};
// Render the text after the first two lines, or the entire text; and parse it. Fails: kCorrupt: not
// a journal of ckpt, truncated, or a path that leaves the folder.
std::string render_lines(const Journal& journal);
std::string render_journal(const BoundJournal& journal);
Result<BoundJournal> parse_journal(std::string_view text);

// Whether a patch of the checkpoint may change a file of this name, relative to base_of(path). The
// caller provides this, because core knows no file names.
using FileFilter = std::function<bool(const std::string& name)>;

// Writes the journal, which decides the patch. Requires: the lock; every file in files/ is synced.
Status commit(const std::filesystem::path& path, const Journal& journal, const StepHook& hook);
// Executes the journal, then removes it and the staging folder. Requires: the lock; the journal was
// written by this process or accepted by recover_patch(). Fails: kCorrupt: not a journal of ckpt,
// or a file changed in the meantime; kIo. After a failure the journal stays.
Status carry_out(const std::filesystem::path& path, const StepHook& hook);

// Executes a patch that consists of one kReplace and needs no journal. Requires: the lock.
Status carry_out_one(const std::filesystem::path& path, const JournalLine& line,
                     const StepHook& hook);

// kCopied: the user states that it was copied together with its checkpoint.
enum class JournalFrom : uint8_t { kHere, kCopied };
// Finishes an earlier patch if it was decided, and removes its leftovers if not. Returns the state
// in which the earlier patch was. Fails: as carry_out and lock_staging; kUsage for a journal of
// another user, one that names other files than the checkpoint's, and one that was copied here.
Result<PatchState> recover_patch(const std::filesystem::path& path, const FileFilter& belongs,
                                 const StepHook& hook = {}, JournalFrom from = JournalFrom::kHere);

}  // namespace ckpt
