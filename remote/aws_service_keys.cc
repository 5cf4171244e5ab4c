// Sources: AWS STS API AssumeRoleWithWebIdentity; AWS SDKs reference, "Container credential
// provider" and "Assume role with web identity".
#include "remote/aws_service_keys.h"

#include <time.h>

#include <mutex>

#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/io/paths.h"
#include "core/json/json_read.h"
#include "remote/credentials.h"
#include "remote/http.h"
#include "remote/xml.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxTokenBytes = 1 << 16;
constexpr std::time_t kRenewSeconds = 300;  // before the keys expire

struct TimedKeys {
  S3Keys keys;
  std::time_t ends = 0;
};

Result<std::string> token_of(const std::string& file) {
  CKPT_ASSIGN(const SharedSource source, open_file(file, ReadAs::kOwn));
  CKPT_ASSIGN(const std::string text, read_text(*source, kMaxTokenBytes));
  return std::string(trimmed(text));
}

// Parses "2026-11-29T20:00:00Z", also with a fraction; 0 for anything else.
std::time_t time_of(const std::string& text) {
  tm parts{};
  return strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr ? 0 : timegm(&parts);
}

Result<TimedKeys> checked(TimedKeys found, const Url& from) {
  const bool has_keys = !found.keys.access_key.empty() && !found.keys.secret_key.empty();
  if (has_keys && found.ends != 0) return found;
  return fail(ErrorCode::kIo, "{}: the answer has no keys with an end", from.shown());
}

Result<TimedKeys> ask_sts(const AwsService& service) {
  CKPT_ASSIGN(const std::string token, token_of(service.token_file));
  HttpRequest request;
  request.method = "POST";
  CKPT_ASSIGN(request.url, in("AWS_ENDPOINT_URL_STS", parse_url(service.sts_endpoint)));
  if (request.url.path.empty()) request.url.path = "/";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = HttpBody::of(s3_query({{"Action", "AssumeRoleWithWebIdentity"},
                                        {"Version", "2011-06-15"},
                                        {"RoleArn", service.role_arn},
                                        {"RoleSessionName", service.session_name},
                                        {"WebIdentityToken", token}}));
  request.may_repeat = true;
  CKPT_ASSIGN(const HttpResponse response, http_send(request));
  if (!response.is_good()) {
    auto failure = http_failure(response, xml_element(response.body, "Code"));
    failure.value().hint = "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE of a role that trusts it";
    return failure;
  }
  const auto text = [&](std::string_view name) { return xml_element(response.body, name); };
  return checked({{text("AccessKeyId"), text("SecretAccessKey"), text("SessionToken")},
                  time_of(text("Expiration"))},
                 request.url);
}

Result<TimedKeys> ask_container(const AwsService& service) {
  HttpRequest request;
  CKPT_ASSIGN(request.url, parse_url(service.container_url));
  std::string token = service.container_token;
  if (!service.container_token_file.empty())
    CKPT_SET(token, token_of(service.container_token_file));
  if (!token.empty()) request.credentials = {{"Authorization", token}};
  CKPT_ASSIGN(const HttpResponse response, http_send(request));
  if (!response.is_good()) return http_failure(response);
  CKPT_ASSIGN(const JsonValue json, parse_json(request.url.shown(), response.body));
  const auto text = [&](const char* name) { return std::string(text_in(json, name)); };
  return checked(
      {{text("AccessKeyId"), text("SecretAccessKey"), text("Token")}, time_of(text("Expiration"))},
      request.url);
}

Result<TimedKeys> ask(const AwsService& service) {
  return service.token_file.empty() ? ask_container(service) : ask_sts(service);
}

// Rejects asking for keys over plain http, except at addresses that never leave the machine.
Status check_container_url(const std::string& text) {
  CKPT_ASSIGN(const Url url, in("AWS_CONTAINER_CREDENTIALS_FULL_URI", parse_url(text)));
  constexpr std::string_view kReserved =
      " 127.0.0.1 localhost [::1] 169.254.170.2 169.254.170.23 [fd00:ec2::23] ";
  if (url.scheme == "https" || has_word(kReserved, url.host)) return {};
  return misuse(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI: '{}' is not an address that AWS reserves; "
      "expected https or one of{}",
      url.host, kReserved);
}

}  // namespace

Result<AwsService> aws_service(const std::string& region) {
  AwsService out;
  out.token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!out.token_file.empty()) {
    out.role_arn = environment("AWS_ROLE_ARN");
    if (out.role_arn.empty()) {
      return misuse("AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
    }
    out.session_name = environment("AWS_ROLE_SESSION_NAME");
    if (out.session_name.empty()) out.session_name = "ckpt";
    out.sts_endpoint = environment("AWS_ENDPOINT_URL_STS");
    if (out.sts_endpoint.empty()) out.sts_endpoint = environment("AWS_ENDPOINT_URL");
    if (out.sts_endpoint.empty())
      out.sts_endpoint = fmt::format("https://sts.{}.amazonaws.com", region);
    return out;
  }
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  out.container_url = relative.empty() ? environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                       : "http://169.254.170.2" + relative;
  if (out.container_url.empty()) return out;
  CKPT_TRY(check_container_url(out.container_url));
  out.container_token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  out.container_token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return out;
}

Result<S3KeySource> keys_of_service(AwsService service) {
  struct Held {
    std::mutex mutex;
    TimedKeys keys;
  };
  const auto held = std::make_shared<Held>();
  CKPT_SET(held->keys, ask(service));
  return S3KeySource([held, service = std::move(service)] {
    const std::lock_guard lock(held->mutex);
    if (held->keys.ends - std::time(nullptr) < kRenewSeconds) {
      // If renewing fails, the old keys stay; S3's answer to them tells what is wrong.
      if (auto renewed = ask(service)) held->keys = std::move(*renewed);
    }
    return held->keys.keys;
  });
}

}  // namespace ckpt
