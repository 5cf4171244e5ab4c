// Writes objects of one S3 bucket, whole or in parts; each part is checked by the server.
//
// Source: AWS, S3 API Reference: PutObject, CreateMultipartUpload, UploadPart, ListParts,
// CompleteMultipartUpload.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "remote/remote.h"

namespace ckpt {

struct S3Part {
  uint64_t size_bytes = 0;
  std::string etag, sha256_base64;
};
using S3Parts = std::map<uint32_t, S3Part>;  // by number, from 1

struct S3Object {
  uint64_t size_bytes = 0;
  std::string sha256;  // as ckpt noted it; empty for objects of others
};

// Thread-safe. All fail as requests do; kUsage where the server refuses who we are or the name is
// taken.
class S3Writer {
 public:
  explicit S3Writer(S3Bucket bucket) : bucket_(std::move(bucket)) {}

  Result<std::optional<S3Object>> find(const std::string& key);
  // The object appears whole. `may_replace`: else one that exists stays.
  Status put(const std::string& key, const std::string& content, bool may_replace);

  // An upload of `key` that an earlier run left, the latest; empty where there is none.
  Result<std::string> find_upload(const std::string& key);
  Result<std::string> begin_upload(const std::string& key, const std::string& sha256);
  Result<S3Parts> list_parts(const std::string& key, const std::string& upload);
  struct Place {
    std::string key, upload;
    uint32_t number = 0;
  };
  Result<S3Part> put_part(const Place& place, std::string_view bytes);
  // Makes the object visible. `sha256` is that of the whole.
  Status complete(const Place& place, const S3Parts& parts, const std::string& sha256,
                  bool may_replace);
  Status abort(const std::string& key, const std::string& upload);

 private:
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  HttpRequest request(std::string method, std::string_view key, Parameters parameters) const;
  Result<HttpResponse> send(HttpRequest request, std::string_view body, std::string sha256);
  Result<HttpResponse> send(HttpRequest request);
  Status check_made(const std::string& key, const std::string& sha256, Status refused);

  const S3Bucket bucket_;
};

// As S3 writes checksums.
std::string sha256_base64(std::string_view bytes);

}  // namespace ckpt
