#include "core/outputs/place.h"

#include <fcntl.h>

#include <functional>
#include <set>
#include <utility>

#include "core/base/printable.h"
#include "core/io/folder.h"
#include "core/io/paths.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTemporaryEnding = ".partial";
// The temporary folder in a kept OUT, whose parent may be on another disk or not writable.
constexpr const char* kTemporaryInside = ".ckpt-partial";

fs::path with_ending(const fs::path& path) { return fs::path(path.string() + kTemporaryEnding); }

// Keeps the remaining files of a replaced folder under a numbered name, as earlier ones may exist.
Result<std::string> keep_replaced(const OpenFolder& parent, const std::string& temporary,
                                  const std::string& name) {
  constexpr unsigned kMostKept = 99;
  for (unsigned i = 1;; ++i) {
    std::string kept = i == 1 ? name + ".replaced" : fmt::format("{}.replaced.{}", name, i);
    CKPT_ASSIGN(const bool is_taken, parent.has(kept));
    if (is_taken && i < kMostKept) continue;
    CKPT_TRY(parent.rename(temporary, kept, false));
    return kept;
  }
}

}  // namespace

Status refuse_existing(const fs::path& path, bool is_folder) {
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    return misuse_hint("what it points to as OUT, or another OUT",
                       "{}: a link, which is neither replaced nor followed; expected a new OUT",
                       path.string());
  }
  const auto type = fs::symlink_status(path, ignored).type();
  const bool is_replaceable =
      type == fs::file_type::regular || (is_folder && type == fs::file_type::directory);
  const Hint hint = is_replaceable ? Hint("--force to replace it, or another OUT", Remedy::kForce)
                                   : Hint("another OUT", Remedy::kOtherOut);
  return misuse_hint(hint, "{}: exists already; expected a new OUT", path.string());
}

Status check_place(const Output& output, bool force) {
  if (!force) {
    if (!output.goes_into) CKPT_TRY(refuse_existing(output.path, output.layout.is_folder));
    for (const OutputFile& file : output.layout.files) {
      CKPT_TRY(refuse_existing(final_path(output, file), false));
    }
  }
  if (!output.goes_into) CKPT_TRY(check_parent(output.path));
  const int denied = denied_in(output.goes_into ? output.path : parent_of(output.path));
  if (denied == 0) return {};
  return io_failure(partial_path(output), "cannot be made", denied,
                    {"another OUT, in a folder that you may write to", Remedy::kOtherOut});
}

Status check_temporary_folder(const Output& output,
                              const std::function<bool(const std::string&)>& is_of_run) {
  const fs::path folder = partial_path(output);
  CKPT_ASSIGN(const bool exists, is_there(folder));
  if (!exists) return {};
  const auto refused = [&](const std::string& found) {
    return misuse_hint(fmt::format("mv {} elsewhere, or another OUT", shell_path(folder.string())),
                       "{}: already exists and was not left by an interrupted run ({})",
                       folder.string(), found);
  };
  std::error_code error;
  if (fs::symlink_status(folder, error).type() != fs::file_type::directory) {
    return refused("it is not a folder");
  }
  CKPT_ASSIGN(const std::vector<FolderEntry> entries, list_folder(folder, {}));
  for (const FolderEntry& entry : entries) {
    if (!is_of_run(entry.path)) return refused(fmt::format("it holds {}", entry.path));
  }
  return {};
}

Status check_temporary_folder(const Output& output) {
  const fs::path ledger = partial_path(output).string() + ".ledger";
  CKPT_ASSIGN(const bool has_ledger, is_there(ledger));
  if (has_ledger) {
    return misuse_hint({"another OUT, or that command again", Remedy::kOtherOut},
                       "{}: belongs to another unfinished command (see {})",
                       partial_path(output).string(), ledger.string());
  }
  std::set<std::string> names;
  for (const OutputFile& file : output.layout.files) names.insert(file.path);
  return check_temporary_folder(output, [&](const std::string& path) {
    return names.contains(path) || path.starts_with(".written/") ||
           path.starts_with(".written.partial/");
  });
}

Place::Place(const Output& output, bool force, Leftovers leftovers, OpenFolder parent)
    : output_(&output), force_(force), leftovers_(leftovers), parent_(std::move(parent)) {}

Place::Place(Place&& other) noexcept
    : output_(std::exchange(other.output_, nullptr)),
      force_(other.force_),
      leftovers_(other.leftovers_),
      parent_(std::move(other.parent_)),
      folder_(std::move(other.folder_)),
      lock_(std::move(other.lock_)),
      note_(std::move(other.note_)) {}

Place::~Place() {
  if (output_ != nullptr) remove_temporaries();
}

fs::path partial_path(const Output& output) {
  return output.goes_into ? output.path / kTemporaryInside : with_ending(output.path);
}

fs::path partial_path(const Output& output, const OutputFile& file) {
  return output.layout.is_folder ? partial_path(output) / file.path
                                 : with_ending(final_path(output, file));
}

bool is_partial_name(std::string_view name) {
  return name.ends_with(kTemporaryEnding) || name == kTemporaryInside;
}

std::string_view partial_name_inside() { return kTemporaryInside; }

// Removes replaced files. Files that were added to OUT since the check are not in the list, because
// a conversion takes hours.
Result<std::string> remove_replaced(const Output& output, const OpenFolder& parent,
                                    const fs::path& old) {
  const std::string temporary = old.filename().string();
  std::set<fs::path, std::greater<>> folders{old};
  for (const std::string& file : output.replaced) {
    (void)parent.remove((fs::path(temporary) / file).string());
    for (fs::path above = fs::path(file).parent_path(); !above.empty();
         above = above.parent_path()) {
      folders.insert(old / above);
    }
  }
  std::error_code error;
  for (const fs::path& folder : folders) fs::remove(folder, error);
  CKPT_ASSIGN(const bool is_left, parent.has(temporary));
  if (!is_left) return std::string();
  CKPT_ASSIGN(const std::string kept,
              keep_replaced(parent, temporary, output.path.filename().string()));
  return fmt::format("{}: holds what came into {} while it was replaced, or could not be removed",
                     (parent.path() / kept).string(), output.path.string());
}

fs::path Place::temporary_folder() const { return partial_path(*output_); }

Result<Place> Place::make(const Output& output, bool force, Leftovers leftovers,
                          const LockedTemporary::Check& check) {
  CKPT_TRY(check_place(output, force));
  const fs::path parent = output.goes_into ? output.path : parent_of(output.path);
  CKPT_ASSIGN(OpenFolder opened, OpenFolder::open(parent));
  Place place(output, force, leftovers, std::move(opened));
  if (Status ours = place.refuse_others(); !ours) {
    place.keep();
    return Failure(std::move(ours.error()));
  }
  Status status;
  if (leftovers == Leftovers::kRemove) status = place.lock_temporary(check);
  if (status && output.layout.is_folder && leftovers != Leftovers::kPublish) {
    status = place.open_temporary_folder();
  }
  if (status) return place;
  if (!place.lock_) place.keep();  // keep files that others made
  return Failure(std::move(status.error()));
}

// Rejects files of other users: they would be published as ours, or removed. Files to resume
// undergo more checks when they are opened.
Status Place::refuse_others() const {
  if (output_->layout.is_folder) return require_ours(temporary_folder(), Guard::kOwner);
  for (const OutputFile& file : output_->layout.files) {
    CKPT_TRY(require_ours(with_ending(final_path(*output_, file)), Guard::kOwner));
  }
  return {};
}

Status Place::lock_temporary(const LockedTemporary::Check& check) {
  const bool is_folder = output_->layout.is_folder;
  const fs::path path =
      is_folder ? temporary_folder() : partial_path(*output_, output_->layout.files[0]);
  const auto make = is_folder ? LockedTemporary::folder : LockedTemporary::file;
  CKPT_ASSIGN(LockedTemporary lock, make(path, check));
  lock_.emplace(std::move(lock));
  if (!is_folder) remove_temporaries();
  return {};
}

Status Place::open_temporary_folder() {
  CKPT_ASSIGN(OpenFolder folder, parent_.open_private(temporary_folder().filename().string()));
  folder_.emplace(std::move(folder));
  return {};
}

Result<NewFile> Place::make_file(const OutputFile& file, int flags) const {
  NewFile out{partial_path(*output_, file), {}};
  if (!folder_) {
    const bool is_locked = lock_ && out.path.filename() == lock_->name();  // and made already
    const int how = is_locked ? flags & ~O_EXCL : flags;
    CKPT_ASSIGN(out.descriptor, parent_.open_file(out.path.filename().string(), how));
    return out;
  }
  const std::string above = fs::path(file.path).parent_path().string();
  if (!above.empty()) CKPT_TRY(folder_->make_folder(above));
  CKPT_ASSIGN(out.descriptor, folder_->open_file(file.path, flags));
  return out;
}

void Place::remove_temporaries() const {
  std::error_code ignored;
  if (output_->layout.is_folder) {
    // Check the name first: without a free descriptor no folder can be listed.
    const bool is_own = folder_ && lock_ && lock_->require_own();
    for (size_t i = 0; is_own && i < output_->layout.files.size(); ++i) {
      (void)folder_->remove(output_->layout.files[i].path);
    }
    fs::remove(temporary_folder(), ignored);
    fs::remove_all(temporary_folder(), ignored);
    return;
  }
  for (size_t i = lock_ ? 1 : 0; i < output_->layout.files.size(); ++i) {
    fs::remove(with_ending(final_path(*output_, output_->layout.files[i])), ignored);
  }
}

// Whether the previous run was killed between two renames of this output.
Result<bool> Place::was_published(const std::string& temporary) const {
  if (leftovers_ != Leftovers::kPublish) return false;
  return parent_.has(temporary).map([](bool is_there) { return !is_there; });
}

// Exchanges the folders, so that there is always one under the final name.
Status Place::replace_folder(const std::string& temporary, const std::string& name) const {
  CKPT_ASSIGN(const bool exchanged, parent_.exchange(temporary, name));
  if (exchanged) return {};
  const std::string old = name + ".replaced";
  if (!parent_.rename(name, old)) {
    // Overlays cannot rename folders of a lower layer, but can remove them.
    CKPT_TRY(remove_replaced(*output_, parent_, output_->path));
    return parent_.rename(temporary, name, false);
  }
  if (Status renamed = parent_.rename(temporary, name); !renamed) {
    (void)parent_.rename(old, name);
    return renamed;
  }
  return parent_.rename(old, temporary);
}

// Publishes the modes of all content, and that of the folder last: while it is private, nobody can
// access its content.
Status Place::publish_modes() {
  std::set<std::string> folders;
  for (const OutputFile& file : output_->layout.files) {
    CKPT_TRY(folder_->publish_mode(file.path));
    CKPT_TRY(folder_->publish_owner(file.path, parent_));
    for (fs::path above = fs::path(file.path).parent_path(); !above.empty();
         above = above.parent_path()) {
      folders.insert(above.string());
    }
  }
  for (const std::string& folder : folders) {
    CKPT_TRY(folder_->publish_mode(folder));
    CKPT_TRY(folder_->publish_owner(folder, parent_));
    CKPT_TRY(folder_->sync(folder));
  }
  CKPT_TRY(folder_->sync());
  return folder_->publish_mode({});
}

Status Place::publish_folder() {
  const std::string temporary = temporary_folder().filename().string();
  const std::string name = output_->path.filename().string();
  CKPT_ASSIGN(const bool is_published, was_published(temporary));
  if (is_published) return parent_.publish_owner(name, parent_);
  if (!folder_) {
    CKPT_ASSIGN(OpenFolder whole, OpenFolder::open(temporary_folder(), true));
    folder_.emplace(std::move(whole));
  }
  CKPT_TRY(publish_modes());
  CKPT_ASSIGN(const bool exists, parent_.has(name));
  if (!exists || !force_) {
    CKPT_TRY(parent_.rename(temporary, name, force_));
    return folder_->publish_owner({}, parent_);
  }
  CKPT_TRY(replace_folder(temporary, name));
  CKPT_TRY(folder_->publish_owner({}, parent_));
  CKPT_ASSIGN(note_, remove_replaced(*output_, parent_, partial_path(*output_)));
  return {};
}

Status Place::publish_files() const {
  // Users open the first part of a split, so it appears last.
  for (size_t i = output_->layout.files.size(); i-- > 0;) {
    const fs::path path = final_path(*output_, output_->layout.files[i]);
    const std::string name = path.filename().string();
    const std::string temporary = with_ending(path).filename().string();
    CKPT_ASSIGN(const bool is_published, was_published(temporary));
    if (!is_published) {
      CKPT_TRY(parent_.publish_mode(temporary));
      CKPT_TRY(parent_.rename(temporary, name, force_));
    }
    CKPT_TRY(parent_.publish_owner(name, parent_));
  }
  return {};
}

// Publishes the first weight file last: before that, no program treats the folder as a model.
Status Place::publish_into() const {
  const std::string temporary = temporary_folder().filename().string();
  CKPT_ASSIGN(const bool has_more, parent_.has(temporary));
  std::set<std::string> folders;
  for (size_t i = output_->layout.files.size(); has_more && i-- > 0;) {
    const std::string& name = output_->layout.files[i].path;
    const std::string from = (fs::path(temporary) / name).string();
    const std::string above = fs::path(name).parent_path().string();
    if (!above.empty()) CKPT_TRY(parent_.make_folder(above));
    folders.insert(above);
    // The previous run may have renamed it and removed its folder.
    CKPT_ASSIGN(const bool has_name, parent_.has(name));
    if (leftovers_ != Leftovers::kPublish || !has_name) {
      CKPT_TRY(parent_.publish_mode(from));
      CKPT_TRY(parent_.rename(from, name, force_));
    }
    CKPT_TRY(parent_.publish_owner(name, parent_));
  }
  for (const std::string& folder : folders) CKPT_TRY(parent_.sync(folder));
  remove_temporaries();
  return {};
}

Result<std::string> Place::publish() {
  if (lock_) CKPT_TRY(lock_->require_own());
  CKPT_TRY(has_one_name(*output_)      ? publish_folder()
           : output_->layout.is_folder ? publish_into()
                                       : publish_files());
  const std::string shown = output_->path.string();
  output_ = nullptr;
  CKPT_TRY(in(shown, parent_.sync()));
  return std::move(note_);
}

}  // namespace ckpt
