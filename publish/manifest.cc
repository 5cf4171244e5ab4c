// Parses manifests and indexes of registries. Rejects documents that two clients may read
// differently (CVE-2021-41190), and names that leave the client's folder.
//
// Source: opencontainers/image-spec manifest.md, image-index.md, descriptor.md.
#include <limits>
#include <map>
#include <span>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/json/json_read.h"
#include "publish/artifact.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

constexpr std::string_view kManifestKeys[] = {"schemaVersion", "mediaType", "config", "layers",
                                              "manifests"};
constexpr std::string_view kDescriptorKeys[] = {"mediaType", "digest", "size", "urls",
                                                "annotations"};
constexpr std::string_view kDockerListType =
    "application/vnd.docker.distribution.manifest.list.v2+json";
constexpr std::string_view kTitle = "org.opencontainers.image.title";
constexpr std::string_view kModelPath = "org.cncf.model.filepath";

// Rejects "Layers", which programs written in Go read as "layers". Fails: kCorrupt.
Status check_keys(const JsonValue& object, std::span<const std::string_view> keys) {
  for (const auto& item : object.items()) {
    for (const std::string_view key : keys) {
      if (item.key() == key || !is_same_word(item.key(), key)) continue;
      return corrupt("a key '{}'; expected '{}'", item.key(), key);
    }
  }
  return {};
}

// The path to which clients write the blob; its digest if none is given. Fails: kCorrupt.
Result<std::string> name_of(const JsonValue& descriptor, const std::string& digest) {
  const JsonValue* const notes = known(descriptor, "annotations");
  const std::string* const title = text_of(notes, kTitle);
  const std::string* const path = text_of(notes, kModelPath);
  if (title == nullptr && path == nullptr) return digest;
  if (title != nullptr && path != nullptr && *title != *path) {
    return corrupt("a layer with two names, '{}' and '{}'", *title, *path);
  }
  const std::string& named = title != nullptr ? *title : *path;
  CKPT_ASSIGN(std::string name, unpacked_name(named, "layer"));
  if (name.empty()) return corrupt("a layer with the name '{}'", named);
  return name;
}

// Parses a descriptor. Fails: kCorrupt.
Result<NamedBlob> blob_named_by(const JsonValue& descriptor) {
  CKPT_TRY(check_keys(descriptor, kDescriptorKeys));
  const std::string* const digest = text_of(descriptor, "digest");
  const JsonValue* const size = known(descriptor, "size");
  const bool is_size = size != nullptr && size->is_number_unsigned() &&
                       size->get<uint64_t>() <= std::numeric_limits<int64_t>::max();
  const bool is_sound = digest != nullptr && digest->size() == 71 &&
                        digest->starts_with("sha256:") &&
                        digest->find_first_not_of("0123456789abcdef", 7) == digest->npos;
  if (!is_sound || !is_size) return corrupt("a blob without size or SHA-256");
  const std::string* const type = text_of(descriptor, "mediaType");
  const bool is_foreign = type != nullptr && (type->find(".foreign.") != type->npos ||
                                              type->find(".nondistributable.") != type->npos);
  if (is_foreign || is_truthy(known(descriptor, "urls"))) {
    return corrupt("{}: clients get it from elsewhere; expected a blob of this registry", *digest);
  }
  return NamedBlob{*digest, *digest, size->get<uint64_t>()};
}

// Fails: kCorrupt unless all clients read `json` as an index, or all as a manifest.
Status check_kind(const JsonValue& json, bool is_index) {
  CKPT_TRY(check_keys(json, kManifestKeys));
  const JsonValue* const version = known(json, "schemaVersion");
  if (version == nullptr || !version->is_number_unsigned() || version->get<uint64_t>() != 2) {
    return corrupt("expected schemaVersion 2");
  }
  const bool has_layers = known(json, "config") != nullptr || known(json, "layers") != nullptr;
  if (is_index && has_layers) {
    return corrupt("an index and a manifest in one; clients read either");
  }
  const JsonValue* const type = known(json, "mediaType");  // older manifests lack it
  const auto is = [&](std::string_view word) { return *type == word; };
  const bool is_right = type == nullptr ||
                        (is_index ? is(kOciIndexType) || is(kDockerListType)
                                  : is(kOciManifestType) || is(kDockerManifestType));
  if (is_right) return {};
  return corrupt("mediaType {} of {}", printable(type->dump()),
                 is_index ? "an index" : "a manifest");
}

}  // namespace

Result<ManifestContents> parse_manifest(std::string_view where, std::string_view text) {
  CKPT_ASSIGN(const JsonValue json, parse_json(where, text));
  ManifestContents out;
  const JsonValue* const manifests = known(json, "manifests");
  const JsonValue* const config = known(json, "config");
  const bool is_index = manifests != nullptr;
  const JsonValue* const listed = is_index ? manifests : known(json, "layers");
  const bool is_list = listed != nullptr && listed->is_array() && !listed->empty();
  if (!is_list || (!is_index && config == nullptr)) {
    return corrupt("{}: expected an index of manifests, or a manifest with config and layers",
                   where);
  }
  CKPT_TRY(in(where, check_kind(json, is_index)));
  if (!is_index) CKPT_SET(out.blobs.emplace_back(), in(where, blob_named_by(*config)));
  std::map<std::string, std::string> digests;  // by name
  for (const JsonValue& one : *listed) {
    CKPT_ASSIGN(NamedBlob blob, in(where, blob_named_by(one)));
    if (!is_index) CKPT_SET(blob.name, in(where, name_of(one, blob.digest)));
    const auto [first, is_new] = digests.try_emplace(blob.name, blob.digest);
    if (!is_new && first->second != blob.digest) {
      return corrupt("{}: two layers with the name '{}'", where, blob.name);
    }
    (is_index ? out.manifests : out.blobs).push_back(std::move(blob));
  }
  return out;
}

}  // namespace ckpt
