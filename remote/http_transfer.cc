// Makes one HTTP request with libcurl, which the first request loads. Callbacks pass the body on in
// pieces; handles and their connections are reused.
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "remote/certificates.h"
#include "remote/foreign_text.h"
#include "remote/http.h"
#include "remote/rate_limit.h"
#include "remote/response_headers.h"
#include "remote/this_machine.h"

#ifdef CKPT_REMOTE
#include <curl/curl.h>
#ifndef CKPT_CURL_STATIC
#include <dlfcn.h>
#endif

namespace ckpt {
namespace {

// The functions of libcurl. The first request loads it (or sets it up if it is linked statically),
// because it and its libraries would add 10 ms to each start of the program.
struct Curl {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) make = nullptr;
  decltype(&::curl_easy_reset) reset = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;
  decltype(&::curl_easy_getinfo) get = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_strerror) error_text = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;
  bool is_loaded = false;

  static const Curl& loaded() {
    static const Curl made;
    return made;
  }

 private:
#ifdef CKPT_CURL_STATIC
  Curl()
      : global_init(::curl_global_init),
        make(::curl_easy_init),
        reset(::curl_easy_reset),
        set(::curl_easy_setopt),
        get(::curl_easy_getinfo),
        perform(::curl_easy_perform),
        error_text(::curl_easy_strerror),
        append(::curl_slist_append),
        free_list(::curl_slist_free_all),
        is_loaded(true) {
    global_init(CURL_GLOBAL_DEFAULT);  // if this fails, so does `make`
  }
#else
  Curl() {
    void* const library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)> >(::dlsym(library, name));
      return function != nullptr;
    };
    is_loaded = find(global_init, "curl_global_init") && find(make, "curl_easy_init") &&
                find(reset, "curl_easy_reset") && find(set, "curl_easy_setopt") &&
                find(get, "curl_easy_getinfo") && find(perform, "curl_easy_perform") &&
                find(error_text, "curl_easy_strerror") && find(append, "curl_slist_append") &&
                find(free_list, "curl_slist_free_all") &&
                global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  }
#endif
};

constexpr long kConnectSeconds = 20;

// Unused handles, the last used one first, because its connections may still be open.
class HandlePool {
 public:
  static HandlePool& shared() {
    static HandlePool* const made = new HandlePool;  // outlives late threads
    return *made;
  }
  CURL* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return Curl::loaded().make();
    CURL* handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give(CURL* handle) {
    Curl::loaded().reset(handle);  // keeps connections
    const std::lock_guard lock(mutex_);
    free_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::vector<CURL*> free_;
};

// The state that the callbacks of one transfer share.
struct Exchange {
  const HttpTransfer& what;
  CURL* handle;
  TransferResult result;
  std::optional<Error> failed;
  HeaderReader headers;
  uint64_t sent_bytes = 0;
  bool is_begun = false;  // whether on_headers was called

  bool check(Status status) {
    if (!status) failed = std::move(status.error());
    return !failed;
  }
};

size_t on_header_line(char* data, size_t, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, count);
  return exchange.check(exchange.headers.add(line)) ? count : 0;
}

bool begin(Exchange& exchange) {
  if (exchange.is_begun) return true;
  long status = 0;
  Curl::loaded().get(exchange.handle, CURLINFO_RESPONSE_CODE, &status);
  exchange.result.response.status = static_cast<int>(status);
  exchange.result.response.headers = std::move(exchange.headers.headers());
  exchange.is_begun = true;
  return exchange.check(exchange.what.on_headers(exchange.result.response));
}

size_t on_body_bytes(char* data, size_t, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  if (!begin(exchange)) return 0;
  const auto bytes = std::as_bytes(std::span(data, count));
  wait_for_rate(count);
  return exchange.check(exchange.what.on_body(bytes)) ? count : 0;
}

size_t on_wanted_bytes(char* data, size_t, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const HttpBody& body = *exchange.what.body;
  const size_t size = std::min<uint64_t>(count, body.size_bytes - exchange.sent_bytes);
  const auto out = std::as_writable_bytes(std::span(data, size));
  if (size > 0 && !exchange.check(body.read(exchange.sent_bytes, out))) return CURL_READFUNC_ABORT;
  exchange.sent_bytes += size;
  wait_for_rate(size);
  return size;
}

int on_rewind(void* user, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Exchange*>(user)->sent_bytes = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// Opens a socket for a host that another server named, unless the host resolves to this machine.
curl_socket_t open_socket_elsewhere(void* user, curlsocktype, curl_sockaddr* to) {
  if (!is_loopback_address(to->addr)) {
    return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
  }
  Exchange& exchange = *static_cast<Exchange*>(user);
  exchange.check(fail(ErrorCode::kIo, "another server redirects to this machine"));
  return CURL_SOCKET_BAD;
}

// The buffer is small under --limit-rate, so that no connection seems dead while waiting for it.
long buffer_bytes() { return rate_limit() != 0 ? 16L << 10 : 512L << 10; }

// The minimum rate, which is lower if --limit-rate is shared by many connections.
long slowest_bytes_per_second() {
  constexpr uint64_t kShares = 64;  // twice the number of connections
  const uint64_t share = std::max(rate_limit() / kShares, uint64_t{1});
  return rate_limit() == 0 ? kSlowestBytesPerSecond
                           : static_cast<long>(std::min<uint64_t>(share, kSlowestBytesPerSecond));
}

void set_body(Exchange& exchange) {
  const auto set = Curl::loaded().set;
  CURL* const handle = exchange.handle;
  if (exchange.what.body->size_bytes == 0 && exchange.what.method == "POST") {
    set(handle, CURLOPT_POSTFIELDS, "");
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t{0});
    return;
  }
  set(handle, CURLOPT_UPLOAD, 1L);
  set(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(exchange.what.body->size_bytes));
  set(handle, CURLOPT_READFUNCTION, on_wanted_bytes);
  set(handle, CURLOPT_READDATA, &exchange);
  set(handle, CURLOPT_SEEKFUNCTION, on_rewind);
  set(handle, CURLOPT_SEEKDATA, &exchange);
  set(handle, CURLOPT_UPLOAD_BUFFERSIZE, buffer_bytes());
}

void set_options(Exchange& exchange) {
  const HttpTransfer& what = exchange.what;
  CURL* const handle = exchange.handle;
  const auto set = Curl::loaded().set;
  set(handle, CURLOPT_URL, what.url.text().c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, what.url.scheme.c_str());
  set(handle, CURLOPT_PATH_AS_IS, 1L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_USERAGENT, "ckpt/" CKPT_REMOTE);
  set(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(handle, CURLOPT_LOW_SPEED_LIMIT, slowest_bytes_per_second());
  set(handle, CURLOPT_LOW_SPEED_TIME, what.stall_seconds);
  set(handle, CURLOPT_BUFFERSIZE, buffer_bytes());
  if (what.url.is_loopback()) set(handle, CURLOPT_PROXY, "");
  if (what.url.is_named_elsewhere &&
      (what.url.is_loopback() || !has_proxy())) {  // a proxy may run here
    set(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket_elsewhere);
    set(handle, CURLOPT_OPENSOCKETDATA, &exchange);
  }
  if (what.method == "HEAD") set(handle, CURLOPT_NOBODY, 1L);
  if (what.body != nullptr) set_body(exchange);
  if (what.method != "HEAD") set(handle, CURLOPT_CUSTOMREQUEST, what.method.c_str());
  set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // headers from a proxy
  set(handle, CURLOPT_HEADERFUNCTION, on_header_line);
  set(handle, CURLOPT_HEADERDATA, &exchange);
  set(handle, CURLOPT_WRITEFUNCTION, on_body_bytes);
  set(handle, CURLOPT_WRITEDATA, &exchange);
}

// Sets the system's certificates for a static libcurl, which does not know where they are.
Status set_certificates(CURL* handle, const Url& url) {
  if (url.scheme != "https") return {};
  TrustedCertificates trusted = typed_certificates();
#ifdef CKPT_CURL_STATIC
  if (trusted.file.empty() && trusted.folder.empty()) CKPT_SET(trusted, system_certificates());
#endif
  const auto set = Curl::loaded().set;
  if (!trusted.file.empty()) {
    set(handle, CURLOPT_CAINFO, trusted.file.c_str());
    set(handle, CURLOPT_PROXY_CAINFO, trusted.file.c_str());
  }
  if (!trusted.folder.empty()) {
    set(handle, CURLOPT_CAPATH, trusted.folder.c_str());
    set(handle, CURLOPT_PROXY_CAPATH, trusted.folder.c_str());
  }
  return {};
}

curl_slist* header_list(const HttpHeaders& headers) {
  const auto append = Curl::loaded().append;
  curl_slist* list = append(nullptr, "Expect:");  // do not wait before a body
  for (const auto& [name, value] : headers) {
    // libcurl requires ';' after the name of a header without a value.
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    list = append(list, line.c_str());
  }
  return list;
}

// Whether a retry may help: not for unknown host names or invalid certificates.
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR: return true;
    default: return false;
  }
}

}  // namespace

Result<TransferResult> transfer(const HttpTransfer& what) {
  const Curl& curl = Curl::loaded();
  if (!curl.is_loaded) {
    return unsupported_hint("apt-get install libcurl4",
                            "URLs are opened by libcurl.so.4, which is not installed");
  }
  CURL* const handle = HandlePool::shared().take();
  if (handle == nullptr) return fail(ErrorCode::kIo, "libcurl cannot be started");
  Exchange exchange{what, handle, {}, {}, {}, 0, false};
  exchange.result.response.url = what.url;
  set_options(exchange);
  if (Status done = set_certificates(handle, what.url); !done) {
    HandlePool::shared().give(handle);
    return Failure(std::move(done.error()));
  }
  curl_slist* const headers = header_list(what.headers);
  curl.set(handle, CURLOPT_HTTPHEADER, headers);
  char words[CURL_ERROR_SIZE] = "";
  curl.set(handle, CURLOPT_ERRORBUFFER, words);
  const CURLcode code = curl.perform(handle);
  if (code == CURLE_OK) begin(exchange);  // the answer has no body
  HandlePool::shared().give(handle);
  curl.free_list(headers);
  if (exchange.failed) return Failure(std::move(*exchange.failed));
  if (code == CURLE_OUT_OF_MEMORY && exchange.headers.has_lines()) {  // libcurl's limit per line
    return fail(ErrorCode::kIo, "a header that is too long");
  }
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    return fail_with_hint(ErrorCode::kIo,
                          "SSL_CERT_FILE=FILE.pem before ckpt, with the server's authority in FILE",
                          "{}", curl_text(words, curl.error_text(code)));
  }
  if (code != CURLE_OK) {
    exchange.result.cut = curl_text(words, curl.error_text(code));
    exchange.result.may_pass = may_pass(code);
  }
  return std::move(exchange.result);
}

}  // namespace ckpt

#else

namespace ckpt {

Result<TransferResult> transfer(const HttpTransfer&) {
  return unsupported_hint("a local copy, or a ckpt built with libcurl",
                          "this ckpt was built without libcurl and opens no URL");
}

}  // namespace ckpt

#endif
