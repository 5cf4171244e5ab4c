#include "remote/s3_sign.h"

#include <gtest/gtest.h>

#include "core/base/sha256.h"

namespace ckpt {
namespace {

constexpr std::time_t k2013May24 = 1369353600;
const S3Keys kKeys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};

std::string signature(const std::string& url, S3Keys keys = kKeys) {
  HttpRequest request;
  request.url = *parse_url(url);
  const auto headers =
      s3_signature(request, {std::move(keys), "us-east-1", sha256_of("")}, k2013May24);
  return headers.empty() ? "" : headers.back().second;
}

// The examples of AWS's documentation, "Signature Calculations for the Authorization Header".
TEST(S3Sign, GivesTheSignaturesOfTheDocumentation) {
  EXPECT_EQ(signature("https://examplebucket.s3.amazonaws.com/?lifecycle="),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
            "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_TRUE(signature("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J")
                  .ends_with("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(S3Sign, SignsTheSessionTokenAndOwnHeaders) {
  HttpRequest request;
  request.url = *parse_url("https://b.example:9000/k");
  request.headers = {{"X-Amz-Checksum-Sha256", "abc"}, {"Content-Type", "text/plain"}};
  S3Keys keys = kKeys;
  keys.session_token = "session";
  const auto headers = s3_signature(request, {keys, "eu-west-1"}, k2013May24);
  const std::string& words = headers.back().second;
  EXPECT_NE(words.find("SignedHeaders=host;x-amz-checksum-sha256;x-amz-content-sha256;x-amz-date;"
                       "x-amz-security-token,"),
            std::string::npos)
      << words;
  EXPECT_EQ(headers[2], (std::pair<std::string, std::string>("x-amz-security-token", "session")));
}

TEST(S3Sign, LeavesRequestsWithoutKeysAlone) {
  EXPECT_EQ(signature("https://b.example/k", {}), "");
}

TEST(S3Sign, SpellsQueriesAndPathsAsTheyAreSigned) {
  EXPECT_EQ(s3_query({{"prefix", "k/a b"}, {"list-type", "2"}, {"uploads", ""}}),
            "list-type=2&prefix=k%2Fa%20b&uploads=");
  EXPECT_EQ(s3_path("/b/a=b+c(1)'!*@~.x"), "/b/a%3Db%2Bc%281%29%27%21%2A%40~.x");
}

}  // namespace
}  // namespace ckpt
