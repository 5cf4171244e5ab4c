// A block of Markdown for a model card: what the folder holds, type by type, and its hashes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "publish/publish.h"

namespace ckpt {

// Of every checkpoint in `folder`: the folder itself, or the .gguf files in it. Fails: as reading
// does.
Result<std::string> render_model_card(const std::filesystem::path& folder,
                                      const std::vector<FileDigest>& files);

}  // namespace ckpt
