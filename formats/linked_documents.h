// Opens documents of a folder that are links, if the links lead to an allowed place.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/io/bytes.h"
#include "core/model/format.h"

namespace ckpt {

// Opens the document `path` of `folder`. A link is followed inside the folder, and from a snapshot
// of the hub's cache to its blobs:
//
//   models--ORG--NAME/blobs/0f3a...                             what is opened
//   models--ORG--NAME/snapshots/REVISION/config.json ─▶ ../../blobs/0f3a...
//
// Elsewhere only with ReadOptions::follow_links. Fails: kUsage, naming the target; kIo.
Result<SharedSource> open_document(const std::filesystem::path& folder, const std::string& path,
                                   const ReadOptions& options);

}  // namespace ckpt
