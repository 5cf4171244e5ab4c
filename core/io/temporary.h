// Files and folders that a run makes under a temporary name:
//
//   .NAME.partial  .ckpt-NAME.partial  OUT.partial
//
// Names are fixed, so that the next run finds and removes leftovers of a killed run. A lock
// separates the runs; if the file system has no locks, a run publishes only what it made itself.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/io/descriptor.h"
#include "core/io/open_folder.h"

namespace ckpt {

// Locks an open file or folder until it is closed. Returns false if another run holds the lock, or
// if `path` no longer leads to it because another run removed or renamed it. Succeeds on file
// systems without locks. Fails: kIo.
Result<bool> lock_for_run(int descriptor, const std::filesystem::path& path);
// The error kUsage: another run uses `path`.
Failure in_use_failure(const std::filesystem::path& path);

// Fails: kUsage if another run has locked `path`, a file or folder; kIo.
Status refuse_at_work(const std::filesystem::path& path);

class LockedTemporary {
 public:
  // Called with the lock on leftovers of a killed run, before these are removed.
  using Check = std::function<Status()>;
  // Makes a file with mode 0600 or a folder with mode 0700. Fails: kUsage if another run is using
  // it; as `check`; kIo.
  static Result<LockedTemporary> file(const std::filesystem::path& path, const Check& check = {});
  static Result<LockedTemporary> folder(const std::filesystem::path& path, const Check& check = {});
  LockedTemporary(LockedTemporary&&) = default;
  LockedTemporary& operator=(LockedTemporary&&) = delete;
  ~LockedTemporary();  // removes it, if it still has its temporary name

  int descriptor() const { return descriptor_.get(); }
  const OpenFolder& parent() const { return parent_; }
  std::string name() const { return path_.filename().string(); }
  // Fails: kUsage if another run has replaced it; kIo.
  Status require_own() const;
  // Gives it its final name in the same folder. Fails: kUsage if another run has replaced it, or if
  // `to` exists and must not be replaced; kIo.
  Status publish(const std::string& to, bool may_replace = true) const;
  // Keeps it for another run.
  void keep() { descriptor_ = {}; }

 private:
  LockedTemporary(std::filesystem::path path, OpenFolder parent, Descriptor descriptor)
      : path_(std::move(path)), parent_(std::move(parent)), descriptor_(std::move(descriptor)) {}
  static Result<LockedTemporary> make(const std::filesystem::path& path, const Check& check,
                                      bool is_folder);

  std::filesystem::path path_;
  OpenFolder parent_;
  Descriptor descriptor_;
};

}  // namespace ckpt
