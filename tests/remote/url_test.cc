#include "remote/url.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(Url, SplitsAndJoins) {
  const auto url = parse_url("HTTPS://Hub.Example:8443/a/b%20c?x=1&y#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "hub.example");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->text(), "https://hub.example:8443/a/b%20c?x=1&y");
  EXPECT_EQ(url->shown(), "https://hub.example:8443/a/b%20c");
  EXPECT_EQ(parse_url("http://[::1]:80/x")->text(), "http://[::1]/x");
  EXPECT_EQ(parse_url("https://h?x=1")->text(), "https://h/?x=1");
}

TEST(Url, RejectsOtherTexts) {
  for (const char* const text : {"",
                                 "file:///etc/passwd",
                                 "ftp://h/x",
                                 "//h/x",
                                 "h/x",
                                 "https://",
                                 "https:///x",
                                 "https://user:secret@h/x",
                                 "https://h:0/",
                                 "https://h:65536/",
                                 "https://h:8a/",
                                 "https://h/a b",
                                 "https://h/a\r\nX: y",
                                 "https://h\\@i/",
                                 "https://h/\xc3\xa4",
                                 "https://[::1/x",
                                 "https://h%41/",
                                 "javascript:x",
                                 "http://u:secret/x@h",
                                 "http://u:secret",
                                 "u:secret@h/x",
                                 "ftp://u:secret@h/",
                                 "https://se cret:secret@h/"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().text().find("secret"), std::string::npos);
  }
  EXPECT_FALSE(parse_url("https://h/" + std::string(20'000, 'a')));
}

TEST(Url, ResolvesReferences) {
  const Url base = *parse_url("https://h:1/a/b?q=1");
  const auto resolved = [&](const char* reference) { return resolve_url(base, reference)->text(); };
  EXPECT_EQ(resolved("/x?y=2"), "https://h:1/x?y=2");
  EXPECT_EQ(resolved("x"), "https://h:1/a/x");
  EXPECT_EQ(resolved("../../../x/./y/"), "https://h:1/x/y/");
  EXPECT_EQ(resolved("?z=3"), "https://h:1/a/b?z=3");
  EXPECT_EQ(resolved("//i/x"), "https://i/x");
  EXPECT_EQ(resolved("http://i/x"), "http://i/x");
  EXPECT_FALSE(resolve_url(base, "file:///etc/passwd"));
  EXPECT_FALSE(resolve_url(base, "https://u@h/"));
}

TEST(Url, KnowsThisMachine) {
  for (const char* const text :
       {"http://localhost/", "http://127.0.0.1:8/", "http://[::1]/", "http://LOCALHOST./",
        "http://x.localhost/", "http://127.1/", "http://0/", "http://2130706433/",
        "http://0x7f000001/", "http://0177.0.0.1/", "http://127.0.0.1./", "http://[::]/",
        "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"}) {
    EXPECT_TRUE(parse_url(text)->is_loopback()) << text;
  }
  for (const char* const text :
       {"http://127.example/", "http://128.0.0.1/", "http://local/", "http://notlocalhost/",
        "http://localhost.example/", "http://2130706433.example/", "http://[::ffff:128.0.0.1]/",
        "http://[2001:db8::1]/", "http://[fe80::7f00:1]/"}) {
    EXPECT_FALSE(parse_url(text)->is_loopback()) << text;
  }
}

TEST(Url, EncodesEveryByteAndBack) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(*percent_decoded(percent_encoded(all)), all);
  EXPECT_EQ(percent_encoded("a/b c~", "/"), "a/b%20c~");
  for (const char* const text : {"%", "%4", "%4g", "a%00"}) EXPECT_FALSE(percent_decoded(text));
}

}  // namespace
}  // namespace ckpt
