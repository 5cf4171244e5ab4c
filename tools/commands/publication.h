// A folder that is published: checked and read entirely, then written to.
//
//   list ▸ structure ▸ digests ▸ card, report, provenance, sums, signature, all in memory
//        ▸ is every file still as it was read? ▸ write ▸ is it now? ▸ archive, pointers, targets
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
  // Else the card is for stdout, or not asked for.
  bool has_card_file() const { return !card.empty() && card != "-"; }
};

// Where a folder for --lfs is until it is complete.
std::filesystem::path lfs_temporary(const std::filesystem::path& lfs);

class Publication {
 public:
  // The arguments must outlive it. `signer` has no key where nothing is signed.
  Publication(const TypedPublish& typed, const Signer& signer, const Console& console,
              const CommonOptions& common)
      : typed_(typed), signer_(signer), console_(console), common_(common), folder_(typed.path) {}

  // Requires: what was typed can be carried out (publish.cc).
  Status run();

 private:
  // Written into the folder once all of them are known; in this order.
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
  // Fails: as check_as_hashed().
  Status check_current() const;
  // Removes the records that this run wrote: they are of files that changed. Whether sums were.
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
  std::vector<FileDigest> files_;            // what is published; with what is made for it
  std::map<std::string, FileState> states_;  // of the files that were hashed, by name
  std::vector<GeneratedFile> made_;
  std::string outer_card_;              // the new content of a card that lies elsewhere
  bool is_card_ours_alone_ = false;     // no person has written into it
  bool drops_signature_ = false;        // the one that is there, and signs another state
  bool keeps_signature_ = false;        // the one that is there, and signs this state by this key
  std::vector<std::string> uncovered_;  // by the signature that is made
};

}  // namespace ckpt
