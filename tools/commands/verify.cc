// ckpt verify PATH: checks structure, hashes and signature of a folder, an archive, a single file
// with its numbered parts, or an artifact in a registry. Exits 1 if a check fails.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/base/counted.h"
#include "core/base/numbered_name.h"
#include "core/base/sha256.h"
#include "core/base/words.h"
#include "core/engine/compare.h"
#include "core/io/bytes.h"
#include "core/io/files_read.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "plan/publish_to/oci_registry.h"
#include "publish/publish.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"
#include "tools/published/folder_digests.h"
#include "tools/published/listing.h"
#include "tools/published/published_files.h"
#include "tools/published/verify_archive.h"
#include "tools/published/verify_structure.h"
#include "tools/say/console.h"
#include "tools/say/findings.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxManifests = 64;
constexpr unsigned kBlobsAtATime = 4;

class ArtifactCheck {
 public:
  ArtifactCheck(OciRepository& repository, const OciAddress& address, Findings& findings)
      : repository_(repository), address_(address), findings_(findings) {}

  // Reads a manifest and what it names: the manifests of an index, or else blobs.
  Status take_manifest(const std::string& reference, std::optional<uint64_t> size_bytes = {}) {
    if (manifests_.size() == kMaxManifests) {
      return corrupt("{}: more than {} manifests", address_.shown(), kMaxManifests);
    }
    CKPT_ASSIGN(const std::string content, repository_.read_manifest(reference));
    const std::string found = blob_digest(sha256_of(content));
    if (reference.starts_with("sha256:") && found != reference) {
      findings_.bad(reference, fmt::format("a manifest with the digest {}", found));
      return {};
    }
    if (size_bytes && content.size() != *size_bytes) {
      findings_.bad(reference, fmt::format("a manifest of {} bytes; the index says {}",
                                           content.size(), *size_bytes));
    }
    if (!manifests_.insert(found).second) return {};
    const std::string where = address_.shown() + "@" + found;
    CKPT_ASSIGN(ManifestContents named, parse_manifest(where, content));
    for (const NamedBlob& one : named.manifests) {
      CKPT_TRY(take_manifest(one.digest, one.size_bytes));
    }
    for (NamedBlob& blob : named.blobs) take_blob(std::move(blob));
    return {};
  }

  Status check_blobs(ProgressLine& progress) {
    std::vector<const NamedBlob*> blobs;
    uint64_t total_bytes = 0, done_bytes = 0;
    for (const auto& [digest, blob] : blobs_) {
      blobs.push_back(&blob);
      total_bytes += blob.size_bytes;
    }
    std::mutex mutex;
    std::vector<std::string> found(blobs.size());
    CKPT_TRY(for_each_parallel(blobs.size(), kBlobsAtATime, [&](size_t i) -> Status {
      Sha256 sha256;
      const auto take = [&](std::span<const std::byte> bytes) -> Status {
        if (interrupted) return fail(ErrorCode::kInterrupted, "interrupted");
        sha256.add(bytes);
        const std::lock_guard lock(mutex);
        progress.advanced(done_bytes += bytes.size(), total_bytes);
        return {};
      };
      const Status read = repository_.read_blob(blobs[i]->digest, blobs[i]->size_bytes, take);
      if (!read && read.error().code != ErrorCode::kCorrupt) return read;  // it was not read
      found[i] = read ? blob_digest(sha256.finish()) : read.error().text();
      return {};
    }));
    for (size_t i = 0; i < blobs.size(); ++i) {
      if (found[i] == blobs[i]->digest) {
        findings_.good_file(blobs[i]->name, "has its digest");
      } else if (found[i].starts_with("sha256:")) {
        findings_.bad(blobs[i]->name, fmt::format("{}; expected {}", found[i], blobs[i]->digest));
      } else {
        findings_.bad(blobs[i]->name, found[i]);
      }
    }
    findings_.checked(
        fmt::format("digests of {} blobs ({})", blobs.size(), human_bytes(total_bytes)));
    return {};
  }

 private:
  void take_blob(NamedBlob blob) {
    const auto [known_blob, is_new] = blobs_.try_emplace(blob.digest, blob);
    if (!is_new && known_blob->second.size_bytes != blob.size_bytes) {
      findings_.bad(blob.name, "named with two sizes");
    }
  }

  OciRepository& repository_;
  const OciAddress& address_;
  Findings& findings_;
  std::set<std::string> manifests_;         // their digests
  std::map<std::string, NamedBlob> blobs_;  // by digest
};

bool is_artifact_address(const std::string& path) { return path.starts_with("oci://"); }

// Reads every blob of the artifact and compares sizes and digests. Fails: kUsage; kIo; kCorrupt for
// an invalid manifest.
Status check_artifact(const std::string& address, const Console& console, Findings& findings) {
  CKPT_ASSIGN(const OciAddress oci, parse_oci_address(address));
  CKPT_ASSIGN(RegistryLogin login, registry_login(oci.host()));
  OciRepository repository(oci, std::move(login));
  ArtifactCheck check(repository, oci, findings);
  CKPT_TRY(check.take_manifest(oci.digest.empty() ? oci.tag : oci.digest));
  if (oci.digest.empty()) findings.not_checked("a tag may be moved, name it by @sha256:");
  ProgressLine progress(console, "hashing");
  return check.check_blobs(progress);
}

struct FileSet {
  PathSet present, missing;  // names of files in the folder
};

// Returns all files that belong to `path`, including `path`.
Result<FileSet> files_with(const fs::path& path) {
  const auto numbered = parse_numbered(path.filename().string());
  if (!numbered) return FileSet{{path.filename().string()}, {}};
  FileSet out;
  const fs::path folder = parent_of(path);
  for (unsigned i = 1; i <= numbered->count; ++i) {
    CKPT_ASSIGN(const bool exists, is_there(folder / numbered->of(i)));
    (exists ? out.present : out.missing).insert(numbered->of(i));
  }
  const std::string index = numbered->prefix + numbered->ending + ".index.json";
  CKPT_ASSIGN(const bool has_index, is_there(folder / index));
  if (has_index) out.present.insert(index);
  return out;
}

bool is_of_hub(const fs::path& path) { return path.native().starts_with("hf://"); }

Result<FolderEntry> entry_of(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::path path = folder / name;
  if (is_url(path)) {
    CKPT_ASSIGN(const SharedSource source, open_file(path));
    return FolderEntry{name, FolderEntry::Kind::kFile, source->size_bytes()};
  }
  const fs::file_status status = fs::symlink_status(path, error);
  FolderEntry out{name};
  if (!error) out = folder_entry(path, name, status, error);
  if (error) return fail(ErrorCode::kIo, "{}: {}", path.string(), error.message());
  return out;
}

Result<std::vector<FolderEntry>> entries_of(const fs::path& folder, const PathSet& names) {
  std::vector<FolderEntry> out;
  if (is_of_hub(folder)) {
    CKPT_ASSIGN(out, list_folder(folder, {}));
    std::erase_if(out, [&](const FolderEntry& entry) { return !names.contains(entry.path); });
    return out;
  }
  for (const std::string& name : names) CKPT_SET(out.emplace_back(), entry_of(folder, name));
  return out;
}

// The digests that the hub lists; nullopt if it lists none. Notes how many files lack a digest.
std::optional<Listing> hub_listing(const fs::path& path, const std::vector<FolderEntry>& entries,
                                   Findings& findings) {
  if (!is_of_hub(path)) return std::nullopt;
  Listing out = listed_by_hub(entries);
  if (!out.own_files.empty()) {
    findings.not_checked(counted(out.own_files.size(), "file") +
                         " not checked, the hub lists no digest");
  }
  return out.listed.empty() ? std::nullopt : std::optional(std::move(out));
}

// The lines for `files` in the SHA256SUMS next to them; nullopt if there are none.
Result<std::optional<Listing>> sums_of(const fs::path& folder, const FileSet& files,
                                       Findings& findings) {
  const fs::path sums = folder / kSumsName;
  CKPT_ASSIGN(const bool has_sums, is_there(sums));
  if (!has_sums) {
    findings.not_checked(fmt::format("no {} to compare with", kSumsName));
    return std::nullopt;
  }
  CKPT_ASSIGN(const std::string text, read_small(sums, kMaxSumsBytes));
  auto listing = read_sums(sums.string(), text, findings);
  if (!listing) return std::nullopt;
  std::erase_if(listing->listed, [&](const FileDigest& file) {
    return !files.present.contains(file.name) && !files.missing.contains(file.name);
  });
  if (!listing->listed.empty()) return listing;
  findings.not_checked(fmt::format("{} does not list it", sums.string()));
  return std::nullopt;
}

// Reports missing files that the sums do not list.
void report_missing(PathSet missing, const std::vector<FileDigest>& listed, Findings& findings) {
  for (const FileDigest& file : listed) missing.erase(file.name);
  if (missing.empty()) return;
  findings.bad(*missing.begin(),
               missing.size() == 1
                   ? "missing; one of the files that the model was cut into"
                   : fmt::format("missing, and {} more of the files that the model was cut into",
                                 missing.size() - 1));
}

// Checks the structure of `path` and all files that belong to it, and compares them with the
// SHA256SUMS next to them. NAME-00001-of-00003.gguf stands for all three files;
// NAME-00002-of-00003.safetensors for all three and NAME.safetensors.index.json, if it exists.
// Fails: kUsage; kUnsupported; kIo; kInterrupted.
Status check_file(const fs::path& path, const Console& console, const CommonOptions& common,
                  Findings& findings) {
  const fs::path folder = parent_of(path);
  CKPT_ASSIGN(const FileSet files, files_with(path));
  const bool is_gguf = has_ending(path.native(), ".gguf");  // its reader opens all parts itself
  for (const std::string& name : files.present) {
    if (is_gguf ? name != path.filename() : name.ends_with(".json")) continue;
    CKPT_TRY(check_structure(path.parent_path() / name, false, findings));
  }
  CKPT_ASSIGN(const auto entries, entries_of(folder, files.present));
  auto listing = hub_listing(folder, entries, findings);
  if (!is_of_hub(folder)) CKPT_SET(listing, sums_of(folder, files, findings));
  // The GGUF reader has already reported missing files, and the sums report those that they list.
  if (!is_gguf)
    report_missing(files.missing, listing ? listing->listed : std::vector<FileDigest>(), findings);
  if (!listing) return {};
  CKPT_ASSIGN(const auto digests, digest_files(folder, entries, console,
                                               {.threads = common.threads, .keep_faults = true}));
  check_listings({{*listing}}, digests, entries, findings);
  return {};
}

struct TypedVerify : VerifyQuestion {
  std::vector<std::string> paths;  // `path` is the one being checked
};

// The name of `signature` within `folder`; empty if it is outside.
std::string own_name(const fs::path& folder, const fs::path& signature) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(parent_of(signature), error) / signature.filename();
  const std::string name =
      place.lexically_relative(fs::weakly_canonical(folder, error)).generic_string();
  return name.starts_with("..") ? std::string() : name;
}

// The files that the signature lists; nullopt, after a note, if no trusted signer was given.
Result<std::optional<Listing>> read_signature(const TypedVerify& typed, const Console& console,
                                              Findings& findings) {
  const fs::path folder = typed.path;
  const fs::path signature =
      typed.signature.empty() ? folder / kSignatureName : fs::path(typed.signature);
  CKPT_ASSIGN(const bool has_signature, is_there(signature));
  if (typed.trusted.is_given()) {
    std::optional<std::string> bundle;
    const bool is_named = !typed.signature.empty();
    if (is_named || has_signature) CKPT_SET(bundle, read_small(signature, kMaxSumsBytes));
    CKPT_ASSIGN(auto listing, check_signature(signature.string(), bundle, typed.trusted, findings));
    const std::string own = own_name(folder, signature);
    if (listing && !own.empty()) listing->own_files.insert(own);
    return listing;
  }
  if (has_signature) {
    findings.not_checked(fmt::format("{} not checked", signature.filename().string()));
    console.talk("{}: not checked; say whose it must be with --public-key, --certificate or --ca",
                 signature.string());
  }
  return std::nullopt;
}

// Notes that files which a downloader leaves in .cache count as extra, like any unpublished file.
void note_cache(const TypedVerify& typed, const std::vector<FolderEntry>& entries,
                const Listings& listings, const Console& console) {
  const std::set<std::string> covered = covered_names(listings);
  const bool is_extra = std::ranges::any_of(entries, [&](const FolderEntry& entry) {
    return entry.path.starts_with(".cache/") && !covered.contains(entry.path) &&
           !is_ignored(entry.path, listings.ignored) &&
           !is_ignored(entry.path, listings.all.front().ignored);
  });
  if (!is_extra) return;
  console.talk(
      "{}: nothing covers what a downloader leaves there. Try: the same "
      "command with --ignore .cache",
      (fs::path(typed.path) / ".cache").string());
}

// Paths whose folders get no separate verdict.
PathSet left_alone(const TypedVerify& typed) {
  PathSet out = unpublished_paths();
  out.insert(typed.ignored.begin(), typed.ignored.end());
  return out;
}

// Reports that signatures of inner folders are not checked: a typed key is for the outer folder.
void report_inner_signatures(const std::vector<FolderEntry>& entries, const PathSet& ignored,
                             Findings& findings) {
  const auto count = std::ranges::count_if(entries, [&](const FolderEntry& entry) {
    return entry.path.ends_with("/" + std::string(kSignatureName)) &&
           !is_ignored(entry.path, ignored);
  });
  if (count == 0) return;
  findings.not_checked(counted(static_cast<size_t>(count), "signature") +
                       " in inner folders not checked");
}

Status check_folder(const TypedVerify& typed, const Console& console, unsigned threads,
                    Findings& findings) {
  const fs::path folder = typed.path;
  Listings listings{{}, {typed.ignored.begin(), typed.ignored.end()}};
  CKPT_ASSIGN(auto signed_files, read_signature(typed, console, findings));
  CKPT_ASSIGN(const bool has_sums, is_there(folder / kSumsName));
  CKPT_ASSIGN(const auto entries, list_folder(folder, {}));
  note_patterns(typed, entries, console);
  if (signed_files) {
    listings.all.push_back(std::move(*signed_files));
  } else if (auto hub = hub_listing(folder, entries, findings)) {
    listings.all.push_back(std::move(*hub));
  }
  if (has_sums) {
    const fs::path path = folder / kSumsName;
    CKPT_ASSIGN(const std::string text, read_small(path, kMaxSumsBytes));
    auto sums = read_sums(path.string(), text, findings);
    if (sums) {
      if (!listings.all.empty() && listings.all[0].is_signed) {
        sums->own_files.merge(PathSet(listings.all[0].own_files));
      }
      listings.all.push_back(std::move(*sums));
    }
  }
  CKPT_ASSIGN(auto inner, read_inner_sums(folder, entries, left_alone(typed), findings));
  std::ranges::move(inner, std::back_inserter(listings.all));
  report_inner_signatures(entries, left_alone(typed), findings);
  if (listings.all.empty()) {
    findings.not_checked(fmt::format("no {} to compare with", kSumsName));
    return {};
  }
  CKPT_ASSIGN(const auto files, digest_files(folder, entries_to_hash(listings, entries), console,
                                             {.threads = threads, .keep_faults = true}));
  check_listings(listings, files, entries, findings);
  report_uncovered(listings, entries, findings);
  note_cache(typed, entries, listings, console);
  return {};
}

std::string folder_of(const std::string& path) { return shell_path(parent_of(path).string()); }

Status check_checkpoint(const TypedVerify& typed, const Console& console,
                        const CommonOptions& common, Findings& findings) {
  const bool is_folder = ckpt::is_folder(typed.path);
  CKPT_ASSIGN(const fs::path pinned, pinned_path(typed.path));
  if (pinned != typed.path) console.talk("checking {}", pinned.string());
  if (!is_folder && typed.trusted.is_given()) {
    return misuse_hint("the same command with " + folder_of(typed.path),
                       "{}: a file; model signatures are of folders", typed.path);
  }
  if (!typed.unpack.empty()) {
    return misuse_hint(fmt::format("ckpt verify {}, without --unpack", shell_path(typed.path)),
                       "{}: no archive; --unpack expects FILE.tar.zst", typed.path);
  }
  if (!is_folder && !typed.ignored.empty()) {
    return misuse("{}: a file; --ignore is for folders and archives", typed.path);
  }
  if (!is_folder) return check_file(typed.path, console, common, findings);
  if (!is_url(typed.path)) {
    CKPT_ASSIGN(const auto entries, list_folder(typed.path, {}));
    CKPT_TRY(refuse_unfinished_in(typed.path, entries, left_alone(typed)));
  }
  // A folder without a known checkpoint (several GGUF files, for example) is described only by its
  // sums and signature.
  CKPT_ASSIGN(const bool has_sums, is_there(fs::path(typed.path) / kSumsName));
  const bool has_list = has_sums || typed.trusted.is_given() || is_of_hub(typed.path);
  CKPT_TRY(check_structure(typed.path, has_list, findings));
  return check_folder(typed, console, common.threads, findings);
}

// Whether the SHA256SUMS of a folder on the web is corrupt. It lists the folder's files, so the
// verdict is "not sound", as for a local folder.
bool is_bad_list(const Error& error) {
  return error.code == ErrorCode::kCorrupt && error.where.ends_with(kSumsName);
}

Status check(const TypedVerify& typed, const Console& console, const CommonOptions& common,
             Findings& findings) {
  if (is_artifact_address(typed.path)) {
    if (typed.trusted.is_given() || !typed.unpack.empty() || !typed.ignored.empty()) {
      return misuse("{}: signatures, --unpack and --ignore are for folders and archives",
                    typed.path);
    }
    return check_artifact(typed.path, console, findings);
  }
  const Result<bool> exists = is_there(typed.path, Links::kFollow);
  if (!exists && is_bad_list(exists.error())) {
    findings.bad(exists.error().where, exists.error().what);
    return {};
  }
  if (!exists) return Failure(exists.error());
  if (!*exists) {
    return not_found("{}: no such file or folder", typed.path);
  }
  if (!is_archive(typed.path)) return check_checkpoint(typed, console, common, findings);
  CKPT_TRY(check_archive(typed, console, common, findings));
  if (typed.unpack.empty()) {
    findings.not_checked("structure not checked, --unpack DIR checks it");
    return {};
  }
  if (findings.bad_count() != 0) return {};
  return check_structure(typed.unpack, true, findings);
}

// Normalizes ignored paths: "./.cache/" becomes ".cache".
Status normalize_ignored(std::vector<std::string>& ignored) {
  for (std::string& path : ignored) {
    fs::path plain = fs::path(path).lexically_normal();
    if (!plain.has_filename()) plain = plain.parent_path();
    if (plain.empty() || plain == "." || plain.is_absolute() || *plain.begin() == "..") {
      return misuse("--ignore '{}'; expected a path as it is called in the folder", path);
    }
    path = plain.generic_string();
  }
  return {};
}

Result<int> verify(TypedVerify typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(normalize_ignored(typed.ignored));
  Findings findings(console);
  const Status done = check(typed, console, common, findings);
  CKPT_TRY(check_files_read());  // findings about files that changed are not a verdict
  if (!done) {
    findings.say_bad();
    return Failure(done.error());
  }
  const bool is_sound = findings.bad_count() == 0;
  findings.say(typed.path);
  console.object("summary", {{"path", typed.path},
                             {"sound", is_sound},
                             {"findings", findings.bad_count()},
                             {"verdict", findings.verdict()},
                             {"not_covered", findings.uncovered()}});
  return is_sound ? 0 : 1;
}

// Rejects options that apply to one path if several paths were typed. Fails: kUsage.
Status check_paths(const TypedVerify& typed) {
  const std::string_view alone = !typed.unpack.empty()      ? "--unpack"
                                 : !typed.signature.empty() ? "--signature"
                                                            : "";
  if (typed.paths.size() > 1 && !alone.empty()) {
    return misuse_hint("a command for each PATH", "{}: belongs to one PATH; {} are given", alone,
                       typed.paths.size());
  }
  return {};
}

Run declare_verify(CommandOptions& options) {
  auto typed = std::make_shared<TypedVerify>();
  options.add("PATH", &typed->paths, "checkpoints, archives of them, or oci://HOST/NAME@sha256:HEX",
              {.is_required = true});
  options.add("--unpack DIR", &typed->unpack,
              "new or empty folder for the contents of an archive; its sums must match",
              {.place = OptionPlace::kWritten});
  options.add("--signature FILE", &typed->signature, "a model signature; default: PATH/model.sig",
              {.needs = {"--public-key", "--certificate", "--ca"}});
  options.add("--public-key FILE", &typed->trusted.public_key, "PEM of the key that signed");
  options.add("--certificate FILE", &typed->trusted.certificate,
              "PEM of the signer's certificate, or of one that issued it",
              {.excludes = "--public-key"});
  options.add("--ca FILE", &typed->trusted.authorities,
              "PEM of authorities that the chain must lead to", {.excludes = "--public-key"});
  options.add("--ignore PATH", &typed->ignored,
              "relative path that may exist without being listed; or a folder (may repeat)");
  return [typed](const Console& console, const CommonOptions& common) -> Result<int> {
    CKPT_TRY(check_paths(*typed));
    return run_for_each(typed->paths, console, [&](const std::string& path) {
      typed->path = path;
      return verify(*typed, console, common);
    });
  };
}

}  // namespace

extern const Command kVerifyCommand{
    "verify", "Checks the structure, hashes and signature of checkpoints.",
    "  ckpt verify model.gguf\n"
    "  ckpt verify out/ && echo sound\n"
    "  ckpt verify q4.gguf q6.gguf\n"
    "  ckpt verify out/ --public-key release.pub\n"
    "  ckpt verify out.tar.zst --public-key release.pub --unpack out/",
    declare_verify};

}  // namespace ckpt
