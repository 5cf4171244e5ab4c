// The journal of a patch: the remaining work of a patch, stored so that the next run can finish a
// killed one.
//
//   FOLDER/.ckpt-patch/          everything a patch has in hand (a file's: .NAME.ckpt-patch/)
//     files/0, files/1, ...      whole new files and new headers, written and synced
//     journal                    appears last, by rename: from here on the patch is going to happen
//
//   no journal   the checkpoint is untouched; what lies here is thrown away
//   a journal    its lines are carried out, in order, as often as it takes: each can be repeated
//
//     ckpt-patch 3
//     of 71c4...                              SHA-256: of which checkpoint, where, and these lines
//     replace 0 812 config.json               files/0, of 812 bytes, takes the name
//     header 1 96 4096 model.safetensors      files/1 over the start of a file of 4096 bytes
//     insert 2 4192 4096 8192 model.gguf      room in front until it has 8192 bytes, then files/2
//     remove SHA256SUMS
//     end
//
// Unpacked archives and shared folders may contain journals that others wrote. A journal is
// executed only if the user who runs the program wrote it, nobody else could write to it or to its
// folder, it was made in this folder (its digest covers inode and birth time of the folder), and it
// names only files of the checkpoint. Who has copied or moved the folder may say so instead of the
// third (JournalFrom::kCopied). A journal that is refused stays: the files may be of two states,
// and nothing else can finish them.
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

// Where a patch keeps its work, and its owner.
//
//   FOLDER/.ckpt-patch/          of a folder       private to the user who patches, until the patch
//   FOLDER/.NAME.ckpt-patch/     of a lone file    is decided; then others see that it is

// Called before every step that changes something on disk; tests end the process there.
using StepHook = std::function<void(std::string_view step)>;

inline void step(const StepHook& hook, std::string_view what) {
  if (hook) hook(what);
}

// Where a patch of `path` (a folder, a file) keeps its work.
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
// Fails: kUsage if an interrupted patch left the checkpoint, or a folder's patch this file, between
// two states; kIo.
Status refuse_unfinished_patch(const std::filesystem::path& path);

// Whether an interrupted patch of the folder of `file` changes it. Fails: kIo.
Result<bool> is_changed_with_folder(const std::filesystem::path& file);

// Fails: kUsage if the journal, or the folder of its new files, belongs to another user or others
// can write to it.
Status require_own_journal(const std::filesystem::path& path);
// Lets others see whether there is a journal, and nothing else.
Status show_staging(const std::filesystem::path& path);
// Removes the staging folder with everything in it. Fails: kIo.
Status remove_staging(const std::filesystem::path& path, const StepHook& hook);

// Ties a journal to this place: lower-case hex SHA-256 of the identity of the folder that is or
// contains the checkpoint, its name there, the identity of its staging folder, and `lines`. Fails:
// kIo.
Result<std::string> digest_of_journal(const std::filesystem::path& path, std::string_view lines);

struct JournalLine {
  enum class Kind : uint8_t { kReplace, kHeader, kInsert, kRemove };
  Kind kind;
  std::string path;         // relative to the folder that is or contains the checkpoint
  uint64_t staged = 0;      // number of the file in files/
  uint64_t staged_bytes = 0;
  uint64_t size_bytes = 0;  // of the file as it is; kHeader, kInsert
  uint64_t new_size_bytes = 0;
  bool operator==(const JournalLine&) const = default;
};
using Journal = std::vector<JournalLine>;

// A journal: `of` ties it to its checkpoint (digest_of_journal()).
struct BoundJournal {
  std::string of;
  Journal lines;
};
// Its text after the first two lines; its entire text; and the reverse. Fails: kCorrupt: not a
// journal of ckpt, truncated, a path that leaves the folder.
std::string render_lines(const Journal& journal);
std::string render_journal(const BoundJournal& journal);
Result<BoundJournal> parse_journal(std::string_view text);

// Whether a patch of the checkpoint may change a file of this name, relative to base_of(path). The
// caller provides this, because core knows no file names.
using FileFilter = std::function<bool(const std::string& name)>;

// Writes the journal: the point of no return. Requires: the lock; every file in files/ is synced.
Status commit(const std::filesystem::path& path, const Journal& journal, const StepHook& hook);
// Executes the journal, then removes it and the staging folder. Requires: the lock; the journal was
// written by this process or accepted by recover_patch(). Fails: kCorrupt: not a journal of ckpt,
// or a file changed in the meantime; kIo. After a failure the journal stays.
Status carry_out(const std::filesystem::path& path, const StepHook& hook);

// The same for a patch that consists of one kReplace, which needs no journal. Requires: the lock.
Status carry_out_one(const std::filesystem::path& path, const JournalLine& line,
                     const StepHook& hook);

// kCopied: with its checkpoint, by the person who says so.
enum class JournalFrom : uint8_t { kHere, kCopied };
// Finishes an earlier patch if it was decided, and removes its leftovers if not. Fails: as
// carry_out and lock_staging; kUsage for a journal that was not written here, by this user,
// for files of the checkpoint. Returns what was found.
Result<PatchState> recover_patch(const std::filesystem::path& path, const FileFilter& belongs,
                                 const StepHook& hook = {}, JournalFrom from = JournalFrom::kHere);

}  // namespace ckpt
