// --to s3://BUCKET/PREFIX: stores the files as objects.
//
//   parts of large files in parallel           invisible; those of an earlier run are kept
//   ▸ complete large files from their parts ▸ small files ▸ the index ▸ SHA256SUMS
//
// After a temporary failure the parts stay for the next run; after any other, they are removed,
// because a bucket stores and bills parts that nobody sees.
//
// Source: AWS, S3 API Reference: PutObject, CreateMultipartUpload, UploadPart, ListParts,
// CompleteMultipartUpload.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hex.h"
#include "core/base/numbers.h"
#include "core/base/result.h"
#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "plan/publish_to/body.h"
#include "plan/publish_to/upload_note.h"
#include "publish/publish.h"
#include "remote/remote.h"

namespace ckpt {
namespace {

struct S3Part {
  uint64_t size_bytes = 0;
  std::string etag, sha256_base64;
};
using S3Parts = std::map<uint32_t, S3Part>;  // by number, from 1

struct S3Object {
  uint64_t size_bytes = 0;
  std::string sha256;  // recorded by ckpt; empty for other objects
};

constexpr std::string_view kDigestHeader = "x-amz-meta-sha256";  // set by ckpt
constexpr int kPagesOfParts = 32;

std::string escaped_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

uint64_t number_in(std::string_view text) { return take_leading<uint64_t>(text).value_or(0); }

Failure refused_by_s3(const HttpResponse& response) {
  const std::string code = xml_element(response.body, "Code");
  Error error = s3_failure(response).value();
  error.code = code == "BadDigest"   ? ErrorCode::kCorrupt
               : response.is_final() ? ErrorCode::kUsage
                                     : ErrorCode::kIo;
  return Failure(std::move(error));
}

// Encodes a SHA-256 as S3 does for checksums (base64).
std::string checksum_of(std::string_view sha256) {
  const auto bytes = bytes_of_hex(sha256).value_or(std::vector<std::byte>());
  return base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Writes objects of one bucket, in one request or in parts; the server checks each part.
// Thread-safe after the first find(), which learns the bucket's region. All functions fail as
// requests do; kUsage if the server denies access or the name is taken.
class S3Writer {
 public:
  explicit S3Writer(S3Bucket bucket) : bucket_(std::move(bucket)) {}

  Result<std::optional<S3Object>> find(const std::string& key) {
    CKPT_ASSIGN(HttpResponse response, send(request("HEAD", key, {})));
    if (!response.is_good() && follow_region(bucket_, response)) {
      CKPT_ASSIGN(response, send(request("HEAD", key, {})));
    }
    if (response.status == 404) return std::optional<S3Object>();
    if (!response.is_good()) return refused_by_s3(response);
    return S3Object{number_in(response.value("content-length")),
                    std::string(response.value(kDigestHeader))};
  }

  // Writes an object in one request. Without `may_replace`, an existing object stays.
  Status put(const std::string& key, const HttpBody& content, const std::string& sha256,
             bool may_replace) {
    HttpRequest put = request("PUT", key, {});
    put.headers = {{"Content-Type", "application/octet-stream"},
                   {"x-amz-checksum-sha256", checksum_of(sha256)},
                   {std::string(kDigestHeader), sha256}};
    if (!may_replace) put.headers.emplace_back("If-None-Match", "*");
    put.body = content;
    CKPT_ASSIGN(const HttpResponse response, send(std::move(put), sha256));
    if (response.is_good()) return {};
    return check_made(key, sha256, refused_by_s3(response));
  }

  // Identifies the object's upload across runs.
  std::string address(const std::string& key) const { return bucket_.base.text() + "\n" + key; }
  Result<std::string> begin_upload(const std::string& key, const std::string& sha256) {
    HttpRequest post = request("POST", key, {{"uploads", ""}});
    post.headers = {{"Content-Type", "application/octet-stream"},
                    {"x-amz-checksum-algorithm", "SHA256"},
                    {std::string(kDigestHeader), sha256}};
    post.may_repeat = true;
    CKPT_ASSIGN(const HttpResponse response, send(std::move(post)));
    std::string upload = xml_element(response.body, "UploadId");
    if (!response.is_good() || upload.empty()) return refused_by_s3(response);
    return upload;
  }

  Result<S3Parts> list_parts(const std::string& key, const std::string& upload) {
    S3Parts out;
    std::string marker = "0";
    for (int page = 0; page < kPagesOfParts; ++page) {
      CKPT_ASSIGN(
          const HttpResponse response,
          send(request("GET", key, {{"part-number-marker", marker}, {"uploadId", upload}})));
      if (!response.is_good()) return refused_by_s3(response);
      for (const std::string_view part : xml_elements(response.body, "Part")) {
        const auto number = static_cast<uint32_t>(number_in(xml_element(part, "PartNumber")));
        out[number] = {number_in(xml_element(part, "Size")), xml_element(part, "ETag"),
                       xml_element(part, "ChecksumSHA256")};
      }
      marker = xml_element(response.body, "NextPartNumberMarker");
      if (xml_element(response.body, "IsTruncated") != "true" || marker.empty()) break;
    }
    return out;
  }

  struct Place {
    std::string key, upload;
    uint32_t number = 0;
  };
  // `sha256` is the digest of the body, which is read while sending, as it may exceed the memory.
  Result<S3Part> put_part(const Place& place, const HttpBody& body, const std::string& sha256) {
    HttpRequest put =
        request("PUT", place.key,
                {{"partNumber", std::to_string(place.number)}, {"uploadId", place.upload}});
    S3Part part{body.size_bytes, "", checksum_of(sha256)};
    put.headers = {{"x-amz-checksum-sha256", part.sha256_base64}};
    put.body = body;
    CKPT_ASSIGN(const HttpResponse response, send(std::move(put), sha256));
    const std::string* const etag = response.header("etag");
    if (!response.is_good() || etag == nullptr) return refused_by_s3(response);
    part.etag = *etag;
    return part;
  }

  // Makes the object visible. `sha256` is the digest of the entire object.
  Status complete(const Place& place, const S3Parts& parts, const std::string& sha256,
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
    post.stall_seconds = 300;  // joining parts takes time
    post.body = HttpBody::of(xml);
    const auto response = send(std::move(post), sha256_of(xml));
    if (!response) return check_made(place.key, sha256, Failure(response.error()));
    // The answer may contain an error even if its status is good.
    const bool is_good = response->is_good() && xml_element(response->body, "Code").empty();
    return is_good ? Status() : check_made(place.key, sha256, refused_by_s3(*response));
  }

  Status abort(const std::string& key, const std::string& upload) {
    CKPT_ASSIGN(const HttpResponse response, send(request("DELETE", key, {{"uploadId", upload}})));
    return response.is_good() || response.status == 404 ? Status() : refused_by_s3(response);
  }

 private:
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  HttpRequest request(std::string method, std::string_view key, Parameters parameters) const {
    HttpRequest out = s3_request(bucket_, key, std::move(parameters));
    out.method = std::move(method);
    out.max_response_bytes = uint64_t{8} << 20;
    return out;
  }

  // Sends a signed request whose body has this SHA-256.
  Result<HttpResponse> send(HttpRequest request, std::string sha256 = sha256_of("")) {
    const bool needs_body = request.method == "PUT" || request.method == "POST";
    if (needs_body && !request.body) request.body = HttpBody::of("");
    S3Signing signing = bucket_.signing;
    signing.payload_sha256 = std::move(sha256);
    sign_s3(request, std::move(signing));
    return http_send(request);
  }

  // Checks whether a rejected object exists: an earlier try may have made it and lost the answer.
  Status check_made(const std::string& key, const std::string& sha256, Status refused) {
    const auto there = find(key);
    if (there && *there && (*there)->sha256 == sha256) return {};
    return refused;
  }

  S3Bucket bucket_;
};

constexpr uint64_t kSmallestPartBytes = uint64_t{32} << 20;
constexpr uint64_t kMostParts = 10'000;
constexpr unsigned kPartsAtATime = 4;

// The order of writing: the index and SHA256SUMS come last, because readers look for them first.
int order_of(const FileDigest& file) {
  if (file.name == kSumsName) return 3;
  if (file.name.ends_with(".index.json")) return 2;
  return file.size_bytes > kSmallestPartBytes ? 0 : 1;
}

std::vector<FileDigest> in_order(std::vector<FileDigest> files) {
  std::ranges::stable_sort(files, {}, order_of);
  return files;
}

uint64_t part_bytes(uint64_t size_bytes) {
  const uint64_t least = (size_bytes + kMostParts - 1) / kMostParts;
  constexpr uint64_t kUnit = uint64_t{1} << 20;
  return std::max(kSmallestPartBytes, (least + kUnit - 1) / kUnit * kUnit);
}

struct S3Address {
  std::string bucket, prefix;  // `prefix` is empty or ends in '/'

  std::string shown(std::string_view name) const {
    return fmt::format("s3://{}/{}{}", bucket, prefix, name);
  }
};

// Fails: kUsage, also for keys that file systems or URLs would change.
Result<S3Address> parse_s3_address(const std::string& address) {
  CKPT_ASSIGN(const S3Name name, in("--to", parse_s3_name(address)));
  const std::string text = "/" + name.key + "/";
  const bool is_plain =
      text == "//" || (text.find("//") == text.npos && text.find("/./") == text.npos);
  if (is_plain && name.key.find_first_of("\\?#\n\r") == name.key.npos) {
    return S3Address{name.bucket, name.key.empty() ? "" : name.key + "/"};
  }
  return misuse_hint("s3://BUCKET/PREFIX", "--to {}: not the name of a bucket and a prefix in it",
                     address);
}

Result<std::vector<Placement>> list_s3(const std::string& address, const Shipment& shipment) {
  CKPT_ASSIGN(const S3Address s3, parse_s3_address(address));
  std::vector<Placement> out;
  for (const FileDigest& file : in_order(shipment.files)) {
    out.push_back({file.name, s3.shown(file.name), file.size_bytes});
  }
  return out;
}

// An upload in parts. `note` holds "SHA256 UPLOAD", because the object's digest is fixed when the
// upload begins, and a server does not report it before the upload ends.
struct S3Upload {
  FileDigest file;
  std::string key, upload = {};
  S3Parts known = {}, parts = {};  // by an earlier run; by this run
  std::unique_ptr<UploadNote> note = {};
};

class S3Sender {
 public:
  S3Sender(S3Writer& bucket, const S3Address& address, const Shipment& shipment,
           const SendOptions& options)
      : bucket_(bucket), address_(address), shipment_(shipment), options_(options) {}

  Status send() {
    CKPT_TRY(list_present_and_parts());
    Status done = send_parts();
    if (done) done = check_unchanged(shipment_);
    if (done) done = finish();
    const bool may_pass =
        done || done.error().code == ErrorCode::kIo || done.error().code == ErrorCode::kInterrupted;
    if (may_pass) return done;
    // The parts would cost money, and no later run could use them.
    for (const S3Upload& upload : uploads_) {
      (void)bucket_.abort(upload.key, upload.upload);
      if (upload.note != nullptr) upload.note->remove();
    }
    return done;
  }
  const SentArtifact& sent() const { return sent_; }

 private:
  // Finds existing files, and begins the uploads of files that are sent in parts.
  Status list_present_and_parts() {
    for (const FileDigest& file : in_order(shipment_.files)) {
      const std::string key = address_.prefix + file.name;
      CKPT_ASSIGN(const auto there, bucket_.find(key));
      if (there && there->sha256 == file.sha256 && there->size_bytes == file.size_bytes) {
        ++sent_.present_files;
        continue;
      }
      if (there && !options_.force) {
        return misuse_hint("--force to replace it, or another prefix",
                           "{} exists already and is another file", address_.shown(file.name));
      }
      ++sent_.sent_files;
      sent_.sent_bytes += file.size_bytes;
      if (order_of(file) != 0) {
        small_.push_back(file);
        continue;
      }
      uploads_.push_back({file, key});
    }
    for (S3Upload& upload : uploads_) CKPT_TRY(begin(upload));
    return {};
  }

  Status begin(S3Upload& upload) {
    upload.note = std::make_unique<UploadNote>(bucket_.address(upload.key));
    const std::string kept = upload.note->session(), sha256 = kept.substr(0, kept.find(' '));
    if (!kept.empty()) upload.upload = kept.substr(std::min(sha256.size() + 1, kept.size()));
    if (sha256 == upload.file.sha256) {
      const auto known = bucket_.list_parts(upload.key, upload.upload);
      if (known) upload.known = *known;
      if (known) return {};
    } else if (!upload.upload.empty()) {  // upload of a changed file
      (void)bucket_.abort(upload.key, upload.upload);
    }
    CKPT_ASSIGN(upload.upload, bucket_.begin_upload(upload.key, upload.file.sha256));
    upload.note->keep(fmt::format("{} {}", upload.file.sha256, upload.upload));
    return {};
  }

  Status send_parts() {
    std::vector<std::pair<S3Upload*, uint32_t>> jobs;
    uint64_t total_bytes = 0;
    for (S3Upload& upload : uploads_) {
      const uint64_t part = part_bytes(upload.file.size_bytes);
      total_bytes += upload.file.size_bytes;
      for (uint64_t at = 0; at < upload.file.size_bytes; at += part) {
        jobs.emplace_back(&upload, static_cast<uint32_t>(at / part + 1));
      }
    }
    SentBytes progress(options_.observer->progress("sending"), total_bytes);
    return for_each_parallel(jobs.size(), kPartsAtATime, [&](size_t i) {
      return in(jobs[i].first->file.name, send_part(*jobs[i].first, jobs[i].second, progress));
    });
  }

  Status send_part(S3Upload& upload, uint32_t number, SentBytes& progress) {
    const uint64_t part = part_bytes(upload.file.size_bytes), at = (number - 1) * part;
    const uint64_t size_bytes = std::min(part, upload.file.size_bytes - at);
    CKPT_ASSIGN(HttpBody file, body_of(shipment_, upload.file.name, options_, nullptr));
    const HttpBody body = part_of(std::move(file), at, size_bytes);
    CKPT_ASSIGN(const std::string sha256, digest_of_body(body));
    const auto known = upload.known.find(number);
    const bool is_there = known != upload.known.end() && known->second.size_bytes == size_bytes &&
                          known->second.sha256_base64 == checksum_of(sha256);
    S3Part done;
    if (is_there) {
      done = known->second;
    } else {
      CKPT_ASSIGN(done, bucket_.put_part({upload.key, upload.upload, number}, body, sha256));
    }
    progress.add(size_bytes);
    const std::lock_guard lock(mutex_);
    upload.parts[number] = std::move(done);
    return {};
  }

  // Makes the files visible.
  Status finish() {
    while (!uploads_.empty()) {
      const S3Upload& upload = uploads_.back();
      CKPT_TRY(in(address_.shown(upload.file.name),
                  bucket_.complete({upload.key, upload.upload, 0}, upload.parts, upload.file.sha256,
                                   options_.force)));
      upload.note->remove();
      uploads_.pop_back();
    }
    for (const FileDigest& file : small_) {
      CKPT_ASSIGN(const HttpBody body, body_of(shipment_, file.name, options_, nullptr));
      CKPT_TRY(in(address_.shown(file.name),
                  bucket_.put(address_.prefix + file.name, body, file.sha256, options_.force)));
    }
    return {};
  }

  S3Writer& bucket_;
  const S3Address& address_;
  const Shipment& shipment_;
  const SendOptions& options_;
  std::mutex mutex_;
  std::vector<S3Upload> uploads_;
  std::vector<FileDigest> small_;
  SentArtifact sent_;
};

Result<SentArtifact> send_to_s3(const std::string& address, const Shipment& shipment,
                                const SendOptions& options) {
  CKPT_ASSIGN(const S3Address s3, parse_s3_address(address));
  CKPT_ASSIGN(S3Bucket named, s3_bucket(s3.bucket));
  S3Writer bucket(std::move(named));
  S3Sender sender(bucket, s3, shipment, options);
  CKPT_TRY(sender.send());
  SentArtifact sent = sender.sent();
  sent.address = s3.shown("");
  return sent;
}

}  // namespace

extern const PublishTarget kToS3{"s3://", "s3://BUCKET/PREFIX", "objects in a bucket", list_s3,
                                 send_to_s3};

}  // namespace ckpt
