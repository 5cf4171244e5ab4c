// Publishes a folder: checks and reads all of it before writing anything to it.
//
//   list ▸ structure ▸ digests ▸ card, report, provenance, sums, signature, all in memory
//        ▸ are all files unchanged? ▸ write ▸ still unchanged? ▸ archive, pointers, targets
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/files_read.h"
#include "core/io/folder.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

struct TypedPublish {
  std::string path, key, certificate, password_file, lfs, recipe, command, card, archive, as;
  std::vector<std::string> sources, targets;
  bool rehash = false, report = false, provenance = false, with_time = false, force = false;
  bool is_unsigned = false, is_dry_run = false;
  // If false, the card is printed to stdout or was not requested.
  bool has_card_file() const { return !card.empty() && card != "-"; }
};

// The temporary name of a folder for --lfs until it is complete.
std::filesystem::path lfs_temporary(const std::filesystem::path& lfs);

class Publication {
 public:
  // The arguments must outlive the object. `signer` has no key if nothing is signed.
  Publication(const TypedPublish& typed, const Signer& signer, const Console& console,
              const CommonOptions& common)
      : typed_(typed), signer_(signer), console_(console), common_(common), folder_(typed.path) {}

  // Requires: publish.cc has validated the typed options.
  Status run();

 private:
  // A generated file. All of them are written, in this order, once their content is known.
  struct GeneratedFile {
    std::string name, content;
  };

  Status check_places() const;
  Status remove_leftovers() const;
  Status check_room_for_copies(const std::vector<FolderEntry>& entries) const;
  Status check_files_whole() const;
  Status check_reported() const;
  void report_dry_run(const std::vector<FolderEntry>& entries) const;
  bool trusts_remembered() const { return !typed_.rehash && typed_.key.empty(); }
  bool has_provenance() const;
  Status check_provenance() const;
  Status add_recipe(Provenance& provenance) const;
  Status check_inner_sums(const std::vector<FolderEntry>& entries) const;
  Status check_kept_signature(const std::vector<FolderEntry>& entries) const;
  Status make(const std::vector<FolderEntry>& entries);
  Status make_card();
  Status make_report();
  Status make_provenance();
  Status make_signature();
  Status keep_or_drop_signature();
  Status note_states();
  Status write_all();
  // Checks that the folder still has the hashed files. Fails: as check_as_hashed().
  Status check_current() const;
  // Removes the records that this run wrote, because files changed. Returns whether sums were
  // removed.
  bool withdraw() const;
  Status write_made();
  Result<std::vector<FileDigest>> all_files() const;
  Status write_archive_file() const;
  Status send() const;
  Status write_pointers() const;
  void add(std::string_view name, std::string content);
  void said(const std::filesystem::path& path, const FileDigest& file) const;
  const FileDigest* find(std::string_view name) const;

  const TypedPublish& typed_;
  const Signer& signer_;
  const Console& console_;
  const CommonOptions& common_;
  std::filesystem::path folder_;
  std::vector<FileDigest> files_;            // all published files, including generated ones
  std::map<std::string, FileState> states_;  // states of the hashed files by name
  std::vector<GeneratedFile> made_;
  std::string outer_card_;              // the new content of a card outside the folder
  bool is_card_ours_alone_ = false;     // only ckpt has written into the card
  bool drops_signature_ = false;        // removes the signature, which signs another state
  bool keeps_signature_ = false;        // keeps the signature, which signs this state
  std::vector<std::string> uncovered_;  // files that the new signature does not cover
};

}  // namespace ckpt
