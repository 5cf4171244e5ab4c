// Reads the headers of an answer without trust in the server, and without libcurl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "remote/http_message.h"

namespace ckpt {

// Of a server, not of the file: no verdict on what the file holds.
template <class... Args>
Failure bad_answer(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kIo, format, std::forward<Args>(args)...);
}
Failure changed_on_server(std::string what);

// Collects the header lines of an answer as they arrive: of interim answers (1xx), which the next
// status line drops, of the answer, and after its body trailers, which are ignored.
class HeaderReader {
 public:
  static constexpr size_t kMaxBytes = 64 << 10;  // all lines together

  // `line` with its line end; an empty one ends the headers. Fails: kIo for too many bytes.
  Status add(std::string_view line);
  HttpHeaders& headers() { return headers_; }
  bool has_lines() const { return size_bytes_ > 0; }

 private:
  HttpHeaders headers_;
  size_t size_bytes_ = 0;
  bool is_interim_ = false, is_ended_ = false;
};

// Fails: kIo for an encoding, which nobody asked for, and for a header that comes twice with two
// values where one of them would be ignored.
Status check_headers(const HttpResponse& response);

// Of an answer to a range: 416 for the start of a file says that it is empty. Fails: kIo if the
// answer contradicts that.
Status check_no_range(const HttpResponse& response, const HttpRange& asked);

// The part of a file that a good answer brings.
struct RangeAnswer {
  uint64_t file_bytes = 0;
  uint64_t size_bytes = 0;  // of the body
};

// `asked.file_bytes`: the size of the file as far as it is known. Fails: kIo for another range, or
// a length that differs from it; for another size of the file as HttpRange::is_listed says.
Result<RangeAnswer> range_answer(const HttpResponse& response, const HttpRange& asked);

// Statuses that another try may change.
bool may_pass_later(int status);

// How long the server asks to be left alone; nullopt if it does not say.
std::optional<uint64_t> asked_seconds(const HttpResponse& response);

// The URL of `<URL>; rel="next"`, which may be one of several, in one header or more; "" if there
// is none. Fails: kCorrupt for a link that cannot be read: it may be the next page.
Result<std::string> next_link(const HttpHeaders& headers);

// A value without the quotation marks of an ETag.
std::string_view unquoted(std::string_view value);

}  // namespace ckpt
