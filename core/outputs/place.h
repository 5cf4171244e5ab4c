// Where outputs are until they are complete: "OUT.partial", then fsync, then rename.
//
// Incomplete output never has its final name, and nobody else can read or write it: files under
// construction have mode 0600 (folders 0700) and belong to the user who runs the program. A file of
// another user in its place is rejected by name (core/io/ownership.h).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/io/open_folder.h"
#include "core/io/temporary.h"
#include "core/model/plan.h"

namespace ckpt {

// How to treat a temporary file of an earlier run: remove it, continue it, or publish it because it
// lacks at most its final name.
enum class Leftovers : uint8_t { kRemove, kKeep, kPublish };

// Fails: kUsage if `path` exists, with the hint --force if that may replace it by an output
// (`is_folder`: by a folder); kIo.
Status refuse_existing(const std::filesystem::path& path, bool is_folder);

// Requires that `output` can be created: this user may make files in its folder, and unless `force`
// is set nothing has its names. Also for dry runs. Fails: kUsage; kIo.
Status check_place(const Output& output, bool force);

// Requires that runs of ckpt created all files in the temporary folder of an output, if it exists:
// calls `is_of_run` for each file. Fails: kUsage, naming a file of another program; kIo.
Status check_temporary_folder(const Output& output,
                              const std::function<bool(const std::string&)>& is_of_run);
// Does the same for work without a ledger: the existing file was made for this layout, and no other
// run could resume it.
Status check_temporary_folder(const Output& output);

// A file under construction, opened.
struct NewFile {
  std::filesystem::path path;
  Descriptor descriptor;
};

// The place of one unfinished output. The destructor removes the files unless publish() or keep()
// was called.
class Place {
 public:
  // Rejects an existing OUT (unless `force`) and temporary files of another user, and creates the
  // temporary folder. The output must outlive the place. Fails: kUsage; kIo. Locks leftovers before
  // it removes them, and calls `check`. Fails also: kUsage if another run is using them.
  static Result<Place> make(const Output& output, bool force,
                            Leftovers leftovers = Leftovers::kRemove,
                            const LockedTemporary::Check& check = {});
  Place(Place&& other) noexcept;
  Place& operator=(Place&&) = delete;
  ~Place();

  // Opens the temporary file of `file`; `flags` as for open(2). Fails: kIo; kCorrupt if a link is
  // in the way (core/io/open_folder.h).
  Result<NewFile> make_file(const OutputFile& file, int flags) const;
  // Gives every file its final name and replaces existing ones if allowed. Returns a sentence if a
  // replaced folder contains more files than Output::replaced and is kept.
  Result<std::string> publish();
  // Keeps everything under its temporary name for another run.
  void keep() {
    output_ = nullptr;
    if (lock_) lock_->keep();
  }

 private:
  Place(const Output& output, bool force, Leftovers leftovers, OpenFolder parent);
  Status refuse_others() const;
  Result<bool> was_published(const std::string& temporary) const;
  std::filesystem::path temporary_folder() const;
  Status lock_temporary(const LockedTemporary::Check& check);
  Status open_temporary_folder();
  void remove_temporaries() const;
  Status replace_folder(const std::string& temporary, const std::string& name) const;
  Status publish_modes();
  Status publish_folder();
  Status publish_files() const;
  Status publish_into() const;

  const Output* output_;  // null after a move or publish()
  bool force_;
  Leftovers leftovers_;
  OpenFolder parent_;                 // contains OUT
  std::optional<OpenFolder> folder_;  // OUT.partial, if OUT is a folder
  std::optional<LockedTemporary> lock_;  // the folder, or the first file, if nothing is resumed
  std::string note_;
};

// Whether OUT as a whole is renamed, instead of each of its files.
inline bool has_one_name(const Output& output) {
  return output.layout.is_folder && !output.goes_into;
}
// The path of `file` until it gets its final name.
std::filesystem::path partial_path(const Output& output, const OutputFile& file);
// The path of the entire unfinished output: a folder, or the file that OUT becomes.
std::filesystem::path partial_path(const Output& output);
// Removes the files in Output::replaced from `old`, the folder that OUT has replaced and that
// usually has the temporary name by now. Other files are kept under a separate name, which the
// returned sentence reports (empty if there are none). Fails: kIo if they could not be moved.
Result<std::string> remove_replaced(const Output& output, const OpenFolder& parent,
                                    const std::filesystem::path& old);
// Whether this can be the name of an unfinished file or folder.
bool is_partial_name(std::string_view name);
// The name of the temporary folder inside a folder that receives an output (Output::goes_into).
std::string_view partial_name_inside();

}  // namespace ckpt
