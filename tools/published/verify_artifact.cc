#include "tools/published/verify_artifact.h"

#include <map>
#include <mutex>
#include <set>

#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "plan/publish_to/oci_registry.h"
#include "publish/publish.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

constexpr size_t kMaxManifests = 64;
constexpr unsigned kBlobsAtATime = 4;

class ArtifactCheck {
 public:
  ArtifactCheck(OciRepository& repository, const OciAddress& address, Findings& findings)
      : repository_(repository), address_(address), findings_(findings) {}

  // A manifest and all that it names: manifests of an index, else blobs.
  Status take_manifest(const std::string& reference) {
    if (manifests_.size() == kMaxManifests) {
      return fail(ErrorCode::kCorrupt, "{}: more than {} manifests", address_.shown(),
                  kMaxManifests);
    }
    CKPT_ASSIGN(const std::string content, repository_.read_manifest(reference));
    const std::string found = blob_digest(sha256_of(content));
    if (reference.starts_with("sha256:") && found != reference) {
      findings_.bad(reference, fmt::format("a manifest with the digest {}", found));
      return {};
    }
    if (!manifests_.insert(found).second) return {};
    const std::string where = address_.shown() + "@" + found;
    CKPT_ASSIGN(Manifested named, parse_manifest(where, content));
    for (const NamedBlob& one : named.manifests) CKPT_TRY(take_manifest(one.digest));
    for (NamedBlob& blob : named.blobs) take_blob(std::move(blob));
    return {};
  }

  Status check_blobs(ProgressLine& progress) {
    std::vector<const NamedBlob*> blobs;
    uint64_t total_bytes = 0, done_bytes = 0;
    for (const auto& [digest, blob] : blobs_) {
      blobs.push_back(&blob);
      total_bytes += blob.size_bytes;
    }
    std::mutex mutex;
    std::vector<std::string> found(blobs.size());
    CKPT_TRY(for_each_parallel(blobs.size(), kBlobsAtATime, [&](size_t i) -> Status {
      Sha256 sha256;
      const auto take = [&](std::span<const std::byte> bytes) -> Status {
        if (interrupted) return fail(ErrorCode::kInterrupted, "interrupted");
        sha256.add(bytes);
        const std::lock_guard lock(mutex);
        progress.advanced(done_bytes += bytes.size(), total_bytes);
        return {};
      };
      const Status read = repository_.read_blob(blobs[i]->digest, blobs[i]->size_bytes, take);
      if (!read && read.error().code == ErrorCode::kInterrupted) return read;
      found[i] = read ? blob_digest(sha256.finish()) : read.error().text();
      return {};
    }));
    for (size_t i = 0; i < blobs.size(); ++i) {
      if (found[i] == blobs[i]->digest) {
        findings_.good_file(blobs[i]->name, "has its digest");
      } else if (found[i].starts_with("sha256:")) {
        findings_.bad(blobs[i]->name, fmt::format("{}; expected {}", found[i], blobs[i]->digest));
      } else {
        findings_.bad(blobs[i]->name, found[i]);
      }
    }
    findings_.checked(
        fmt::format("digests of {} blobs ({})", blobs.size(), human_bytes(total_bytes)));
    return {};
  }

 private:
  void take_blob(NamedBlob blob) {
    const auto [known_blob, is_new] = blobs_.try_emplace(blob.digest, blob);
    if (!is_new && known_blob->second.size_bytes != blob.size_bytes) {
      findings_.bad(blob.name, "named with two sizes");
    }
  }

  OciRepository& repository_;
  const OciAddress& address_;
  Findings& findings_;
  std::set<std::string> manifests_;         // by digest
  std::map<std::string, NamedBlob> blobs_;  // by digest
};

}  // namespace

bool is_artifact_address(const std::string& path) { return path.starts_with("oci://"); }

Status check_artifact(const std::string& address, const Console& console, Findings& findings) {
  CKPT_ASSIGN(const OciAddress oci, parse_oci_address(address));
  const std::string shown = oci.shown();
  CKPT_ASSIGN(RegistryLogin login, registry_login(shown.substr(0, shown.find('/'))));
  OciRepository repository(oci, std::move(login));
  ArtifactCheck check(repository, oci, findings);
  CKPT_TRY(check.take_manifest(oci.digest.empty() ? oci.tag : oci.digest));
  if (oci.digest.empty()) findings.not_checked("a tag may be moved, name it by @sha256:");
  ProgressLine progress(console, "hashing");
  Status done = check.check_blobs(progress);
  progress.clear();
  return done;
}

}  // namespace ckpt
