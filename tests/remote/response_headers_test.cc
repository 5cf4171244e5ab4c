#include "remote/response_headers.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

HttpResponse answer_with(int status, HttpHeaders headers) {
  HttpResponse out;
  out.status = status;
  out.headers = std::move(headers);
  return out;
}

TEST(HeaderReader, KeepsHeadersOfTheLastAnswerAndNoTrailers) {
  HeaderReader reader;
  EXPECT_FALSE(reader.has_lines());
  for (const char* const line :
       {"HTTP/1.1 100 Continue\r\n", "ETag: x\r\n", "\r\n", "HTTP/1.1 200 OK\r\n",
        "Content-LENGTH:  5 \r\n", "no colon\r\n", " folded: 1\r\n", "Empty:\r\n", "\r\n",
        "HTTP/1.1: 500 No\r\n", "ETag: trailer\r\n", "\r\n"}) {
    EXPECT_TRUE(reader.add(line));
  }
  EXPECT_EQ(reader.headers(),
            (HttpHeaders{{"content-length", "5"}, {" folded", "1"}, {"empty", ""}}));
}

TEST(HeaderReader, CountsAllLinesTogether) {
  HeaderReader reader;
  const std::string line = "HTTP/1.1 103 Early Hints " + std::string(999, 'x') + "\r\n";
  size_t lines = 0;
  while (reader.add(line)) ++lines;
  EXPECT_EQ(lines, HeaderReader::kMaxBytes / line.size());
  HeaderReader other;
  EXPECT_TRUE(other.add("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(other.add("\r\n"));
  EXPECT_EQ(other.add(std::string(HeaderReader::kMaxBytes, 'x')).error().code, ErrorCode::kIo);
}

TEST(ResponseHeaders, RefusesTwoThatDiffer) {
  for (const char* const name : {"content-encoding", "content-length", "content-range", "etag",
                                 "last-modified", "location"}) {
    EXPECT_FALSE(check_headers(answer_with(206, {{name, "identity"}, {"x", ""}, {name, "2"}})))
        << name;
    EXPECT_TRUE(check_headers(answer_with(206, {{name, "identity"}, {name, "identity"}}))) << name;
  }
  EXPECT_TRUE(check_headers(answer_with(200, {{"link", "<a>"}, {"link", "<b>"}})));
  EXPECT_FALSE(check_headers(answer_with(200, {{"content-encoding", "br"}})));
  EXPECT_TRUE(check_headers(answer_with(200, {{"content-encoding", ""}})));
}

TEST(ResponseHeaders, ReadContentRangesExactly) {
  const HttpRange asked{5, 5};
  const auto size_of = [&](const std::string& range) {
    const auto got = range_answer(answer_with(206, {{"content-range", range}}), asked);
    return got ? got->size_bytes : 0;
  };
  EXPECT_EQ(size_of("bytes 5-9/100"), 5u);
  EXPECT_EQ(size_of("bytes 5-7/8"), 3u);  // the file ends
  for (const char* const range : {"",
                                  "bytes",
                                  "bytes 5-9",
                                  "bytes 5-9/*",
                                  "bytes */100",
                                  "5-9/100",
                                  "bytes=5-9/100",
                                  "Bytes 5-9/100",
                                  "bytes  5-9/100",
                                  "bytes 5-9/100 ",
                                  "bytes 5-9/9",
                                  "bytes 9-5/100",
                                  "bytes 4-9/100",
                                  "bytes 5-8/100",
                                  "bytes 5-10/100",
                                  "bytes -5-9/100",
                                  "bytes 5-9/-100",
                                  "bytes 5-9/100/100",
                                  "bytes 0x5-9/100",
                                  "bytes 5-9/18446744073709551616",
                                  "bytes 5-9/100, bytes 5-9/100",
                                  "items 5-9/100"}) {
    EXPECT_EQ(size_of(range), 0u) << range;
  }
  EXPECT_FALSE(range_answer(answer_with(206, {}), asked));
}

TEST(ResponseHeaders, ReadAnEndBeyondAllNumbers) {
  constexpr uint64_t kMost = ~uint64_t{0};
  const std::string range = "bytes 18446744073709551613-18446744073709551614/18446744073709551615";
  const auto got = range_answer(answer_with(206, {{"content-range", range}}), {kMost - 2, 2});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->file_bytes, kMost);
  EXPECT_EQ(got->size_bytes, 2u);
}

TEST(ResponseHeaders, SayHowLongToWait) {
  const auto seconds = [](int status, HttpHeaders headers) {
    return asked_seconds(answer_with(status, std::move(headers)));
  };
  EXPECT_EQ(seconds(429, {{"retry-after", "7"}}), 7u);
  EXPECT_EQ(seconds(503, {{"retry-after", "7"}, {"ratelimit", "\"a\";r=0;t=9"}}), 7u);
  EXPECT_EQ(seconds(429, {{"ratelimit", "\"a\";r=0;t=9"}}), 9u);
  EXPECT_EQ(seconds(429, {{"ratelimit", "\"a\";r=0;t=9;x"}}), 9u);
  EXPECT_EQ(seconds(200, {{"retry-after", "7"}}), std::nullopt);
  for (const char* const text : {"", "-1", "1.5", "soon", "99999999999999999999999",
                                 "Wed, 21 Oct 2015 07:28:00 GMT", "7 7", "+7"}) {
    EXPECT_EQ(seconds(429, {{"retry-after", text}}), std::nullopt) << text;
  }
  for (const char* const text : {"\"a\";r=1;t=9", "\"a\";r=0", ";r=0;t=", ";r=0;t=-9", "r=0;t=9"}) {
    EXPECT_EQ(seconds(429, {{"ratelimit", text}}), std::nullopt) << text;
  }
}

TEST(ResponseHeaders, NameTheNextPage) {
  const auto next = [](HttpHeaders headers) {
    const auto link = next_link(headers);
    return link ? *link : "refused";
  };
  EXPECT_EQ(next({}), "");
  EXPECT_EQ(next({{"link", ""}}), "");
  EXPECT_EQ(next({{"link", "<https://h/x?y=1,2>; rel=\"next\""}}), "https://h/x?y=1,2");
  EXPECT_EQ(next({{"link", "<a>; rel=prev, <b>;REL=NEXT"}}), "b");
  EXPECT_EQ(next({{"link", "<a>; rel=prev"}, {"x", "<c>; rel=next"}, {"link", "<b>; rel=next"}}),
            "b");
  EXPECT_EQ(next({{"link", "<a>; rel=last"}}), "");
  for (const char* const text : {"a; rel=next", "<a; rel=next", "next", "<a>; rel=prev, b"}) {
    EXPECT_EQ(next({{"link", text}}), "refused") << text;
  }
}

TEST(ResponseHeaders, LoseTheQuotationMarksOfAnETag) {
  EXPECT_EQ(unquoted("\"a\""), "a");
  EXPECT_EQ(unquoted("\"\""), "");
  for (const char* const text : {"", "\"", "a", "\"a", "a\"", "W/\"a\""}) {
    EXPECT_EQ(unquoted(text), text);
  }
}

}  // namespace
}  // namespace ckpt
