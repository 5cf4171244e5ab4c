// The session of an upload, kept for a later run: a registry does not list its sessions.
#pragma once

#include <string>

#include "core/io/descriptor.h"

namespace ckpt {

// A file in ckpt/uploads of the cache folder, locked while a run uses it. Without such a folder, or
// while another run has the lock, nothing is kept. Best-effort: failures only cost sending again.
class UploadNote {
 public:
  // `upload` names the registry, the repository and the blob.
  explicit UploadNote(const std::string& upload);

  std::string session() const;  // the URL that was kept last; empty: none
  void keep(const std::string& session) const;
  void remove();

 private:
  std::string path_;
  Descriptor file_;  // closed: keeps nothing
};

}  // namespace ckpt
