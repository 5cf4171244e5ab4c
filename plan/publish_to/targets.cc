// Lists the targets of `ckpt publish --to`. Each has its own source file.
#include <algorithm>
#include <array>

#include "core/base/sha256.h"
#include "core/base/threads.h"
#include "core/base/url_secrets.h"
#include "plan/publish_to/body.h"

namespace ckpt {

extern const PublishTarget kToHub;
extern const PublishTarget kToOci;
extern const PublishTarget kToOllama;
extern const PublishTarget kToS3;

namespace {

constexpr std::array kPublishTargets{&kToHub, &kToOci, &kToOllama, &kToS3};
constexpr uint64_t kHashedAtATime = 1 << 20;

}  // namespace

Result<SharedSource> open_shipped(const Shipment& shipment, const std::string& name) {
  const std::filesystem::path path = shipment.folder / name;
  const auto at = std::ranges::find(shipment.files, name, &FileDigest::name);
  CKPT_CHECK(at != shipment.files.end());
  CKPT_ASSIGN(SharedSource source, open_file(path, ReadAs::kOwn));
  CKPT_TRY(
      check_unchanged(path, shipment.states[static_cast<size_t>(at - shipment.files.begin())]));
  return source;
}

Result<HttpBody> body_of(const Shipment& shipment, const std::string& name,
                         const SendOptions& options, SentBytes* sent) {
  CKPT_ASSIGN(const SharedSource source, open_shipped(shipment, name));
  const std::atomic<bool>* const cancelled = options.observer->cancelled();
  return HttpBody{
      source->size_bytes(),
      [source, cancelled, sent](uint64_t offset_bytes, std::span<std::byte> out) -> Status {
        CKPT_TRY(check_not_interrupted(cancelled));
        if (sent != nullptr) sent->add(out.size());
        return source->read(offset_bytes, out);
      }};
}

HttpBody part_of(HttpBody body, uint64_t offset_bytes, uint64_t size_bytes) {
  return {size_bytes,
          [read = std::move(body.read), offset_bytes](uint64_t at, std::span<std::byte> out) {
            return read(offset_bytes + at, out);
          }};
}

Result<std::string> digest_of_body(const HttpBody& body) {
  Sha256 sha256;
  std::vector<std::byte> buffer(kHashedAtATime);
  for (uint64_t at = 0; at < body.size_bytes; at += buffer.size()) {
    const auto piece =
        std::span(buffer).first(std::min<uint64_t>(buffer.size(), body.size_bytes - at));
    CKPT_TRY(body.read(at, piece));
    sha256.add(piece);
  }
  return sha256.finish();
}

void SentBytes::add(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  done_bytes_ = std::min(done_bytes_ + bytes, total_bytes_);
  if (progress_ != nullptr) progress_->advanced(done_bytes_, total_bytes_);
}

Status check_unchanged(const Shipment& shipment) {
  for (size_t i = 0; i < shipment.files.size(); ++i) {
    CKPT_TRY(check_unchanged(shipment.folder / shipment.files[i].name, shipment.states[i]));
  }
  return {};
}

std::string publish_target_forms() {
  std::vector<std::string_view> forms;
  for (const PublishTarget* target : kPublishTargets) forms.push_back(target->form);
  return fmt::format("{}", fmt::join(forms, ", "));
}

Result<const PublishTarget*> find_publish_target(const std::string& address) {
  const auto* const found = std::ranges::find_if(kPublishTargets, [&](const PublishTarget* target) {
    return address.starts_with(target->prefix);
  });
  if (found != kPublishTargets.end()) return *found;
  return misuse("--to {}: expected {}", without_url_secrets(address), publish_target_forms());
}

}  // namespace ckpt
