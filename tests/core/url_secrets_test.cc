#include "core/base/url_secrets.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

constexpr std::string_view kSecret = "S3CRET";

TEST(UrlSecrets, RefusesLoginsWithoutRepeatingThem) {
  for (const char* const word : {"http://S3CRET@h/x",
                                 "https://u:S3CRET@h/x",
                                 "HTTP://u:S3CRET@h",
                                 "ftp://u:S3CRET@h",
                                 "http://u:S3CRET/x@h",
                                 "http://u:S3CRET?x@h",
                                 "http://u:S3CRET#x@h",
                                 "http://u:S@S3CRET@h",
                                 "http://u:S3CRET x@h",
                                 "http:/u:S3CRET@h",
                                 "http:///u:S3CRET@h",
                                 "http://u:S3CRET\\@h",
                                 "s3://AKIA:S3CRET@bucket/x",
                                 "s3://AKIA:S3C/RET@bucket",
                                 "hf://u:S3CRET@org/name",
                                 "oci://u:S3CRET@h/n:v1",
                                 "--to=oci://u:S3CRET@h/n:v1",
                                 "vl-wrap:with=https://S3CRET@h/x",
                                 "see https://u:S3CRET@h and so on",
                                 "https://h/https://u:S3CRET@h",
                                 "https://[S3CRET@h/"}) {
    const Status checked = refuse_url_secrets(word);
    ASSERT_FALSE(checked) << word;
    EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
    EXPECT_EQ(checked.error().text().find(kSecret), std::string::npos) << checked.error().text();
    EXPECT_FALSE(refuse_url_login(word)) << word;
    const std::string shown = without_url_secrets(word);
    EXPECT_EQ(shown.find(kSecret), std::string::npos) << shown;
  }
}

TEST(UrlSecrets, RefusesQueriesOfUrlsThatAreRead) {
  for (const char* const word :
       {"https://h/x?S3CRET", "HTTPS://h?S3CRET", "s3://bucket/x?sig=S3CRET", "hf://o/n?t=S3CRET",
        "oci://h/n:v1?token=S3CRET", "--to=oci://h/n:v1?token=S3CRET"}) {
    const Status checked = refuse_url_secrets(word);
    ASSERT_FALSE(checked) << word;
    EXPECT_EQ(checked.error().text().find(kSecret), std::string::npos) << checked.error().text();
    EXPECT_EQ(without_url_secrets(word).find(kSecret), std::string::npos) << word;
  }
}

TEST(UrlSecrets, KeepsOtherText) {
  for (const char* const word :
       {"hf://org/name@main/x", "oci://127.0.0.1:5000/n:v1@sha256:00", "https://h/@x/y",
        "https://[::1]:80/x", "https://h:8a/x", "s3://bucket/a?b", "s3://bucket/a@b",
        "ssh://git@github.com/x", "metadata:set=general.url=https://h/x?id=3", "a@b.c", "C:/a@b",
        "see https://h/x, or ask a@b.c", "://", ":/", "x://", "", "dir/with:colon/a@b"}) {
    EXPECT_TRUE(refuse_url_secrets(word)) << word;
  }
  for (const char* const text : {"hf://org/name@main/x", "https://h:80/x", "at http://h:80: no",
                                 "in 'http://h:80'", "a@b.c", "s3://bucket/a@b", "what?"}) {
    EXPECT_EQ(without_url_secrets(text), text);
  }
  EXPECT_EQ(without_url_secrets("to https://u:p@h/x?y, or ftp://v:q@i"),
            "to https://...@h/x?... or ftp://...@i");
  EXPECT_EQ(without_url_secrets("https://h:8a/x"), "https://h:.../x");
}

}  // namespace
}  // namespace ckpt
