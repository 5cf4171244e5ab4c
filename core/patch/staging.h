// Where a patch keeps what it has in hand, and whose it is.
//
//   FOLDER/.ckpt-patch/          of a folder       private to the user who patches, until the patch
//   FOLDER/.NAME.ckpt-patch/     of a lone file    is decided; then others see that it is
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

// Called before every step that changes something on disk; tests end the process there.
using StepHook = std::function<void(std::string_view step)>;

inline void step(const StepHook& hook, std::string_view what) {
  if (hook) hook(what);
}

// Where a patch of `path` (a folder, a file) keeps what it has in hand.
std::filesystem::path staging_of(const std::filesystem::path& path);
std::filesystem::path journal_of(const std::filesystem::path& path);
// The folder that the paths of a journal are relative to.
std::filesystem::path base_of(const std::filesystem::path& path);

// Held while a patch runs, so that other programs notice. Makes the staging folder where `make`
// says so. Freed by the end of the process, however it ends.
class StagingLock {
 public:
  // Fails: kUsage when another program holds it, or the staging folder is another user's or can be
  // written to by others; kIo.
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

// Fails: kUsage when the journal, or the folder of what it puts in place, is another user's or can
// be written to by others.
Status require_own_journal(const std::filesystem::path& path);
// From here on others see whether there is a journal, and nothing else.
Status show_staging(const std::filesystem::path& path);
// Removes the staging folder with everything in it. Fails: kIo.
Status remove_staging(const std::filesystem::path& path, const StepHook& hook);

// Ties a journal to this place: lower-case hex SHA-256 of which folder the checkpoint is or
// is in, its name there, which staging folder was made for it, and `lines`. Fails: kIo.
Result<std::string> digest_of_journal(const std::filesystem::path& path, std::string_view lines);

}  // namespace ckpt
