// A request and its answer, for code that sends, receives or checks them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "remote/url.h"

namespace ckpt {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRange {
  uint64_t offset_bytes = 0, size_bytes = 0;  // size: at least 1
  // The size of the file, if known: answers for another size are rejected. Otherwise a range that
  // exceeds the end is shortened.
  std::optional<uint64_t> file_bytes = {};
  // Whether `file_bytes` is from a listing. A file of another size is then wrong; otherwise it
  // changed since an earlier answer.
  bool is_listed = false;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  Url url;                             // the one that answered, after redirects
  std::optional<uint64_t> file_bytes;  // for a range: the size of the file
  HttpHeaders credentials;             // of the request, never part of messages
  const std::string* header(std::string_view lower_case_name) const;  // nullptr if absent
  std::string_view value(std::string_view lower_case_name) const;     // "" if absent
  bool is_good() const { return status >= 200 && status < 300; }
  // Whether this is a refusal that another try cannot change.
  bool is_final() const { return status >= 400 && status < 500 && status != 408 && status != 429; }
};

// How a server distinguishes versions of a file: both headers, if it sends them.
struct FileVersion {
  std::string etag, modified = {};
  static FileVersion of(const HttpResponse& response);
  bool is_known() const { return !etag.empty() || !modified.empty(); }
  // Differs for another version; "" if unknown.
  const std::string& text() const { return etag.empty() ? modified : etag; }
  // Compares the ETags or, if one is missing, Last-Modified. Fails: kIo for another version, also
  // if `now` has nothing to compare.
  Status check_same(const FileVersion& now) const;
};

}  // namespace ckpt
