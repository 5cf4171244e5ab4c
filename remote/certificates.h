// The certificates that a connection trusts.
#pragma once

#include <string>

#include "core/base/result.h"

namespace ckpt {

// Certificates of authorities, as PEM: a file with all of them, and a folder with one per file,
// named by hash. Either may be "".
struct TrustedCertificates {
  std::string file, folder;
};

// SSL_CERT_FILE and SSL_CERT_DIR; both "" if neither is set.
TrustedCertificates typed_certificates();
// The file in which a Linux distribution keeps them, below `root`. Fails: kUnsupported if there is
// none.
Result<TrustedCertificates> system_certificates(const std::string& root = "");

}  // namespace ckpt
