// Owners of files: which files a run may reuse from an earlier run, and the modes and owners of
// outputs.
//
//   OUT.partial, ledgers, journals   0600 and 0700, of the user who runs the program; files of
//                                    another user in their place are rejected by name
//   OUT                              0666 and 0777 minus the umask; as root (a container) with the
//                                    owner of the folder that contains it
//   a file that is replaced          mode, owner, ACL and extended attributes of the previous file
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "core/base/result.h"

namespace ckpt {

// kOwner suffices for files that are only removed. kOwnerAndMode also requires that nobody else may
// write to the file, so that its bytes are from this user's run.
enum class Guard : uint8_t { kOwner, kOwnerAndMode };

// `status` is that of `path` itself. The owner is compared with the user that runs the program,
// then with the owner of a new file in the same folder: NFS maps root to "nobody", and some file
// systems have only one owner or mode for all files.
bool is_ours(const std::filesystem::path& path, const struct stat& status, Guard guard);
// Fails: kUsage if the file does not belong to this user, naming `path` and who may write to it.
Status require_ours(const std::filesystem::path& path, const struct stat& status, Guard guard);
// Requires the same of the current file with this name, if there is one. Fails also: kIo.
Status require_ours(const std::filesystem::path& path, Guard guard);

// Best-effort, like the two functions below: a file system without modes or owners must not make a
// run fail. A file with a second hard link stays unchanged.
void give_new_mode(int descriptor);
// As root, sets the owner to that of the folder `parent`.
void give_owner_of(int parent, int descriptor);
// Copies attributes to the file `descriptor` from the file it replaces. If the user may not set the
// group, the group gets only the permissions of others.
void keep_attributes(int old, int descriptor);

}  // namespace ckpt
