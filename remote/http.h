// Sends HTTP requests, repeats them if the network fails, and checks the server's answers.
//
//   HttpRequest ─▶ http_send ─▶ HttpResponse        one libcurl handle per thread, from a pool
//                    │ 301 302 303 307 308   followed here: same scheme, no credentials to others
//                    │ 408 429 5xx, resets   repeated after the time in Retry-After or ratelimit
//                    └ interrupted transfer  continued at the last byte, if the file is the same
//
// Without libcurl (-DCKPT_REMOTE=OFF) each request fails with an explanation.
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

// Bytes to send. read(offset, out) fills `out`. It is called again from any offset if a request is
// repeated.
struct HttpBody {
  uint64_t size_bytes = 0;
  std::function<Status(uint64_t, std::span<std::byte>)> read;
  // Copies `text`.
  static HttpBody of(std::string text);
};

// If a server stays below this rate for `stall_seconds`, the request is dropped and the missing
// part requested again. So no server delays a run longer than the size of its answers justifies.
constexpr long kSlowestBytesPerSecond = 1 << 10;

struct HttpRequest {
  std::string method = "GET";
  Url url;
  HttpHeaders headers;
  // Sent only to the origin of `url`, and never part of messages.
  HttpHeaders credentials;
  // Makes further headers for each try, such as signatures that contain the time.
  std::function<HttpHeaders(const HttpRequest&)> sign;
  std::optional<HttpBody> body;
  // Adds the header Range and requires status 206 with exactly these bytes; 200 counts as the
  // entire file if it has this size.
  std::optional<HttpRange> range;
  FileVersion version = {};  // of the file, if known; the answer must match
  // Headers, in lower case, that an answer from the origin of `url` must not contradict.
  HttpHeaders expected = {};
  // A longer body is an error; the body of a range has the size of the range.
  uint64_t max_response_bytes = uint64_t{1} << 20;
  // Receives the body of a 2xx answer in order, instead of HttpResponse::body. For a request
  // without a range it must accept that the body starts over: `offset_bytes` is the position of the
  // first byte.
  std::function<Status(uint64_t offset_bytes, std::span<const std::byte>)> sink;
  // Whether the request may be sent twice; by default all methods except POST and PATCH may.
  std::optional<bool> may_repeat;
  // 0: returns redirects like other answers.
  int max_redirects = 8;
  int tries = 6;            // limit on tries without progress
  long stall_seconds = 30;  // limit for rates below kSlowestBytesPerSecond
};

// Returns any status as an answer, after retrying 408, 429 and 5xx. Fails: kIo if there is no
// answer, or one that does not fit the request: another range, another version, an encoding, too
// many bytes or headers, a redirect to another scheme. These are never kCorrupt, because they are
// not about the file's content; kCorrupt if the file does not have its listed size.
Result<HttpResponse> http_send(const HttpRequest& request);

// Resolves `reference` in an answer of `from`. Fails: kIo if another machine names this one, and
// for another scheme unless `scheme_may_change`; as parse_url().
Result<Url> named_url(const Url& from, std::string_view reference, bool scheme_may_change = false);

// Resolves the header Location: a redirect, or where to continue sending. Fails: as named_url().
Result<Url> redirect_target(const HttpResponse& response);

// The failure to report for an unexpected response: "https://host/x: 404 Not Found". `said` is the
// server's message, quoted with foreign_text().
Failure http_failure(const HttpResponse& response, std::string_view said = {});

// One request by libcurl. Only http_transfer.cc includes libcurl.
struct HttpTransfer {
  std::string method;
  Url url;
  HttpHeaders headers;
  const HttpBody* body = nullptr;
  long stall_seconds = 30;
  // Called after the headers of the final answer. A failure ends the transfer.
  std::function<Status(const HttpResponse&)> on_headers;
  std::function<Status(std::span<const std::byte>)> on_body;
};

struct TransferResult {
  HttpResponse response;  // without the body
  // Why the transfer ended early, fit for a message; empty if it was complete.
  std::string cut;
  bool may_pass = false;  // whether the next try may succeed
};

// Fails: as on_headers and on_body and the body's read(), and kUnsupported without libcurl.
Result<TransferResult> transfer(const HttpTransfer& what);

}  // namespace ckpt
