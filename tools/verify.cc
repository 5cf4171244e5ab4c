// ckpt verify PATH: structure, hashes and signature. Exit 1 when one of them does not hold.
#include <algorithm>
#include <map>
#include <set>

#include "core/plan.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/commands.h"
#include "tools/folder_digests.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxSumsBytes = 256 << 20;  // a sums file, a bundle

struct Typed {
  std::string path, signature, public_key, certificate, authorities;
  std::vector<std::string> ignored;
};

class Findings {
 public:
  explicit Findings(const Console& console) : console_(console) {}
  void bad(std::string_view what, std::string_view found) {
    ++bad_;
    console_.answer(fmt::format("{}: {}", what, found));
    console_.object("check", {{"what", what}, {"ok", false}, {"found", found}});
  }
  void good(std::string_view what, std::string_view found) {
    console_.answer(fmt::format("{}: {}", what, found));
    console_.object("check", {{"what", what}, {"ok", true}, {"found", found}});
  }
  uint64_t bad_count() const { return bad_; }

 private:
  const Console& console_;
  uint64_t bad_ = 0;
};

Result<std::string> read_whole(const fs::path& path) {
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  return read_text(*source, kMaxSumsBytes);
}

// What a list (sums, a signature) says of a folder, beside what is there.
struct Listing {
  std::string_view name;  // of the list, for messages
  std::vector<FileDigest> listed;
  std::vector<std::string> ignored;  // may be there without being listed
  bool says_good = false;            // a line for each file that agrees
};

// A file that is there under another name than the listed one.
std::string renamed_from(const std::string& sha256, const std::map<std::string, std::string>& found,
                         const Listing& listing) {
  for (const FileDigest& file : listing.listed) {
    if (file.sha256 == sha256 && !found.contains(file.name)) return file.name;
  }
  return {};
}

void check_listed(const Listing& listing, const std::vector<FileDigest>& files,
                  const std::vector<FolderEntry>& entries, Findings& findings) {
  std::map<std::string, std::string> found;
  for (const FileDigest& file : files) found.emplace(file.name, file.sha256);
  std::set<std::string> names, others;
  for (const FolderEntry& entry : entries) {
    if (entry.kind != FolderEntry::Kind::kFile) others.insert(entry.path);
  }
  for (const FileDigest& file : listing.listed) {
    names.insert(file.name);
    if (others.contains(file.name)) continue;  // said below
    const auto at = found.find(file.name);
    if (at == found.end()) {
      findings.bad(file.name, fmt::format("missing; {} lists it", listing.name));
    } else if (at->second != file.sha256) {
      findings.bad(file.name, fmt::format("changed: SHA-256 is {}; {} says {}", at->second,
                                          listing.name, file.sha256));
    } else if (listing.says_good) {
      findings.good(file.name, "SHA-256 as listed");
    }
  }
  for (const FolderEntry& entry : entries) {
    if (is_ignored(entry.path, listing.ignored)) continue;
    if (entry.kind != FolderEntry::Kind::kFile) {
      findings.bad(entry.path, entry.kind == FolderEntry::Kind::kLink
                                   ? "a symbolic link; expected a file, whose bytes can be hashed"
                                   : "neither file nor folder");
    } else if (!names.contains(entry.path)) {
      const std::string before = renamed_from(found[entry.path], found, listing);
      findings.bad(entry.path,
                   before.empty()
                       ? fmt::format("extra; {} does not list it", listing.name)
                       : fmt::format("renamed; {} lists it as {}", listing.name, before));
    }
  }
}

// The names that a sums file may leave out: itself, the signature made after it, git's files.
std::vector<std::string> beside_sums(const fs::path& folder) {
  std::vector<std::string> out = unpublished_paths(folder);
  out.emplace_back(kSumsName);
  out.emplace_back(kSignatureName);
  return out;
}

// One file: its line in the sums that lie beside it.
Status check_one_file(const fs::path& path, const Console& console, Findings& findings) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::exists(folder / kSumsName, error)) return {};
  CKPT_ASSIGN(const std::string text, read_whole(folder / kSumsName));
  CKPT_ASSIGN(auto sums, in((folder / kSumsName).string(), parse_sha256sums(text)));
  std::erase_if(sums, [&](const FileDigest& sum) { return fs::path(sum.name) != path.filename(); });
  const std::vector<FolderEntry> entry = {
      {path.filename().string(), FolderEntry::Kind::kFile, fs::file_size(path, error)}};
  if (sums.empty()) return {};
  CKPT_ASSIGN(const auto files, digest_files(folder, entry, false, console, 1));
  check_listed({kSumsName, sums, {}, true}, files, entry, findings);
  return {};
}

// Whose signature it is; errors are what verify answers with exit 1, save those of usage and disk.
Result<std::string> check_signer(const Bundle& bundle, const Typed& typed) {
  if (!typed.public_key.empty()) {
    CKPT_ASSIGN(const std::string pem, read_whole(typed.public_key));
    CKPT_TRY(verify_with_key(bundle, pem));
    return std::string("the key given");
  }
  Trust trust;
  if (!typed.certificate.empty()) {
    CKPT_ASSIGN(trust.certificate_pem, read_whole(typed.certificate));
  }
  if (!typed.authorities.empty()) {
    CKPT_ASSIGN(trust.authorities_pem, read_whole(typed.authorities));
  }
  return verify_with_certificates(bundle, trust);
}

Result<Manifest> read_signed(const fs::path& signature, const Typed& typed, Findings& findings) {
  CKPT_ASSIGN(const std::string text, read_whole(signature));
  CKPT_ASSIGN(const Bundle bundle, parse_bundle(text));
  CKPT_ASSIGN(const std::string who, check_signer(bundle, typed));
  CKPT_ASSIGN(Manifest manifest, parse_statement(bundle.payload));
  std::string said = fmt::format("signed by {}, {} files", who, manifest.files.size());
  if (!manifest.ignored.empty()) {
    said += fmt::format("; not covered: {}", fmt::join(manifest.ignored, ", "));
  }
  findings.good(signature.string(), said);
  return manifest;
}

bool asks_for_signature(const Typed& typed) {
  return !typed.public_key.empty() || !typed.certificate.empty() || !typed.authorities.empty();
}

Status check_folder(const Typed& typed, const Console& console, unsigned threads,
                    Findings& findings) {
  const fs::path folder = typed.path;
  const fs::path signature =
      typed.signature.empty() ? folder / kSignatureName : fs::path(typed.signature);
  std::vector<Listing> listings;
  std::error_code error;
  if (fs::exists(folder / kSumsName, error)) {
    CKPT_ASSIGN(const std::string text, read_whole(folder / kSumsName));
    auto sums = parse_sha256sums(text);
    if (sums) {
      listings.push_back({kSumsName, std::move(*sums), beside_sums(folder), true});
    } else {
      findings.bad((folder / kSumsName).string(), sums.error().text());
    }
  }
  if (asks_for_signature(typed)) {
    auto manifest = read_signed(signature, typed, findings);
    if (manifest) {
      Listing listing{"the signature", manifest->files, manifest->ignored, listings.empty()};
      const fs::path own = fs::weakly_canonical(signature, error)
                               .lexically_relative(fs::weakly_canonical(folder, error));
      listing.ignored.push_back(own.generic_string());
      for (std::string& path : unpublished_paths(folder)) {
        listing.ignored.push_back(std::move(path));
      }
      listings.push_back(std::move(listing));
    } else if (manifest.error().code == ErrorCode::kCorrupt) {
      findings.bad(signature.string(), manifest.error().text());
    } else {
      return Failure(std::move(manifest.error()).in(signature.string()));
    }
  } else if (fs::exists(signature, error)) {
    console.talk(
        fmt::format("{}: not checked; say whose it must be with --public-key, "
                    "--certificate or --ca",
                    signature.string()));
  }
  if (listings.empty()) return {};
  CKPT_ASSIGN(const auto entries, list_folder(folder, {".git"}));
  CKPT_ASSIGN(const auto files, digest_files(folder, entries, false, console, threads));
  for (Listing& listing : listings) {
    for (const std::string& path : typed.ignored) listing.ignored.push_back(path);
    check_listed(listing, files, entries, findings);
  }
  return {};
}

// A folder that only its sums and signature describe (several GGUF files, say) has no structure of
// ours.
Status check_structure(const Typed& typed, Findings& findings) {
  const Result<const Format*> format = recognise(typed.path);
  std::error_code error;
  if (!format) {
    if (format.error().code == ErrorCode::kIo) return Failure(format.error());
    const fs::path folder = typed.path;
    if (fs::exists(folder / kSumsName, error) || asks_for_signature(typed)) return {};
    return Failure(format.error());
  }
  const Result<Checkpoint> checkpoint = (*format)->read(typed.path, all_codecs());
  if (checkpoint) {
    findings.good(typed.path, fmt::format("{} structure is sound, {} tensors", (*format)->name,
                                          checkpoint->tensors.size()));
  } else if (checkpoint.error().code == ErrorCode::kIo) {
    return Failure(checkpoint.error());
  } else {
    findings.bad(typed.path, checkpoint.error().text());
  }
  return {};
}

Result<int> verify(const Typed& typed, const Console& console, const CommonOptions& common) {
  Findings findings(console);
  std::error_code error;
  if (!fs::exists(typed.path, error)) {
    return fail(ErrorCode::kUsage, "{}: there is no such file or folder", typed.path);
  }
  const bool is_folder = fs::is_directory(typed.path, error);
  if (!is_folder && (asks_for_signature(typed) || !typed.signature.empty())) {
    return fail_with_hint(ErrorCode::kUsage, "the folder that the file lies in",
                          "{}: a file; model signatures are of folders", typed.path);
  }
  if (!typed.signature.empty() && !asks_for_signature(typed)) {
    return fail(ErrorCode::kUsage,
                "--signature alone; expected --public-key, --certificate or --ca too");
  }
  CKPT_TRY(check_structure(typed, findings));
  if (is_folder) {
    CKPT_TRY(check_folder(typed, console, common.threads, findings));
  } else {
    CKPT_TRY(check_one_file(typed.path, console, findings));
  }
  console.object("summary", {{"path", typed.path},
                             {"sound", findings.bad_count() == 0},
                             {"findings", findings.bad_count()}});
  return findings.bad_count() == 0 ? 0 : 1;
}

Run declare(CLI::App& app) {
  auto typed = std::make_shared<Typed>();
  app.add_option("PATH", typed->path, "a checkpoint")->required();
  app.add_option("--signature", typed->signature, "a model signature; default: PATH/model.sig");
  auto* key = app.add_option("--public-key", typed->public_key, "PEM of the key that signed");
  app.add_option("--certificate", typed->certificate,
                 "PEM of the signer's certificate, or of one that issued it")
      ->excludes(key);
  app.add_option("--ca", typed->authorities, "PEM of authorities that the chain must lead to")
      ->excludes(key);
  app.add_option("--ignore", typed->ignored,
                 "relative path that may be there or differ (may repeat)");
  return [typed](const Console& console, const CommonOptions& common) {
    return verify(*typed, console, common);
  };
}

}  // namespace

constinit const Command kVerify{
    "verify", "Checks a checkpoint's structure, and its hashes and signature when they are there.",
    "  ckpt verify model.gguf\n"
    "  ckpt verify out/ && echo sound\n"
    "  ckpt verify out/ --public-key release.pub",
    declare};

}  // namespace ckpt
