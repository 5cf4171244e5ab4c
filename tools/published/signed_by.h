// Who signed a model, and what the signature covers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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
// what the reference ignores by default. `bundle` is its text, `where` its name in findings.
// Fails: kUsage; kUnsupported; kIo.
Result<std::optional<Listing>> check_signature(std::string_view where, std::string_view bundle,
                                               const TrustFiles& trusted, Findings& findings);

}  // namespace ckpt
