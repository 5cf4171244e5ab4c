// Checks paths, and makes errors that name a path.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace ckpt {

// The umask, read from the system: umask(2) can only read it by changing it, also for other
// threads.
mode_t mask_of_process();
// Returns `hint` for the errno of a denied `path`, or, if the umask of the process denied its own
// user access, a hint to change it.
Hint denied_hint(const std::filesystem::path& path, int error, const Hint& hint);

// The error kIo: "PATH: DOING: text of errno", with `hint` if the system denied access.
Failure io_failure(const std::filesystem::path& path, const char* doing, int error,
                   const Hint& hint_if_denied = {});

// The error kIo: `path` cannot be opened. For a dangling link it names the target, and in the Hub's
// cache the hint downloads the model again.
Failure open_failure(const std::filesystem::path& path, int error);

// The error kIo: bytes could not be written to `path`. For a full disk, a quota and a limit on the
// size of files it names the remaining space; `size` tells how much was written, or how much is
// needed.
Failure write_failure(const std::filesystem::path& path, int error, const std::string& size);

// Requires that `size_bytes` more fit on the disk of `path`, which need not exist. Fails: kIo, as
// write_failure().
Status check_room(const std::filesystem::path& path, uint64_t size_bytes);

// Whether something has this name (kKeep: even a dangling link). Fails: kIo if this cannot be
// determined, because "no" might be wrong.
enum class Links : uint8_t { kKeep, kFollow };
Result<bool> is_there(const std::filesystem::path& path, Links links = Links::kKeep);

// The canonical spelling of `path`, which need not exist.
std::filesystem::path real_place(const std::filesystem::path& path);

// Whether `path` is `folder` or inside it. Requires: both are spelled canonically.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

// The folder of `path`; "." if the path has none.
std::filesystem::path parent_of(const std::filesystem::path& path);
// Fails: kUsage if a parent of `path` is a file. Missing parents pass.
Status refuse_file_above(const std::filesystem::path& path);
// Requires that the folder of `path` exists. Fails: kUsage if it does not; kIo if this cannot be
// determined, because a failing disk is not a missing folder.
Status check_parent(const std::filesystem::path& path);

// The errno that prevents this user from making files in the existing `folder`; 0 if none does.
int denied_in(const std::filesystem::path& folder);

// Whether `path` is a folder. If the disk does not answer, the previous result counts, because a
// temporary failure must not turn a folder into a file between two steps of a patch.
bool is_folder(const std::filesystem::path& path);

}  // namespace ckpt
