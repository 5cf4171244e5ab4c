#include "remote/certificates.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "core/io/paths.h"

namespace ckpt {
namespace {

constexpr auto kBundles = std::to_array<std::string_view>({
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // the same, later releases
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Alpine without ca-certificates
});

std::string set_in_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

TrustedCertificates typed_certificates() {
  return {set_in_environment("SSL_CERT_FILE"), set_in_environment("SSL_CERT_DIR")};
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
