#include "remote/http.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "remote/foreign_text.h"
#include "remote/response_headers.h"

namespace ckpt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{250}, kLongestWait{16'000};
constexpr long kLongestAskedSeconds = 600;
constexpr uint64_t kMaxErrorBytes = 1 << 20, kKeptErrorBytes = 64 << 10;
// Each of these that arrives allows one more interruption of a range.
constexpr uint64_t kBytesOfTry = 64 << 10;

// Limits parallel requests to one server: halves the limit when the server refuses or drops a
// request, and raises it by one after each successful round. Thread-safe.
class HostGate {
 public:
  static constexpr double kMostAtOnce = 32;

  // The gate for the origin of `url`, shared by the entire run.
  static HostGate& of(const Url& url) {
    static std::mutex mutex;
    static auto* const gates =
        new std::map<std::string, HostGate>;  // outlives late threads
    const std::lock_guard lock(mutex);
    return (*gates)[url.origin()];
  }

  // A running request. Its constructor waits for room.
  class Turn {
   public:
    explicit Turn(HostGate& gate) : gate_(gate) {
      std::unique_lock lock(gate_.mutex_);
      gate_.freed_.wait(lock, [&] { return gate_.at_work_ < gate_.limit_; });
      ++gate_.at_work_;
      round_ = gate_.round_;
    }

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Requests that ran together and were refused count as one refusal.
    ~Turn() {
      {
        const std::lock_guard lock(gate_.mutex_);
        --gate_.at_work_;
        if (is_refused_ && round_ == gate_.round_) {
          gate_.limit_ = std::max(1.0, gate_.limit_ / 2);
          ++gate_.round_;
        } else if (is_good_ && !is_refused_) {
          gate_.limit_ = std::min(kMostAtOnce, gate_.limit_ + 1 / gate_.limit_);
        }
      }
      gate_.freed_.notify_all();
    }

    // Record that the server answered, or refused: 429, 503, or a refused connection.
    void note_success() { is_good_ = true; }
    void note_refusal() { is_refused_ = true; }

   private:
    HostGate& gate_;
    uint64_t round_;
    bool is_good_ = false, is_refused_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  double limit_ = kMostAtOnce;
  unsigned at_work_ = 0;
  uint64_t round_ = 0;  // number of times the limit was lowered
};

// The state of a request between tries.
struct Progress {
  uint64_t received_bytes = 0;  // of a range: passed to the sink or `body`
  std::string body;             // of a range without a sink
  FileVersion version;
  std::optional<uint64_t> file_bytes;
};

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Whether to follow a redirect. 301, 302 and 303 would turn other methods into an unwanted GET.
bool is_followed(const HttpRequest& request, int status) {
  if (request.max_redirects == 0) return false;
  const bool only_reads = request.method == "GET" || request.method == "HEAD";
  return only_reads ? is_redirect(status) : status == 307 || status == 308;
}

bool may_repeat(const HttpRequest& request) {
  return request.may_repeat.value_or(request.method != "POST" && request.method != "PATCH");
}

// One try. Its checks need the request and the results of earlier tries.
class Attempt {
 public:
  Attempt(const HttpRequest& request, Progress& progress)
      : request_(request), progress_(progress), asked_(range()) {}

  Result<TransferResult> run() {
    Url url = request_.url;
    for (int redirects = 0;; ++redirects) {
      CKPT_ASSIGN(TransferResult out, in(url.shown(), send_to(url)));
      if (!out.cut.empty() || !is_followed(request_, out.response.status) ||
          out.response.header("location") == nullptr) {
        return out;
      }
      if (redirects == request_.max_redirects) {
        return bad_answer("{}: more than {} redirects", request_.url.shown(), redirects);
      }
      CKPT_ASSIGN(url, redirect_target(out.response));
    }
  }

 private:
  std::optional<HttpRange> range() const {
    if (!request_.range) return {};
    HttpRange left = *request_.range;
    left.offset_bytes += progress_.received_bytes;
    left.size_bytes -= progress_.received_bytes;
    return left;
  }

  Result<TransferResult> send_to(const Url& url) {
    HttpHeaders credentials = credentials_for(url);
    const HttpTransfer what{request_.method,
                            url,
                            headers_for(credentials),
                            request_.body ? &*request_.body : nullptr,
                            request_.stall_seconds,
                            [this](const HttpResponse& response) { return on_headers(response); },
                            [this](std::span<const std::byte> bytes) { return on_body(bytes); }};
    body_.clear();
    got_bytes_ = 0;
    CKPT_ASSIGN(TransferResult out, transfer(what));
    out.response.body = std::move(body_);
    out.response.credentials = std::move(credentials);
    const bool is_range = is_good_ && asked_ && request_.method != "HEAD";
    if (is_range && got_bytes_ == limit_bytes_) out.cut.clear();  // the range is complete
    if (is_range && got_bytes_ < limit_bytes_ && out.cut.empty()) {
      out.cut = fmt::format("{} of {} bytes were sent", got_bytes_, limit_bytes_);
      out.may_pass = true;
    }
    return out;
  }

  HttpHeaders headers_for(const HttpHeaders& credentials) const {
    HttpHeaders headers = request_.headers;
    headers.emplace_back("Accept-Encoding", "identity");
    if (asked_) {
      headers.emplace_back("Range", fmt::format("bytes={}-{}", asked_->offset_bytes,
                                                asked_->offset_bytes + asked_->size_bytes - 1));
    }
    headers.insert(headers.end(), credentials.begin(), credentials.end());
    return headers;
  }

  HttpHeaders credentials_for(const Url& url) const {
    if (!url.is_same_origin(request_.url)) return {};
    HttpHeaders out = request_.credentials;
    if (!request_.sign) return out;
    for (auto& header : request_.sign(request_)) out.push_back(std::move(header));
    return out;
  }

  Status on_headers(const HttpResponse& response) {
    CKPT_TRY(check_headers(response));
    CKPT_TRY(check_expected(response));
    is_good_ = response.is_good();
    limit_bytes_ = is_good_ ? request_.max_response_bytes : kMaxErrorBytes;
    if (!asked_) return {};
    if (!is_good_) return check_no_range(response, *asked_);
    CKPT_TRY(check_version(response));
    HttpRange asked = *asked_;
    asked.file_bytes = progress_.file_bytes;
    CKPT_ASSIGN(const RangeAnswer answer, range_answer(response, asked));
    progress_.file_bytes = answer.file_bytes;
    limit_bytes_ = answer.size_bytes;
    return {};
  }

  Status on_body(std::span<const std::byte> bytes) {
    if (bytes.size() > limit_bytes_ - got_bytes_) {
      return bad_answer("the server sent more than {} bytes", limit_bytes_);
    }
    if (is_good_ && request_.sink) {
      CKPT_TRY(request_.sink((asked_ ? progress_.received_bytes : got_bytes_), bytes));
    } else if (is_good_ || got_bytes_ < kKeptErrorBytes) {
      std::string& to = is_good_ && asked_ ? progress_.body : body_;
      to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    got_bytes_ += bytes.size();
    if (is_good_ && asked_) progress_.received_bytes += bytes.size();
    return {};
  }

  Status check_expected(const HttpResponse& response) const {
    if (!response.url.is_same_origin(request_.url) || response.status >= 400) return {};
    for (const auto& [name, value] : request_.expected) {
      for (const auto& [found, is] : response.headers) {
        if (found == name && is != value) {
          return bad_answer("the server sent {} '{}'; expected '{}'", name,
                            foreign_text(is, {}, 80), value);
        }
      }
    }
    return {};
  }

  Status check_version(const HttpResponse& response) {
    FileVersion now = FileVersion::of(response);
    CKPT_TRY(request_.version.check_same(now));
    CKPT_TRY(progress_.version.check_same(now));
    progress_.version = std::move(now);
    return {};
  }

  const HttpRequest& request_;
  Progress& progress_;
  const std::optional<HttpRange> asked_;  // the rest of the range
  std::string body_;
  uint64_t got_bytes_ = 0, limit_bytes_ = 0;
  bool is_good_ = false;
};

milliseconds usual_wait(int idle_tries) {
  return std::min(kFirstWait * (1 << std::min(idle_tries, 6)) / 2, kLongestWait);
}

Failure no_answer(const HttpRequest& request, const std::string& cut) {
  return fail(ErrorCode::kIo, "{}: {}", request.url.shown(), cut);
}

Result<TransferResult> try_once(const HttpRequest& request, Progress& progress) {
  HostGate::Turn turn(HostGate::of(request.url));
  const uint64_t before = progress.received_bytes;
  CKPT_ASSIGN(TransferResult out, Attempt(request, progress).run());
  const bool is_dropped =
      !out.cut.empty() && out.may_pass && progress.received_bytes - before < kBytesOfTry;
  if (is_dropped || out.response.status == 429 || out.response.status == 503) {
    turn.note_refusal();
  } else if (out.cut.empty()) {
    turn.note_success();
  }
  return out;
}

}  // namespace

HttpBody HttpBody::of(std::string text) {
  const auto kept = std::make_shared<const std::string>(std::move(text));
  return {kept->size(), [kept](uint64_t offset_bytes, std::span<std::byte> out) -> Status {
            std::memcpy(out.data(), kept->data() + offset_bytes, out.size());
            return {};
          }};
}

Result<Url> named_url(const Url& from, std::string_view reference, bool scheme_may_change) {
  CKPT_ASSIGN(Url url, in(from.shown() + ": redirect", resolve_url(from, reference)));
  if (url.scheme != from.scheme && !scheme_may_change) {
    return bad_answer("{}: redirects to {}; expected {}", from.shown(), url.shown(), from.scheme);
  }
  if (url.is_loopback() && !from.is_loopback()) {
    return bad_answer("{}: redirects to this machine ({})", from.shown(), url.shown());
  }
  const bool is_new_host = url.host != from.host && !from.is_loopback();
  url.is_named_elsewhere = from.is_named_elsewhere || is_new_host;
  return url;
}

Result<Url> redirect_target(const HttpResponse& response) {
  return named_url(response.url, response.value("location"));
}

Result<HttpResponse> http_send(const HttpRequest& request) {
  Progress progress;
  if (request.range) progress.file_bytes = request.range->file_bytes;
  int idle_tries = 0;  // tries since bytes last arrived
  for (uint64_t tries = 1;; ++tries) {
    const uint64_t before = progress.received_bytes;
    CKPT_ASSIGN(TransferResult out, try_once(request, progress));
    idle_tries = progress.received_bytes > before ? 0 : idle_tries + 1;
    const bool passes = out.cut.empty() ? may_pass_later(out.response.status) : out.may_pass;
    const uint64_t most =
        static_cast<uint64_t>(request.tries) + progress.received_bytes / kBytesOfTry;
    if (!passes || !may_repeat(request) || idle_tries >= request.tries || tries >= most) {
      if (!out.cut.empty()) return no_answer(request, out.cut);
      if (out.response.is_good() && request.range) out.response.body = std::move(progress.body);
      out.response.file_bytes = progress.file_bytes;
      return std::move(out.response);
    }
    milliseconds wait = usual_wait(idle_tries);
    if (const auto asked = asked_seconds(out.response)) {
      if (*asked > kLongestAskedSeconds) return std::move(out.response);
      wait = milliseconds(1000 * *asked + 100);
    }
    std::this_thread::sleep_for(wait);
  }
}

Failure http_failure(const HttpResponse& response, std::string_view said) {
  const auto code = response.status == 401 || response.status == 403 || response.status == 404
                        ? ErrorCode::kUsage
                        : ErrorCode::kIo;
  const std::string words = foreign_text(said, response.credentials);
  return fail(code, "{}: the server answered {}{}{}", response.url.shown(), response.status,
              words.empty() ? "" : ": ", words);
}

}  // namespace ckpt
