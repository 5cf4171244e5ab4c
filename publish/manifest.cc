// Manifests and indexes of registries, as they are read.
//
// Source: opencontainers/image-spec manifest.md, image-index.md.
#include "core/json/json_read.h"
#include "publish/artifact.h"

namespace ckpt {
namespace {

std::string name_of(const JsonValue& descriptor, const std::string& digest) {
  const JsonValue* const notes = known(descriptor, "annotations");
  for (const char* const key : {"org.opencontainers.image.title", "org.cncf.model.filepath"}) {
    const std::string* const title = notes == nullptr ? nullptr : text_of(*notes, key);
    if (title != nullptr) return *title;
  }
  return digest;
}

Result<NamedBlob> blob_named_by(const JsonValue& descriptor, std::string_view where) {
  const std::string* const digest = text_of(descriptor, "digest");
  const JsonValue* const size = known(descriptor, "size");
  const auto size_bytes = size == nullptr ? std::nullopt : whole(*size);
  const bool is_sound = digest != nullptr && digest->size() == 71 &&
                        digest->starts_with("sha256:") &&
                        digest->find_first_not_of("0123456789abcdef", 7) == digest->npos;
  if (is_sound && size_bytes) return NamedBlob{*digest, name_of(descriptor, *digest), *size_bytes};
  return fail(ErrorCode::kCorrupt, "{}: a blob without size or SHA-256", where);
}

}  // namespace

Result<Manifested> parse_manifest(std::string_view where, std::string_view text) {
  CKPT_ASSIGN(const JsonValue json, parse_json(where, text));
  Manifested out;
  const JsonValue* const manifests = known(json, "manifests");
  const JsonValue* const config = known(json, "config");
  const JsonValue* const layers = known(json, "layers");
  const JsonValue* const listed = manifests != nullptr ? manifests : layers;
  if (listed == nullptr || !listed->is_array() || (manifests == nullptr && config == nullptr)) {
    return fail(ErrorCode::kCorrupt, "{}: expected an index, or a manifest with config and layers",
                where);
  }
  std::vector<NamedBlob>& named = manifests != nullptr ? out.manifests : out.blobs;
  if (manifests == nullptr) {
    CKPT_ASSIGN(NamedBlob blob, blob_named_by(*config, where));
    named.push_back(std::move(blob));
  }
  for (const JsonValue& one : *listed) {
    CKPT_ASSIGN(NamedBlob blob, blob_named_by(one, where));
    named.push_back(std::move(blob));
  }
  return out;
}

}  // namespace ckpt
