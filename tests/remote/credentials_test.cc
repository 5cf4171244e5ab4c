#include "remote/credentials.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "remote/s3.h"
#include "tests/remote/scripted_server.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

class Credentials : public testing::Test {
 protected:
  Credentials() {
    for (const char* const name : {"HF_ENDPOINT",
                                   "HF_TOKEN",
                                   "HUGGING_FACE_HUB_TOKEN",
                                   "HF_TOKEN_PATH",
                                   "HF_HOME",
                                   "HF_HUB_CACHE",
                                   "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                                   "XDG_CACHE_HOME",
                                   "AWS_ACCESS_KEY_ID",
                                   "AWS_SECRET_ACCESS_KEY",
                                   "AWS_SESSION_TOKEN",
                                   "AWS_PROFILE",
                                   "AWS_REGION",
                                   "AWS_DEFAULT_REGION",
                                   "AWS_ENDPOINT_URL",
                                   "AWS_ENDPOINT_URL_S3",
                                   "AWS_CONFIG_FILE",
                                   "AWS_SHARED_CREDENTIALS_FILE",
                                   "HUGGINGFACE_HUB_CACHE",
                                   "HF_HUB_OFFLINE",
                                   "TRANSFORMERS_OFFLINE",
                                   "AWS_DEFAULT_PROFILE",
                                   "AWS_WEB_IDENTITY_TOKEN_FILE",
                                   "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                   "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                   "AWS_ROLE_ARN",
                                   "AWS_ENDPOINT_URL_STS"}) {
      ::unsetenv(name);
    }
    home_ = fs::path(testing::TempDir()) / "ckpt_credentials";
    fs::remove_all(home_);
    fs::create_directories(home_);
    ::setenv("HOME", home_.c_str(), 1);
  }
  ~Credentials() override { fs::remove_all(home_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((home_ / name).parent_path());
    std::ofstream(home_ / name) << text;
  }
  fs::path home_;
};

TEST_F(Credentials, HubTokenComesFromTheEnvironmentThenTheFile) {
  EXPECT_TRUE(hub_access()->credentials().empty());
  write(".cache/huggingface/token", "hf_file\n");
  EXPECT_EQ(hub_access()->token, "hf_file");
  ::setenv("HUGGING_FACE_HUB_TOKEN", "hf_old", 1);
  EXPECT_EQ(hub_access()->token, "hf_old");
  ::setenv("HF_TOKEN", " hf_new\n", 1);
  EXPECT_EQ(hub_access()->credentials()[0].second, "Bearer hf_new");
  ::setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", 1);
  EXPECT_EQ(hub_access()->token, "");
}

TEST_F(Credentials, RefusesATokenThatWouldBeAnotherHeader) {
  ::setenv("HF_TOKEN", "a\r\nHost: b", 1);
  const auto access = hub_access();
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().text().find("Host"), std::string::npos);
}

TEST_F(Credentials, EndpointHasNoFinalSlash) {
  EXPECT_EQ(hub_access()->endpoint.origin(), "https://huggingface.co");
  ::setenv("HF_ENDPOINT", "http://127.0.0.1:8090/mirror/", 1);
  EXPECT_EQ(hub_access()->endpoint.path, "/mirror");
  ::setenv("HF_ENDPOINT", "ftp://x", 1);
  EXPECT_FALSE(hub_access());
}

TEST_F(Credentials, AwsProfilesFillWhatTheEnvironmentLeaves) {
  write(".aws/credentials",
        "[default]\naws_access_key_id = A\naws_secret_access_key=B\n# c\n\n[two]\n"
        "aws_access_key_id=C\naws_secret_access_key = D\naws_session_token = E\n");
  write(".aws/config",
        "[default]\nregion = eu-west-1\ns3 =\n  region = inner\n[profile two]\n"
        "region=us-west-2\nendpoint_url = http://127.0.0.1:7070\n");
  auto access = s3_access();
  ASSERT_TRUE(access);
  EXPECT_EQ(access->keys.access_key + access->keys.secret_key, "AB");
  EXPECT_EQ(access->region, "eu-west-1");
  ::setenv("AWS_PROFILE", "two", 1);
  access = s3_access();
  EXPECT_EQ(access->keys.session_token, "E");
  EXPECT_EQ(access->endpoint, "http://127.0.0.1:7070");
  ::setenv("AWS_ACCESS_KEY_ID", "F", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "G", 1);
  EXPECT_EQ(s3_access()->keys.session_token, "");  // of other keys
  EXPECT_EQ(s3_access()->region, "us-west-2");
}

TEST_F(Credentials, AwsFilesAreReadAsConfigparserReadsThem) {
  for (const char* const text :
       {"[default]\n  aws_access_key_id = A\n  aws_secret_access_key = B\n",
        "[default]\n\taws_access_key_id: A\n\taws_secret_access_key: B\n",
        "\xEF\xBB\xBF[default]\nAWS_ACCESS_KEY_ID = A\nAws_Secret_Access_Key = B\n",
        "[default]\naws_access_key_id = A\n; c\naws_secret_access_key = B\n more =\n  C\n"}) {
    write(".aws/credentials", text);
    const auto access = s3_access();
    ASSERT_TRUE(access) << text;
    EXPECT_EQ(access->keys.access_key + access->keys.secret_key, "AB") << text;
  }
  write(".aws/config",
        "[profile default]\nregion = r1\n[profile \"my p\"]\nregion = r2\n[p]\nregion=r3\n");
  EXPECT_EQ(s3_access()->region, "r1");
  ::setenv("AWS_DEFAULT_PROFILE", "my p", 1);
  EXPECT_EQ(s3_access()->region, "r2");
  ::setenv("AWS_PROFILE", "p", 1);
  EXPECT_FALSE(s3_access());  // a section of config without "profile"
}

std::string answer(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

// Keys that end in a second are asked for again before each request, with the token of that time.
TEST_F(Credentials, KeysOfARoleAreRenewedBeforeTheyEnd) {
  const auto keys = [](std::string_view key, std::string_view end) {
    return answer(
        fmt::format("<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>{}"
                    "</AccessKeyId><SecretAccessKey>s&amp;s</SecretAccessKey>"
                    "<SessionToken>t</SessionToken><Expiration>{}</Expiration>"
                    "</Credentials></AssumeRoleWithWebIdentityResponse>",
                    key, end));
  };
  ScriptedServer sts({keys("A", "2020-01-01T00:00:00Z"), keys("B", "2099-01-01T00:00:00.5Z")});
  write("token", "first\n");
  ::setenv("AWS_WEB_IDENTITY_TOKEN_FILE", (home_ / "token").c_str(), 1);
  EXPECT_FALSE(s3_bucket("bucket"));  // without a role
  ::setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/x", 1);
  ::setenv("AWS_ENDPOINT_URL_STS", sts.origin().c_str(), 1);
  const auto access = s3_bucket("bucket");
  ASSERT_TRUE(access) << access.error().text();
  write("token", "second\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(access->signing.renewed().access_key, "B");
  EXPECT_EQ(access->signing.renewed().secret_key, "s&s");
  const std::vector<std::string> asked = sts.requests();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_NE(asked[0].find("Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam"),
            std::string::npos);
  EXPECT_NE(asked[0].find("WebIdentityToken=first"), std::string::npos);
  EXPECT_NE(asked[1].find("WebIdentityToken=second"), std::string::npos);
}

TEST_F(Credentials, KeysOfAContainerComeFromItsEndpoint) {
  ScriptedServer service({answer(R"({"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "t",
                                     "Expiration": "2099-01-01T00:00:00Z"})"),
                          answer("{}")});
  ::setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", (service.origin() + "/keys").c_str(), 1);
  ::setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret", 1);
  const auto access = s3_bucket("bucket");
  ASSERT_TRUE(access) << access.error().text();
  EXPECT_EQ(access->signing.renewed().session_token, "t");
  EXPECT_NE(service.requests()[0].find("Authorization: secret"), std::string::npos);
  EXPECT_FALSE(s3_bucket("bucket"));  // no keys in the answer
  ::setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/keys", 1);
  EXPECT_FALSE(s3_bucket("bucket"));
}

TEST_F(Credentials, AHubThatMustNotBeAskedAndOtherServicesAreRefused) {
  ::setenv("AWS_ACCESS_KEY_ID", "A", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "B", 1);
  EXPECT_TRUE(s3_access());
  write(".aws/config", "[default]\nservices = s\n[services s]\ns3 =\n  endpoint_url = http://x\n");
  EXPECT_FALSE(s3_access());
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(s3_access());
  ::setenv("HF_HUB_OFFLINE", "true", 1);
  EXPECT_FALSE(hub_access());
  ::setenv("HF_HUB_OFFLINE", "0", 1);
  EXPECT_TRUE(hub_access());
}

TEST_F(Credentials, AwsProfilesThatNeedAProgramAreRefused) {
  write(".aws/config", "[default]\ncredential_process = /bin/x --secret y\n");
  const auto access = s3_access();
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().text().find("--secret"), std::string::npos);
  ::setenv("AWS_PROFILE", "absent", 1);
  EXPECT_FALSE(s3_access());
}

}  // namespace
}  // namespace ckpt
