// Compares lists of digests (SHA256SUMS, a model signature) with the existing files.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/folder.h"
#include "publish/publish.h"
#include "tools/say/findings.h"

namespace ckpt {

// The content of one list. It does not depend on where or by whom it is checked.
struct Listing {
  std::string_view name;  // shown in messages
  std::vector<FileDigest> listed;
  PathSet ignored = {};    // may be unlisted; a folder includes its content
  PathSet own_files = {};  // lists themselves: may be unlisted; no folders
  bool is_signed = false;  // by a trusted signer
  // "inner/" for the list of an inner folder: it covers only that folder, and all its names begin
  // with this text. "" for a list of everything.
  std::string folder = {};
};

// The lists of a folder or an archive, in order of precedence.
struct Listings {
  std::vector<Listing> all;
  PathSet ignored = {};  // may be unlisted in any list
};

// Parses the text of a SHA256SUMS; nullopt, after a finding, if it is invalid. `where` is its name
// in findings; `folder` as in Listing.
std::optional<Listing> read_sums(std::string_view where, std::string_view text, Findings& findings,
                                 const std::string& folder = {});

// The SHA256SUMS of folders in `root`: whoever downloads one of these folders verifies it by its
// own list. `entries` are those of `root`; `ignored` ones are skipped. Fails: kIo.
Result<std::vector<Listing>> read_inner_sums(const std::filesystem::path& root,
                                             const std::vector<FolderEntry>& entries,
                                             const PathSet& ignored, Findings& findings);

// The list that a hub keeps of its files. Files for which it lists no digest may be unlisted.
Listing listed_by_hub(const std::vector<FolderEntry>& entries);

// Returns the entries to hash: those that a list names, and those that some list requires to be
// named.
std::vector<FolderEntry> entries_to_hash(const Listings& listings,
                                         const std::vector<FolderEntry>& entries);

// Reports one finding for each changed, missing, extra or renamed file, and for each listed or
// ignored entry that is not a file (a link could lead anywhere). `files` are the digests of the
// entries from entries_to_hash().
void check_listings(const Listings& listings, const std::vector<FileDigest>& files,
                    const std::vector<FolderEntry>& entries, Findings& findings);

// The names that the lists cover: those of the signature, and those of the sums if the signature
// covers the sums or does not exist.
std::set<std::string> covered_names(const Listings& listings);

// Reports to `findings` every file that may be unlisted and is not covered, except the lists
// themselves. A folder without any covered file is reported as one.
void report_uncovered(const Listings& listings, const std::vector<FolderEntry>& entries,
                      Findings& findings);

}  // namespace ckpt
