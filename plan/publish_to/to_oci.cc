// --to oci://HOST/NAME:TAG: an artifact in a registry, which Kubernetes, CRI-O, oras and modctl
// fetch by its digest.
//
//   blobs in parallel, except those that the registry has ▸ config ▸ manifest
#include <mutex>
#include <set>

#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "plan/publish_to/artifacts.h"
#include "plan/publish_to/body.h"
#include "plan/publish_to/oci_registry.h"

namespace ckpt {
namespace {

constexpr unsigned kBlobsAtATime = 4;

// Fails: kUsage for an address without a tag, or with a digest, which is not known yet.
Result<OciAddress> target_address(const std::string& address) {
  CKPT_ASSIGN(OciAddress oci, in("--to", parse_oci_address(address)));
  if (oci.digest.empty()) return oci;
  return misuse("--to {}: expected a tag without a digest", address);
}

Result<std::vector<Placement>> list_oci(const std::string& address, const Shipment& shipment) {
  CKPT_ASSIGN(const OciAddress oci, target_address(address));
  CKPT_ASSIGN(const Artifact artifact, artifact_of(shipment, {}));
  std::vector<Placement> out;
  for (const ArtifactLayer& layer : artifact.layers) {
    out.push_back(
        {layer.path, fmt::format("{} ({})", oci.shown(), layer.media_type), layer.size_bytes});
  }
  out.push_back({"", fmt::format("{}:{}", oci.shown(), oci.tag), 0});
  return out;
}

// Rejects a tag that names another artifact, unless `force` is set.
Status check_tag(OciRepository& repository, const OciAddress& oci, const std::string& digest,
                 bool force) {
  CKPT_ASSIGN(const std::string tagged, repository.tagged());
  if (tagged.empty() || tagged == digest || force) return {};
  return misuse_hint("--force to move the tag, or another tag",
                     "{}:{} exists already and is another artifact ({})", oci.shown(), oci.tag,
                     tagged);
}

class BlobSender {
 public:
  BlobSender(OciRepository& repository, const Shipment& shipment, const SendOptions& options,
             SentBytes& progress)
      : repository_(repository), shipment_(shipment), options_(options), progress_(progress) {}

  Status send(const ArtifactLayer& layer, bool is_tar) {
    CKPT_ASSIGN(const bool exists, repository_.has_blob(layer.sha256));
    if (!exists) {
      CKPT_ASSIGN(HttpBody body, body_of(shipment_, layer.path, options_, &progress_));
      if (is_tar) body = tar_of(layer.path, std::move(body));
      CKPT_TRY(in(layer.path, repository_.put_blob(layer.sha256, body)));
    } else {
      progress_.add(layer.size_bytes);
    }
    return count(exists, layer.size_bytes);
  }
  Status send_text(const std::string& sha256, const std::string& text) {
    CKPT_ASSIGN(const bool exists, repository_.has_blob(sha256));
    if (!exists) CKPT_TRY(repository_.put_blob(sha256, HttpBody::of(text)));
    return count(exists, text.size());
  }
  const SentArtifact& sent() const { return sent_; }

 private:
  Status count(bool exists, uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    sent_.present_files += exists ? 1 : 0;
    sent_.sent_files += exists ? 0 : 1;
    sent_.sent_bytes += exists ? 0 : size_bytes;
    return {};
  }

  OciRepository& repository_;
  const Shipment& shipment_;
  const SendOptions& options_;
  SentBytes& progress_;
  std::mutex mutex_;
  SentArtifact sent_;
};

// Layers with distinct content; files with equal content share a blob.
std::vector<ArtifactLayer> different_blobs(const std::vector<ArtifactLayer>& layers) {
  std::set<std::string_view> seen;
  std::vector<ArtifactLayer> out;
  for (const ArtifactLayer& layer : layers) {
    if (!layer.path.empty() && seen.insert(layer.sha256).second) out.push_back(layer);
  }
  return out;
}

Result<SentArtifact> send_to_oci(const std::string& address, const Shipment& shipment,
                                 const SendOptions& options) {
  CKPT_ASSIGN(const OciAddress oci, target_address(address));
  CKPT_ASSIGN(const Artifact artifact, artifact_of(shipment, options));
  CKPT_ASSIGN(RegistryLogin login, registry_login(oci.host()));
  OciRepository repository(oci, std::move(login));
  const std::string digest = sha256_of(artifact.manifest);
  CKPT_TRY(check_tag(repository, oci, blob_digest(digest), options.force));

  const std::vector<ArtifactLayer> blobs = different_blobs(artifact.layers);
  uint64_t total_bytes = 0;
  for (const ArtifactLayer& blob : blobs) total_bytes += blob.size_bytes;
  SentBytes progress(options.observer->progress("sending"), total_bytes);
  BlobSender sender(repository, shipment, options, progress);
  CKPT_TRY(for_each_parallel(blobs.size(), kBlobsAtATime, [&](size_t i) {
    return sender.send(blobs[i], artifact.has_tar_layers);
  }));
  for (const auto& [sha256, text] : artifact.texts) CKPT_TRY(sender.send_text(sha256, text));
  CKPT_TRY(check_unchanged(shipment));
  for (const auto& [sha256, manifest] : artifact.named_manifests) {
    CKPT_TRY(repository.put_manifest(blob_digest(sha256), manifest, kOciManifestType));
  }
  CKPT_TRY(repository.put_manifest(oci.tag, artifact.manifest, artifact.manifest_type));
  SentArtifact sent = sender.sent();
  sent.address = fmt::format("{}:{}", oci.shown(), oci.tag);
  sent.digest = digest;
  sent.text = artifact.modelfile;
  return sent;
}

}  // namespace

extern const PublishTarget kToOci{"oci://", "oci://HOST/NAME:TAG", "an artifact in a registry",
                                  list_oci, send_to_oci};

}  // namespace ckpt
