#include "remote/certificates.h"

#include <array>
#include <string_view>

#include "core/io/paths.h"
#include "remote/credentials.h"

namespace ckpt {
namespace {

constexpr auto kBundles = std::to_array<std::string_view>({
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // the same, later releases
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Alpine without ca-certificates
});

}  // namespace

TrustedCertificates typed_certificates() {
  return {environment("SSL_CERT_FILE"), environment("SSL_CERT_DIR")};
}

Result<TrustedCertificates> system_certificates(const std::string& root) {
  for (const std::string_view bundle : kBundles) {
    std::string path = root + std::string(bundle);
    CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
    if (exists) return TrustedCertificates{std::move(path), {}};
  }
  return unsupported_hint("apt-get install ca-certificates, or SSL_CERT_FILE=FILE.pem before ckpt",
                          "this system has no file of trusted certificates (expected {})",
                          kBundles.front());
}

}  // namespace ckpt
