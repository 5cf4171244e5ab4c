// ckpt verify FILE.tar.zst: what is in an archive against the sums and the signature in it, and
// unpacked where that is asked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/findings.h"

namespace ckpt {

struct ArchiveQuestion {
  std::filesystem::path path;
  std::string signature;  // a file outside; empty: the one in the archive
  TrustFiles trusted;
  std::vector<std::string> ignored;
  std::string unpack;  // a new folder; empty: only read
};

// The findings are those of a folder. The archive is read once; what it unpacks carries the name
// asked for only when nothing bad was found. Fails: kCorrupt when it is no sound archive; kUsage;
// kUnsupported; kIo.
Status check_archive(const ArchiveQuestion& question, const Console& console,
                     const CommonOptions& common, Findings& findings);

}  // namespace ckpt
