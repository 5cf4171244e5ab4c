// Lists of digests (SHA256SUMS, a model signature) against the files that are there.
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
  std::string_view name;  // of the list, for messages
  std::vector<FileDigest> listed;
  PathSet ignored = {};    // may be there unlisted; a folder with all that is in it
  PathSet own_files = {};  // the same, but never folders: the lists themselves
  bool is_signed = false;  // by whom it must be
  // "inner/" for the list of a folder in the one that is checked: it speaks of nothing outside, and
  // all its names begin with that. "": of all.
  std::string folder = {};
};

// The lists of a folder or an archive; the one that counts most comes first.
struct Listings {
  std::vector<Listing> all;
  PathSet ignored = {};  // may be there unlisted, whatever a list says
};

// A list in the text of a SHA256SUMS; nullopt, after a finding, when it is none. `where` is its
// name in findings; `folder` as in Listing.
std::optional<Listing> read_sums(std::string_view where, std::string_view text, Findings& findings,
                                 const std::string& folder = {});

// The lists that folders in `root` have of their files: whoever takes one of these folders gets a
// verdict by its own list. `entries` are those of `root`; those of `ignored` are left out. Fails:
// kIo.
Result<std::vector<Listing>> read_inner_sums(const std::filesystem::path& root,
                                             const std::vector<FolderEntry>& entries,
                                             const PathSet& ignored, Findings& findings);

// The list that a hub keeps of its files; files of which it lists no digest may be there unlisted.
Listing listed_by_hub(const std::vector<FolderEntry>& entries);

// Which of `entries` must be hashed: those that a list names, and those that one of them does not
// let pass unnamed.
std::vector<FolderEntry> entries_to_hash(const Listings& listings,
                                         const std::vector<FolderEntry>& entries);

// One finding for each file that is changed, missing, extra or renamed, and for each entry that is
// no file, listed or ignored (a link could lead anywhere). `files` are the digests of what
// entries_to_hash() named.
void check_listings(const Listings& listings, const std::vector<FileDigest>& files,
                    const std::vector<FolderEntry>& entries, Findings& findings);

// The names that the lists vouch for: those of the signature, and those of the sums where the
// signature covers them or there is none.
std::set<std::string> covered_names(const Listings& listings);

// Tells `findings` of every file that may be there though nothing covers it, save the lists
// themselves; folders in which nothing is covered are listed as one.
void report_uncovered(const Listings& listings, const std::vector<FolderEntry>& entries,
                      Findings& findings);

}  // namespace ckpt
