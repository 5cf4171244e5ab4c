#include "tools/published/listing.h"

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace {

using Digests = std::map<std::string_view, const FileDigest*>;  // by name

std::set<std::string> names_of(const Listing& listing) {
  std::set<std::string> out;
  for (const FileDigest& file : listing.listed) out.insert(file.name);
  return out;
}

// Finds the lists that cover a path: lists of everything and lists of the folders above it.
class ListsByFolder {
 public:
  explicit ListsByFolder(const Listings& listings) : ignored_(listings.ignored) {
    for (const Listing& listing : listings.all) lists_[listing.folder].push_back(&listing);
  }

  std::vector<const Listing*> about(std::string_view path) const {
    std::vector<const Listing*> out;
    for (size_t end = 0; end != path.npos;) {
      const auto* lists = find_mapped(lists_, path.substr(0, end));
      if (lists != nullptr) out.insert(out.end(), lists->begin(), lists->end());
      end = path.find('/', end);
      if (end != path.npos) ++end;
    }
    return out;
  }

  // True if a list that covers the entry need not have a line for it.
  bool may_be_unlisted(const Listing& listing, const std::string& path) const {
    return is_ignored(path, ignored_) || is_ignored(path, listing.ignored) ||
           own_file(path) == OwnFile::kRecord || listing.own_files.contains(path);
  }

  bool may_be_in_no_list(const std::string& path) const {
    return std::ranges::all_of(
        about(path), [&](const Listing* listing) { return may_be_unlisted(*listing, path); });
  }

 private:
  const PathSet& ignored_;
  std::map<std::string_view, std::vector<const Listing*>> lists_;
};

// Compares lists with existing files. A file that fails for one list is not reported for the next.
class Comparison {
 public:
  Comparison(const Listings& listings, const std::vector<FileDigest>& files,
             const std::vector<FolderEntry>& entries, Findings& findings)
      : lists_(listings), findings_(findings) {
    for (const FileDigest& file : files) found_.emplace(file.name, &file);
    for (const FolderEntry& entry : entries) {
      const auto lists = lists_.about(entry.path);
      for (const Listing* listing : lists) entries_[listing].push_back(&entry);
      if (entry.kind != FolderEntry::Kind::kFile && !lists.empty()) report_kind(entry);
    }
  }

  void check_named(const Listing& listing) {
    auto unlisted = unlisted_files(listing);
    for (const FileDigest& file : listing.listed) {
      if (told_.contains(file.name)) continue;
      const auto at = found_.find(file.name);
      if (at == found_.end()) {
        report_missing(listing, file, unlisted);
      } else {
        compare(listing, file, *at->second);
      }
    }
  }

  void check_extra(const Listing& listing) {
    const std::set<std::string> names = names_of(listing);
    for (const FolderEntry* entry : entries_[&listing]) {
      if (told_.contains(entry->path) || names.contains(entry->path)) continue;
      if (lists_.may_be_unlisted(listing, entry->path)) continue;
      bad(entry->path, fmt::format("extra; {} does not list it", listing.name));
    }
  }

  // Reports as good what the first list covers and what other lists add to it.
  void report_good(const std::vector<Listing>& listings) {
    uint64_t hashes = 0, ids = 0;
    std::vector<FileDigest> listed = listings.front().listed;
    std::set<std::string> names = names_of(listings.front());
    for (const Listing& listing : listings) {
      if (listing.folder.empty()) continue;
      std::ranges::copy_if(listing.listed, std::back_inserter(listed),
                           [&](const FileDigest& file) { return names.insert(file.name).second; });
    }
    for (const FileDigest& file : listed) {
      if (told_.contains(file.name)) continue;
      const bool has_hash = !file.sha256.empty();
      findings_.good_file(file.name, has_hash ? "SHA-256 as listed" : "git id as listed");
      ++(has_hash ? hashes : ids);
    }
    const auto tell = [&](std::string_view what, uint64_t count) {
      findings_.checked(fmt::format("{} of {}", what, counted(count, "file")));
    };
    if (hashes > 0 || ids == 0) tell("SHA-256", hashes);
    if (ids > 0) tell("git id", ids);
  }

 private:
  void report_kind(const FolderEntry& entry) {
    bad(entry.path, entry.kind == FolderEntry::Kind::kLink
                        ? fmt::format("a symbolic link to {}; expected a file of the folder's own",
                                      entry.target)
                        : "neither file nor folder");
  }

  void compare(const Listing& listing, const FileDigest& file, const FileDigest& found) {
    const bool has_hash = !file.sha256.empty();
    const std::string &listed = has_hash ? file.sha256 : file.git_id,
                      &now = has_hash ? found.sha256 : found.git_id;
    if (!found.fault.empty()) return bad(file.name, found.fault);
    if (now == listed) return;
    bad(file.name, fmt::format("changed: {} is {}; {} says {}", has_hash ? "SHA-256" : "git id",
                               now, listing.name, listed));
  }

  void bad(const std::string& name, std::string_view found) {
    told_.insert(name);
    findings_.bad(name, found);
  }

  // The names of existing files that are missing in the list, by digest.
  std::multimap<std::string, std::string> unlisted_files(const Listing& listing) {
    const std::set<std::string> names = names_of(listing);
    std::multimap<std::string, std::string> out;
    for (const FolderEntry* entry : entries_[&listing]) {
      const std::string& path = entry->path;
      if (names.contains(path) || lists_.may_be_unlisted(listing, path)) continue;
      const auto digest = found_.find(path);
      if (digest != found_.end()) out.emplace(digest->second->sha256, path);
    }
    return out;
  }

  // Reports a missing file. An unlisted file with the same content counts as renamed: one finding.
  void report_missing(const Listing& listing, const FileDigest& file,
                      std::multimap<std::string, std::string>& unlisted) {
    auto [now, last] = unlisted.equal_range(file.sha256);
    while (now != last && told_.contains(now->second)) now = unlisted.erase(now);
    if (now == last) return bad(file.name, fmt::format("missing; {} lists it", listing.name));
    told_.insert(file.name);
    bad(now->second, fmt::format("renamed; {} lists it as {}", listing.name, file.name));
  }

  Digests found_;
  const ListsByFolder lists_;
  std::map<const Listing*, std::vector<const FolderEntry*>> entries_;  // covered by the list
  Findings& findings_;
  std::set<std::string> told_;
};

// The topmost folder above `path` that contains no covered file; `path` itself if there is none.
std::string uncovered_root(const std::string& path, const std::set<std::string>& kept) {
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at + 1);
    const auto inside = kept.lower_bound(folder);
    if (inside == kept.end() || !inside->starts_with(folder)) return folder;
  }
  return path;
}

}  // namespace

std::optional<Listing> read_sums(std::string_view where, std::string_view text, Findings& findings,
                                 const std::string& folder) {
  auto sums = parse_sha256sums(text);
  if (!sums) {
    findings.bad(where, sums.error().text());
    return std::nullopt;
  }
  if (sums->empty()) {
    findings.bad(where, "lists no file; expected a line for each");
    return std::nullopt;
  }
  Listing out{.name = kSumsName,
              .listed = std::move(*sums),
              .own_files = {folder + std::string(kSumsName), folder + std::string(kSignatureName)},
              .folder = folder};
  for (const std::string& path : unpublished_paths()) out.ignored.insert(folder + path);
  for (FileDigest& file : out.listed) file.name.insert(0, folder);
  return out;
}

Result<std::vector<Listing>> read_inner_sums(const std::filesystem::path& root,
                                             const std::vector<FolderEntry>& entries,
                                             const PathSet& ignored, Findings& findings) {
  std::vector<Listing> out;
  for (const FolderEntry& entry : entries) {
    const size_t at = entry.path.rfind('/');
    const bool is_sums = at != entry.path.npos && entry.path.substr(at + 1) == kSumsName;
    if (!is_sums || entry.kind != FolderEntry::Kind::kFile || is_ignored(entry.path, ignored)) {
      continue;
    }
    CKPT_ASSIGN(const std::string text, read_small(root / entry.path, kMaxSumsBytes));
    auto sums =
        read_sums((root / entry.path).string(), text, findings, entry.path.substr(0, at + 1));
    if (sums) out.push_back(std::move(*sums));
  }
  return out;
}

Listing listed_by_hub(const std::vector<FolderEntry>& entries) {
  Listing out{.name = "the hub", .listed = {}};
  for (const FolderEntry& entry : entries) {
    if (entry.sha256.empty() && entry.git_id.empty()) {
      out.own_files.insert(entry.path);
    } else {
      out.listed.push_back({entry.path, entry.sha256, entry.size_bytes, entry.git_id});
    }
  }
  return out;
}

std::vector<FolderEntry> entries_to_hash(const Listings& listings,
                                         const std::vector<FolderEntry>& entries) {
  std::vector<FolderEntry> out;
  std::set<std::string> named;
  for (const Listing& listing : listings.all) named.merge(names_of(listing));
  const ListsByFolder lists(listings);
  std::ranges::copy_if(entries, std::back_inserter(out), [&](const FolderEntry& entry) {
    return named.contains(entry.path) || !lists.may_be_in_no_list(entry.path);
  });
  return out;
}

void check_listings(const Listings& listings, const std::vector<FileDigest>& files,
                    const std::vector<FolderEntry>& entries, Findings& findings) {
  if (listings.all.empty()) return;
  Comparison comparison(listings, files, entries, findings);
  for (const Listing& listing : listings.all) {
    comparison.check_named(listing);
    comparison.check_extra(listing);
  }
  comparison.report_good(listings.all);
}

std::set<std::string> covered_names(const Listings& listings) {
  std::set<std::string> out;
  const Listing* const signature = find_by(listings.all, &Listing::is_signed, true);
  const bool is_signed = signature != nullptr;
  if (is_signed) out = names_of(*signature);
  const std::set<std::string> covered = out;
  for (const Listing& listing : listings.all) {
    const bool sums_count = !is_signed || covered.contains(listing.folder + std::string(kSumsName));
    if (!listing.is_signed && sums_count) out.merge(names_of(listing));
  }
  return out;
}

void report_uncovered(const Listings& listings, const std::vector<FolderEntry>& entries,
                      Findings& findings) {
  if (listings.all.empty()) return;
  std::set<std::string> kept = covered_names(listings);
  const bool is_signed = find_by(listings.all, &Listing::is_signed, true) != nullptr;
  const ListsByFolder lists(listings);
  for (const Listing& listing : listings.all) {
    if (listing.is_signed != is_signed) continue;
    // The SHA256SUMS itself was read as a list, so it is not reported as uncovered.
    for (const std::string& name : listing.own_files) {
      if (is_signed || name == listing.folder + std::string(kSumsName)) kept.insert(name);
    }
  }
  std::map<std::string, uint64_t> roots;  // number of files by root
  const auto is_weights = [](const std::string& name) {
    return name.ends_with(".safetensors") || name.ends_with(".gguf");
  };
  const bool covers_weights = std::ranges::any_of(kept, is_weights);
  const FolderEntry* weights = nullptr;
  for (const FolderEntry& entry : entries) {
    if (entry.kind != FolderEntry::Kind::kFile || kept.contains(entry.path)) continue;
    if (is_weights(entry.path) && !is_ignored(entry.path, listings.ignored)) weights = &entry;
    if (lists.may_be_in_no_list(entry.path)) ++roots[uncovered_root(entry.path, kept)];
  }
  if (!covers_weights && weights != nullptr) {
    findings.bad(weights->path, fmt::format("{} covers no weights", listings.all.front().name));
  }
  for (const auto& [root, count] : roots) {
    const bool is_folder = root.ends_with('/');
    findings.not_covered(is_folder ? fmt::format("{} ({})", root, counted(count, "file")) : root);
  }
}

}  // namespace ckpt
