#include "remote/response_headers.h"

#include <algorithm>
#include <array>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "remote/foreign_text.h"

namespace ckpt {
namespace {

// Parses "bytes 5-9/100"; nullopt for anything else, including an unknown length.
struct ContentRange {
  uint64_t first = 0, last = 0, file_bytes = 0;
};
std::optional<ContentRange> parse_content_range(std::string_view text) {
  const size_t dash = text.find('-'), slash = text.find('/');
  if (!text.starts_with("bytes ") || dash == text.npos || slash == text.npos || slash < dash) {
    return {};
  }
  const auto first = number_from<uint64_t>(text.substr(6, dash - 6));
  const auto last = number_from<uint64_t>(text.substr(dash + 1, slash - dash - 1));
  const auto size = number_from<uint64_t>(text.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size) return {};
  return ContentRange{*first, *last, *size};
}

// The position of the last requested byte.
uint64_t last_of(const HttpRange& asked) { return asked.offset_bytes + asked.size_bytes - 1; }

// Status 200 carries the entire file.
Result<ContentRange> range_of_whole_file(const HttpResponse& response, const HttpRange& asked) {
  const auto size = number_from<uint64_t>(response.value("content-length"));
  if (!size || *size == 0 || asked.offset_bytes != 0 || *size > asked.size_bytes) {
    return bad_answer(
        "the server answered {} where bytes {} to {} were asked for; expected 206, from a server "
        "that sends parts of files",
        response.status, asked.offset_bytes, last_of(asked));
  }
  return ContentRange{0, *size - 1, *size};
}

Result<ContentRange> range_of_part(const HttpResponse& response) {
  const std::string_view said = response.value("content-range");
  const auto range = parse_content_range(said);
  if (!range) {
    return bad_answer("the server sent 206 with Content-Range '{}'", foreign_text(said, {}, 80));
  }
  const std::string* const length = response.header("content-length");
  const uint64_t size = range->last - range->first + 1;
  if (length != nullptr && number_from<uint64_t>(*length) != size) {
    return bad_answer("the server sent Content-Length '{}' for a range of {} bytes",
                      foreign_text(*length, {}, 80), size);
  }
  return *range;
}

Status check_size(uint64_t file_bytes, const HttpRange& asked) {
  if (!asked.file_bytes || *asked.file_bytes == file_bytes) return {};
  if (asked.is_listed) {
    return corrupt("the file has {} bytes; its list says {}", file_bytes, *asked.file_bytes);
  }
  return changed_on_server(
      fmt::format("the file has {} bytes now; it had {}", file_bytes, *asked.file_bytes));
}

// Returns t of `"resolvers";r=0;t=55` if the remaining quota r is 0.
std::optional<uint64_t> seconds_of_ratelimit(std::string_view text) {
  const size_t at = text.find(";t=");
  if (text.find(";r=0") == text.npos || at == text.npos) return {};
  const std::string_view rest = text.substr(at + 3);
  return number_from<uint64_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
}

}  // namespace

const std::string* HttpResponse::header(std::string_view lower_case_name) const {
  const auto* const found = find_by(headers, &HttpHeaders::value_type::first, lower_case_name);
  return found == nullptr ? nullptr : &found->second;
}

std::string_view HttpResponse::value(std::string_view lower_case_name) const {
  const std::string* const found = header(lower_case_name);
  return found == nullptr ? std::string_view() : *found;
}

FileVersion FileVersion::of(const HttpResponse& response) {
  return {std::string(response.value("etag")), std::string(response.value("last-modified"))};
}

Status FileVersion::check_same(const FileVersion& now) const {
  if (!is_known()) return {};
  const bool have_etags = !etag.empty() && !now.etag.empty();
  const bool have_times = !modified.empty() && !now.modified.empty();
  if (!have_etags && !have_times) {
    return bad_answer("the server sent no {}; an earlier answer had one",
                      etag.empty() ? "Last-Modified" : "ETag");
  }
  if (have_etags ? etag == now.etag : modified == now.modified) return {};
  return changed_on_server(
      fmt::format("the file changed on the server while it was read (another {})",
                  have_etags ? "ETag" : "Last-Modified"));
}

Failure changed_on_server(std::string what) {
  return Failure(Error{ErrorCode::kIo, {}, std::move(what), "again when nobody writes to it"});
}

Status HeaderReader::add(std::string_view line) {
  size_bytes_ += line.size();
  if (size_bytes_ > kMaxBytes) {
    return bad_answer("more than {} bytes of headers", kMaxBytes);
  }
  if (is_ended_) return {};
  if (line.starts_with("HTTP/")) {  // also after "100 Continue"
    headers_.clear();
    const size_t space = line.find(' ');
    is_interim_ = space != line.npos && line.substr(space + 1).starts_with('1');
    return {};
  }
  if (line.find_first_not_of("\r\n") == line.npos) {
    is_ended_ = !is_interim_;
    return {};
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return {};
  headers_.emplace_back(lower_case(line.substr(0, colon)),
                        std::string(trimmed(line.substr(colon + 1))));
  return {};
}

Status check_headers(const HttpResponse& response) {
  constexpr auto kSingle = std::to_array<std::string_view>(
      {"content-encoding", "content-length", "content-range", "etag", "last-modified", "location"});
  for (const auto& [name, value] : response.headers) {
    if (std::ranges::find(kSingle, name) == kSingle.end()) continue;
    const std::string& first = *response.header(name);
    if (value == first) continue;
    return bad_answer("the server sent two headers {}: '{}' and '{}'", name,
                      foreign_text(first, {}, 80), foreign_text(value, {}, 80));
  }
  const std::string_view encoding = response.value("content-encoding");
  if (encoding.empty() || encoding == "identity") return {};
  return bad_answer("the server sent Content-Encoding '{}'; expected none",
                    foreign_text(encoding, {}, 40));
}

Status check_no_range(const HttpResponse& response, const HttpRange& asked) {
  const std::string_view said = response.value("content-range");
  constexpr std::string_view kNone = "bytes */";
  if (response.status != 416 || asked.offset_bytes != 0 || !said.starts_with(kNone)) return {};
  if (number_from<uint64_t>(said.substr(kNone.size())) == uint64_t{0}) return {};
  return bad_answer(
      "the server answered 416 for the first bytes of a file, with Content-Range '{}'",
      foreign_text(said, {}, 80));
}

Result<RangeAnswer> range_answer(const HttpResponse& response, const HttpRange& asked) {
  const bool is_part = response.status == 206;
  const bool is_empty =
      !is_part && number_from<uint64_t>(response.value("content-length")) == uint64_t{0};
  if (is_empty && asked.offset_bytes == 0 && asked.file_bytes.value_or(0) == 0) {
    return RangeAnswer{};
  }
  CKPT_ASSIGN(const ContentRange got,
              is_part ? range_of_part(response) : range_of_whole_file(response, asked));
  CKPT_TRY(check_size(got.file_bytes, asked));
  if (got.first != asked.offset_bytes || got.last != std::min(last_of(asked), got.file_bytes - 1)) {
    return bad_answer("the server sent bytes {} to {}; expected {} to {}", got.first, got.last,
                      asked.offset_bytes, last_of(asked));
  }
  return RangeAnswer{got.file_bytes, got.last - got.first + 1};
}

bool may_pass_later(int status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

std::optional<uint64_t> asked_seconds(const HttpResponse& response) {
  if (!may_pass_later(response.status)) return {};
  const auto seconds = number_from<uint64_t>(response.value("retry-after"));
  return seconds ? seconds : seconds_of_ratelimit(response.value("ratelimit"));
}

Result<std::string> next_link(const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) {
    std::string_view rest = name == "link" ? trimmed(value) : std::string_view();
    while (!rest.empty()) {
      const size_t end = rest.find('>');
      if (!rest.starts_with('<') || end == rest.npos) {
        return corrupt("the list's header Link is '{}'; expected <URL>; rel=...",
                       printable(value.substr(0, 80)));
      }
      const std::string_view url = rest.substr(1, end - 1);
      const size_t next = std::min(rest.find(",", end), rest.size());
      const std::string about = lower_case(rest.substr(end + 1, next - end - 1));
      if (about.find("rel=\"next\"") != about.npos || about.find("rel=next") != about.npos) {
        return std::string(url);
      }
      rest = trimmed(rest.substr(std::min(next + 1, rest.size())));
    }
  }
  return std::string();
}

std::string_view unquoted(std::string_view value) {
  const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace ckpt
