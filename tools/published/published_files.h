// The files of a folder that is about to be shipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/folder.h"
#include "plan/conversion/targets.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

// Everything that is published, without what is made for it. Fails: kUsage, naming what cannot be
// hashed or must not be shipped: links, special files, names that are not UTF-8, git-LFS pointers,
// leftovers of interrupted work, secrets (tools/published/unpublished.h); kIo.
Result<std::vector<FolderEntry>> list_published(const std::filesystem::path& folder);

// Requires that nothing in `folder`, at any depth, is between two states: an output that a run
// began, a checkpoint whose patch was interrupted. `entries` are those of the folder; those of
// `ignored` may be. Fails: kUsage with what to type; kIo.
Status refuse_unfinished_in(const std::filesystem::path& folder,
                            const std::vector<FolderEntry>& entries, const PathSet& ignored);

// Records of ckpt in the folder (OwnFile::kRecord), which are not published. Fails: kIo.
Result<std::vector<std::string>> list_records(const std::filesystem::path& folder);

// Files in the folder that a run of publish makes under these names, and removes again.
PathSet publication_temporaries();

// Says that a downloader's files are among them: they count like all others, or anything could be
// put among them unnoticed.
void note_bookkeeping(const std::filesystem::path& folder, const std::vector<FolderEntry>& entries,
                      const Console& console);

// Names files that a download elsewhere would lose: names that differ in case alone, or that
// Windows does not take.
void note_foreign_names(const std::filesystem::path& folder,
                        const std::vector<FolderEntry>& entries, const Console& console);

inline constexpr uint64_t kMaxSumsBytes = 256 << 20;  // a sums file, a bundle

// The name that the file `path` has among those that are published of `folder`; empty where it is
// none of them.
std::string published_name(const std::filesystem::path& folder, const std::filesystem::path& path);

// Fails: kUsage if a patch of the folder, or of a file or folder in it, is at work or was
// interrupted; kIo.
Status refuse_patches(const std::filesystem::path& folder);

// Requires that the files of the folder are those in `states` by name, as they were, and those in
// `made`. Fails: as refuse_patches() and check_unchanged(); kIo for a file that appeared.
Status check_as_hashed(const std::filesystem::path& folder,
                       const std::map<std::string, FileState>& states,
                       const std::set<std::string>& made);

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
