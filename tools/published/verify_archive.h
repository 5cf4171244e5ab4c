// ckpt verify FILE.tar.zst: what is in an archive against the sums and the signature in it, and
// unpacked where that is asked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/published/signed_by.h"

namespace ckpt {

struct ArchiveQuestion {
  std::filesystem::path path;
  std::string signature;  // a file outside; empty: the one in the archive
  TrustFiles trusted;
  std::vector<std::string> ignored;
  std::string unpack;  // a new folder; empty: only read
};

// The findings are those of a folder. Nothing is unpacked before all of the archive was read and
// nothing bad was found; then it is read again, and what its signature or sums cover is written,
// with those two files themselves and nothing else. Fails: kCorrupt when it is not a sound archive;
// kUsage, also where nothing says what may be unpacked; kUnsupported; kIo.
Status check_archive(const ArchiveQuestion& question, const Console& console,
                     const CommonOptions& common, Findings& findings);

}  // namespace ckpt
