#include "remote/s3.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "core/base/url_secrets.h"
#include "core/io/open_folder.h"
#include "remote/aws_service_keys.h"
#include "remote/credentials.h"
#include "remote/root.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxListBytes = 16 << 20;
constexpr size_t kMaxKeys = 1'000'000;
constexpr size_t kMaxPages = kMaxKeys / 100;

Status add_object(std::string_view object, const std::string& prefix, RemoteRoot::Files& files) {
  const std::string key = xml_element(object, "Key"), size = xml_element(object, "Size");
  RemoteFile file;
  const auto bytes = number_from<uint64_t>(size);
  if (key.empty() || !bytes) return corrupt("the bucket lists an object without key or size");
  file.size_bytes = *bytes;
  file.version.etag = xml_element(object, "ETag");
  const bool is_folder_mark = key.ends_with('/');
  const std::string start = prefix.empty() ? "" : prefix + "/";
  if (key == prefix) {
    files[""] = std::move(file);
  } else if (key.starts_with(start) && !is_folder_mark) {
    const std::string path = key.substr(start.size());
    CKPT_TRY(check_listed_path(path));
    if (!files.emplace(path, std::move(file)).second) {
      return corrupt("the bucket lists '{}' twice", key);
    }
  }
  return {};
}

// Rejects a truncated or unrelated page, because a list from it would lack files.
Status check_whole_list(std::string_view xml) {
  constexpr std::string_view kRoot = "ListBucketResult";
  const size_t root = xml.find(fmt::format("<{}", kRoot));
  if (root == xml.npos) {
    return corrupt("the answer is not a list of a bucket; expected <{}>", kRoot);
  }
  if (!trimmed(xml).ends_with(fmt::format("</{}>", kRoot))) {
    return corrupt("the bucket's list was cut; expected </{}> at its end", kRoot);
  }
  if (xml.find("<!") != xml.npos) {  // may hide an object or be part of a key
    return corrupt("the bucket's list has XML comments, CDATA or a DOCTYPE, which S3 never sends");
  }
  if (xml_element(xml, "IsTruncated") == "true" &&
      xml_element(xml, "NextContinuationToken").empty()) {
    return corrupt("the bucket's list is truncated, and names no next page");
  }
  return {};
}

// "" if it is absent or not spelled like an AWS region, because it becomes part of a host name.
std::string region_of(const HttpResponse& response) {
  const std::string* const said = response.header("x-amz-bucket-region");
  const std::string region = said == nullptr ? xml_element(response.body, "Region") : *said;
  const bool is_fine = region.size() <= 40 && std::ranges::all_of(region, [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                       });
  return is_fine ? region : "";
}

class S3Root final : public RemoteRoot {
 public:
  S3Root(S3Bucket bucket, S3Name name) : bucket_(std::move(bucket)), name_(std::move(name)) {
    pinned_ = fmt::format("s3://{}/{}", name_.bucket, name_.key);
  }

  Status list_keys() {
    std::string token;
    std::set<std::string> seen;
    do {
      CKPT_ASSIGN(const HttpResponse response, page(token));
      if (response.body.find("<Error>") != response.body.npos) return s3_failure(response);
      CKPT_TRY(add_s3_page(response.body, name_.key, files_));
      token = xml_element(response.body, "NextContinuationToken");
      if (!seen.insert(token).second) {
        return corrupt("the bucket's list names a next page that was read already");
      }
    } while (!token.empty() && seen.size() <= kMaxPages);
    return token.empty() ? Status() : corrupt("the bucket's list has no end");
  }

  Result<HttpRequest> request(const std::string& path, bool) const override {
    const std::string slash = name_.key.empty() || path.empty() ? "" : "/";
    HttpRequest out = s3_request(bucket_, name_.key + slash + path);
    out.max_redirects = 0;
    return out;
  }

 private:
  Result<HttpResponse> page(const std::string& token) {
    std::vector<std::pair<std::string, std::string>> query{{"list-type", "2"},
                                                           {"prefix", name_.key}};
    if (!token.empty()) query.emplace_back("continuation-token", token);
    for (int tries = 0;; ++tries) {
      HttpRequest request = s3_request(bucket_, "", query);
      request.max_response_bytes = kMaxListBytes;
      request.max_redirects = 0;
      CKPT_ASSIGN(HttpResponse response, http_send(request));
      if (response.is_good()) return response;
      if (tries > 0 || !follow_region(bucket_, response)) return s3_failure(response);
    }
  }

  S3Bucket bucket_;
  const S3Name name_;
};

}  // namespace

Status add_s3_page(std::string_view xml, const std::string& prefix, RemoteRoot::Files& files) {
  CKPT_TRY(check_whole_list(xml));
  constexpr std::string_view kEnd = "</Contents>";
  for (;;) {
    const size_t start = xml.find("<Contents>"), end = xml.find(kEnd);
    if (start == xml.npos && end == xml.npos) return {};
    if (start == xml.npos || end == xml.npos || end < start) {
      return corrupt("the bucket's list has an object that does not end");
    }
    CKPT_TRY(add_object(xml.substr(start, end - start), prefix, files));
    xml.remove_prefix(end + kEnd.size());
    if (files.size() > kMaxKeys) {
      return unsupported("more than {} objects", kMaxKeys);
    }
  }
}

Result<S3Name> parse_s3_name(std::string_view url) {
  std::string_view rest = url.substr(std::min<size_t>(5, url.size()));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = rest.find('/');
  S3Name out{std::string(rest.substr(0, slash)), ""};
  if (slash != rest.npos) out.key = rest.substr(slash + 1);
  const bool is_fine =
      out.bucket.size() >= 3 && std::ranges::all_of(out.bucket, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
      });
  if (!is_fine || (!out.key.empty() && !stays_inside(out.key))) {
    return misuse_hint("s3://BUCKET/PREFIX", "{}: not the name of a bucket and a prefix in it",
                       without_url_secrets(url));
  }
  return out;
}

Result<S3Bucket> s3_bucket(const std::string& name) {
  CKPT_ASSIGN(const S3Access access, s3_access());
  S3Bucket out;
  out.signing.keys = access.keys;
  if (access.keys.access_key.empty()) {
    CKPT_ASSIGN(AwsService service, aws_service(access.region));
    if (service.is_set()) CKPT_SET(out.signing.renewed, keys_of_service(std::move(service)));
  }
  out.signing.region = access.region;
  if (access.endpoint.empty()) {
    // TLS certificates only cover hosts with one more label.
    const bool has_host = name.find('.') == name.npos;
    CKPT_ASSIGN(
        out.base,
        parse_url(has_host ? fmt::format("https://{}.s3.{}.amazonaws.com", name, access.region)
                           : fmt::format("https://s3.{}.amazonaws.com/{}", access.region, name)));
  } else {
    CKPT_ASSIGN(out.base, in("AWS_ENDPOINT_URL", parse_url(access.endpoint)));
    if (!out.base.path.ends_with('/')) out.base.path += '/';
    out.base.path += name;
  }
  if (out.base.path == "/") out.base.path.clear();
  return out;
}

HttpRequest s3_request(const S3Bucket& bucket, std::string_view key,
                       std::vector<std::pair<std::string, std::string>> query) {
  HttpRequest request;
  request.url = bucket.base;
  request.url.path += "/" + s3_path(key);
  request.url.query = s3_query(std::move(query));
  sign_s3(request, bucket.signing);
  return request;
}

bool follow_region(S3Bucket& bucket, const HttpResponse& response) {
  const std::string region = region_of(response);
  if (region.empty() || region == bucket.signing.region) return false;
  const std::string before = fmt::format(".{}.", bucket.signing.region);
  const size_t at = bucket.base.host.find(before);
  if (at != std::string::npos) bucket.base.host.replace(at, before.size(), "." + region + ".");
  bucket.signing.region = region;
  return true;
}

Failure s3_failure(const HttpResponse& response) {
  const std::string code = xml_element(response.body, "Code");
  auto failure = http_failure(response, code + " " + xml_element(response.body, "Message"));
  if (response.status == 403) {
    failure.value().hint = "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  } else if (response.status == 301 || response.status == 307) {
    const std::string region = region_of(response);
    failure.value().hint =
        fmt::format("AWS_REGION={}, the region of the bucket", region.empty() ? "REGION" : region);
  }
  return failure;
}

Result<SharedRoot> open_s3(const std::string& url) {
  CKPT_ASSIGN(const S3Name name, parse_s3_name(url));
  CKPT_ASSIGN(S3Bucket bucket, s3_bucket(name.bucket));
  auto root = std::make_shared<S3Root>(std::move(bucket), name);
  CKPT_TRY(in(url, root->list_keys()));
  return SharedRoot(std::move(root));
}

}  // namespace ckpt
