#include "remote/certificates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ckpt {
namespace {

namespace fs = std::filesystem;

TEST(Certificates, AreThoseOfTheDistributionOrASentence) {
  const fs::path root = fs::path(testing::TempDir()) / "ckpt_certificates";
  fs::remove_all(root);
  const auto missing = system_certificates(root);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(missing.error().hint.find("SSL_CERT_FILE"), std::string::npos);
  const fs::path bundle = root / "etc/pki/tls/certs/ca-bundle.crt";
  fs::create_directories(bundle.parent_path());
  std::ofstream(bundle) << "-";
  EXPECT_EQ(system_certificates(root)->file, bundle);
  fs::remove_all(root);
}

}  // namespace
}  // namespace ckpt
