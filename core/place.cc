#include "core/place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTemporaryEnding = ".partial";

Failure io_failure(const fs::path& path, const char* doing, int error) {
  const char* hint = error == EACCES || error == EROFS || error == EPERM
                         ? "another OUT, in a folder that you may write to"
                         : "";
  return fail_with_hint(ErrorCode::kIo, hint, "{}: {}: {}", path.string(), doing,
                        std::strerror(error));
}

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

fs::path with_ending(const fs::path& path) { return fs::path(path.string() + kTemporaryEnding); }

Status rename_to(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return io_failure(to, "cannot take its final name", errno);
}

Status refuse_existing(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return {};
  return fail_with_hint(ErrorCode::kUsage, "--force to replace it, or another OUT",
                        "{}: exists already; expected a new OUT", path.string());
}

}  // namespace

void settle_ownership(const fs::path& path, bool is_folder, const fs::path& parent) {
  // Best effort: a file system without modes or owners is no reason to lose the result.
  (void)!::chmod(path.c_str(), is_folder ? 0755 : 0644);
  struct stat status {};
  if (::geteuid() == 0 && ::stat(parent.c_str(), &status) == 0) {
    (void)!::chown(path.c_str(), status.st_uid, status.st_gid);
  }
}

Status sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return io_failure(folder, "cannot be opened", errno);
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some file systems cannot sync a folder; they have no later moment to do it either.
  if (result != 0 && error != EINVAL && error != ENOTSUP) {
    return io_failure(folder, "cannot be synced", error);
  }
  return {};
}

Place::Place(Place&& other) noexcept
    : output_(std::exchange(other.output_, nullptr)),
      force_(other.force_),
      leftovers_(other.leftovers_) {}

Place::~Place() {
  if (output_ != nullptr) remove_temporaries();
}

fs::path partial_path(const Output& output) { return with_ending(output.path); }

fs::path partial_path(const Output& output, const OutputFile& file) {
  return output.layout.is_folder ? partial_path(output) / file.path
                                 : with_ending(final_path(output, file));
}

fs::path Place::temporary_folder() const { return partial_path(*output_); }

Result<Place> Place::make(const Output& output, bool force, Leftovers leftovers) {
  if (!force) {
    CKPT_TRY(refuse_existing(output.path));
    for (const OutputFile& file : output.layout.files) {
      CKPT_TRY(refuse_existing(final_path(output, file)));
    }
  }
  const fs::path parent = parent_of(output.path);
  std::error_code error;
  if (!fs::is_directory(parent, error)) {
    return fail_with_hint(ErrorCode::kUsage, fmt::format("mkdir -p {}", parent.string()),
                          "{}: there is no such folder to write into", parent.string());
  }
  Place place(output, force, leftovers);
  if (leftovers == Leftovers::kRemove) place.remove_temporaries();
  if (output.layout.is_folder && leftovers != Leftovers::kPublish) {
    const bool is_new = fs::create_directory(place.temporary_folder(), error);
    if (error) return io_failure(place.temporary_folder(), "cannot be made", error.value());
    if (is_new) settle_ownership(place.temporary_folder(), true, parent);
  }
  return place;
}

Result<fs::path> Place::temporary_path(const OutputFile& file) const {
  const fs::path path = partial_path(*output_, file);
  if (!output_->layout.is_folder) return path;
  fs::path folder = temporary_folder();
  for (const auto& step : fs::path(file.path).parent_path()) {
    folder /= step;
    std::error_code error;
    if (fs::create_directory(folder, error)) {
      settle_ownership(folder, true, parent_of(output_->path));
    }
    if (error) return io_failure(folder, "cannot be made", error.value());
  }
  return path;
}

void Place::remove_temporaries() const {
  std::error_code ignored;
  if (output_->layout.is_folder) {
    fs::remove_all(temporary_folder(), ignored);
    return;
  }
  for (const OutputFile& file : output_->layout.files) {
    fs::remove(with_ending(final_path(*output_, file)), ignored);
  }
}

// The run before this one may have been killed between two renames.
bool Place::was_published(const fs::path& temporary) const {
  std::error_code error;
  return leftovers_ == Leftovers::kPublish && !fs::exists(fs::symlink_status(temporary, error));
}

Status Place::publish_folder() const {
  const fs::path temporary = temporary_folder();
  if (was_published(temporary)) return {};
  std::set<fs::path> folders{temporary};
  for (const OutputFile& file : output_->layout.files) {
    folders.insert((temporary / file.path).parent_path());
  }
  for (const fs::path& folder : folders) CKPT_TRY(sync_folder(folder));
  std::error_code error;
  if (!fs::exists(fs::symlink_status(output_->path, error))) {
    return rename_to(temporary, output_->path);
  }
  // Exchange first: at no moment is there nothing under the final name.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, output_->path.c_str(), RENAME_EXCHANGE) !=
      0) {
    const fs::path old(output_->path.string() + ".replaced");
    CKPT_TRY(rename_to(output_->path, old));
    CKPT_TRY(rename_to(temporary, output_->path));
    fs::rename(old, temporary, error);
  }
  fs::remove_all(temporary, error);
  return {};
}

Status Place::publish() {
  if (output_->layout.is_folder) {
    CKPT_TRY(publish_folder());
  } else {
    // The first part of a split is what people open: it appears last.
    for (size_t i = output_->layout.files.size(); i-- > 0;) {
      const fs::path path = final_path(*output_, output_->layout.files[i]);
      if (was_published(with_ending(path))) continue;
      CKPT_TRY(rename_to(with_ending(path), path));
    }
  }
  const fs::path parent = parent_of(output_->path);
  output_ = nullptr;
  return sync_folder(parent);
}

}  // namespace ckpt
