// The targets of `ckpt publish --to`, one source file each.
#include <algorithm>
#include <array>

#include "plan/publish_to/publish_to.h"

namespace ckpt {

extern const PublishTarget kToOllama;

namespace {

constexpr std::array kPublishTargets{&kToOllama};

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

Status check_unchanged(const Shipment& shipment) {
  for (size_t i = 0; i < shipment.files.size(); ++i) {
    CKPT_TRY(check_unchanged(shipment.folder / shipment.files[i].name, shipment.states[i]));
  }
  return {};
}

std::span<const PublishTarget* const> publish_targets() { return kPublishTargets; }

Result<const PublishTarget*> find_publish_target(const std::string& address) {
  const auto* const found = std::ranges::find_if(kPublishTargets, [&](const PublishTarget* target) {
    return address.starts_with(target->prefix);
  });
  if (found != kPublishTargets.end()) return *found;
  std::vector<std::string_view> forms;
  for (const PublishTarget* target : kPublishTargets) forms.push_back(target->form);
  return fail(ErrorCode::kUsage, "--to {}: expected {}", address, fmt::join(forms, ", "));
}

}  // namespace ckpt
