// Requests over HTTP, repeated if the network fails, with checks of the server's answers.
//
//   HttpRequest ─▶ http_send ─▶ HttpResponse        one handle of libcurl a thread, kept in a pool
//                    │ 301 302 303 307 308   followed here: same scheme, no credentials to others
//                    │ 408 429 5xx, resets   repeated, as Retry-After or ratelimit ask
//                    └ a range that is cut   continued where it ended, if the file is the same
//
// Without libcurl (-DCKPT_REMOTE=OFF) each request fails with one sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "remote/http_message.h"
#include "remote/url.h"

namespace ckpt {

// Bytes to send. read(offset, out) fills `out`; called again from any offset if a request is
// repeated.
struct HttpBody {
  uint64_t size_bytes = 0;
  std::function<Status(uint64_t, std::span<std::byte>)> read;
  // `text` is copied.
  static HttpBody of(std::string text);
};

// A server that stays below it for `stall_seconds` is left, and asked again for what is missing. So
// no server holds a run for longer than the size of its answers justifies.
constexpr long kSlowestBytesPerSecond = 1 << 10;

struct HttpRequest {
  std::string method = "GET";
  Url url;
  HttpHeaders headers;
  // Sent only to the origin of `url`, and never part of a message.
  HttpHeaders credentials;
  // Further headers, made for each try: signatures that contain the time.
  std::function<HttpHeaders(const HttpRequest&)> sign;
  std::optional<HttpBody> body;
  // Adds the header, and requires 206 with exactly these bytes; 200 counts as all of a
  // file of that size.
  std::optional<HttpRange> range;
  FileVersion version = {};  // of the file, if known: the answer must have it
  // Headers, named in lower case, that an answer of the origin of `url` must not send otherwise.
  HttpHeaders expected = {};
  // Longer bodies end the request with an error; the body of a range has the size of the range.
  uint64_t max_response_bytes = uint64_t{1} << 20;
  // Receives the body of a 2xx answer in order, instead of HttpResponse::body. For a request
  // without a range it must accept that the body begins again: `offset_bytes` is the position of
  // the first byte.
  std::function<Status(uint64_t offset_bytes, std::span<const std::byte>)> sink;
  // Whether the request may be sent twice; if empty, all methods but POST and PATCH.
  std::optional<bool> may_repeat;
  // 0: a redirect is an answer like others.
  int max_redirects = 8;
  int tries = 6;            // without progress in between
  long stall_seconds = 30;  // slower than kSlowestBytesPerSecond
};

// Every status is an answer, after 408, 429 and 5xx were tried again. Fails: kIo if there is no
// answer, or one that does not fit the request: another range, another version, an encoding, too
// many bytes or headers, a redirect to another scheme. These say nothing about the file's content,
// so they are never kCorrupt; kCorrupt if the file does not have its listed size.
Result<HttpResponse> http_send(const HttpRequest& request);

// `reference` as an answer of `from` names it. Fails: kIo if another machine names this one, and
// for another scheme unless `scheme_may_change`; as parse_url().
Result<Url> named_url(const Url& from, std::string_view reference, bool scheme_may_change = false);

// The header Location of `response`: a redirect, or where to send more. Fails: as named_url().
Result<Url> redirect_target(const HttpResponse& response);

// The failure to report for a response that was not expected: "https://host/x: 404 Not Found".
// `said`: the server's message, quoted as foreign_text() does.
Failure http_failure(const HttpResponse& response, std::string_view said = {});

// One request by libcurl; http_transfer.cc is the only source that includes libcurl.
struct HttpTransfer {
  std::string method;
  Url url;
  HttpHeaders headers;
  const HttpBody* body = nullptr;
  long stall_seconds = 30;
  // Called after the headers of the final answer. Its failure ends the transfer.
  std::function<Status(const HttpResponse&)> on_headers;
  std::function<Status(std::span<const std::byte>)> on_body;
};

struct TransferResult {
  HttpResponse response;  // all but the body
  // Why the transfer ended early, fit for a message; empty if everything was received.
  std::string cut;
  bool may_pass = false;  // whether the next try may succeed
};

// Fails: as on_headers and on_body and the body's read(), and kUnsupported without libcurl.
Result<TransferResult> transfer(const HttpTransfer& what);

}  // namespace ckpt
