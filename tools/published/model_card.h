// A block of Markdown for a model card: what the folder holds, type by type, and its hashes.
//
//   <!-- ckpt: begin -->   the text between the two lines is rewritten each time; the rest of
//   ...                    the card is a person's and stays
//   <!-- ckpt: end -->
#pragma once

#include <filesystem>
#include <string>
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
// the others here.
Result<std::string> edited_card(const std::filesystem::path& path, std::string_view own_name,
                                const std::filesystem::path& folder, std::vector<FileDigest> files);

// `card` with `block` in place of the one that it has, or at its end. Fails: kUsage for a card with
// one of the two lines alone, or with several of them.
Result<std::string> with_block(const std::string& card, std::string block);

}  // namespace ckpt
