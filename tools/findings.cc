#include "tools/findings.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/bytes.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The listed names that are not there, by digest: what a file that nobody lists was called before.
std::map<std::string, std::string> missing_names(const Listing& listing,
                                                 const std::map<std::string, std::string>& found) {
  std::map<std::string, std::string> out;
  for (const FileDigest& file : listing.listed) {
    if (!found.contains(file.name)) out.emplace(file.sha256, file.name);
  }
  return out;
}

// Whose signature it is; errors are what verify answers with exit 1, save those of usage and disk.
Result<std::string> check_signer(const Bundle& bundle, const TrustFiles& trusted) {
  if (!trusted.public_key.empty()) {
    CKPT_ASSIGN(const std::string pem, read_whole(trusted.public_key));
    CKPT_TRY(verify_with_key(bundle, pem));
    return std::string("the key given");
  }
  Trust trust;
  if (!trusted.certificate.empty()) {
    CKPT_ASSIGN(trust.certificate_pem, read_whole(trusted.certificate));
  }
  if (!trusted.authorities.empty()) {
    CKPT_ASSIGN(trust.authorities_pem, read_whole(trusted.authorities));
  }
  return verify_with_certificates(bundle, trust);
}

}  // namespace

void Findings::bad(std::string_view what, std::string_view found) {
  ++bad_;
  console_.answer(fmt::format("{}: {}", what, found));
  console_.object("check", {{"what", what}, {"ok", false}, {"found", found}});
}

void Findings::good(std::string_view what, std::string_view found) {
  console_.answer(fmt::format("{}: {}", what, found));
  console_.object("check", {{"what", what}, {"ok", true}, {"found", found}});
}

Result<std::string> read_whole(const fs::path& path) {
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  return read_text(*source, kMaxSumsBytes);
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
  const auto missing = missing_names(listing, found);
  for (const FolderEntry& entry : entries) {
    if (is_ignored(entry.path, listing.ignored)) continue;
    if (entry.kind != FolderEntry::Kind::kFile) {
      findings.bad(entry.path,
                   entry.kind == FolderEntry::Kind::kLink
                       ? fmt::format("a symbolic link to {}; expected a file of the folder's own",
                                     entry.target)
                       : "neither file nor folder");
    } else if (!names.contains(entry.path)) {
      const auto before = missing.find(found[entry.path]);
      findings.bad(entry.path,
                   before == missing.end()
                       ? fmt::format("extra; {} does not list it", listing.name)
                       : fmt::format("renamed; {} lists it as {}", listing.name, before->second));
    }
  }
}

Result<std::optional<Manifest>> check_signature(std::string_view where, std::string_view bundle,
                                                const TrustFiles& trusted, Findings& findings) {
  std::string who;
  auto manifest = parse_bundle(bundle).and_then([&](const Bundle& parsed) -> Result<Manifest> {
    CKPT_ASSIGN(who, check_signer(parsed, trusted));
    return parse_statement(parsed.payload);
  });
  if (!manifest && manifest.error().code != ErrorCode::kCorrupt) {
    return Failure(std::move(manifest.error()).in(where));
  }
  if (!manifest) {
    findings.bad(where, manifest.error().text());
    return std::nullopt;
  }
  std::string said = fmt::format("signed by {}, {} files", who, manifest->files.size());
  if (!manifest->ignored.empty()) {
    said += fmt::format("; not covered: {}", fmt::join(manifest->ignored, ", "));
  }
  findings.good(where, said);
  return std::move(*manifest);
}

}  // namespace ckpt
