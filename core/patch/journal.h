// The journal of a patch: what is left to do before a checkpoint is patched, kept where a killed
// program's successor finds it.
//
//   FOLDER/.ckpt-patch/          everything a patch has in hand (a file's: .NAME.ckpt-patch/)
//     files/0, files/1, ...      whole new files and new headers, written and synced
//     journal                    appears last, by rename: from here on the patch is going to happen
//
//   no journal   the checkpoint is untouched; what lies here is thrown away
//   a journal    its lines are carried out, in order, as often as it takes: each can be repeated
//
//     ckpt-patch 1
//     replace 0 config.json                    files/0 takes the name
//     header 1 4096 model.safetensors          files/1 over the start of a file of 4096 bytes
//     insert 2 4096 8192 model.safetensors     room in front until it has 8192 bytes, then files/2
//     remove SHA256SUMS
//     end
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace ckpt {

struct JournalLine {
  enum class Kind : uint8_t { kReplace, kHeader, kInsert, kRemove };
  Kind kind;
  std::string path;         // relative to the folder that the checkpoint is or lies in
  uint64_t staged = 0;      // number of the file in files/
  uint64_t size_bytes = 0;  // of the file as it is; kHeader, kInsert
  uint64_t new_size_bytes = 0;
  bool operator==(const JournalLine&) const = default;
};
using Journal = std::vector<JournalLine>;

// Its text, and back. Fails: kCorrupt: no journal of ours, cut short, a path that leaves the
// folder.
std::string render_journal(const Journal& journal);
Result<Journal> parse_journal(std::string_view text);

// Called before every step that changes something on disk; tests end the process there.
using StepHook = std::function<void(std::string_view step)>;

// Where a patch of `path` (a folder, a file) keeps what it has in hand.
std::filesystem::path staging_of(const std::filesystem::path& path);
// The folder that the paths of a journal are relative to.
std::filesystem::path base_of(const std::filesystem::path& path);

// Held while a patch is at work; another program is told so. Makes the staging folder where `make`
// says so. Freed by the end of the process, however it ends.
class StagingLock {
 public:
  // Fails: kUsage when another program holds it; kIo.
  static Result<StagingLock> take(const std::filesystem::path& path, bool make);
  StagingLock(StagingLock&& other) noexcept;
  StagingLock& operator=(StagingLock&&) = delete;
  ~StagingLock();

 private:
  explicit StagingLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

enum class PatchState : uint8_t { kNone, kLeftovers, kUnfinished };
// Fails: kIo, where it cannot be told.
Result<PatchState> patch_state(const std::filesystem::path& path);
// Fails: kUsage for a checkpoint that an interrupted patch has left between two states; kIo.
Status refuse_unfinished_patch(const std::filesystem::path& path);

// Writes the journal: the point of no return. Requires: the lock; every file in files/ is synced.
Status commit(const std::filesystem::path& path, const Journal& journal, const StepHook& hook);
// Carries the journal out and removes it and the staging folder. Requires: the lock.
// Fails: kCorrupt: no journal of ours, or a file is not as it was left; kIo. The journal stays.
Status carry_out(const std::filesystem::path& path, const StepHook& hook);

// The same for a patch that is one kReplace, which needs no journal. Requires: the lock.
Status carry_out_one(const std::filesystem::path& path, const JournalLine& line,
                     const StepHook& hook);

// What an earlier patch left: finished when it was under way, cleared away when it was not.
// Fails: as carry_out and StagingLock::take. Gives what was found.
Result<PatchState> recover_patch(const std::filesystem::path& path, const StepHook& hook = {});

}  // namespace ckpt
