// Keeps the session of an upload for a later run, because a registry does not list its sessions.
#pragma once

#include <string>

#include "core/io/descriptor.h"

namespace ckpt {

// A file in ckpt/uploads of the cache folder, locked by the run that uses it. Without such a
// folder, or while another run holds the lock, nothing is kept. A failure only costs time.
class UploadNote {
 public:
  // `upload` names the registry, the repository and the blob.
  explicit UploadNote(const std::string& upload);

  std::string session() const;  // the last URL that was kept, or ""
  void keep(const std::string& session) const;
  void remove();

 private:
  std::string path_;
  Descriptor file_;  // closed if nothing is kept
};

}  // namespace ckpt
