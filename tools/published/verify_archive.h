// ckpt verify FILE.tar.zst: compares the members of an archive with the sums and signature in it,
// and unpacks them on request.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/published/listing.h"

namespace ckpt {

// PEM files that state whose signature is trusted; empty if not given.
struct TrustFiles {
  std::string public_key, certificate, authorities;
  bool is_given() const {
    return !public_key.empty() || !certificate.empty() || !authorities.empty();
  }
};

// The files that a model signature of the trusted signer covers; nullopt, after a finding, if the
// signature is invalid. Files may be unsigned if the statement ignores them or, if it has no such
// field, if the reference ignores them by default. `bundle` is its text, nullopt if there is none;
// `where` its name in findings. Fails: kUsage; kUnsupported; kIo.
Result<std::optional<Listing>> check_signature(std::string_view where,
                                               const std::optional<std::string>& bundle,
                                               const TrustFiles& trusted, Findings& findings);

struct VerifyQuestion {
  std::string path;
  std::string signature;  // a separate file; empty: in the archive
  TrustFiles trusted;
  std::vector<std::string> ignored;
  std::string unpack;  // a new folder; empty: do not unpack
};

// Warns about patterns in --ignore, which takes only paths, so that a pattern ignores nothing.
void note_patterns(const VerifyQuestion& question, const std::vector<FolderEntry>& entries,
                   const Console& console);

// Findings are as for a folder. Unpacking starts only after the entire archive was read without a
// bad finding; then it is read again, and only the files that its signature or sums cover, and
// these two, are written. Fails: kCorrupt for an unsound archive; kUsage, also if nothing states
// what may be unpacked; kUnsupported; kIo.
Status check_archive(const VerifyQuestion& question, const Console& console,
                     const CommonOptions& common, Findings& findings);

}  // namespace ckpt
