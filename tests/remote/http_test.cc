#include "remote/http.h"

#include <gtest/gtest.h>

#include "remote/rate_limit.h"
#include "tests/remote/scripted_server.h"

namespace ckpt {
namespace {

const std::string kDigits = "0123456789";

HttpRequest get(const ScriptedServer& server, const std::string& path = "/file") {
  HttpRequest request;
  request.url = server.url(path);
  request.tries = 3;
  return request;
}

HttpRequest get_range(const ScriptedServer& server, HttpRange range) {
  HttpRequest request = get(server);
  request.range = range;
  return request;
}

std::string part(size_t first, size_t last, const std::string& headers = {}) {
  return scripted("206 Partial Content",
                  "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) +
                      "/10\r\n" + headers,
                  kDigits.substr(first, last - first + 1));
}

std::string said_of(const Result<HttpResponse>& response) {
  return response ? "no error" : response.error().text();
}

TEST(Http, GivesStatusHeadersAndBody) {
  const ScriptedServer server({scripted("404 Not Found", "X-Error-Code: EntryNotFound\r\n", "no")});
  const auto response = http_send(get(server));
  ASSERT_TRUE(response) << said_of(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "no");
  ASSERT_NE(response->header("x-error-code"), nullptr);
  EXPECT_EQ(*response->header("x-error-code"), "EntryNotFound");
  EXPECT_NE(server.requests()[0].find("Accept-Encoding: identity\r\n"), std::string::npos);
}

TEST(Http, ReadsARange) {
  const ScriptedServer server({part(2, 5)});
  const auto response = http_send(get_range(server, {2, 4}));
  ASSERT_TRUE(response) << said_of(response);
  EXPECT_EQ(response->body, "2345");
  EXPECT_EQ(response->file_bytes, 10u);
  EXPECT_NE(server.requests()[0].find("Range: bytes=2-5\r\n"), std::string::npos);
}

TEST(Http, TakesTheWholeFileWhereTheRangeCoversIt) {
  const ScriptedServer server({scripted("200 OK", "", kDigits)});
  EXPECT_EQ(http_send(get_range(server, {0, 100}))->body, kDigits);
  EXPECT_EQ(http_send(get_range(server, {0, 10}))->file_bytes, 10u);
}

TEST(Http, RefusesAnswersThatAreNotTheRange) {
  const std::string bodies[] = {
      scripted("200 OK", "", kDigits),              // all of it
      part(3, 6),                                   // others
      part(2, 4),                                   // fewer
      scripted("206 Partial Content", "", "2345"),  // which?
      scripted("206 Partial Content", "Content-Range: bytes 2-5/*\r\n", "2345"),
      scripted("206 Partial Content", "Content-Range: bytes 2-5/4\r\n", "2345"),
      scripted("206 Partial Content", "Content-Range: bytes 2-5/11\r\n", "2345"),   // of another
      scripted("206 Partial Content", "Content-Range: bytes 2-5/10\r\n", "23456"),  // and more
      scripted("206 Partial Content", "Content-Range: bytes 2-5/10\r\nContent-Encoding: gzip\r\n",
               "2345"),
  };
  for (const std::string& body : bodies) {
    const ScriptedServer server({body});
    const auto response = http_send(get_range(server, {2, 4, 10}));
    ASSERT_FALSE(response) << body;
    EXPECT_EQ(response.error().code, ErrorCode::kIo) << body;  // of the server, not of the file
    EXPECT_EQ(server.requests().size(), 1u) << body;
  }
}

TEST(Http, AnotherSizeThanListedIsAVerdictOnTheFile) {
  for (const bool is_listed : {false, true}) {
    const ScriptedServer server(
        {scripted("206 Partial Content", "Content-Range: bytes 2-5/11\r\n", "2345")});
    const auto response = http_send(get_range(server, {2, 4, 10, is_listed}));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, is_listed ? ErrorCode::kCorrupt : ErrorCode::kIo);
  }
}

TEST(Http, ContinuesARangeWhereItWasCut) {
  std::string cut = part(2, 8);
  cut.resize(cut.size() - 3);
  const ScriptedServer server({cut, "", part(6, 8)});
  HttpRequest request = get_range(server, {2, 7});
  std::string got;
  request.sink = [&](uint64_t offset, std::span<const std::byte> bytes) -> Status {
    EXPECT_EQ(offset, got.size());
    got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  const auto response = http_send(request);
  ASSERT_TRUE(response) << said_of(response);
  EXPECT_EQ(got, "2345678");
  EXPECT_NE(server.requests()[2].find("Range: bytes=6-8\r\n"), std::string::npos);
}

TEST(Http, RefusesAnotherETagInTheSameRange) {
  std::string cut = part(2, 8, "ETag: \"a\"\r\n");
  cut.resize(cut.size() - 3);
  const ScriptedServer server({cut, part(6, 8, "ETag: \"b\"\r\n")});
  EXPECT_NE(said_of(http_send(get_range(server, {2, 7}))).find("another ETag"), std::string::npos);
  const ScriptedServer other({part(2, 8, "ETag: \"b\"\r\n")});
  HttpRequest request = get_range(other, {2, 7});
  request.version.etag = "\"a\"";
  const auto changed = http_send(request);
  EXPECT_NE(said_of(changed).find("another ETag"), std::string::npos);
  EXPECT_EQ(changed.error().code, ErrorCode::kIo);
}

TEST(Http, RefusesAnotherLastModifiedWhereOneOfTwoAnswersHasNoETag) {
  const std::string monday = "Mon, 01 Jan 2024 00:00:00 GMT",
                    tuesday = "Tue, 02 Jan 2024 00:00:00 GMT";
  const std::string at_monday = "Last-Modified: " + monday + "\r\n", etag = "ETag: \"a\"\r\n";
  const auto said = [](const FileVersion& before, const std::string& headers) {
    const ScriptedServer server({part(2, 8, headers)});
    HttpRequest request = get_range(server, {2, 7});
    request.version = before;
    return said_of(http_send(request));
  };
  EXPECT_EQ(said({"", monday}, at_monday), "no error");
  EXPECT_NE(said({"", tuesday}, at_monday).find("another Last-Modified"), std::string::npos);
  EXPECT_NE(said({"\"a\"", tuesday}, at_monday).find("another Last-Modified"), std::string::npos);
  EXPECT_EQ(said({"\"a\"", tuesday}, at_monday + etag), "no error");  // the ETag is exact
  EXPECT_NE(said({"\"a\"", ""}, at_monday).find("sent no ETag"), std::string::npos);
  EXPECT_NE(said({"", monday}, "").find("sent no Last-Modified"), std::string::npos);
  EXPECT_EQ(said({}, ""), "no error");
  std::string cut = part(2, 8, at_monday);
  cut.resize(cut.size() - 3);
  const ScriptedServer server({cut, part(6, 8, "Last-Modified: " + tuesday + "\r\n")});
  EXPECT_NE(said_of(http_send(get_range(server, {2, 7}))).find("another Last-Modified"),
            std::string::npos);
}

TEST(Http, RepeatsPassingStatesOfIdempotentRequestsOnly) {
  for (const char* const status : {"408 T", "429 T", "500 T", "502 T", "503 T", "504 T"}) {
    const ScriptedServer server({scripted(status, ""), scripted("200 OK", "", "fine")});
    EXPECT_EQ(http_send(get(server))->body, "fine") << status;
  }
  const ScriptedServer server({scripted("503 T", ""), scripted("200 OK", "", "fine")});
  HttpRequest post = get(server);
  post.method = "POST";
  post.body = HttpBody::of("{}");
  EXPECT_EQ(http_send(post)->status, 503);
  EXPECT_TRUE(server.requests()[0].ends_with("\r\n\r\n{}"));
  for (const char* const status : {"400 B", "401 B", "403 B", "404 B", "501 B"}) {
    const ScriptedServer other({scripted(status, ""), scripted("200 OK", "")});
    EXPECT_FALSE(http_send(get(other))->is_good()) << status;
    EXPECT_EQ(other.requests().size(), 1u);
  }
}

TEST(Http, WaitsAsAsked) {
  for (const char* const header : {"Retry-After: 1\r\n", "ratelimit: \"resolvers\";r=0;t=1\r\n"}) {
    const ScriptedServer server({scripted("429 T", header), scripted("200 OK", "", "fine")});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(http_send(get(server))->body, "fine");
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  }
  const ScriptedServer server({scripted("429 T", "Retry-After: 86400\r\n")});
  EXPECT_EQ(http_send(get(server))->status, 429);
}

TEST(Http, GivesUpWithoutProgress) {
  const ScriptedServer server({""});
  const auto response = http_send(get(server));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kIo);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(Http, SendsABodyAgainFromItsBeginning) {
  const std::string body(200'000, 'x');
  const ScriptedServer server({scripted("503 T", ""), scripted("200 OK", "")});
  HttpRequest put = get(server);
  put.method = "PUT";
  put.body = HttpBody::of(body);
  EXPECT_EQ(http_send(put)->status, 200);
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_TRUE(server.requests()[1].ends_with("\r\n\r\n" + body));
}

TEST(Http, KeepsCredentialsFromOtherOrigins) {
  const ScriptedServer other({scripted("200 OK", "", "there")});
  const ScriptedServer server(
      {scripted("302 Found", "Location: /second\r\n"),
       scripted("302 Found", "Location: " + other.origin() + "/x?signed=1\r\n")});
  HttpRequest request = get(server);
  request.credentials = {{"Authorization", "Bearer secret"}};
  request.sign = [](const HttpRequest&) { return HttpHeaders{{"X-Signed", "secret"}}; };
  const auto response = http_send(request);
  ASSERT_TRUE(response) << said_of(response);
  EXPECT_EQ(response->body, "there");
  for (const std::string& asked : server.requests()) {
    EXPECT_NE(asked.find("Authorization: Bearer secret\r\nX-Signed: secret"), std::string::npos);
  }
  EXPECT_EQ(other.requests()[0].find("secret"), std::string::npos);
}

TEST(Http, RefusesRedirectsThatLeaveTheScheme) {
  for (const char* const target : {"file:///etc/passwd", "ftp://127.0.0.1/x", "https://127.0.0.1/x",
                                   "https://a@b/", "gopher:"}) {
    const ScriptedServer server(
        {scripted("302 Found", std::string("Location: ") + target + "\r\n")});
    const auto response = http_send(get(server));
    ASSERT_FALSE(response) << target;
  }
  HttpResponse far;
  far.status = 302;
  far.url = *parse_url("http://example.org/x");
  far.headers = {{"location", "http://127.0.0.1/admin"}};
  EXPECT_NE(redirect_target(far).error().text().find("to this machine"), std::string::npos);
  const ScriptedServer circle({scripted("302 Found", "Location: /file\r\n")});
  EXPECT_NE(said_of(http_send(get(circle))).find("more than 8 redirects"), std::string::npos);
}

TEST(Http, DoesNotMakeAGetOfAPost) {
  const ScriptedServer server({scripted("302 Found", "Location: /x\r\n")});
  HttpRequest post = get(server);
  post.method = "POST";
  post.body = HttpBody::of("{}");
  EXPECT_EQ(http_send(post)->status, 302);
}

TEST(Http, BoundsBodiesAndHeaders) {
  const std::string endless =
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + std::string(3'000'000, 'x');
  const ScriptedServer server({endless});
  EXPECT_NE(said_of(http_send(get(server))).find("more than 1048576 bytes"), std::string::npos);
  for (const size_t size : {70'000u, 200'000u}) {
    const ScriptedServer huge({scripted("200 OK", "X: " + std::string(size, 'x') + "\r\n")});
    const auto response = http_send(get(huge));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ErrorCode::kIo) << said_of(response);
  }
}

// A connection that sends so little is left, whatever it sends: headers, interim answers, a body.
TEST(Http, LeavesAServerThatDripsBytes) {
  const std::string body =
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-999999/1000000"
      "\r\nContent-Length: 1000000\r\n\r\n" +
      std::string(1'000'000, 'x');
  const std::string headers = "HTTP/1.1 200 OK\r\nX: " + std::string(10'000, 'x');
  std::string interim;
  for (int i = 0; i < 1000; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  uint64_t rate = 0;  // with --limit-rate too
  for (const std::string& answer : {body, headers, interim, body}) {
    set_rate_limit(std::exchange(rate, 40 << 10));
    const ScriptedServer server({answer}, {40, std::chrono::milliseconds(100)});
    HttpRequest request = get_range(server, {0, 1'000'000});
    request.tries = 1;
    request.stall_seconds = 1;
    const auto start = std::chrono::steady_clock::now();
    const auto response = http_send(request);
    set_rate_limit(0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
    ASSERT_FALSE(response) << answer.substr(0, 40);
    EXPECT_EQ(response.error().code, ErrorCode::kIo);
    EXPECT_NE(said_of(response).find("too slow"), std::string::npos) << said_of(response);
  }
}

TEST(Http, ReadsFromAServerThatIsSlowerThanMost) {
  const ScriptedServer server({scripted("200 OK", "", std::string(15'000, 'x'))},
                              {500, std::chrono::milliseconds(100)});
  HttpRequest request = get(server);
  request.stall_seconds = 2;
  const auto response = http_send(request);
  ASSERT_TRUE(response) << said_of(response);
  EXPECT_EQ(response->body.size(), 15'000u);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Http, RefusesALengthThatIsNotOfTheRange) {
  const std::string range = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-5/10\r\n";
  for (const char* const length :
       {"3", "5", "0", "-4", "4, 5", "99999999999999999999", "4\r\nContent-Length: 5"}) {
    const ScriptedServer server({range + "Content-Length: " + length + "\r\n\r\n23456"});
    const auto response = http_send(get_range(server, {2, 4}));
    ASSERT_FALSE(response) << length;
    EXPECT_EQ(response.error().code, ErrorCode::kIo) << length;
    EXPECT_EQ(server.requests().size(), 1u) << length;
  }
}

TEST(Http, RetriesABodyThatIsShorterThanItsLength) {
  const std::string cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234";
  const ScriptedServer server({cut, scripted("200 OK", "", "12345")});
  EXPECT_EQ(http_send(get(server))->body, "12345");
}

TEST(Http, ReadsBodiesInChunks) {
  const std::string head =
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-5/10\r\nETag: \"a\"\r\n"
      "Transfer-Encoding: chunked\r\n";
  const std::string body = "\r\n2\r\n23\r\n2;x=y\r\n45\r\n";
  // With trailers, which are not headers, and without its end: all bytes of the range came.
  for (const std::string& end :
       {std::string("0\r\n\r\n"), std::string("0\r\nETag: \"b\"\r\nX-Trailer: 1\r\n\r\n"),
        std::string("0\r\nHTTP/1.1: 500 No\r\n\r\n"), std::string()}) {
    const ScriptedServer server({head + body + end});
    const auto response = http_send(get_range(server, {2, 4}));
    ASSERT_TRUE(response) << end << said_of(response);
    EXPECT_EQ(response->body, "2345") << end;
    EXPECT_EQ(*response->header("etag"), "\"a\"") << end;
    EXPECT_EQ(response->header("x-trailer"), nullptr) << end;
    EXPECT_EQ(server.requests().size(), 1u) << end;
  }
  const std::string lies[] = {
      head + "\r\n5\r\n23456\r\n0\r\n\r\n",                      // more
      head + "Content-Length: 3\r\n\r\n4\r\n2345\r\n0\r\n\r\n",  // two lengths
      head + "\r\nzz\r\n2345\r\n0\r\n\r\n",
      head + "\r\n-4\r\n2345\r\n0\r\n\r\n",
  };
  for (const std::string& lie : lies) {
    const ScriptedServer server({lie});
    const auto response = http_send(get_range(server, {2, 4}));
    ASSERT_FALSE(response) << lie;
    EXPECT_EQ(response.error().code, ErrorCode::kIo) << lie;
  }
  // An end that comes early is a cut, and the rest is asked for.
  const ScriptedServer early({head + "\r\n3\r\n234\r\n0\r\n\r\n", part(5, 5, "ETag: \"a\"\r\n")});
  EXPECT_EQ(http_send(get_range(early, {2, 4}))->body, "2345");
  EXPECT_NE(early.requests()[1].find("Range: bytes=5-5\r\n"), std::string::npos);
}

TEST(Http, IgnoresHeadersOfInterimAnswers) {
  const std::string interim =
      "HTTP/1.1 100 Continue\r\nETag: \"x\"\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
  const ScriptedServer server({interim + part(2, 5, "ETag: \"a\"\r\n")});
  const auto response = http_send(get_range(server, {2, 4}));
  ASSERT_TRUE(response) << said_of(response);
  EXPECT_EQ(response->status, 206);
  EXPECT_EQ(*response->header("etag"), "\"a\"");
  EXPECT_EQ(response->header("link"), nullptr);
}

TEST(Http, RejectsInvalidResponses) {
  const char* const answers[] = {
      "23456789\r\n\r\n",  // HTTP/0.9
      "HTTP/1.1 99999 OK\r\n\r\n",
      "HTTP/1.1 000 OK\r\nContent-Length: 1\r\n\r\n2",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n2345",
      "HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: gzip, chunked\r\n"
      "Content-Range: bytes 2-5/10\r\n\r\n4\r\n2345\r\n0\r\n\r\n",
  };
  for (const std::string answer : answers) {
    const ScriptedServer server({answer});
    HttpRequest request = get_range(server, {2, 4});
    request.tries = 1;
    const auto response = http_send(request);
    EXPECT_FALSE(response && response->is_good()) << answer;
  }
}

TEST(Http, RefusesHeadersWithoutEnd) {
  const auto answer = [](size_t count) {
    std::string headers;
    for (size_t i = 0; i < count; ++i) headers += "a: b\r\n";
    return scripted("200 OK", headers, "fine");
  };
  std::string interim;
  for (int i = 0; i < 20'000; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  const ScriptedServer many({answer(10'000)});
  EXPECT_EQ(http_send(get(many))->body, "fine");
  for (const std::string& endless : {answer(20'000), interim + answer(1)}) {
    const ScriptedServer server({endless});
    const auto response = http_send(get(server));
    ASSERT_FALSE(response);
    EXPECT_NE(said_of(response).find("bytes of headers"), std::string::npos) << said_of(response);
    EXPECT_EQ(server.requests().size(), 1u);
  }
}

TEST(Http, RefusesAnAnswerOfAnotherCommit) {
  const auto send = [](const std::string& headers) {
    const ScriptedServer server({part(2, 5, headers)});
    HttpRequest request = get_range(server, {2, 4});
    request.expected = {{"x-repo-commit", "abc"}};
    return said_of(http_send(request));
  };
  EXPECT_EQ(send("X-Repo-Commit: abc\r\n"), "no error");
  EXPECT_EQ(send(""), "no error");  // the commit is in the URL
  for (const char* const commit : {"abd", "ABC", "", "abc\r\nX-Repo-Commit: abd"}) {
    EXPECT_NE(send(std::string("X-Repo-Commit: ") + commit + "\r\n").find("expected 'abc'"),
              std::string::npos)
        << commit;
  }
}

TEST(Http, A416OfTheStartSaysThatTheFileIsEmpty) {
  const auto send = [](const std::string& headers, uint64_t offset_bytes) {
    const ScriptedServer server({scripted("416 Range Not Satisfiable", headers)});
    return http_send(get_range(server, {offset_bytes, 4}));
  };
  EXPECT_EQ(send("Content-Range: bytes */0\r\n", 0)->status, 416);
  EXPECT_EQ(send("", 0)->status, 416);
  EXPECT_EQ(send("Content-Range: bytes */10\r\n", 12)->status, 416);
  EXPECT_FALSE(send("Content-Range: bytes */10\r\n", 0));
}

TEST(Http, DoesNotConnectToThisMachineForAServerElsewhere) {
  const ScriptedServer server({scripted("200 OK", "", "secret")});
  HttpRequest request = get(server);
  EXPECT_TRUE(http_send(request));
  request.url.path = "/other";
  request.url.is_named_elsewhere = true;  // as where a name resolves to 127.0.0.1
  request.url.host = "localhost";
  EXPECT_NE(said_of(http_send(request)).find("this machine"), std::string::npos);
  EXPECT_EQ(server.requests().size(), 1u);
  const Url far = *parse_url("http://example.org/x");
  EXPECT_FALSE(named_url(far, "http://example.org/y")->is_named_elsewhere);
  const Url other = *named_url(far, "http://example.com/y");
  EXPECT_TRUE(other.is_named_elsewhere);
  EXPECT_TRUE(named_url(other, "/z")->is_named_elsewhere);
  EXPECT_FALSE(named_url(*parse_url("http://localhost/"), far.text())->is_named_elsewhere);
  EXPECT_FALSE(named_url(far, "http://localhost./"));
  EXPECT_FALSE(named_url(far, "https://example.org/"));
  EXPECT_TRUE(named_url(far, "https://example.org/", true));
  EXPECT_FALSE(named_url(far, "file:///etc/passwd", true));
}

TEST(Http, MessagesHoldNoCredentialsThatAServerRepeats) {
  const ScriptedServer server({scripted("401 No", "X-Error-Message: Bad token hf_secret\r\n")});
  HttpRequest request = get(server);
  request.credentials = {{"Authorization", "Bearer hf_secret"}};
  const auto response = http_send(request);
  ASSERT_TRUE(response) << said_of(response);
  const std::string said =
      Failure(http_failure(*response, *response->header("x-error-message"))).value().text();
  EXPECT_TRUE(said.ends_with("answered 401: Bad token ...")) << said;
}

TEST(Http, MessagesHoldNoQuery) {
  const ScriptedServer server({""});
  HttpRequest request = get(server, "/file?signature=secret");
  request.tries = 1;
  const std::string said = said_of(http_send(request));
  EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  EXPECT_NE(said.find("/file"), std::string::npos) << said;
}

}  // namespace
}  // namespace ckpt
