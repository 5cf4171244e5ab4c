#include "tools/commands/publication.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/base/counted.h"
#include "core/base/numbered_name.h"
#include "core/base/result.h"
#include "core/base/sha256.h"
#include "core/base/words.h"
#include "core/engine/compare.h"
#include "core/io/files_read.h"
#include "core/io/open_folder.h"
#include "core/io/remembered.h"
#include "core/io/shift.h"
#include "core/io/temporary.h"
#include "core/model/checkpoint.h"
#include "formats/formats.h"
#include "plan/conversion/steps.h"
#include "plan/conversion/targets.h"
#include "plan/text/recipe.h"
#include "publish/publish.h"
#include "quantizers/quantizers.h"
#include "tools/commands/carry_out.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"
#include "tools/published/folder_digests.h"
#include "tools/published/published_files.h"
#include "tools/published/send.h"
#include "tools/published/unpublished.h"
#include "tools/published/verify_structure.h"
#include "tools/report/page.h"
#include "tools/say/console.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Larger files are stored as pointers in a git repository, smaller ones directly (the Hub's limit).
inline constexpr uint64_t kLargestGitFileBytes = 10'000'000;

// The pattern of gitattributes(5) that matches exactly this name: characters with a meaning in
// globs are escaped, and characters that would end the pattern are put into C-style quotes.
std::string attributes_pattern(std::string_view name) {
  std::string pattern = "/";
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  const auto ends_pattern = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\x7f';
  };
  if (std::ranges::none_of(pattern, ends_pattern)) return pattern;
  std::string quoted = "\"";
  for (const char c : pattern) {
    if (c != ' ' && c != '"' && ends_pattern(c)) {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

Status write_below(const OpenFolder& folder, const fs::path& from,
                   const std::vector<FileDigest>& files) {
  std::string attributes;
  std::set<std::string> folders;
  for (const FileDigest& file : files) {
    const std::string above = fs::path(file.name).parent_path().string();
    if (!above.empty() && folders.insert(above).second) CKPT_TRY(folder.make_folder(above));
    const bool is_weights = has_ending(file.name, ".safetensors") || has_ending(file.name, ".gguf");
    std::string text;
    if (is_weights || file.size_bytes >= kLargestGitFileBytes) {
      text = render_lfs_pointer(file);
      attributes +=
          fmt::format("{} filter=lfs diff=lfs merge=lfs -text\n", attributes_pattern(file.name));
    } else {
      CKPT_ASSIGN(text, read_small(from / file.name, kLargestGitFileBytes));
      if (sha256_of(text) != file.sha256) return changed_since_hashed(from / file.name);
    }
    CKPT_TRY(write_synced({folder, file.name}, std::as_bytes(std::span(text))));
  }
  CKPT_TRY(write_synced({folder, ".gitattributes"}, std::as_bytes(std::span(attributes))));
  for (const std::string& each : folders) CKPT_TRY(folder.sync(each));
  return folder.sync();
}

// Moves the files of write_below() to their final names in `parent`.
Status publish_below(const OpenFolder& folder, const OpenFolder& parent,
                     const std::vector<FileDigest>& files) {
  std::set<std::string> names{".gitattributes"};
  for (const FileDigest& file : files) {
    for (fs::path name = file.name; !name.empty(); name = name.parent_path()) {
      names.insert(name.string());
    }
  }
  for (const std::string& name : names) {
    CKPT_TRY(folder.publish_mode(name));
    CKPT_TRY(folder.publish_owner(name, parent));
  }
  return folder.publish_mode({});
}

// Returns the path in --lfs with its links resolved and without a slash at its end.
fs::path lfs_place(const fs::path& lfs) {
  fs::path place = real_place(lfs);
  return place.has_filename() ? place : place.parent_path();
}

// Creates missing folders. Requires: `path` is a result of real_place().
Status make_folders(const fs::path& path) {
  if (is_folder(path) || !path.has_relative_path()) return {};
  CKPT_TRY(make_folders(path.parent_path()));
  CKPT_ASSIGN(const OpenFolder above, OpenFolder::open(path.parent_path()));
  return above.make_folder(path.filename().string());
}

// Writes the folder `path`, which is new or empty, under a temporary name next to it and then
// renames it, so that it never appears incomplete. `files` are in the folder `from`. Fails: kIo.
Status write_lfs_folder(const std::string& path, const fs::path& from,
                        const std::vector<FileDigest>& files) {
  const fs::path lfs = lfs_place(path);
  CKPT_TRY(make_folders(lfs.parent_path()));
  // An existing folder of this name is removed only if this command made it.
  const fs::path temporary = lfs_temporary(lfs);
  CKPT_ASSIGN(const LockedTemporary made, LockedTemporary::folder(temporary, [&] {
                return require_ours(temporary, Guard::kOwner);
              }));
  CKPT_ASSIGN(const OpenFolder folder, made.parent().open_private(made.name()));
  CKPT_TRY(write_below(folder, from, files));
  CKPT_TRY(publish_below(folder, made.parent(), files));
  CKPT_TRY(made.publish(lfs.filename().string()));
  CKPT_TRY(folder.publish_owner({}, made.parent()));
  return made.parent().sync();
}

// Keeps a file that already has this content, because another run may read it. If another run is
// writing the file, waits and tries again.
Status write_unless_same(const fs::path& path, const std::string& content) {
  constexpr int kTries = 250;
  constexpr auto kPause = std::chrono::milliseconds(20);
  for (int i = 1;; ++i) {
    std::error_code error;
    const bool is_file = fs::is_regular_file(fs::symlink_status(path, error));
    if (is_file && fs::file_size(path, error) == content.size()) {
      const auto text = read_small(path, content.size());
      if (text && *text == content) return {};
    }
    Status written = replace_file(path, content);
    const bool is_held = !written && written.error().code == ErrorCode::kUsage;
    if (!is_held || i == kTries) return written;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

fs::path lfs_temporary(const fs::path& lfs) {
  const fs::path place = lfs_place(lfs);
  return place.parent_path() / fmt::format(".ckpt-lfs-{}.partial", place.filename().string());
}

Status Publication::run() {
  CKPT_TRY(check_places());
  CKPT_TRY(refuse_patches(folder_));
  if (!typed_.is_dry_run) CKPT_TRY(remove_leftovers());
  CKPT_ASSIGN(const auto entries, list_published(folder_));
  note_bookkeeping(folder_, entries, console_);
  note_unserved(folder_, entries, console_);
  note_foreign_names(folder_, entries, console_);
  CKPT_TRY(check_files_whole());
  CKPT_TRY(check_reported());
  CKPT_TRY(check_provenance());
  CKPT_TRY(check_kept_signature(entries));
  CKPT_TRY(check_send(typed_.targets, shipment_of(folder_, entries, typed_.as), console_, false));
  const Status room = check_room_for_copies(entries);
  if (typed_.is_dry_run) {
    if (!room) console_.warn(room.error().text());
    report_dry_run(entries);
    return check_send(typed_.targets, shipment_of(folder_, entries, typed_.as), console_, true);
  }
  CKPT_TRY(room);
  CKPT_TRY(make(entries));
  CKPT_TRY(note_states());
  CKPT_TRY(check_files_read());
  Status written = write_all();
  if (!written && !check_current() && withdraw()) {
    written.error().what += fmt::format("; {} was removed again", kSumsName);
  }
  return written;
}

Status Publication::write_all() {
  CKPT_TRY(check_current());
  CKPT_TRY(write_made());
  CKPT_TRY(check_current());
  CKPT_TRY(write_archive_file());
  // The pointers are written last: if they exist, everything else exists too.
  CKPT_TRY(write_pointers());
  return send();
}

Status Publication::check_current() const {
  std::set<std::string> made;
  for (const GeneratedFile& each : made_) made.insert(each.name);
  return check_as_hashed(folder_, states_, made);
}

// Removes the records of this run. Keeps the card, which a person edits, and an earlier signature,
// which cannot be written again without the key.
bool Publication::withdraw() const {
  const auto folder = OpenFolder::open(folder_);
  bool is_withdrawn = false;
  for (const GeneratedFile& made : made_) {
    const bool is_kept = made.name == kSignatureName && keeps_signature_;
    const bool is_record = made.name == kSumsName || made.name == kSignatureName ||
                           made.name == kProvenanceName || made.name == kReportName;
    if (!folder || !is_record || is_kept) continue;
    const auto text = read_small(folder_ / made.name, made.content.size());
    // Another program may have replaced the record; its content is not ours to remove.
    if (!text || *text != made.content) continue;
    const bool is_removed = folder->remove(made.name).has_value();
    is_withdrawn = is_withdrawn || (is_removed && made.name == kSumsName);
  }
  return is_withdrawn;
}

// Takes file states before check_files_read() verifies that the hashed files have not changed.
Status Publication::note_states() {
  for (const FileDigest& file : files_) {
    const bool is_made = std::ranges::find(made_, file.name, &GeneratedFile::name) != made_.end();
    if (is_made) continue;
    CKPT_ASSIGN(states_[file.name], state_now(folder_ / file.name));
  }
  return {};
}

// Checks the free space before hashing: a warning for the archive, an error for the git repository.
Status Publication::check_room_for_copies(const std::vector<FolderEntry>& entries) const {
  uint64_t archive_bytes = 0, lfs_bytes = 0;
  for (const FolderEntry& entry : entries) {
    archive_bytes += entry.size_bytes;
    lfs_bytes += entry.size_bytes < kLargestGitFileBytes ? entry.size_bytes : 0;
  }
  if (!typed_.archive.empty()) {
    // The compressed size is unknown until the archive is written.
    const Status room = check_room(typed_.archive, archive_bytes);
    if (!room) console_.warn(room.error().text());
  }
  return typed_.lfs.empty() ? Status() : check_room(typed_.lfs, lfs_bytes);
}

// Rejects damaged weights, which recipients would otherwise discover only when loading them.
Status Publication::check_files_whole() const {
  CKPT_ASSIGN(const auto found, find_structure(folder_));
  for (const StructureFinding& one : found) {
    if (one.verdict == StructureFinding::Verdict::kSound) continue;
    if (one.verdict == StructureFinding::Verdict::kUnsupported) {
      console_.warn("{}: its structure was not checked: {}", one.path, one.found);
    } else if (typed_.force) {
      console_.warn("{}: published with --force: {}", one.path, one.found);
    } else {
      return corrupt_hint(
          one.hint + (one.hint.empty() ? "" : ", or ") + "--force to publish it as it is", "{}: {}",
          one.path, one.found);
    }
  }
  return {};
}

void Publication::report_dry_run(const std::vector<FolderEntry>& entries) const {
  uint64_t total_bytes = 0;
  const auto tell = [&](const fs::path& path, const char* what, const Json& size) {
    console_.object("publish", {{"path", path.string()}, {"size_bytes", size}, {"change", what}});
  };
  Table table({"file", "size"});
  for (const FolderEntry& entry : entries) {
    total_bytes += entry.size_bytes;
    tell(folder_ / entry.path, "published", entry.size_bytes);
    table.add({entry.path, human_bytes(entry.size_bytes)});
  }
  console_.answer_table(table, {false, true});
  std::vector<std::string> written;
  if (typed_.has_card_file()) written.push_back(typed_.card);
  const auto add_own = [&](bool is_made, std::string_view name) {
    if (is_made) written.push_back((folder_ / name).string());
  };
  add_own(typed_.report, kReportName);
  add_own(has_provenance(), kProvenanceName);
  add_own(true, kSumsName);
  add_own(!typed_.key.empty(), kSignatureName);
  for (const std::string& other : {typed_.archive, typed_.lfs}) {
    if (!other.empty()) written.push_back(other);
  }
  for (const std::string& path : written) tell(path, "written", nullptr);
  console_.answer("{}, {}; without --dry-run written: {}", counted(entries.size(), "file"),
                  human_bytes(total_bytes), fmt::join(written, ", "));
}

// Makes everything in memory before writing, so that a rejected folder stays unchanged.
Status Publication::make(const std::vector<FolderEntry>& entries) {
  CKPT_ASSIGN(files_,
              digest_files(folder_, entries, console_, {common_.threads, trusts_remembered()}));
  // A card in the folder is one of the files that the sums and the signature cover.
  CKPT_TRY(make_card());
  CKPT_TRY(make_report());
  CKPT_TRY(make_provenance());
  CKPT_TRY(check_inner_sums(entries));
  add(kSumsName, render_sha256sums(files_));
  return typed_.key.empty() ? keep_or_drop_signature() : make_signature();
}

void Publication::add(std::string_view name, std::string content) {
  std::erase_if(files_, [&](const FileDigest& file) { return file.name == name; });
  files_.push_back({std::string(name), sha256_of(content), content.size()});
  made_.push_back({std::string(name), std::move(content)});
}

const FileDigest* Publication::find(std::string_view name) const {
  const auto at = std::ranges::find(files_, name, &FileDigest::name);
  return at == files_.end() ? nullptr : &*at;
}

void Publication::said(const fs::path& path, const FileDigest& file) const {
  if (typed_.card != "-") show_file(console_, {path.string(), file.size_bytes, file.sha256});
}

Status Publication::make_card() {
  if (typed_.card.empty()) return {};
  if (!typed_.has_card_file()) {
    CKPT_ASSIGN(const std::string block, render_model_card(folder_, files_));
    console_.answer_lines(block);
    return {};
  }
  const std::string name = published_name(folder_, typed_.card);
  CKPT_ASSIGN(const bool had_card, is_there(typed_.card));
  is_card_ours_alone_ = !had_card || remembered_digest(typed_.card).has_value();
  CKPT_ASSIGN(std::string card, edited_card(typed_.card, name, folder_, files_));
  if (name.empty()) {
    outer_card_ = std::move(card);
  } else {
    add(name, std::move(card));
  }
  return {};
}

// Makes the report. It is next to the card and is also covered by the sums and the signature.
Status Publication::make_report() {
  if (!typed_.report) return {};
  CKPT_ASSIGN(std::string page,
              published_report(folder_, files_, !typed_.key.empty(), console_, common_));
  add(kReportName, std::move(page));
  return {};
}

Status Publication::make_signature() {
  Manifest manifest;
  std::error_code error;
  manifest.model = fs::weakly_canonical(folder_, error).filename().string();
  const PathSet unpublished = unpublished_paths();
  uncovered_.assign(unpublished.begin(), unpublished.end());
  uncovered_.emplace_back(kSignatureName);
  CKPT_ASSIGN(const std::vector<std::string> records, list_records(folder_));
  uncovered_.insert(uncovered_.end(), records.begin(), records.end());
  manifest.ignored = uncovered_;
  manifest.files = files_;
  CKPT_ASSIGN(const Bundle bundle, in(typed_.key, sign(render_statement(manifest), signer_)));
  const auto text = read_small(folder_ / kSignatureName, kMaxSumsBytes);
  const auto known = text ? parse_bundle(*text) : Result<Bundle>(Failure(text.error()));
  keeps_signature_ = known && is_same_signature(*known, bundle, signer_);
  add(kSignatureName, keeps_signature_ ? *text : render_bundle(bundle));
  return {};
}

Status Publication::write_made() {
  uint64_t made_bytes = outer_card_.size();
  for (const GeneratedFile& made : made_) made_bytes += made.content.size();
  CKPT_TRY(check_room(folder_ / kSumsName, made_bytes));
  if (!outer_card_.empty()) CKPT_TRY(write_unless_same(typed_.card, outer_card_));
  if (drops_signature_) {
    const fs::path path = folder_ / kSignatureName;
    CKPT_ASSIGN(const OpenFolder folder, OpenFolder::open(folder_));
    CKPT_TRY(folder.remove(std::string(kSignatureName)));
    console_.warn("{}: removed, as --unsigned says", path.string());
  }
  for (const GeneratedFile& made : made_) {
    CKPT_TRY(write_unless_same(folder_ / made.name, made.content));
    if (made.name == kSignatureName) {
      console_.talk("{} {} files; not covered: {}", keeps_signature_ ? "already signed:" : "signed",
                    files_.size() - 1, fmt::join(uncovered_, ", "));
    }
    said(folder_ / made.name, *find(made.name));
  }
  if (is_card_ours_alone_) {
    CKPT_ASSIGN(const std::string card, read_small(typed_.card, kMaxSumsBytes));
    remember_digest(typed_.card, sha256_of(card));
  }
  return {};
}

Status Publication::write_pointers() const {
  if (typed_.lfs.empty()) return {};
  CKPT_TRY(write_lfs_folder(typed_.lfs, folder_, files_));
  console_.talk("{}: pointers and small files, for a git repository", typed_.lfs);
  return {};
}

// The files to send: the hashed files, and an earlier signature that still covers them.
Result<std::vector<FileDigest>> Publication::all_files() const {
  std::vector<FileDigest> files = files_;
  CKPT_ASSIGN(const bool is_signed, is_there(folder_ / kSignatureName));
  if (is_signed && find(kSignatureName) == nullptr) {
    std::error_code error;
    const fs::path path = folder_ / kSignatureName;
    CKPT_ASSIGN(std::string sha256, hash_file(path, &interrupted));
    files.push_back({std::string(kSignatureName), std::move(sha256), fs::file_size(path, error)});
  }
  return files;
}

Status Publication::send() const {
  if (typed_.targets.empty()) return {};
  Shipment shipment{folder_, {}, {}, typed_.as};
  CKPT_ASSIGN(shipment.files, all_files());
  for (const FileDigest& file : shipment.files) {
    const auto known = states_.find(file.name);
    const fs::path path = folder_ / file.name;
    CKPT_ASSIGN(const FileState now, state_now(path));
    // Remembers the digest, so that resuming an upload does not hash the file again.
    const bool is_as_hashed = known != states_.end() && known->second == now;
    if (is_as_hashed && !remembered_digest(path)) remember_digest(path, file.sha256);
    shipment.states.push_back(known == states_.end() ? now : known->second);
  }
  ConsoleObserver observer(console_, &interrupted);
  return send_to(typed_.targets, shipment, console_, {typed_.force, common_.threads, &observer});
}

Status Publication::write_archive_file() const {
  if (typed_.archive.empty()) return {};
  CKPT_ASSIGN(const std::vector<FileDigest> files, all_files());
  const ArchiveOptions options{common_.threads, common_.memory_bytes, typed_.force};
  CKPT_ASSIGN(const ArchiveWritten written,
              write_archive(folder_, files, typed_.archive, console_, options));
  said(typed_.archive, {typed_.archive, written.sha256, written.size_bytes});
  console_.talk("{}: {} files, {} from {}", typed_.archive, files.size(),
                human_bytes(written.size_bytes), human_bytes(written.tar_bytes));
  return {};
}

}  // namespace ckpt
