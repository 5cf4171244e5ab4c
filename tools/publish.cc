// ckpt publish PATH: sums, signature, pointers and records of a folder that is to be shipped.
#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/sha256.h"
#include "core/io/folder.h"
#include "core/io/open_folder.h"
#include "formats/formats.h"
#include "tools/archive.h"
#include "tools/commands.h"
#include "tools/folder_digests.h"
#include "tools/lfs_folder.h"
#include "tools/listing.h"
#include "tools/model_card.h"
#include "tools/published_files.h"
#include "tools/published_report.h"
#include "tools/recipe.h"
#include "tools/targets.h"
#include "tools/verify_command.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxKeyBytes = 1 << 20, kMaxRecipeBytes = 1 << 20;

struct TypedPublish {
  std::string path, key, certificate, password_file, lfs, recipe, command, card, archive;
  std::vector<std::string> sources;
  bool rehash = false, report = false, provenance = false, with_time = false, force = false;
};

class Publication {
 public:
  Publication(const TypedPublish& typed, const Console& console, const CommonOptions& common)
      : typed_(typed), console_(console), common_(common), folder_(typed.path) {}

  Status run() {
    CKPT_TRY(read_signer());
    CKPT_TRY(check_lfs_folder());
    CKPT_TRY(check_archive_name());
    CKPT_TRY(check_published_targets(folder_));
    if (has_card_file()) CKPT_TRY(read_card(typed_.card));
    if (typed_.report) CKPT_TRY(check_published_report(folder_));
    CKPT_TRY(remove_leftovers());
    CKPT_ASSIGN(const auto entries, list_published(folder_));
    note_bookkeeping(folder_, entries, console_);
    remember_times(entries);
    CKPT_ASSIGN(files_, digest_files(folder_, entries, !typed_.rehash, console_, common_.threads));
    // A card in the folder is one of the files that sums and signature cover.
    CKPT_TRY(write_card());
    CKPT_TRY(write_report());
    CKPT_TRY(write_provenance());
    CKPT_TRY(write_sums());
    CKPT_TRY(write_signature());
    CKPT_TRY(write_archive_file());
    // Last: where this is there, everything is.
    return write_pointers();
  }
  std::string next_command() const {
    return verify_command({typed_.path, typed_.key, typed_.certificate, typed_.password_file},
                          signer_);
  }

 private:
  Status read_signer();
  Status check_lfs_folder() const;
  Status check_archive_name() const;
  bool is_inside(const std::string& path) const;
  Status remove_leftovers() const;
  Status write_provenance();
  Status write_sums();
  Status write_signature();
  Status drop_signature() const;
  Status write_pointers() const;
  Status write_archive_file() const;
  void remember_times(const std::vector<FolderEntry>& entries);
  // Else it is for stdout, or not asked for.
  bool has_card_file() const { return !typed_.card.empty() && typed_.card != "-"; }
  Status write_card();
  Status write_report();

  // Adds or replaces what was just written into the folder.
  Status write(std::string_view name, std::string_view content) {
    CKPT_TRY(replace_file(folder_ / name, content));
    std::erase_if(files_, [&](const FileDigest& file) { return file.name == name; });
    files_.push_back({std::string(name), sha256_of(content), content.size()});
    said(folder_ / name, files_.back());
    return {};
  }
  void said(const fs::path& path, const FileDigest& file) const {
    console_.answer(fmt::format("{}  {}", file.sha256, path.string()));
    console_.object(
        "file",
        {{"path", path.string()}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
  }

  const TypedPublish& typed_;
  const Console& console_;
  const CommonOptions& common_;
  fs::path folder_;
  Signer signer_;
  std::vector<FileDigest> files_;
  std::map<std::string, fs::file_time_type> times_;  // when what was hashed had been written
};

Status Publication::read_signer() {
  if (typed_.key.empty()) return {};
  CKPT_ASSIGN(signer_.private_key_pem, read_small(typed_.key, kMaxKeyBytes));
  if (!typed_.certificate.empty()) {
    CKPT_ASSIGN(signer_.certificate_pem, read_small(typed_.certificate, kMaxKeyBytes));
  }
  if (!typed_.password_file.empty()) {
    CKPT_ASSIGN(signer_.password, read_small(typed_.password_file, kMaxKeyBytes));
    while (signer_.password.ends_with('\n')) signer_.password.pop_back();
  }
  // A key that cannot sign is refused before a folder of many gigabytes is hashed.
  return in(typed_.key, sign("{}", signer_)).map([](const Bundle&) {});
}

// True for the folder that is published and all that lies in it.
bool Publication::is_inside(const std::string& path) const {
  std::error_code error;
  const fs::path other = fs::weakly_canonical(fs::absolute(path, error), error);
  const fs::path own = fs::canonical(folder_, error);
  const std::string inside = other.lexically_relative(own).generic_string();
  return inside == "." || !inside.starts_with("..");
}

// Said before a folder of many gigabytes is hashed.
Status Publication::check_archive_name() const {
  if (typed_.archive.empty()) return {};
  if (!typed_.archive.ends_with(".tar.zst")) {
    return fail(ErrorCode::kUsage, "--archive {}: expected a name that ends in .tar.zst",
                typed_.archive);
  }
  if (is_inside(typed_.archive)) {
    return fail(ErrorCode::kUsage, "--archive {}: inside {}, which it is to hold", typed_.archive,
                typed_.path);
  }
  CKPT_TRY(check_parent(typed_.archive));
  std::error_code error;
  const fs::file_status found = fs::symlink_status(typed_.archive, error);
  if (fs::is_symlink(found)) {
    const fs::path target =
        fs::path(typed_.archive).parent_path() / fs::read_symlink(typed_.archive, error);
    return fail_with_hint(ErrorCode::kUsage, "--archive " + shell_word(target.string()),
                          "--archive {}: is a link; expected the name of a file", typed_.archive);
  }
  if (!fs::exists(found) || (typed_.force && is_archive(typed_.archive))) return {};
  const char* const other = !fs::is_regular_file(found)  ? " and is no file"
                            : is_archive(typed_.archive) ? ""
                                                         : " and is no archive";
  return fail_with_hint(ErrorCode::kUsage,
                        *other ? "another name" : "--force to replace it, or another name",
                        "--archive {}: exists{}", typed_.archive, *other ? other : " already");
}

Status Publication::check_lfs_folder() const {
  if (typed_.lfs.empty()) return {};
  std::error_code error;
  const fs::path lfs = typed_.lfs;
  if (is_inside(typed_.lfs)) {
    return fail(ErrorCode::kUsage, "--lfs {}: inside {}; pointers never replace weights",
                typed_.lfs, typed_.path);
  }
  if (!fs::exists(lfs, error) || (fs::is_directory(lfs, error) && fs::is_empty(lfs, error))) {
    return {};
  }
  return fail(ErrorCode::kUsage, "--lfs {}: exists already; expected a new or empty folder",
              typed_.lfs);
}

// A publication that was killed leaves these, and they must not be shipped.
Status Publication::remove_leftovers() const {
  CKPT_ASSIGN(const OpenFolder folder, OpenFolder::open(folder_));
  for (const std::string_view name : {kSumsName, kSignatureName, kProvenanceName}) {
    CKPT_TRY(folder.remove(temporary_name(name)));
  }
  return {};
}

Status Publication::write_provenance() {
  if (!typed_.provenance && typed_.sources.empty() && typed_.recipe.empty() &&
      typed_.command.empty()) {
    return {};
  }
  Provenance provenance;
  for (const FileDigest& file : files_) {
    if (file.name != kProvenanceName) provenance.made.push_back(file);
  }
  for (const std::string& source : typed_.sources) {
    CKPT_ASSIGN(auto files, digest_source(source, !typed_.rehash, console_, common_.threads));
    fs::path name = fs::path(source).filename();
    if (name.empty() || name == "." || name == "..") {
      std::error_code error;
      name = fs::weakly_canonical(source, error).filename();
    }
    if (name.empty()) name = fs::path(source).parent_path().filename();
    provenance.inputs.push_back({name.string(), std::move(files)});
  }
  if (!typed_.recipe.empty()) {
    CKPT_ASSIGN(std::string recipe, read_small(typed_.recipe, kMaxRecipeBytes));
    provenance.recipe = without_comments(std::move(recipe));
  }
  provenance.command = typed_.command;
  provenance.tool_version = CKPT_VERSION;
  if (typed_.with_time) {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    provenance.time = text;
  }
  CKPT_ASSIGN(const std::string json, in(typed_.recipe, render_provenance(provenance)));
  return write(kProvenanceName, json);
}

Status Publication::write_sums() { return write(kSumsName, render_sha256sums(files_)); }

// A signature of an earlier state would only tell that something changed.
Status Publication::drop_signature() const {
  const fs::path path = folder_ / kSignatureName;
  std::error_code error;
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  // What cannot be read is not known to be stale: it stays.
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxSumsBytes));
  const auto bundle = parse_bundle(text);
  const auto manifest =
      bundle.and_then([](const Bundle& one) { return parse_statement(one.payload); });
  const auto pairs = [](const std::vector<FileDigest>& files) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const FileDigest& file : files) out.emplace_back(file.name, file.sha256);
    std::sort(out.begin(), out.end());
    return out;
  };
  if (manifest && pairs(manifest->files) == pairs(files_)) return {};
  if (!fs::remove(path, error)) {
    return io_failure(path, "cannot be removed", error.value());
  }
  console_.warn(fmt::format("{}: removed, it signed another state; --sign KEY makes a new one",
                            path.string()));
  return {};
}

Status Publication::write_signature() {
  if (typed_.key.empty()) return drop_signature();
  Manifest manifest;
  std::error_code error;
  manifest.model = fs::weakly_canonical(folder_, error).filename().string();
  std::vector<std::string> ignored = unpublished_paths();
  ignored.emplace_back(kSignatureName);
  manifest.ignored = ignored;
  manifest.files = files_;
  CKPT_ASSIGN(const Bundle bundle, in(typed_.key, sign(render_statement(manifest), signer_)));
  console_.talk(fmt::format("signed {} files; not covered: {}", manifest.files.size(),
                            fmt::join(ignored, ", ")));
  return write(kSignatureName, render_bundle(bundle));
}

Status Publication::write_pointers() const {
  if (typed_.lfs.empty()) return {};
  CKPT_TRY(write_lfs_folder(typed_.lfs, folder_, files_));
  console_.talk(fmt::format("{}: pointers and small files, for a git repository", typed_.lfs));
  return {};
}

void Publication::remember_times(const std::vector<FolderEntry>& entries) {
  if (typed_.archive.empty()) return;
  std::error_code error;
  for (const FolderEntry& entry : entries) {
    times_[entry.path] = fs::last_write_time(folder_ / entry.path, error);
  }
}

Status Publication::write_archive_file() const {
  if (typed_.archive.empty()) return {};
  std::vector<FileDigest> files = files_;
  std::error_code error;
  const uint64_t signature_bytes = fs::file_size(folder_ / kSignatureName, error);
  const bool is_listed = std::any_of(files.begin(), files.end(), [](const FileDigest& file) {
    return file.name == kSignatureName;
  });
  // An earlier signature that still signs what is there.
  if (!error && !is_listed) files.push_back({std::string(kSignatureName), {}, signature_bytes});
  const auto before_rename = [&]() -> Status {
    for (const auto& [name, time] : times_) {
      const bool is_ours = name == kProvenanceName;  // perhaps written anew just now
      if (is_ours || fs::last_write_time(folder_ / name, error) == time) continue;
      return fail(ErrorCode::kIo, "{}: was changed while it was published",
                  (folder_ / name).string());
    }
    return {};
  };
  const ArchiveOptions options{common_.threads, common_.memory_bytes, typed_.force, before_rename};
  CKPT_ASSIGN(const ArchiveWritten written,
              write_archive(folder_, files, typed_.archive, console_, options));
  said(typed_.archive, {typed_.archive, written.sha256, written.size_bytes});
  console_.talk(fmt::format("{}: {} files, {} from {}", typed_.archive, files.size(),
                            human_bytes(written.size_bytes), human_bytes(written.tar_bytes)));
  return {};
}

Status Publication::write_card() {
  if (typed_.card.empty()) return {};
  if (!has_card_file()) {
    CKPT_ASSIGN(const std::string block, render_model_card(folder_, files_));
    console_.answer_lines(block);
    return {};
  }
  const std::string name = published_name(folder_, typed_.card);
  CKPT_ASSIGN(const bool had_card, is_there(typed_.card));
  const bool is_ours_alone = !had_card || remembered_digest(typed_.card);
  CKPT_ASSIGN(const std::string card, edited_card(typed_.card, name, folder_, files_));
  CKPT_TRY(name.empty() ? replace_file(typed_.card, card) : write(name, card));
  if (is_ours_alone) remember_digest(typed_.card, sha256_of(card));
  std::error_code error;
  if (!name.empty() && !times_.empty()) times_[name] = fs::last_write_time(folder_ / name, error);
  return {};
}

// Beside the card, and as it covered by sums and signature.
Status Publication::write_report() {
  if (!typed_.report) return {};
  CKPT_ASSIGN(const std::string page,
              published_report(folder_, files_, !typed_.key.empty(), console_, common_));
  CKPT_TRY(write(kReportName, page));
  std::error_code error;
  if (!times_.empty()) {
    times_[std::string(kReportName)] = fs::last_write_time(folder_ / kReportName, error);
  }
  return {};
}

Result<int> publish(const TypedPublish& typed, const Console& console,
                    const CommonOptions& common) {
  std::error_code error;
  CKPT_ASSIGN(const bool exists, is_there(typed.path, Links::kFollow));
  if (!exists) return fail(ErrorCode::kUsage, "{}: there is no such folder", typed.path);
  if (!fs::is_directory(typed.path, error)) {
    const std::string path = shell_word(typed.path);
    return fail_with_hint(
        ErrorCode::kUsage,
        fmt::format("mkdir release && cp {} release/ && ckpt publish release", path),
        "{}: expected a folder", typed.path);
  }
  if (typed.key.empty() && !typed.certificate.empty()) {
    return fail(ErrorCode::kUsage, "--certificate without --sign KEY");
  }
  Publication publication(typed, console, common);
  CKPT_TRY(publication.run());
  console.talk("Next: " + publication.next_command());
  return 0;
}

Run declare_publish(CommandOptions& options) {
  auto typed = std::make_shared<TypedPublish>();
  options.add("PATH", &typed->path, "the folder to ship").is_required = true;
  options.add("--sign", &typed->key, "PEM of a private EC key: writes model.sig");
  options.add("--certificate", &typed->certificate,
              "PEM of the signer's certificate, then its issuers'");
  options.add("--password-file", &typed->password_file, "file with the private key's password");
  options.add("--lfs", &typed->lfs, "new folder for git-LFS pointers and the small files");
  options.add("--archive", &typed->archive,
              "FILE.tar.zst for all of it in one file; equal folders give equal bytes");
  options.add("--force", &typed->force, "replace the archive that is there");
  options.add("--source", &typed->sources,
              "what PATH was made from, for provenance.json (may repeat)");
  options.add("--recipe", &typed->recipe, "the recipe it was made with, for provenance.json");
  options.add("--made-by", &typed->command, "the command it was made with, for provenance.json");
  options.add("--provenance", &typed->provenance, "write provenance.json in any case");
  options.add("--time", &typed->with_time, "record the time in provenance.json (not reproducible)");
  options.add("--card", &typed->card,
              "FILE.md (- for stdout): puts a block with types and hashes into a model card");
  options.add("--report", &typed->report,
              "write report.html, what ckpt report shows of PATH, into it");
  options.add("--rehash", &typed->rehash, "read every file, also those hashed while converting");
  return [typed](const Console& console, const CommonOptions& common) {
    return publish(*typed, console, common);
  };
}

}  // namespace

constinit const Command kPublishCommand{
    "publish", "Writes SHA256SUMS, and on request a signature, LFS pointers and provenance.",
    "  ckpt publish out/\n"
    "  ckpt publish out/ --sign release.pem --source checkpoint-162/\n"
    "  ckpt publish out/ --lfs repository/\n"
    "  ckpt publish out/ --archive out.tar.zst",
    declare_publish};

}  // namespace ckpt
