// Checks of paths, and errors that name a path.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace ckpt {

// The umask, from the system: umask(2) tells it only by changing it, under the feet of other
// threads.
mode_t mask_of_process();
// `hint` for the errno of a denied `path`; where the umask of the process closed it to its own
// user, what to type instead.
const char* denied_hint(const std::filesystem::path& path, int error, const char* hint);

// kIo: "PATH: DOING: text of errno", with `hint` if the system denied access.
Failure io_failure(const std::filesystem::path& path, const char* doing, int error,
                   const char* hint_if_denied = "");

// kIo: `path` cannot be opened; a link to nothing says where it leads, and in the hub's cache the
// hint downloads the model again.
Failure open_failure(const std::filesystem::path& path, int error);

// kIo: bytes could not be written to `path`. A full disk, a quota and a limit on the size of files
// are reported with the space that is left; `size` tells how much was written, or how much is
// needed.
Failure write_failure(const std::filesystem::path& path, int error, const std::string& size);

// Requires that `size_bytes` more fit on the disk that `path` is on, or will be on. Fails: kIo, as
// write_failure().
Status check_room(const std::filesystem::path& path, uint64_t size_bytes);

// Whether something has this name (kKeep: even a dangling link). Fails: kIo if this cannot be
// determined; "no" would then be a wrong answer.
enum class Links : uint8_t { kKeep, kFollow };
Result<bool> is_there(const std::filesystem::path& path, Links links = Links::kKeep);

// The one spelling of the place that `path` names; nothing needs to exist there.
std::filesystem::path real_place(const std::filesystem::path& path);

// Whether `path` is `folder` or below it. Requires: both are spelled in one way.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

// The folder of `path`; "." if the path has none.
std::filesystem::path parent_of(const std::filesystem::path& path);
// Fails: kUsage if a part of the path above `path` is a file; it may also not exist so far.
Status refuse_file_above(const std::filesystem::path& path);
// Requires that the folder of `path` exists. Fails: kUsage if it does not; kIo if this cannot be
// determined, because a failing disk is not a missing folder.
Status check_parent(const std::filesystem::path& path);

// Why this user cannot make files in `folder` that exists, as an errno; 0 if nothing forbids it.
int denied_in(const std::filesystem::path& folder);

// Whether `path` is a folder. If the disk does not answer, the previous result counts, because a
// temporary failure must not turn a folder into a file between two steps of a patch.
bool is_folder(const std::filesystem::path& path);

}  // namespace ckpt
