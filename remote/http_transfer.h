// One request to one host by libcurl, which is included by http_transfer.cc alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "remote/http.h"

namespace ckpt {

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
