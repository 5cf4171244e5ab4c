// --to s3://BUCKET/PREFIX: the files as objects.
//
//   parts of large files, several at a time    invisible; those of an earlier run are kept
//   ▸ large files, by the call that joins their parts ▸ small files ▸ the index ▸ SHA256SUMS
//
// A run that fails for a reason that may pass leaves its parts for the next one; else it removes
// them, because a bucket keeps and bills parts that nobody sees.
#include <algorithm>
#include <mutex>

#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "plan/publish_to/body.h"
#include "plan/publish_to/s3_writer.h"

namespace ckpt {
namespace {

constexpr uint64_t kSmallestPartBytes = uint64_t{32} << 20;
constexpr uint64_t kMostParts = 10'000;
constexpr unsigned kPartsAtATime = 4;

// Small files are sent whole; readers look for the last two first.
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
  std::string bucket, prefix;  // prefix: empty, or with '/' at its end

  std::string shown(std::string_view name) const {
    return fmt::format("s3://{}/{}{}", bucket, prefix, name);
  }
};

// Fails: kUsage, also for keys that file systems or URLs would make others of.
Result<S3Address> parse_s3_address(const std::string& address) {
  CKPT_ASSIGN(const S3Name name, in("--to", parse_s3_name(address)));
  const std::string text = "/" + name.key + "/";
  const bool is_plain =
      text == "//" || (text.find("//") == text.npos && text.find("/./") == text.npos);
  if (is_plain && name.key.find_first_of("\\?#\n\r") == name.key.npos) {
    return S3Address{name.bucket, name.key.empty() ? "" : name.key + "/"};
  }
  return fail_with_hint(ErrorCode::kUsage, "s3://BUCKET/PREFIX",
                        "--to {}: not the name of a bucket and a prefix in it", address);
}

Result<std::vector<Placement>> list_s3(const std::string& address, const Shipment& shipment) {
  CKPT_ASSIGN(const S3Address s3, parse_s3_address(address));
  std::vector<Placement> out;
  for (const FileDigest& file : in_order(shipment.files)) {
    out.push_back({file.name, s3.shown(file.name), file.size_bytes});
  }
  return out;
}

struct S3Upload {
  FileDigest file;
  std::string key, upload;
  S3Parts known, parts;  // of an earlier run; of this one
};

class S3Sender {
 public:
  S3Sender(S3Writer& bucket, const S3Address& address, const Shipment& shipment,
           const SendOptions& options)
      : bucket_(bucket), address_(address), shipment_(shipment), options_(options) {}

  Status send() {
    CKPT_TRY(sort_out());
    Status done = send_parts();
    if (done) done = check_unchanged(shipment_);
    if (done) done = finish();
    const bool may_pass =
        done || done.error().code == ErrorCode::kIo || done.error().code == ErrorCode::kInterrupted;
    if (may_pass) return done;
    // The parts would cost money, and no later run could use them.
    for (const S3Upload& upload : uploads_) (void)bucket_.abort(upload.key, upload.upload);
    return done;
  }
  const Sent& sent() const { return sent_; }

 private:
  // Which files are there already, and which are sent in parts.
  Status sort_out() {
    for (const FileDigest& file : in_order(shipment_.files)) {
      const std::string key = address_.prefix + file.name;
      CKPT_ASSIGN(const auto there, bucket_.find(key));
      if (there && there->sha256 == file.sha256 && there->size_bytes == file.size_bytes) {
        ++sent_.present_files;
        continue;
      }
      if (there && !options_.force) {
        return fail_with_hint(ErrorCode::kUsage, "--force to replace it, or another prefix",
                              "{} exists already and is another file", address_.shown(file.name));
      }
      ++sent_.sent_files;
      sent_.sent_bytes += file.size_bytes;
      if (order_of(file) != 0) {
        small_.push_back(file);
        continue;
      }
      uploads_.push_back({file, key, "", {}, {}});
    }
    for (S3Upload& upload : uploads_) CKPT_TRY(begin(upload));
    return {};
  }

  Status begin(S3Upload& upload) {
    CKPT_ASSIGN(upload.upload, bucket_.find_upload(upload.key));
    if (!upload.upload.empty()) {
      const auto known = bucket_.list_parts(upload.key, upload.upload);
      if (known) upload.known = *known;
      if (known) return {};
    }
    CKPT_ASSIGN(upload.upload, bucket_.begin_upload(upload.key, upload.file.sha256));
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
    CKPT_ASSIGN(const HttpBody body, body_of(shipment_, upload.file.name, options_, nullptr));
    std::string bytes(size_bytes, '\0');
    CKPT_TRY(body.read(at, std::as_writable_bytes(std::span(bytes))));
    const auto known = upload.known.find(number);
    const bool is_there = known != upload.known.end() && known->second.size_bytes == size_bytes &&
                          known->second.sha256_base64 == sha256_base64(bytes);
    S3Part done;
    if (is_there) {
      done = known->second;
    } else {
      CKPT_ASSIGN(done, bucket_.put_part({upload.key, upload.upload, number}, bytes));
    }
    progress.add(size_bytes);
    const std::lock_guard lock(mutex_);
    upload.parts[number] = std::move(done);
    return {};
  }

  // From here on files appear.
  Status finish() {
    while (!uploads_.empty()) {
      const S3Upload& upload = uploads_.back();
      CKPT_TRY(in(address_.shown(upload.file.name),
                  bucket_.complete({upload.key, upload.upload, 0}, upload.parts, upload.file.sha256,
                                   options_.force)));
      uploads_.pop_back();
    }
    for (const FileDigest& file : small_) {
      CKPT_ASSIGN(const HttpBody body, body_of(shipment_, file.name, options_, nullptr));
      std::string bytes(file.size_bytes, '\0');
      CKPT_TRY(body.read(0, std::as_writable_bytes(std::span(bytes))));
      CKPT_TRY(in(address_.shown(file.name),
                  bucket_.put(address_.prefix + file.name, bytes, options_.force)));
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
  Sent sent_;
};

Result<Sent> send_to_s3(const std::string& address, const Shipment& shipment,
                        const SendOptions& options) {
  CKPT_ASSIGN(const S3Address s3, parse_s3_address(address));
  CKPT_ASSIGN(S3Bucket named, s3_bucket(s3.bucket));
  S3Writer bucket(std::move(named));
  S3Sender sender(bucket, s3, shipment, options);
  CKPT_TRY(sender.send());
  Sent sent = sender.sent();
  sent.address = s3.shown("");
  return sent;
}

}  // namespace

extern const PublishTarget kToS3{"s3://", "s3://BUCKET/PREFIX", "objects in a bucket", list_s3,
                                 send_to_s3};

}  // namespace ckpt
