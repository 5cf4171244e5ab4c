// Whose a file is: what a run takes over from an earlier one, and the modes and owners of outputs.
//
//   OUT.partial, ledgers, journals   0600 and 0700, of the user who runs the program; what another
//                                    user put there is refused by name
//   OUT                              0666 and 0777 less the umask; as root (a container) the owner
//                                    of the folder that it is put into
//   a file that is replaced          mode, owner, ACL and extended attributes of the one before it
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "core/base/result.h"

namespace ckpt {

// kOwner: enough for what is only removed. kOwnerAndMode: nobody else may write to it either, so
// that its bytes are those that this user's run has left.
enum class Guard : uint8_t { kOwner, kOwnerAndMode };

// `status` is of `path` itself. The owner is compared with the user that the program runs as, then
// with the one that a new file in the same folder gets: NFS makes "nobody" of root, and some file
// systems know one owner or one mode for all files.
bool is_ours(const std::filesystem::path& path, const struct stat& status, Guard guard);
// Fails: kUsage when it is not, naming `path` and who may write to it.
Status require_ours(const std::filesystem::path& path, const struct stat& status, Guard guard);
// The same of whatever has this name now; nothing there is fine. Fails also: kIo.
Status require_ours(const std::filesystem::path& path, Guard guard);

// Best effort, as are the two below: a file system without modes or owners must not cost a
// result. A file that has a second name stays as it is.
void give_new_mode(int descriptor);
// As root, the owner of the folder `parent`.
void give_owner_of(int parent, int descriptor);
// Attributes that the file `descriptor` takes from the one it replaces. Without right to the group,
// the new one gets no more than all others have.
void keep_attributes(int old, int descriptor);

}  // namespace ckpt
