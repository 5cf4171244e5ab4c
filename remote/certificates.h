// Which certificates a connection trusts.
#pragma once

#include <string>

#include "core/base/result.h"

namespace ckpt {

// Of authorities, as PEM: a file with all of them, a folder with one in each file, named by hash.
// Either may be "".
struct TrustedCertificates {
  std::string file, folder;
};

// SSL_CERT_FILE and SSL_CERT_DIR; both "" where neither is set.
TrustedCertificates typed_certificates();
// The file in which a distribution of Linux keeps them, below `root`. Fails: kUnsupported where it
// has none.
Result<TrustedCertificates> system_certificates(const std::string& root = "");

}  // namespace ckpt
