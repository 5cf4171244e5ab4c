// A folder held by its descriptor: whatever is made, renamed or removed through it lies below it.
//
//   OUT.partial/           found once, by the person's word; a link there is theirs to make
//     unet/weights.bin     resolved from the descriptor, through folders alone, never through links
//
// Checking a path and then using it leaves time to swap a link in. Here the check is the use:
// openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, or one openat with O_NOFOLLOW a step where
// a kernel (before 5.6) or a sandbox has no openat2.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/io/descriptor.h"
#include "core/io/ownership.h"

namespace ckpt {

// Whether a relative path names something below the folder it is taken from.
bool stays_inside(const std::string& path);

enum class Resolver : uint8_t { kKernel, kSteps };  // kSteps is what kKernel falls back to

class OpenFolder {
 public:
  // An existing folder; a link to one counts, unless `is_ours`: this program creates no links.
  // Fails: kIo.
  static Result<OpenFolder> open(const std::filesystem::path& path, bool is_ours = false,
                                 Resolver resolver = Resolver::kKernel);

  const std::filesystem::path& path() const { return path_; }

  // Names are relative and keep inside (stays_inside() in core/model/plan.h); all fail with
  // kCorrupt when one does not, or when a step of it is a link, and with kIo. `flags` as for
  // open(2). A new file has mode 0600 until publish_mode(); one that O_CREAT finds there fails with
  // kUsage unless it is ours (core/io/ownership.h).
  Result<Descriptor> open_file(const std::string& name, int flags) const;
  // With the folders above it; those that are there already stay as they are. Mode and owner are
  // those of an output.
  Status make_folder(const std::string& name) const;
  // A folder that nobody else may enter, made here, or ours and found here. Fails: kUsage for one
  // that is another user's, or that others may write to.
  Result<OpenFolder> open_private(const std::string& name) const;
  // Attributes of a file or folder that becomes an output (empty: this folder): the mode first,
  // and, once it has its name, the owner of the folder `like`, where the program runs as root.
  Status publish_mode(const std::string& name) const;
  Status publish_owner(const std::string& name, const OpenFolder& like) const;
  // Copies all but the bytes from the file `name` to the file `to`, which is about to take its
  // place. Without such a file, `to` becomes an output of this folder.
  Status give_attributes(const std::string& name, const std::string& to) const;
  // Replaces what has the name `to`, or refuses where `may_replace` is false (and the file system
  // can tell). Fails: kUsage when it is refused.
  Status rename(const std::string& from, const std::string& to, bool may_replace = true) const;
  // The two change names; at no moment is one of the names free. False where that is not known to
  // the file system.
  Result<bool> exchange(const std::string& a, const std::string& b) const;
  // `to` becomes a second name of the open file `file`, which was found at `from`. Fails: kUsage
  // where it lies on another disk; kIo.
  Status link(const Descriptor& file, const std::filesystem::path& from,
              const std::string& to) const;
  // A file or a link itself; none there is fine.
  Status remove(const std::string& name) const;
  Result<bool> has(const std::string& name) const;
  // Makes renames and new files in the folder `name` below (empty: in this one) survive a power
  // cut.
  Status sync(const std::string& name = {}) const;

 private:
  OpenFolder(std::filesystem::path path, Descriptor descriptor, Resolver resolver)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), resolver_(resolver) {}
  Result<Descriptor> resolve(const std::string& name, int flags) const;
  // To be examined, not read; empty: this folder.
  Result<Descriptor> look(const std::string& name) const;
  int resolve_by_steps(const std::string& name, int flags) const;
  // The folder that contains `name`, and its last component.
  struct Place {
    Descriptor folder;
    std::string last;
  };
  Result<Place> place_of(const std::string& name) const;
  Failure failure(const std::string& name, const char* doing, int error) const;

  std::filesystem::path path_;
  Descriptor descriptor_;
  Resolver resolver_;
};

}  // namespace ckpt
