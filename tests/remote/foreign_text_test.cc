#include "remote/foreign_text.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ckpt {
namespace {

using SentHeaders = std::vector<std::pair<std::string, std::string>>;

TEST(ForeignText, LeavesOutCredentialsAndSecretsOfUrls) {
  const SentHeaders bearer{{"Authorization", "Bearer hf_S3CRET"}};
  EXPECT_EQ(foreign_text("Invalid token hf_S3CRET", bearer), "Invalid token ...");
  EXPECT_EQ(foreign_text("Bearer hf_S3CRET", bearer), "...");
  const SentHeaders basic{{"Authorization", "Basic dXNlcjpTM0NSRVQ="}};  // user:S3CRET
  EXPECT_EQ(foreign_text("user S3CRET, dXNlcjpTM0NSRVQ=", basic), "user ..., ...");
  const SentHeaders signing{
      {"Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/1/s3, Signature=00ff"},
      {"x-amz-security-token", "S3CRET"}};
  EXPECT_EQ(foreign_text("SignatureDoesNotMatch 00ff AKIA/1/s3 S3CRET", signing),
            "SignatureDoesNotMatch ... ... ...");
  EXPECT_EQ(foreign_text("see https://u:S3CRET@h/x?S3CRET"), "see https://...@h/x?...");
}

TEST(ForeignText, IsOnePrintableLineOfBoundedLength) {
  EXPECT_EQ(foreign_text("a\n\x1b[2J"), "a\\n\\x1b[2J");
  EXPECT_EQ(foreign_text(std::string(1000, 'x')).size(), kMaxQuotedBytes);
  EXPECT_EQ(foreign_text("S3CRET x", {{"a", "S3CRET"}}, 4), "... ");  // cut behind the secret
}

TEST(CurlText, SaysNothingOfTheLoginOfAProxy) {
  for (const char* const proxy :
       {"http://user:S3CRET@PW@h:1", "http://user:S3CRET/PW@h:1", "socks9://user:S3CRET@h:1",
        "user:S3CRET@h:x", "http://user:S3CRET/PW", "http://S3CRET@h", "http://u:12/S3CRET@h"}) {
    ASSERT_EQ(::setenv("http_proxy", proxy, 1), 0);
    for (const std::string& words :
         {std::string("Unsupported proxy syntax in '") + proxy + "'",
          std::string("Could not resolve proxy: S3CRET"), std::string("port S3CRET")}) {
      EXPECT_EQ(curl_text(words, "usual"), "usual (http_proxy names the proxy)") << proxy;
    }
  }
  ASSERT_EQ(::setenv("http_proxy", "http://proxy.example:3128", 1), 0);
  EXPECT_EQ(curl_text("Could not resolve proxy: proxy.example", "usual"),
            "Could not resolve proxy: proxy.example");
  ::unsetenv("http_proxy");
  EXPECT_EQ(curl_text("", "usual"), "usual");
}

}  // namespace
}  // namespace ckpt
