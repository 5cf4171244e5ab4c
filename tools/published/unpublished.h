// Files in folders of people who train that must not or need not be shipped with a model:
// secrets, and what only the next training run reads.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/folder.h"
#include "tools/say/console.h"

namespace ckpt {

// Fails with kUsage for a file that is a secret by its name (".env", "*.pem") or holds one: a
// private key, an access token of the hub. Of large files only names are checked. Fails: kIo.
Status refuse_secret(const std::filesystem::path& folder, const FolderEntry& entry);

// Fails as refuse_secret() does if `text`, which becomes part of what is published, holds one.
// `place`: where the text is from.
Status refuse_secret_text(std::string_view place, std::string_view text);

// Names files that no server reads: states of optimizers and trainers, caches, backups.
void note_unserved(const std::filesystem::path& folder, const std::vector<FolderEntry>& entries,
                   const Console& console);

}  // namespace ckpt
