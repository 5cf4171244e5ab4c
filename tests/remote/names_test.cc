#include <gtest/gtest.h>

#include "remote/hub.h"
#include "remote/root.h"
#include "remote/s3.h"

namespace ckpt {
namespace {

TEST(HubName, SplitsRepositoryRevisionAndPath) {
  const auto name = parse_hub_name("hf://org/na.me-1@refs%2Fpr%2F1/sub/model.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->repository, "org/na.me-1");
  EXPECT_EQ(name->revision, "refs/pr/1");
  EXPECT_EQ(name->path, "sub/model.gguf");
  EXPECT_EQ(parse_hub_name("hf://org/name/")->path, "");
  EXPECT_EQ(parse_hub_name("hf://org/name")->revision, "");
}

TEST(HubName, RejectsOtherNames) {
  for (const char* const text :
       {"hf://", "hf://org", "hf://org/", "hf:///name", "hf://org/name@", "hf://../name",
        "hf://org/..", "hf://org/na me", "hf://org/name/../other", "hf://org/name//etc",
        "hf://o?g/name", "hf://org/name/a/./b"}) {
    EXPECT_FALSE(parse_hub_name(text)) << text;
  }
}

TEST(S3Name, SplitsBucketAndKey) {
  const auto name = parse_s3_name("s3://my.bucket-1/models/a b/");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->bucket, "my.bucket-1");
  EXPECT_EQ(name->key, "models/a b");
  EXPECT_EQ(parse_s3_name("s3://bucket")->key, "");
  for (const char* const text :
       {"s3://", "s3://ab/x", "s3://Bucket/x", "s3://bucket/../x", "s3://buck et/x"}) {
    EXPECT_FALSE(parse_s3_name(text)) << text;
  }
}

TEST(WebSums, AreReadLikeThoseOfAFolder) {
  const std::string digest(64, 'a');
  RemoteRoot::Files files;
  ASSERT_TRUE(add_sums(
      "# sums\r\n" + std::string(64, 'A') + " *./a\r\nSHA256 (b) = " + digest + "\n", files));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files["a"].sha256, digest);
  EXPECT_EQ(files["b"].sha256, digest);
  for (const std::string& text : {std::string("<html>"), digest + "  a\n" + digest.substr(1),
                                  digest + "  ../a", digest + "  /a", "\\" + digest + "  a\\nb"}) {
    EXPECT_FALSE(add_sums(text, files)) << text;
  }
}

TEST(S3Bucket, FollowsTheRegionThatAnAnswerNames) {
  const auto bucket_at = [](const std::string& base) {
    S3Bucket bucket;
    bucket.base = *parse_url(base);
    if (bucket.base.path == "/") bucket.base.path.clear();
    bucket.signing.region = "us-east-1";
    return bucket;
  };
  HttpResponse answer;
  answer.status = 301;
  answer.headers = {{"x-amz-bucket-region", "eu-west-1"}};
  for (const auto& [before, after] :
       {std::pair("https://b.s3.us-east-1.amazonaws.com", "https://b.s3.eu-west-1.amazonaws.com/k"),
        std::pair("https://s3.us-east-1.amazonaws.com/b.c",
                  "https://s3.eu-west-1.amazonaws.com/b.c/k"),
        std::pair("http://127.0.0.1:9000/b", "http://127.0.0.1:9000/b/k")}) {
    S3Bucket bucket = bucket_at(before);
    EXPECT_TRUE(follow_region(bucket, answer));
    EXPECT_EQ(bucket.signing.region, "eu-west-1");
    EXPECT_EQ(s3_request(bucket, "k").url.text(), after);
    EXPECT_FALSE(follow_region(bucket, answer));  // it is there already
  }
  S3Bucket bucket = bucket_at("https://b.s3.us-east-1.amazonaws.com");
  answer.headers = {{"x-amz-bucket-region", "evil.example/"}};
  EXPECT_FALSE(follow_region(bucket, answer));
  answer.headers.clear();
  EXPECT_FALSE(follow_region(bucket, answer));
  EXPECT_EQ(s3_failure(answer).value().hint, "AWS_REGION=REGION, the region of the bucket");
  answer.body =
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region></Error>";
  EXPECT_TRUE(follow_region(bucket, answer));
  EXPECT_EQ(bucket.base.host, "b.s3.eu-west-2.amazonaws.com");
}

TEST(S3Element, DecodesWhatAServerWrites) {
  constexpr std::string_view kXml =
      "<Error><Code>A&amp;B &lt;x&gt; &quot;&#47;&#x2f;&apos;</Code><Empty></Empty><Open></Error>";
  EXPECT_EQ(xml_element(kXml, "Code"), "A&B <x> \"//'");
  EXPECT_EQ(xml_element(kXml, "Empty"), "");
  EXPECT_EQ(xml_element(kXml, "Open"), "");
  EXPECT_EQ(xml_element(kXml, "Absent"), "");
  EXPECT_EQ(xml_element("<a>&unknown;&;x&#xffffff;&</a>", "a"), "x&");
}

}  // namespace
}  // namespace ckpt
