// Finds the certificates that a connection trusts.
#pragma once

#include <string>

#include "core/base/result.h"

namespace ckpt {

// Certificates of authorities, as PEM: a file with all of them, and a folder with one per file,
// named by hash. Either may be "".
struct TrustedCertificates {
  std::string file, folder;
};

// Reads SSL_CERT_FILE and SSL_CERT_DIR; both are "" if neither is set.
TrustedCertificates typed_certificates();
// Finds a Linux distribution's certificates below `root`. Fails: kUnsupported if there are none.
Result<TrustedCertificates> system_certificates(const std::string& root = "");

}  // namespace ckpt
