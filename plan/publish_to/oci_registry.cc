#include "plan/publish_to/oci_registry.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <thread>

#include "core/base/nearest.h"
#include "core/base/sha256.h"
#include "core/base/url_secrets.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "plan/publish_to/body.h"
#include "plan/publish_to/upload_note.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{32} << 20;
constexpr int kUploadTries = 5;              // limit on tries without progress
constexpr long kRegistryStallSeconds = 300;  // a registry may copy a blob before answering
constexpr std::string_view kOciPrefix = "oci://";
constexpr uint64_t kMaxManifestBytes = 16 << 20;
constexpr std::string_view kManifestTypes =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

bool consists_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == text.npos;
}

// Matches [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*, with parts between slashes.
bool is_repository_name(std::string_view name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz0123456789";
  if (!consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789._-/")) return false;
  const auto is_plain = [&](char c) { return kPlain.find(c) != kPlain.npos; };
  for (size_t i = 0; i < name.size();) {
    if (is_plain(name[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < name.size() && name[end] == name[i]) ++end;
    const size_t longest = name[i] == '-' ? name.size() : name[i] == '_' ? 2 : 1;
    const bool is_between =
        i > 0 && is_plain(name[i - 1]) && end < name.size() && is_plain(name[end]);
    if (!is_between || end - i > longest) return false;
    i = end;
  }
  return name.size() <= 255;
}

bool is_tag(std::string_view tag) {
  constexpr std::string_view kFirst =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return tag.size() <= 128 && consists_of(tag, std::string(kFirst) + ".-") &&
         kFirst.find(tag[0]) != kFirst.npos;
}

bool is_digest_word(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  return text.starts_with(kAlgorithm) && text.size() == kAlgorithm.size() + 64 &&
         consists_of(text.substr(kAlgorithm.size()), "0123456789abcdef");
}

// The text of the registry's error, if it sent one.
std::string registry_words(const HttpResponse& response) {
  const auto json = parse_json("", response.body);
  const JsonValue* const errors = json ? known(*json, "errors") : nullptr;
  if (errors == nullptr || !errors->is_array() || errors->empty()) return "";
  const std::string* const code = text_of(errors->front(), "code");
  const std::string* const message = text_of(errors->front(), "message");
  return fmt::format("{}{}{}", code == nullptr ? "" : *code,
                     code == nullptr || message == nullptr ? "" : ": ",
                     message == nullptr ? "" : *message);
}

Failure refused(const HttpResponse& response) {
  Error error = http_failure(response, registry_words(response)).value();
  const bool is_final = response.is_final() && response.status != 416;
  error.code = is_final ? ErrorCode::kUsage : ErrorCode::kIo;
  return Failure(std::move(error));
}

// Parses the key="value" pairs of a challenge; keys are in lower case.
std::map<std::string, std::string> challenge_words(std::string_view text) {
  std::map<std::string, std::string> out;
  for (size_t at = text.find(' '); at < text.size();) {
    const size_t key = text.find_first_not_of(" ,", at);
    const size_t equals = text.find("=\"", std::min(key, text.size()));
    if (equals == text.npos) break;
    const size_t end = text.find('"', equals + 2);
    if (end == text.npos) break;
    const std::string_view name = text.substr(key, equals - key);
    out[lower_case(name)] = text.substr(equals + 2, end - equals - 2);
    at = end + 1;
  }
  return out;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return is_same_word(text.substr(0, word.size()), word);
}

std::string basic_words(const RegistryLogin& login) {
  return "Basic " + base64(login.user + ":" + login.password);
}

void wait_before_try(int failures) {
  std::this_thread::sleep_for(std::chrono::milliseconds(250 << std::min(failures, 5)));
}

// How many bytes the registry has, by its range "0-LAST"; `if_silent` without that header. "0-0"
// stands for none or one byte, so it counts as none.
uint64_t received_bytes(const HttpResponse& response, uint64_t if_silent) {
  const std::string* const range = response.header("range");
  if (range == nullptr) return if_silent;
  const size_t dash = range->find('-');
  uint64_t last = 0;
  const char* const begin = range->data() + std::min(dash, range->size() - 1) + 1;
  const auto [end, error] = std::from_chars(begin, range->data() + range->size(), last);
  if (dash == range->npos || error != std::errc{}) return if_silent;
  return last == 0 ? 0 : last + 1;
}

}  // namespace

std::string OciAddress::host() const {
  const std::string origin = registry.origin();
  return origin.substr(origin.find("://") + 3);
}

Result<OciAddress> parse_oci_address(const std::string& address) {
  const auto wrong = [&] {
    return misuse("{}: expected oci://HOST/NAME:TAG, NAME in lower case",
                  without_url_secrets(address));
  };
  std::string text = address.substr(std::min(kOciPrefix.size(), address.size()));
  const size_t slash = text.find('/'), at = std::min(text.find('@', slash), text.size());
  const std::string digest = at < text.size() ? text.substr(at + 1) : "";
  text.resize(at);
  const size_t last = text.rfind(':');
  const bool has_tag = last != text.npos && slash != text.npos && last > slash;
  const size_t colon = has_tag ? last : text.size();
  if (slash == text.npos || (!has_tag && digest.empty())) return wrong();
  if (at < address.size() - kOciPrefix.size() && !is_digest_word(digest)) return wrong();
  OciAddress out;
  std::string host = text.substr(0, slash);
  out.repository = text.substr(slash + 1, colon - slash - 1);
  out.tag = has_tag ? text.substr(colon + 1) : "";
  out.digest = digest;
  if (!is_repository_name(out.repository) || (has_tag && !is_tag(out.tag))) return wrong();
  if (host == "docker.io") {
    host = "registry-1.docker.io";
    if (out.repository.find('/') == out.repository.npos) out.repository.insert(0, "library/");
  }
  const auto url = parse_url("https://" + host);
  if (!url || host.find_first_of("@?#") != host.npos) return wrong();
  out.registry = *url;
  if (url->is_loopback()) {
    CKPT_ASSIGN(out.registry, parse_url("http://" + host));
  }
  return out;
}

HttpRequest OciRepository::request(std::string method, const std::string& below) const {
  HttpRequest out;
  out.method = std::move(method);
  out.url = address_.registry;
  out.url.path = fmt::format("/v2/{}/{}", address_.repository, below);
  out.stall_seconds = kRegistryStallSeconds;
  return out;
}

// Sends with the login that the registry asked for, and logs in once more if it has expired.
Result<HttpResponse> OciRepository::send(HttpRequest request) {
  for (bool is_second = false;; is_second = true) {
    {
      const std::lock_guard lock(mutex_);
      request.credentials.clear();
      // A session may be on another host, which must not get our login.
      if (!authorization_.empty() && request.url.is_same_origin(address_.registry)) {
        request.credentials = {{"Authorization", authorization_}};
      }
    }
    CKPT_ASSIGN(HttpResponse response, http_send(request));
    if (response.status != 401 || is_second) return response;
    CKPT_TRY(log_in(response));
  }
}

Status OciRepository::log_in(const HttpResponse& refusal) {
  const std::string* const challenge = refusal.header("www-authenticate");
  std::string words;
  if (challenge != nullptr && starts_with_word(*challenge, "bearer ")) {
    CKPT_ASSIGN(const std::string token, fetch_token(*challenge, refusal.url));
    words = "Bearer " + token;
  } else if (challenge != nullptr && starts_with_word(*challenge, "basic") &&
             !login_.user.empty()) {
    words = basic_words(login_);
  } else {
    return misuse_hint("docker login " + address_.host(),
                       "{}: asks for a login, and no file of docker or podman has one",
                       address_.host());
  }
  const std::lock_guard lock(mutex_);
  authorization_ = std::move(words);
  return {};
}

Result<std::string> OciRepository::fetch_token(const std::string& challenge,
                                               const Url& refused_by) {
  auto words = challenge_words(challenge);
  CKPT_TRY(in("token server", parse_url(words["realm"])));  // must be an absolute URL
  CKPT_ASSIGN(Url realm, in("token server", named_url(refused_by, words["realm"], true)));
  // A registry may name any host as its token server, but a password is only sent encrypted.
  const bool is_safe = realm.scheme == "https" || realm.host == address_.registry.host;
  const std::string scope = fmt::format("repository:{}:pull,push", address_.repository);
  HttpRequest ask;
  if (is_safe && !login_.identity_token.empty()) {
    ask.method = "POST";
    ask.may_repeat = true;
    ask.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    ask.body = HttpBody::of(
        fmt::format("grant_type=refresh_token&refresh_token={}&service={}&scope={}&client_id=ckpt",
                    percent_encoded(login_.identity_token), percent_encoded(words["service"]),
                    percent_encoded(scope)));
  } else {
    realm.query += fmt::format("{}service={}&scope={}", realm.query.empty() ? "" : "&",
                               percent_encoded(words["service"]), percent_encoded(scope));
    if (is_safe && !login_.user.empty()) ask.credentials = {{"Authorization", basic_words(login_)}};
  }
  ask.url = realm;
  CKPT_ASSIGN(const HttpResponse response, http_send(ask));
  if (!response.is_good()) return http_failure(response, "no token for this login");
  const auto json = parse_json("", response.body);
  for (const char* const key : {"token", "access_token"}) {
    const std::string* const token = json ? text_of(*json, key) : nullptr;
    if (token != nullptr && token->find_first_of("\r\n") == token->npos) return *token;
  }
  return corrupt("{}: expected a token as JSON", realm.shown());
}

Result<std::string> OciRepository::read_manifest(const std::string& reference) {
  HttpRequest get = request("GET", "manifests/" + reference);
  get.headers = {{"Accept", std::string(kManifestTypes)}};
  get.max_response_bytes = kMaxManifestBytes;
  CKPT_ASSIGN(HttpResponse response, send(std::move(get)));
  if (!response.is_good()) return refused(response);
  return std::move(response.body);
}

Status OciRepository::read_blob(const std::string& digest, uint64_t size_bytes,
                                const std::function<Status(std::span<const std::byte>)>& to) {
  if (size_bytes == 0) return {};
  HttpRequest get = request("GET", "blobs/" + digest);
  get.range = HttpRange{0, size_bytes, size_bytes, true};
  get.sink = [&to](uint64_t, std::span<const std::byte> bytes) { return to(bytes); };
  CKPT_ASSIGN(const HttpResponse response, send(std::move(get)));
  if (response.status == 404) return corrupt("missing; the registry answered 404");
  return response.is_good() ? Status() : refused(response);
}

Result<bool> OciRepository::has_blob(const std::string& sha256) {
  CKPT_ASSIGN(const HttpResponse response, send(request("HEAD", "blobs/" + blob_digest(sha256))));
  if (response.status != 404 && !response.is_good()) return refused(response);
  return response.is_good();
}

Result<Url> OciRepository::begin_upload() {
  HttpRequest post = request("POST", "blobs/uploads/");
  post.body = HttpBody::of("");
  post.may_repeat = true;  // the registry removes sessions that nobody uses
  CKPT_ASSIGN(const HttpResponse response, send(std::move(post)));
  const std::string* const location = response.header("location");
  if (response.status != 202 || location == nullptr) return refused(response);
  return redirect_target(response);
}

Status OciRepository::finish_upload(const Url& session, const std::string& sha256,
                                    const HttpBody& body) {
  HttpRequest put = request("PUT", "");
  put.url = session;
  put.url.query += fmt::format("{}digest={}", session.query.empty() ? "" : "&",
                               percent_encoded(blob_digest(sha256)));
  put.headers = {{"Content-Type", "application/octet-stream"}};
  put.body = body;
  put.may_repeat = false;
  CKPT_ASSIGN(const HttpResponse response, send(std::move(put)));
  if (response.is_good()) return {};
  const std::string words = registry_words(response);
  if (response.status == 400 && words.starts_with("DIGEST_INVALID")) {
    return corrupt("{} received other bytes than were hashed; expected the digest sha256:{}",
                   address_.shown(), sha256);
  }
  return refused(response);
}

// Sends a body in one request. Each try uses a new session, as an aborted one may have left bytes.
Status OciRepository::put_whole(const std::string& sha256, const HttpBody& body) {
  for (int failures = 0;;) {
    CKPT_ASSIGN(const Url session, begin_upload());
    Status done = finish_upload(session, sha256, body);
    ++failures;
    // libcurl itself repeats a request on a broken connection; the registry then has the beginning
    // twice and reports a wrong digest, so one more try is made.
    const bool may_pass = !done && (done.error().code == ErrorCode::kIo ||
                                    (done.error().code == ErrorCode::kCorrupt && failures == 1));
    if (!may_pass || failures == kUploadTries) return done;
    wait_before_try(failures);
  }
}

struct OciRepository::Session {
  Url url;
  uint64_t sent_bytes = 0;
};

// Returns false if the registry rejects chunks. Fails with kIo if it may have received a part.
Result<bool> OciRepository::send_chunk(Session& session, const HttpBody& body) {
  const uint64_t count = std::min(kChunkBytes, body.size_bytes - session.sent_bytes);
  HttpRequest patch = request("PATCH", "");
  patch.url = session.url;
  patch.headers = {
      {"Content-Type", "application/octet-stream"},
      {"Content-Range", fmt::format("{}-{}", session.sent_bytes, session.sent_bytes + count - 1)}};
  patch.body = part_of(body, session.sent_bytes, count);
  patch.may_repeat = false;
  CKPT_ASSIGN(const HttpResponse response, send(std::move(patch)));
  const std::string* const location = response.header("location");
  if (response.is_good() && location != nullptr) {
    CKPT_ASSIGN(session.url, redirect_target(response));
    session.sent_bytes = received_bytes(response, session.sent_bytes + count);
    return true;
  }
  const bool may_pass = response.status == 416 || response.status == 408 ||
                        response.status == 429 || response.status >= 500;
  if (may_pass) return refused(response);
  if (session.sent_bytes == 0) return false;
  return refused(response);
}

// Sets where to continue a session of this run or an earlier one. Starts a new session if the
// registry has forgotten it.
Status OciRepository::find_place(Session& session) {
  HttpRequest ask = request("GET", "");
  ask.url = session.url;
  // The query may hold outdated state, with which some registries do not answer.
  for (const bool has_query : {true, false}) {
    if (!has_query) ask.url.query.clear();
    CKPT_ASSIGN(const HttpResponse response, send(ask));
    const std::string* const location = response.header("location");
    if (!response.is_good() || location == nullptr) continue;
    CKPT_ASSIGN(session.url, redirect_target(response));
    session.sent_bytes = received_bytes(response, 0);
    return {};
  }
  return begin(session);
}

Status OciRepository::begin(Session& session) {
  CKPT_ASSIGN(session.url, begin_upload());
  session.sent_bytes = 0;
  return {};
}

Status OciRepository::put_blob(const std::string& sha256, const HttpBody& body) {
  if (body.size_bytes <= kChunkBytes) return put_whole(sha256, body);
  UploadNote note(address_.registry.origin() + "/" + address_.repository + "@" + sha256);
  Session session;
  const auto kept = parse_url(note.session());
  const bool is_known = kept && kept->is_same_origin(address_.registry);
  if (is_known) session.url = *kept;
  CKPT_TRY(is_known ? find_place(session) : begin(session));
  Status done = put_chunks(session, sha256, body, note);
  // The session of an earlier run may contain other bytes.
  if (!done && is_known && done.error().code == ErrorCode::kCorrupt) {
    CKPT_TRY(begin(session));
    done = put_chunks(session, sha256, body, note);
  }
  if (done || done.error().code == ErrorCode::kCorrupt) note.remove();
  return done;
}

Status OciRepository::put_chunks(Session& session, const std::string& sha256, const HttpBody& body,
                                 const UploadNote& note) {
  uint64_t farthest_bytes = session.sent_bytes;
  for (int failures = 0; session.sent_bytes < body.size_bytes;) {
    note.keep(session.url.text());
    const Result<bool> is_taken = send_chunk(session, body);
    if (is_taken && !*is_taken) return put_whole(sha256, body);
    if (session.sent_bytes > farthest_bytes) {
      farthest_bytes = session.sent_bytes;
      failures = 0;
    }
    if (is_taken) continue;
    if (is_taken.error().code != ErrorCode::kIo || ++failures == kUploadTries) {
      return Failure(is_taken.error());
    }
    wait_before_try(failures);
    CKPT_TRY(find_place(session));
  }
  note.keep(session.url.text());
  return finish_upload(session.url, sha256, HttpBody::of(""));
}

Result<std::string> OciRepository::tagged() {
  HttpRequest head = request("HEAD", "manifests/" + address_.tag);
  head.headers = {{"Accept", std::string(kManifestTypes)}};
  CKPT_ASSIGN(const HttpResponse response, send(std::move(head)));
  if (response.status == 404) return std::string();
  if (!response.is_good()) return refused(response);
  const std::string* const digest = response.header("docker-content-digest");
  return digest == nullptr ? std::string("unknown") : *digest;
}

Status OciRepository::put_manifest(const std::string& reference, std::string_view content,
                                   std::string_view media_type) {
  HttpRequest put = request("PUT", "manifests/" + reference);
  put.headers = {{"Content-Type", std::string(media_type)}};
  put.body = HttpBody::of(std::string(content));
  CKPT_ASSIGN(const HttpResponse response, send(std::move(put)));
  if (!response.is_good()) return refused(response);
  const std::string* const digest = response.header("docker-content-digest");
  const std::string expected = blob_digest(sha256_of(content));
  if (digest == nullptr || *digest == expected) return {};
  return corrupt("{}: {}: stored as {}; expected {}", address_.shown(), reference,
                 foreign_text(*digest), expected);
}

}  // namespace ckpt
