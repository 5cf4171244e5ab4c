// Files in training folders that must not or need not be shipped with a model: secrets, and files
// that only the next training run reads.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/folder.h"
#include "tools/say/console.h"

namespace ckpt {

// Fails with kUsage if the file's name marks a secret (".env", "*.pem") or its content holds one: a
// private key, an access token of the hub. For large files only names are checked. Fails: kIo.
Status refuse_secret(const std::filesystem::path& folder, const FolderEntry& entry);

// Fails as refuse_secret() does if `text`, which will be published, holds a secret. `place` names
// its origin.
Status refuse_secret_text(std::string_view place, std::string_view text);

// Names files that no server reads: optimizer and trainer states, caches, backups.
void note_unserved(const std::filesystem::path& folder, const std::vector<FolderEntry>& entries,
                   const Console& console);

}  // namespace ckpt
