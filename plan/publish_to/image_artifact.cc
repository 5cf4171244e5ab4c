// Makes a container image without a program, which containerd and KServe mount as a volume. They
// accept only images for the machine's architecture, so an index names one per architecture. In
// layers, ".wh.NAME" deletes NAME of lower layers (opencontainers/image-spec layer.md).
#include <algorithm>
#include <array>

#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "plan/publish_to/artifacts.h"
#include "plan/publish_to/body.h"

namespace ckpt {
namespace {

constexpr std::array<std::string_view, 3> kArtifactForms{"modelpack", "image", "ollama"};
constexpr std::array<std::string_view, 2> kImageArchitectures{"amd64", "arm64"};

// Fails: kUsage for a file or folder name that layers cannot contain.
Status check_image_names(const Shipment& shipment) {
  for (const FileDigest& file : shipment.files) {
    if (("/" + file.name).find("/.wh.") == std::string::npos) continue;
    return misuse_hint("another name, or --as modelpack",
                       "{}: layers of images reserve names that start with .wh.",
                       (shipment.folder / file.name).string());
  }
  return {};
}

}  // namespace

std::span<const std::string_view> artifact_forms() { return kArtifactForms; }

HttpBody tar_of(const std::string& name, HttpBody file) {
  const std::string header = render_tar_header({"models/" + name, file.size_bytes, false});
  const uint64_t end_bytes = header.size() + file.size_bytes;
  const uint64_t padded = (end_bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
  return {
      padded + kTarEndBytes,
      [header, end_bytes, file = std::move(file)](uint64_t at, std::span<std::byte> out) -> Status {
        while (!out.empty()) {
          uint64_t count = out.size();
          if (at < header.size()) {
            count = std::min<uint64_t>(count, header.size() - at);
            const auto bytes = std::as_bytes(std::span(header)).subspan(at, count);
            std::ranges::copy(bytes, out.begin());
          } else if (at < end_bytes) {
            count = std::min(count, end_bytes - at);
            CKPT_TRY(file.read(at - header.size(), out.first(count)));
          } else {
            std::ranges::fill(out, std::byte{0});
          }
          at += count;
          out = out.subspan(count);
        }
        return {};
      }};
}

Result<Artifact> image_artifact(const Shipment& shipment, const SendOptions& options) {
  CKPT_TRY(check_image_names(shipment));
  Artifact out;
  out.has_tar_layers = true;
  uint64_t total_bytes = 0;
  for (const FileDigest& file : shipment.files) {
    total_bytes += file.size_bytes;
    out.layers.push_back({std::string(kTarLayerType), "", file.size_bytes, file.name});
  }
  std::ranges::sort(out.layers, {}, &ArtifactLayer::path);
  if (!shipment.states.empty()) {  // otherwise nothing is hashed yet
    SentBytes progress(options.observer->progress("hashing layers"), total_bytes);
    CKPT_TRY(for_each_parallel(out.layers.size(), options.threads, [&](size_t i) -> Status {
      ArtifactLayer& layer = out.layers[i];
      CKPT_ASSIGN(HttpBody file, body_of(shipment, layer.path, options, &progress));
      const HttpBody tar = tar_of(layer.path, std::move(file));
      layer.size_bytes = tar.size_bytes;
      CKPT_ASSIGN(layer.sha256, digest_of_body(tar));
      return {};
    }));
  }
  std::vector<std::pair<std::string, std::string>> manifests;
  for (const std::string_view architecture : kImageArchitectures) {
    const std::string config = render_image_config(architecture, out.layers);
    std::string manifest = render_image_manifest(config, out.layers);
    out.texts[sha256_of(config)] = config;
    out.named_manifests[sha256_of(manifest)] = manifest;
    manifests.emplace_back(architecture, std::move(manifest));
  }
  out.manifest = render_image_index(manifests);
  out.manifest_type = kOciIndexType;
  return out;
}

Result<Artifact> artifact_of(const Shipment& shipment, const SendOptions& options) {
  if (shipment.as == "ollama") return ollama_artifact(shipment);
  if (shipment.as == "image") return image_artifact(shipment, options);
  return modelpack_artifact(shipment);
}

}  // namespace ckpt
