#include "tools/signed_by.h"

#include <algorithm>

#include "tools/published_files.h"

namespace ckpt {
namespace {

// Whose signature it is; errors are what verify answers with exit 1, save those of usage and disk.
Result<std::string> check_signer(const Bundle& bundle, const TrustFiles& trusted) {
  if (!trusted.public_key.empty()) {
    CKPT_ASSIGN(const std::string pem, read_small(trusted.public_key, kMaxSumsBytes));
    CKPT_TRY(verify_with_key(bundle, pem));
    return std::string("the key given");
  }
  Trust trust;
  if (!trusted.certificate.empty()) {
    CKPT_ASSIGN(trust.certificate_pem, read_small(trusted.certificate, kMaxSumsBytes));
  }
  if (!trusted.authorities.empty()) {
    CKPT_ASSIGN(trust.authorities_pem, read_small(trusted.authorities, kMaxSumsBytes));
  }
  return verify_with_certificates(bundle, trust);
}

// What may be there unsigned. A statement that does not say it, and lists one of git's paths, was
// made with none ignored.
std::vector<std::string> ignored_by(const Manifest& manifest) {
  if (manifest.ignored) return *manifest.ignored;
  const std::vector<std::string> paths = unpublished_paths();
  const bool lists_them =
      std::any_of(manifest.files.begin(), manifest.files.end(),
                  [&](const FileDigest& file) { return is_ignored(file.name, paths); });
  return lists_them ? std::vector<std::string>() : paths;
}

}  // namespace

Result<std::optional<Listing>> check_signature(std::string_view where, std::string_view bundle,
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
  std::vector<std::string> ignored = ignored_by(*manifest);
  Listing out{.name = "the signature",
              .listed = std::move(manifest->files),
              .ignored = std::move(ignored),
              .is_signed = true};
  findings.good(
      where,
      fmt::format("signed by {}, {} files; may be there unsigned: {}", who, out.listed.size(),
                  out.ignored.empty() ? std::string("nothing")
                                      : fmt::format("{}", fmt::join(out.ignored, ", "))));
  findings.checked(fmt::format("signature by {}", who));
  return out;
}

}  // namespace ckpt
