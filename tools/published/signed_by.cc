// Checks the signature of a publication against the trusted keys or certificates, and returns the
// files that it covers.
#include "tools/published/verify_archive.h"

#include <algorithm>

#include "tools/line/commands.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace {

// The content of the files of TrustFiles.
struct TrustedPem {
  std::string public_key;
  Trust certificates;
};

Result<TrustedPem> read_trusted(const TrustFiles& trusted) {
  const auto read = [](const std::string& path, auto check) -> Result<std::string> {
    if (path.empty()) return std::string();
    CKPT_ASSIGN(std::string pem, read_small(path, kMaxSumsBytes));
    if (pem.find("-----BEGIN ") == pem.npos) {
      return misuse("{}: holds no PEM; expected text with -----BEGIN ...", path);
    }
    if (pem.find("PRIVATE KEY-----") == pem.npos) CKPT_TRY(in(path, check(pem)));
    return pem;
  };
  TrustedPem out;
  CKPT_ASSIGN(out.public_key, read(trusted.public_key, check_public_key));
  CKPT_ASSIGN(out.certificates.certificate_pem, read(trusted.certificate, check_certificates));
  CKPT_ASSIGN(out.certificates.authorities_pem, read(trusted.authorities, check_certificates));
  if (out.public_key.find("PRIVATE KEY-----") != std::string::npos) {
    const std::string key = shell_path(trusted.public_key);
    return misuse_hint(fmt::format("openssl pkey -in {} -pubout -out {}", key,
                                   shell_path(trusted.public_key + ".pub")),
                       "{}: a private key; expected the public one that belongs to it",
                       trusted.public_key);
  }
  return out;
}

// Returns the signer. Errors other than kUsage become exit code 1 of verify.
Result<std::string> check_signer(const Bundle& bundle, const TrustedPem& trusted) {
  if (trusted.public_key.empty()) return verify_with_certificates(bundle, trusted.certificates);
  return verify_with_key(bundle, trusted.public_key).transform([] {
    return std::string("the key given");
  });
}

// Paths that may be unsigned. A statement without this field that lists one of git's paths was made
// without ignoring any.
std::vector<std::string> ignored_by(const Manifest& manifest) {
  if (manifest.ignored) return *manifest.ignored;
  const PathSet paths = unpublished_paths();
  const bool lists_them = std::ranges::any_of(
      manifest.files, [&](const FileDigest& file) { return is_ignored(file.name, paths); });
  return lists_them ? std::vector<std::string>() : std::vector(paths.begin(), paths.end());
}

}  // namespace

Result<std::optional<Listing>> check_signature(std::string_view where,
                                               const std::optional<std::string>& bundle,
                                               const TrustFiles& trusted, Findings& findings) {
  CKPT_ASSIGN(const TrustedPem pem, read_trusted(trusted));
  if (!bundle) {
    findings.bad(where, "missing; the model is not signed");
    return std::nullopt;
  }
  std::string who;
  auto manifest = parse_bundle(*bundle).and_then([&](const Bundle& parsed) -> Result<Manifest> {
    CKPT_ASSIGN(who, check_signer(parsed, pem));
    return parse_statement(parsed.payload);
  });
  if (!manifest && manifest.error().code != ErrorCode::kCorrupt) {
    return Failure(std::move(manifest.error()).in(where));
  }
  if (!manifest) {
    findings.bad(where, manifest.error().text());
    return std::nullopt;
  }
  const std::vector<std::string> ignored = ignored_by(*manifest);
  Listing out{.name = "the signature",
              .listed = std::move(manifest->files),
              .ignored = {ignored.begin(), ignored.end()},
              .is_signed = true};
  findings.good(where, fmt::format("signed by {}, {} files; may be there unsigned: {}", who,
                                   out.listed.size(),
                                   ignored.empty() ? std::string("nothing")
                                                   : fmt::format("{}", fmt::join(ignored, ", "))));
  findings.checked(fmt::format("signature by {}", who));
  return out;
}

}  // namespace ckpt
