// Sends a published folder to the targets of --to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/io/folder.h"
#include "plan/publish_to/publish_to.h"
#include "tools/say/console.h"

namespace ckpt {

// Describes a shipment whose files are not hashed yet.
Shipment shipment_of(const std::filesystem::path& folder, const std::vector<FolderEntry>& entries,
                     const std::string& as);
// The present state of a file. Fails: kIo.
Result<FileState> state_now(const std::filesystem::path& path);

// Checks, before hashing, that every target accepts the folder. If `tells`, as with --dry-run,
// prints what would go where. Fails: as PublishTarget::list().
Status check_send(const std::vector<std::string>& targets, const Shipment& shipment,
                  const Console& console, bool tells);
// Sends to one target after another. Fails: as PublishTarget::send(), naming the target.
Status send_to(const std::vector<std::string>& targets, const Shipment& shipment,
               const Console& console, const SendOptions& options);

}  // namespace ckpt
