// Bodies of HTTP requests from files of a shipment.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "plan/publish_to/publish_to.h"
#include "remote/remote.h"

namespace ckpt {

// Counts the sent bytes of a shipment for a progress line. Thread-safe.
class SentBytes {
 public:
  SentBytes(std::unique_ptr<Progress> progress, uint64_t total_bytes)
      : progress_(std::move(progress)), total_bytes_(total_bytes) {}
  void add(uint64_t bytes);

 private:
  std::mutex mutex_;
  std::unique_ptr<Progress> progress_;  // may be null
  uint64_t done_bytes_ = 0, total_bytes_ = 0;
};

// The body for a file of the shipment, read while it is sent. `sent` may be null and must outlive
// the body. Fails: as open_shipped(); reading fails with kInterrupted if the observer cancels.
Result<HttpBody> body_of(const Shipment& shipment, const std::string& name,
                         const SendOptions& options, SentBytes* sent);

// The given range of `body`.
HttpBody part_of(HttpBody body, uint64_t offset_bytes, uint64_t size_bytes);
// The SHA-256 of the entire body, which is read in pieces. Fails: as read().
Result<std::string> digest_of_body(const HttpBody& body);

// A tar with `file` as its only member, models/NAME.
HttpBody tar_of(const std::string& name, HttpBody file);

}  // namespace ckpt
