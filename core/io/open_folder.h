// A folder held by its descriptor: everything that is created, renamed or removed through it is
// below it.
//
//   OUT.partial/           found once by the name that the user typed; may be a link
//     unet/weights.bin     resolved from the descriptor through folders only, never through links
//
// Checking a path before using it leaves time to insert a link. Here both are one call: openat2
// with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, or an openat with O_NOFOLLOW for each component if
// a kernel (before 5.6) or a sandbox has no openat2.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/io/descriptor.h"
#include "core/io/ownership.h"

namespace ckpt {

// Whether a relative path stays below its starting folder.
bool stays_inside(const std::string& path);

enum class Resolver : uint8_t { kKernel, kSteps };  // kSteps is the fallback of kKernel

class OpenFolder {
 public:
  // Opens an existing folder. A link to a folder is accepted unless `is_ours`, because this program
  // creates no links. Fails: kIo.
  static Result<OpenFolder> open(const std::filesystem::path& path, bool is_ours = false,
                                 Resolver resolver = Resolver::kKernel);

  const std::filesystem::path& path() const { return path_; }

  // Names are relative and stay inside the folder (stays_inside()). All functions fail with
  // kCorrupt if a name does not, or if a component of it is a link, and with kIo. `flags` as for
  // open(2). A new file has mode 0600 until publish_mode(); one that O_CREAT finds there fails with
  // kUsage unless it is ours (core/io/ownership.h).
  Result<Descriptor> open_file(const std::string& name, int flags) const;
  // Opens the file if it exists. nullopt if it does not exist or cannot be from a run of this user:
  // a link, another kind of file, or one without permission.
  Result<std::optional<Descriptor>> find_file(const std::string& name, int flags) const;
  // Creates the file or, with O_DIRECTORY, a folder that nobody else may enter, and opens it.
  // nullopt if the name is taken. After a failure nothing new has the name.
  Result<std::optional<Descriptor>> make_new(const std::string& name, int flags) const;
  // Creates the folder and its parents; existing ones stay unchanged. Mode and owner are those of
  // an output.
  Status make_folder(const std::string& name) const;
  // Creates a folder that nobody else may enter, or accepts an existing one. Fails: kUsage if it
  // belongs to another user, or others may write to it.
  Result<OpenFolder> open_private(const std::string& name) const;
  // Sets the attributes of a file or folder that becomes an output (empty: this folder): first the
  // mode; once it has its name and if the program runs as root, also the owner of the folder
  // `like`.
  Status publish_mode(const std::string& name) const;
  Status publish_owner(const std::string& name, const OpenFolder& like) const;
  // Copies all attributes of the file `name` to the file `to`, which will replace it. If there is
  // no such file, `to` gets the attributes of an output in this folder.
  Status give_attributes(const std::string& name, const std::string& to) const;
  // Renames. Replaces an existing `to`, or fails if `may_replace` is false and the file system
  // supports this. Fails: kUsage if `to` exists then.
  Status rename(const std::string& from, const std::string& to, bool may_replace = true) const;
  // Exchanges the two names atomically. Returns false if the file system does not support this.
  Result<bool> exchange(const std::string& a, const std::string& b) const;
  // Makes `to` a hard link to the open file `file`, which was found at `from`. Fails: kUsage if it
  // is on another disk; kIo.
  Status link(const Descriptor& file, const std::filesystem::path& from,
              const std::string& to) const;
  // Removes a file or a link (not its target), if it exists.
  Status remove(const std::string& name) const;
  Result<bool> has(const std::string& name) const;
  // Syncs renames and new files in the subfolder `name` (empty: in this folder) to the disk.
  Status sync(const std::string& name = {}) const;

 private:
  OpenFolder(std::filesystem::path path, Descriptor descriptor, Resolver resolver)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), resolver_(resolver) {}
  Result<Descriptor> resolve(const std::string& name, int flags) const;
  int try_to_open(const std::string& name, int flags) const;
  Result<std::optional<Descriptor>> make_private(const std::string& name) const;
  Result<Descriptor> open_own_folder(const std::string& name) const;
  // Opens for examining, not for reading; empty: this folder.
  Result<Descriptor> look(const std::string& name) const;
  int resolve_by_steps(const std::string& name, int flags) const;
  // The folder that contains a name, and the name's last component.
  struct Place {
    Descriptor opened;  // a subfolder; not needed for this folder itself
    int folder;
    std::string last;
  };
  Result<Place> place_of(const std::string& name) const;
  Result<bool> make_here(const Place& place, const std::string& name, mode_t mode) const;
  Status require_inside(const std::string& name) const;
  Failure failure(const std::string& name, const char* doing, int error) const;

  std::filesystem::path path_;
  Descriptor descriptor_;
  Resolver resolver_;
};

}  // namespace ckpt
