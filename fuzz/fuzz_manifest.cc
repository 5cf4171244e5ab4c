// Manifests and indexes of registries. Laws: every blob has a digest; the manifest that ckpt would
// write from what was read names the same blobs.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz.h"
#include "publish/publish.h"

using namespace ckpt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto named = parse_manifest("registry", text);
  if (!named) return 0;
  CKPT_CHECK(named->manifests.empty() || named->blobs.empty());
  if (named->blobs.empty()) return 0;
  std::vector<ArtifactLayer> layers;
  for (const NamedBlob& blob : named->blobs) {
    CKPT_CHECK(blob.digest.size() == blob_digest(std::string(64, '0')).size());
    layers.push_back({"a/b", blob.digest.substr(7), blob.size_bytes, blob.name});
  }
  const auto again = parse_manifest("registry", render_modelpack_manifest("{}", layers));
  CKPT_CHECK(again && again->blobs.size() == layers.size() + 1);
  for (size_t i = 0; i < layers.size(); ++i) {
    const NamedBlob &before = named->blobs[i], &after = again->blobs[i + 1];
    CKPT_CHECK(after.digest == before.digest && after.size_bytes == before.size_bytes &&
               after.name == before.name);
  }
  return 0;
}
