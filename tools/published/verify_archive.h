// ckpt verify FILE.tar.zst: what is in an archive against the sums and the signature in it, and
// unpacked where that is asked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/published/listing.h"

namespace ckpt {

// PEM files that say whose signature is trusted; empty where not given.
struct TrustFiles {
  std::string public_key, certificate, authorities;
  bool is_given() const {
    return !public_key.empty() || !certificate.empty() || !authorities.empty();
  }
};

// The files that a model signature of the right signer covers; nullopt, after a finding, when it
// is not. What may be there unsigned is what the statement ignores; where it says nothing of that,
// what the reference ignores by default. `bundle` is its text, nullopt where there is none; `where`
// its name in findings. Fails: kUsage; kUnsupported; kIo.
Result<std::optional<Listing>> check_signature(std::string_view where,
                                               const std::optional<std::string>& bundle,
                                               const TrustFiles& trusted, Findings& findings);

struct VerifyQuestion {
  std::string path;
  std::string signature;  // a file outside; empty: the one in the archive
  TrustFiles trusted;
  std::vector<std::string> ignored;
  std::string unpack;  // a new folder; empty: only read
};

// Of --ignore: a pattern would be typed to leave something out, and leaves out nothing.
void note_patterns(const VerifyQuestion& question, const std::vector<FolderEntry>& entries,
                   const Console& console);

// The findings are those of a folder. Nothing is unpacked before all of the archive was read and
// nothing bad was found; then it is read again, and what its signature or sums cover is written,
// with those two files themselves and nothing else. Fails: kCorrupt when it is not a sound archive;
// kUsage, also where nothing says what may be unpacked; kUnsupported; kIo.
Status check_archive(const VerifyQuestion& question, const Console& console,
                     const CommonOptions& common, Findings& findings);

}  // namespace ckpt
