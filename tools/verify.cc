// ckpt verify PATH: structure, hashes and signature. Exit 1 when one of them does not hold.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/archive.h"
#include "tools/commands.h"
#include "tools/folder_digests.h"
#include "tools/verify_archive.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct Typed {
  std::string path, signature, unpack;
  TrustFiles trusted;
  std::vector<std::string> ignored;
};

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
  CKPT_ASSIGN(const bool has_sums, is_there(folder / kSumsName));
  if (!has_sums) return {};
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

Status check_folder(const Typed& typed, const Console& console, unsigned threads,
                    Findings& findings) {
  const fs::path folder = typed.path;
  const fs::path signature =
      typed.signature.empty() ? folder / kSignatureName : fs::path(typed.signature);
  std::vector<Listing> listings;
  std::error_code error;
  CKPT_ASSIGN(const bool has_sums, is_there(folder / kSumsName));
  CKPT_ASSIGN(const bool has_signature, is_there(signature));
  if (has_sums) {
    CKPT_ASSIGN(const std::string text, read_whole(folder / kSumsName));
    auto sums = parse_sha256sums(text);
    if (sums) {
      listings.push_back({kSumsName, std::move(*sums), beside_sums(folder), true});
    } else {
      findings.bad((folder / kSumsName).string(), sums.error().text());
    }
  }
  if (typed.trusted.is_given()) {
    CKPT_ASSIGN(const std::string bundle, in(signature.string(), read_whole(signature)));
    CKPT_ASSIGN(auto manifest,
                check_signature(signature.string(), bundle, typed.trusted, findings));
    if (manifest) {
      Listing listing{"the signature", manifest->files, manifest->ignored, listings.empty()};
      const fs::path own = fs::weakly_canonical(signature, error)
                               .lexically_relative(fs::weakly_canonical(folder, error));
      listing.ignored.push_back(own.generic_string());
      for (std::string& path : unpublished_paths(folder)) {
        listing.ignored.push_back(std::move(path));
      }
      listings.push_back(std::move(listing));
    }
  } else if (has_signature) {
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
Status check_structure(const fs::path& path, const Typed& typed, Findings& findings) {
  const Result<const Format*> format = recognise(path);
  if (!format) {
    if (format.error().code == ErrorCode::kIo) return Failure(format.error());
    CKPT_ASSIGN(const bool has_sums, is_there(path / kSumsName));
    if (has_sums || typed.trusted.is_given()) return {};
    return Failure(format.error());
  }
  const Result<Checkpoint> checkpoint = (*format)->read(path, all_codecs());
  if (checkpoint) {
    findings.good(path.string(), fmt::format("{} structure is sound, {} tensors", (*format)->name,
                                             checkpoint->tensors.size()));
  } else if (const ErrorCode code = checkpoint.error().code;
             code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) {
    return Failure(checkpoint.error());  // no judgement on what is there
  } else {
    findings.bad(path.string(), checkpoint.error().text());
  }
  return {};
}

Status check_checkpoint(const Typed& typed, const Console& console, unsigned threads,
                        Findings& findings) {
  std::error_code error;
  const bool is_folder = fs::is_directory(typed.path, error);
  if (!is_folder && typed.trusted.is_given()) {
    return fail_with_hint(ErrorCode::kUsage, "the folder that the file lies in",
                          "{}: a file; model signatures are of folders", typed.path);
  }
  if (!typed.unpack.empty()) {
    return fail(ErrorCode::kUsage, "{}: no archive; --unpack expects FILE.tar.zst", typed.path);
  }
  CKPT_TRY(check_structure(typed.path, typed, findings));
  if (is_folder) return check_folder(typed, console, threads, findings);
  return check_one_file(typed.path, console, findings);
}

Result<int> verify(const Typed& typed, const Console& console, const CommonOptions& common) {
  Findings findings(console);
  std::error_code error;
  CKPT_ASSIGN(const bool exists, is_there(typed.path, Links::kFollow));
  if (!exists) {
    return fail(ErrorCode::kUsage, "{}: there is no such file or folder", typed.path);
  }
  if (!typed.signature.empty() && !typed.trusted.is_given()) {
    return fail(ErrorCode::kUsage,
                "--signature alone; expected --public-key, --certificate or --ca too");
  }
  if (is_archive(typed.path)) {
    const ArchiveQuestion question{typed.path, typed.signature, typed.trusted, typed.ignored,
                                   typed.unpack};
    CKPT_TRY(check_archive(question, console, common, findings));
    if (!typed.unpack.empty() && findings.bad_count() == 0) {
      CKPT_TRY(check_structure(typed.unpack, typed, findings));
    }
  } else {
    CKPT_TRY(check_checkpoint(typed, console, common.threads, findings));
  }
  console.object("summary", {{"path", typed.path},
                             {"sound", findings.bad_count() == 0},
                             {"findings", findings.bad_count()}});
  return findings.bad_count() == 0 ? 0 : 1;
}

Run declare(CLI::App& app) {
  auto typed = std::make_shared<Typed>();
  app.add_option("PATH", typed->path, "a checkpoint, or an archive of one")->required();
  app.add_option("--unpack", typed->unpack,
                 "new folder for what an archive holds, when it agrees with its sums");
  app.add_option("--signature", typed->signature, "a model signature; default: PATH/model.sig");
  auto* key =
      app.add_option("--public-key", typed->trusted.public_key, "PEM of the key that signed");
  app.add_option("--certificate", typed->trusted.certificate,
                 "PEM of the signer's certificate, or of one that issued it")
      ->excludes(key);
  app.add_option("--ca", typed->trusted.authorities,
                 "PEM of authorities that the chain must lead to")
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
    "  ckpt verify out/ --public-key release.pub\n"
    "  ckpt verify out.tar.zst --public-key release.pub --unpack out/",
    declare};

}  // namespace ckpt
