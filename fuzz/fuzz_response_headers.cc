// The header lines of an answer, as libcurl hands them over. Laws: headers are bounded and named in
// lower case; a range brings at most what was asked for, of a file of the known size; a redirect
// keeps the scheme and leads to this machine from nowhere else; a quoted header is printable.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/numbers.h"
#include "fuzz/fuzz.h"
#include "remote/foreign_text.h"
#include "remote/http.h"
#include "remote/response_headers.h"

using namespace ckpt;

namespace {

// The status is that of the last status line, as libcurl would give it.
Result<HttpResponse> answer_of(std::string_view text, const char* url) {
  HttpResponse answer;
  answer.url = *parse_url(url);
  HeaderReader reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + (text.find('\n') != text.npos));
    if (line.starts_with("HTTP/")) {
      const size_t space = std::min(line.find(' '), line.size());
      answer.status =
          number_from<int>(line.substr(std::min(space + 1, line.size())).substr(0, 3)).value_or(0);
    }
    CKPT_TRY(reader.add(line));
    text.remove_prefix(line.size());
  }
  answer.headers = std::move(reader.headers());
  return answer;
}

void check_range(const HttpResponse& answer, const HttpRange& asked) {
  (void)check_no_range(answer, asked);
  const auto got = range_answer(answer, asked);
  if (!got) return;
  FUZZ_LAW(got->size_bytes <= asked.size_bytes);
  FUZZ_LAW(asked.offset_bytes + got->size_bytes <= got->file_bytes || got->file_bytes == 0);
  FUZZ_LAW(!asked.file_bytes || *asked.file_bytes == got->file_bytes);
  FUZZ_LAW(got->size_bytes > 0 || got->file_bytes == 0);
}

void check_redirect(const HttpResponse& answer) {
  const auto to = redirect_target(answer);
  if (!to) return;
  FUZZ_LAW(to->scheme == answer.url.scheme);
  FUZZ_LAW(!to->is_loopback() || answer.url.is_loopback());
  FUZZ_LAW(to->is_named_elsewhere == (to->host != answer.url.host && !answer.url.is_loopback()));
  FUZZ_LAW(parse_url(to->text()).has_value());
}

void check_texts(const HttpResponse& answer) {
  for (const auto& [name, value] : answer.headers) {
    FUZZ_LAW(name.find(':') == name.npos && name.find('\n') == name.npos);
    for (const char c : name) FUZZ_LAW(c < 'A' || c > 'Z');
    for (const char c : foreign_text(value, {{"Authorization", "Bearer secret"}}, 80)) {
      FUZZ_LAW(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
    }
    (void)unquoted(value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  for (const char* const url : {"https://host.example/a/b?c", "http://127.0.0.1:8080/"}) {
    const auto answer = answer_of(text, url);
    if (!answer) {
      FUZZ_LAW(size > HeaderReader::kMaxBytes);
      continue;
    }
    check_texts(*answer);
    check_redirect(*answer);
    if (check_headers(*answer) && answer->is_good()) {
      check_range(*answer, {0, 10});
      check_range(*answer, {5, 5, 100});
      check_range(*answer, {~uint64_t{0} - 7, 8});
    }
    FUZZ_LAW(!asked_seconds(*answer) || may_pass_later(answer->status));
    const FileVersion version = FileVersion::of(*answer);
    FUZZ_LAW(version.check_same(version).has_value());
    const auto next = next_link(answer->headers);
    FUZZ_LAW(!next || next->find('>') == next->npos);
    FUZZ_LAW(http_failure(*answer, text).value().text().find('\n') == std::string::npos);
  }
  return 0;
}
