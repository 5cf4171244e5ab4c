// The files of a checkpoint in a report, and what was published with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/say/console.h"

namespace ckpt {

struct ReportedFiles {
  Json list = Json::array();  // [{"name", "size_bytes", "sha256"}]; sha256 as SHA256SUMS lists it
  uint64_t size_bytes = 0;
  bool has_sums = false, has_signature = false;
  Json provenance;  // of provenance.json; null where there is none
};

// Of a folder all that is in it, of a file itself and the other parts of a split; nothing is
// hashed. What was published is only read from files that lie there themselves: a link could bring
// any file of this machine into a page that others see. Fails: kIo; kUnsupported above a million
// entries.
Result<ReportedFiles> reported_files(const std::filesystem::path& path);

}  // namespace ckpt
