// Checks files that are named by another file, not by the user (a recipe's imports): anybody who
// may write to such a file, or to a folder or link on its path, controls the run.
#pragma once

#include <filesystem>

#include "core/base/printable.h"
#include "core/base/result.h"
#include "core/io/ownership.h"

namespace ckpt {

inline Status require_trusted(const std::filesystem::path& path, const struct stat& status) {
  const bool is_open = !S_ISLNK(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (status.st_uid == 0 && !is_open) return {};  // root may change this program, too
  auto checked = require_ours(path, status, Guard::kOwnerAndMode);
  if (!checked) {
    checked.error().hint = fmt::format(is_ours(path, status, Guard::kOwner)
                                           ? fmt::runtime("chmod go-w {}")
                                           : fmt::runtime("a copy of {} that is yours"),
                                       shell_path(path.string()));
  }
  return checked;
}

// Whether `folder` / `name` is a regular file. Fails: kUsage: it, or a component on the way to it
// from `folder`, belongs to neither this user nor root, or others may write to it.
inline Result<bool> is_trusted_file(const std::filesystem::path& folder,
                                    const std::filesystem::path& name) {
  std::filesystem::path path = folder;
  struct stat status {};
  for (const std::filesystem::path& part : name) {
    path /= part;
    // Check both the link and its target, as both have owners.
    for (const auto look : {::lstat, ::stat}) {
      if (look(path.c_str(), &status) != 0) return false;
      CKPT_TRY(require_trusted(path, status));
    }
  }
  return S_ISREG(status.st_mode);
}

}  // namespace ckpt
