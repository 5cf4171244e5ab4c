// Parses the headers of an answer without trusting the server, and without libcurl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "remote/http_message.h"

namespace ckpt {

// An error of the server, which is not a verdict on the file's content.
template <class... Args>
Failure bad_answer(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kIo, format, std::forward<Args>(args)...);
}
Failure changed_on_server(std::string what);

// Collects the header lines of an answer as they arrive. Interim answers (1xx) are dropped by the
// next status line; trailers after the body are ignored.
class HeaderReader {
 public:
  static constexpr size_t kMaxBytes = 64 << 10;  // for all lines together

  // `line` includes its end; an empty line ends the headers. Fails: kIo for too many bytes.
  Status add(std::string_view line);
  HttpHeaders& headers() { return headers_; }
  bool has_lines() const { return size_bytes_ > 0; }

 private:
  HttpHeaders headers_;
  size_t size_bytes_ = 0;
  bool is_interim_ = false, is_ended_ = false;
};

// Fails: kIo for an encoding, which no request asks for, and for a header that occurs twice with
// different values, one of which would be ignored.
Status check_headers(const HttpResponse& response);

// Checks a status 416: for the start of a file it means that the file is empty. Fails: kIo if the
// answer contradicts that.
Status check_no_range(const HttpResponse& response, const HttpRange& asked);

// The part of a file that a good answer contains.
struct RangeAnswer {
  uint64_t file_bytes = 0;
  uint64_t size_bytes = 0;  // of the body
};

// `asked.file_bytes` is the size of the file if known. Fails: kIo for another range, or a length
// that differs from it; for another file size, as HttpRange::is_listed prescribes.
Result<RangeAnswer> range_answer(const HttpResponse& response, const HttpRange& asked);

// Statuses that another try may change.
bool may_pass_later(int status);

// The delay that the server asks for; nullopt if none.
std::optional<uint64_t> asked_seconds(const HttpResponse& response);

// The URL of `<URL>; rel="next"`, which may be among several links or headers; "" if there is none.
// Fails: kCorrupt for an unreadable link, because it may be the next page.
Result<std::string> next_link(const HttpHeaders& headers);

// Removes the quotation marks of an ETag.
std::string_view unquoted(std::string_view value);

}  // namespace ckpt
