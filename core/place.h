// Where outputs stand until they are whole: "OUT.partial", then fsync, then rename.
//
// Nothing half-written ever carries a final name. Files get mode 0644 and, when the program runs as
// root (a container), the owner of the folder that OUT is put into.
#pragma once

#include <filesystem>
#include <string>

#include "core/plan.h"
#include "core/result.h"

namespace ckpt {

// What becomes of a temporary of an earlier run: it goes, is written on, or is whole and lacks at
// most its final name.
enum class Leftovers : uint8_t { kRemove, kKeep, kPublish };

// One output under construction. Removes what it made unless publish() or keep() was reached.
class Place {
 public:
  // Refuses an OUT that exists (unless `force`) and makes the temporary folder. The output must
  // outlive the place. Fails: kUsage; kIo.
  static Result<Place> make(const Output& output, bool force,
                            Leftovers leftovers = Leftovers::kRemove);
  Place(Place&& other) noexcept;
  Place& operator=(Place&&) = delete;
  ~Place();

  // Where the bytes of `file` are written for now; its folder exists.
  Result<std::filesystem::path> temporary_path(const OutputFile& file) const;
  // Gives every file its final name, replacing what is there when that was allowed.
  Status publish();
  // Leaves everything under its temporary name, for another run.
  void keep() { output_ = nullptr; }

 private:
  Place(const Output& output, bool force, Leftovers leftovers)
      : output_(&output), force_(force), leftovers_(leftovers) {}
  bool was_published(const std::filesystem::path& temporary) const;
  std::filesystem::path temporary_folder() const;
  void remove_temporaries() const;
  Status publish_folder() const;

  const Output* output_;  // null once moved from or published
  bool force_;
  Leftovers leftovers_;
};

// Where the bytes of `file` stand until it has its final name.
std::filesystem::path partial_path(const Output& output, const OutputFile& file);
// The same for the whole output: a folder, or the file that OUT becomes.
std::filesystem::path partial_path(const Output& output);

// Mode 0644 (0755 for a folder) and the owner of `parent`, where that may be set.
void settle_ownership(const std::filesystem::path& path, bool is_folder,
                      const std::filesystem::path& parent);
// Makes a rename or a new file survive a power cut.
Status sync_folder(const std::filesystem::path& folder);

}  // namespace ckpt
