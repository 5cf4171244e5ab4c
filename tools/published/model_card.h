// A block of Markdown for a model card: what the folder holds, type by type, and its hashes.
//
//   <!-- ckpt: begin -->   the text between the two lines is rewritten each time; the rest of
//   ...                    the card is a person's and stays
//   <!-- ckpt: end -->
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "publish/publish.h"

namespace ckpt {

// Of every checkpoint in `folder`: the folder itself, or the .gguf files in it; with its two
// lines around it. Files that `ckpt publish` writes itself are not listed. Fails: as reading does.
Result<std::string> render_model_card(const std::filesystem::path& folder,
                                      const std::vector<FileDigest>& files);

// The card at `path` (read_card() of plan/conversion/targets.h) with the block of `folder`. Where
// the card is one of `files`, its name there is `own_name`: it cannot list its own hash. Fails: as
// render_model_card(), and kUsage for a card that cannot be edited.
Result<std::string> edited_card(const std::filesystem::path& path, std::string_view own_name,
                                const std::filesystem::path& folder, std::vector<FileDigest> files);

}  // namespace ckpt
