// Requests over HTTP, repeated where the network fails and checked where a server may lie.
//
//   HttpRequest ─▶ http_send ─▶ HttpResponse        one handle of libcurl a thread, kept in a pool
//                    │ 301 302 303 307 308   followed here: same scheme, no credentials to others
//                    │ 408 429 5xx, resets   repeated, as Retry-After or ratelimit ask
//                    └ a range that is cut   continued where it ended, if the ETag is the same
//
// Without libcurl (-DCKPT_REMOTE=OFF) each request fails with one sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "remote/url.h"

namespace ckpt {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Bytes that are sent. read(offset, out) fills `out`; called again from any offset when a request
// is repeated.
struct HttpBody {
  uint64_t size_bytes = 0;
  std::function<Status(uint64_t, std::span<std::byte>)> read;
  // `text` is copied.
  static HttpBody of(std::string text);
};

struct HttpRange {
  uint64_t offset_bytes = 0, size_bytes = 0;  // size: at least 1
  // Of the file, where it is known: an answer of another file is refused. Otherwise a range that
  // passes the end is cut there.
  std::optional<uint64_t> file_bytes = {};
};

struct HttpRequest {
  std::string method = "GET";
  Url url;
  HttpHeaders headers;
  // Sent to the origin of `url` alone, and never in a message.
  HttpHeaders credentials;
  // More of these, made for each try: signatures that hold the time.
  std::function<HttpHeaders(const HttpRequest&)> sign;
  std::optional<HttpBody> body;
  // Adds the header, and requires 206 with exactly these bytes; 200 counts as all of a
  // file of that size.
  std::optional<HttpRange> range;
  std::string etag;  // of the file, where it is known: the answer must have it
  // Longer bodies end the request with an error; those of a range are as long as it is.
  uint64_t max_response_bytes = uint64_t{1} << 20;
  // Receives the body of an answer 2xx in order, in place of HttpResponse::body. Of a request that
  // has no range it must take a body that begins again: `offset_bytes` says which byte is first.
  std::function<Status(uint64_t offset_bytes, std::span<const std::byte>)> sink;
  // Whether it may be sent twice; by its method where this is empty: all but POST and PATCH.
  std::optional<bool> may_repeat;
  // 0: a redirect is an answer like others.
  int max_redirects = 8;
  int tries = 6;            // without progress in between
  long stall_seconds = 30;  // without a byte
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  Url url;                             // that answered, after redirects
  std::optional<uint64_t> file_bytes;  // of a range: how long the file is
  const std::string* header(std::string_view lower_case_name) const;
  bool is_good() const { return status >= 200 && status < 300; }
};

// Any status is an answer, after 408, 429 and 5xx were tried again. Fails: kIo when no answer
// comes; kCorrupt when it is not what was asked for: another range, another ETag, an encoding, too
// many bytes or headers, a redirect that leaves the scheme.
Result<HttpResponse> http_send(const HttpRequest& request);

// Where `response`, a redirect, leads. Fails: kCorrupt for another scheme, and for this machine
// when another one redirects to it.
Result<Url> redirect_target(const HttpResponse& response);

// The failure to report for a response that was not expected: "https://host/x: 404 Not Found".
// `said`: the server's own words, which are made printable and cut.
Failure http_failure(const HttpResponse& response, std::string_view said = {});

// ---- one request by libcurl, which only http_transfer.cc includes -----------------------------

struct HttpTransfer {
  std::string method;
  Url url;
  HttpHeaders headers;
  const HttpBody* body = nullptr;
  long stall_seconds = 30;
  // After the headers of the final answer. Its failure ends the transfer.
  std::function<Status(const HttpResponse&)> on_headers;
  std::function<Status(std::span<const std::byte>)> on_body;
};

struct TransferResult {
  HttpResponse response;  // all but the body
  // Why it ended early; empty when all was received.
  std::string cut;
  bool may_pass = false;  // whether the next try may succeed
};

// Fails: as on_headers and on_body and the body's read(), and kUnsupported without libcurl.
Result<TransferResult> transfer(const HttpTransfer& what);

}  // namespace ckpt
