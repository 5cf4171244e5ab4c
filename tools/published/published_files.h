// Finds the files of a folder that is about to be shipped.
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

// Returns all files to publish, without generated ones. Fails: kUsage, naming what cannot be hashed
// or must not be shipped: links, special files, names that are not UTF-8, git-LFS pointers,
// leftovers of interrupted work, secrets (tools/published/unpublished.h); kIo.
Result<std::vector<FolderEntry>> list_published(const std::filesystem::path& folder);

// Requires that nothing in `folder`, at any depth, is unfinished: incomplete output, or a
// checkpoint whose patch was interrupted. `entries` are those of the folder; `ignored` ones may be
// unfinished. Fails: kUsage with the command to run; kIo.
Status refuse_unfinished_in(const std::filesystem::path& folder,
                            const std::vector<FolderEntry>& entries, const PathSet& ignored);

// Returns ckpt's records in the folder (OwnFile::kRecord), which are not published. Fails: kIo.
Result<std::vector<std::string>> list_records(const std::filesystem::path& folder);

// Names of the temporary files that publish makes in the folder and removes again.
PathSet publication_temporaries();

// Notes that the folder contains files of a downloader. They are published like all others;
// otherwise anything could be hidden among them.
void note_bookkeeping(const std::filesystem::path& folder, const std::vector<FolderEntry>& entries,
                      const Console& console);

// Names files that other systems would lose when downloading: names that differ only in case, or
// that Windows does not accept.
void note_foreign_names(const std::filesystem::path& folder,
                        const std::vector<FolderEntry>& entries, const Console& console);

inline constexpr uint64_t kMaxSumsBytes = 256 << 20;  // limit for a sums file or a bundle

// The name of the file `path` among the published files of `folder`; empty if it is not one of
// them.
std::string published_name(const std::filesystem::path& folder, const std::filesystem::path& path);

// Fails: kUsage if a patch of the folder, or of a file or folder in it, is running or was
// interrupted; kIo.
Status refuse_patches(const std::filesystem::path& folder);

// Requires that the folder contains exactly the files in `states`, unchanged, and those in `made`.
// Fails: as refuse_patches() and check_unchanged(); kIo for a new file.
Status check_as_hashed(const std::filesystem::path& folder,
                       const std::map<std::string, FileState>& states,
                       const std::set<std::string>& made);

// Describes every checkpoint in `folder`: the folder itself or its .gguf files. The result includes
// the two marker lines. Files that `ckpt publish` writes itself are not listed. Fails: as reading
// does.
Result<std::string> render_model_card(const std::filesystem::path& folder,
                                      const std::vector<FileDigest>& files);

// Returns the card at `path` (read_card() of plan/conversion/targets.h) with the block of `folder`.
// If the card is one of `files`, its name there is `own_name`: it cannot list its own hash. Fails:
// as render_model_card(), and kUsage for a card that cannot be edited.
Result<std::string> edited_card(const std::filesystem::path& path, std::string_view own_name,
                                const std::filesystem::path& folder, std::vector<FileDigest> files);

}  // namespace ckpt
