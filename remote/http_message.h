// A request and its answer, for all who send, receive or check them.
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
  // The size of the file, if known: an answer for another size is rejected. Otherwise a range that
  // exceeds the end is cut.
  std::optional<uint64_t> file_bytes = {};
  // A list says that size. A file of another size is not the listed one, which is a verdict on it;
  // else it changed since an earlier answer.
  bool is_listed = false;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  Url url;                             // that answered, after redirects
  std::optional<uint64_t> file_bytes;  // of a range: how long the file is
  HttpHeaders credentials;             // of the request that it answers, never part of a message
  const std::string* header(std::string_view lower_case_name) const;  // nullptr: it has none
  std::string_view value(std::string_view lower_case_name) const;     // "": it has none
  bool is_good() const { return status >= 200 && status < 300; }
  // A refusal that another try does not change.
  bool is_final() const { return status >= 400 && status < 500 && status != 408 && status != 429; }
};

// How a server tells one state of a file from another: both headers, where it sends them.
struct FileVersion {
  std::string etag, modified = {};
  static FileVersion of(const HttpResponse& response);
  bool is_known() const { return !etag.empty() || !modified.empty(); }
  // Differs for another state; "" if that is not known.
  const std::string& text() const { return etag.empty() ? modified : etag; }
  // Compares the ETags; where one of the two has none, Last-Modified. Fails: kIo for another
  // version, also if `now` has nothing to compare.
  Status check_same(const FileVersion& now) const;
};

}  // namespace ckpt
