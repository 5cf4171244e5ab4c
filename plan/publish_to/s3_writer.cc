#include "plan/publish_to/s3_writer.h"

#include <algorithm>
#include <charconv>

#include "core/base/sha256.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

constexpr std::string_view kDigestHeader = "x-amz-meta-sha256";  // ours
constexpr int kPagesOfParts = 32;

std::string bytes_of_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    out += static_cast<char>(value);
  }
  return out;
}

// The texts of all elements `name`, as they are in `xml`; elements of one name do not nest in S3's
// answers.
std::vector<std::string_view> elements(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
  std::vector<std::string_view> out;
  for (size_t at = xml.find(open); at != xml.npos; at = xml.find(open, at)) {
    const size_t begin = at + open.size(), end = xml.find(close, begin);
    if (end == xml.npos) break;
    out.push_back(xml.substr(begin, end - begin));
    at = end;
  }
  return out;
}

std::string escaped_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

uint64_t number_in(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Failure refused_by_s3(const HttpResponse& response) {
  const std::string code = s3_element(response.body, "Code");
  Error error = s3_failure(response).value();
  const bool is_final = response.status >= 400 && response.status < 500 && response.status != 408 &&
                        response.status != 429;
  error.code = code == "BadDigest" ? ErrorCode::kCorrupt
               : is_final          ? ErrorCode::kUsage
                                   : ErrorCode::kIo;
  return Failure(std::move(error));
}

}  // namespace

std::string sha256_base64(std::string_view bytes) { return base64(bytes_of_hex(sha256_of(bytes))); }

HttpRequest S3Writer::request(std::string method, std::string_view key,
                              Parameters parameters) const {
  HttpRequest out = s3_request(bucket_, key, std::move(parameters));
  out.method = std::move(method);
  out.max_response_bytes = uint64_t{8} << 20;
  return out;
}

// With the body and a signature over both; `sha256` is the body's.
Result<HttpResponse> S3Writer::send(HttpRequest request, std::string_view body,
                                    std::string sha256) {
  if (!body.empty() || request.method == "PUT" || request.method == "POST") {
    request.body = HttpBody{body.size(), [body](uint64_t at, std::span<std::byte> out) -> Status {
                              const auto bytes = std::as_bytes(std::span(body));
                              std::ranges::copy(bytes.subspan(at, out.size()), out.begin());
                              return {};
                            }};
  }
  S3Signing signing = bucket_.signing;
  signing.payload_sha256 = std::move(sha256);
  sign_s3(request, std::move(signing));
  return http_send(request);
}

Result<HttpResponse> S3Writer::send(HttpRequest request) {
  return send(std::move(request), "", sha256_of(""));
}

Result<std::optional<S3Object>> S3Writer::find(const std::string& key) {
  CKPT_ASSIGN(const HttpResponse response, send(request("HEAD", key, {})));
  if (response.status == 404) return std::optional<S3Object>();
  if (!response.is_good()) return refused_by_s3(response);
  const std::string* const length = response.header("content-length");
  const std::string* const sha256 = response.header(kDigestHeader);
  return S3Object{length == nullptr ? 0 : number_in(*length), sha256 == nullptr ? "" : *sha256};
}

// After a refusal: the answer to an earlier try may have been lost, which made the object.
Status S3Writer::check_made(const std::string& key, const std::string& sha256, Status refused) {
  const auto there = find(key);
  if (there && *there && (*there)->sha256 == sha256) return {};
  return refused;
}

Status S3Writer::put(const std::string& key, const std::string& content, bool may_replace) {
  const std::string sha256 = sha256_of(content);
  HttpRequest put = request("PUT", key, {});
  put.headers = {{"Content-Type", "application/octet-stream"},
                 {"x-amz-checksum-sha256", base64(bytes_of_hex(sha256))},
                 {std::string(kDigestHeader), sha256}};
  if (!may_replace) put.headers.emplace_back("If-None-Match", "*");
  CKPT_ASSIGN(const HttpResponse response, send(std::move(put), content, sha256));
  if (response.is_good()) return {};
  return check_made(key, sha256, refused_by_s3(response));
}

Result<std::string> S3Writer::find_upload(const std::string& key) {
  CKPT_ASSIGN(const HttpResponse response,
              send(request("GET", "", {{"uploads", ""}, {"prefix", key}})));
  // A server that does not list uploads has none to resume.
  if (!response.is_good()) return std::string();
  std::string latest, upload;
  for (const std::string_view one : elements(response.body, "Upload")) {
    const std::string begun = s3_element(one, "Initiated");
    if (s3_element(one, "Key") != key || begun < latest) continue;
    latest = begun;
    upload = s3_element(one, "UploadId");
  }
  return upload;
}

Result<std::string> S3Writer::begin_upload(const std::string& key, const std::string& sha256) {
  HttpRequest post = request("POST", key, {{"uploads", ""}});
  post.headers = {{"Content-Type", "application/octet-stream"},
                  {"x-amz-checksum-algorithm", "SHA256"},
                  {std::string(kDigestHeader), sha256}};
  post.may_repeat = true;
  CKPT_ASSIGN(const HttpResponse response, send(std::move(post)));
  std::string upload = s3_element(response.body, "UploadId");
  if (!response.is_good() || upload.empty()) return refused_by_s3(response);
  return upload;
}

Result<S3Parts> S3Writer::list_parts(const std::string& key, const std::string& upload) {
  S3Parts out;
  std::string marker = "0";
  for (int page = 0; page < kPagesOfParts; ++page) {
    CKPT_ASSIGN(const HttpResponse response,
                send(request("GET", key, {{"part-number-marker", marker}, {"uploadId", upload}})));
    if (!response.is_good()) return refused_by_s3(response);
    for (const std::string_view part : elements(response.body, "Part")) {
      const auto number = static_cast<uint32_t>(number_in(s3_element(part, "PartNumber")));
      out[number] = {number_in(s3_element(part, "Size")), s3_element(part, "ETag"),
                     s3_element(part, "ChecksumSHA256")};
    }
    marker = s3_element(response.body, "NextPartNumberMarker");
    if (s3_element(response.body, "IsTruncated") != "true" || marker.empty()) break;
  }
  return out;
}

Result<S3Part> S3Writer::put_part(const Place& place, std::string_view bytes) {
  HttpRequest put = request(
      "PUT", place.key, {{"partNumber", std::to_string(place.number)}, {"uploadId", place.upload}});
  const std::string sha256 = sha256_of(bytes);
  S3Part part{bytes.size(), "", base64(bytes_of_hex(sha256))};
  put.headers = {{"x-amz-checksum-sha256", part.sha256_base64}};
  CKPT_ASSIGN(const HttpResponse response, send(std::move(put), bytes, sha256));
  const std::string* const etag = response.header("etag");
  if (!response.is_good() || etag == nullptr) return refused_by_s3(response);
  part.etag = *etag;
  return part;
}

Status S3Writer::complete(const Place& place, const S3Parts& parts, const std::string& sha256,
                          bool may_replace) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const auto& [number, part] : parts) {
    xml += fmt::format(
        "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag><ChecksumSHA256>{}</ChecksumSHA256></"
        "Part>",
        number, escaped_xml(part.etag), part.sha256_base64);
  }
  xml += "</CompleteMultipartUpload>";
  HttpRequest post = request("POST", place.key, {{"uploadId", place.upload}});
  post.headers = {{"Content-Type", "application/xml"}};
  if (!may_replace) post.headers.emplace_back("If-None-Match", "*");
  post.stall_seconds = 300;  // the server joins the parts
  const auto response = send(std::move(post), xml, sha256_of(xml));
  if (!response) return check_made(place.key, sha256, Failure(response.error()));
  // A failure may come after the headers of a good answer.
  const bool is_good = response->is_good() && s3_element(response->body, "Code").empty();
  return is_good ? Status() : check_made(place.key, sha256, refused_by_s3(*response));
}

Status S3Writer::abort(const std::string& key, const std::string& upload) {
  CKPT_ASSIGN(const HttpResponse response, send(request("DELETE", key, {{"uploadId", upload}})));
  return response.is_good() || response.status == 404 ? Status() : refused_by_s3(response);
}

}  // namespace ckpt
