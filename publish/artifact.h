// Artifacts for registries: their blobs, and the documents that name these.
//
//   files ──▶ layers ──▶ config ──▶ manifest    the digest of the manifest covers everything
//
// No document contains a time, a user or the name of a machine, so identical folders give identical
// digests. Sources: modelpack/model-spec v0.0.7, opencontainers/image-spec manifest.md,
// ollama/ollama manifest/manifest.go, types/model/config.go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

struct ArtifactLayer {
  std::string media_type;
  std::string sha256;  // 64 lower-case hex digits
  uint64_t size_bytes = 0;
  std::string path;  // relative, with '/'; empty if manifests name no files
};

// Returns "sha256:HEX".
std::string blob_digest(std::string_view sha256);

// A manifest or blob that a manifest in a registry names; any program may have written it.
struct NamedBlob {
  std::string digest;  // "sha256:HEX"
  std::string name;    // the path of a layer, or its digest
  uint64_t size_bytes = 0;
};
struct ManifestContents {
  std::vector<NamedBlob> manifests;  // in an index
  std::vector<NamedBlob> blobs;      // in a manifest: its config, then its layers
};
// `where` names the manifest in messages. Fails: kCorrupt.
Result<ManifestContents> parse_manifest(std::string_view where, std::string_view json);

// ---- ModelPack v1 ----------------------------------------------------------------------------
inline constexpr std::string_view kOciManifestType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kModelPackConfigType =
    "application/vnd.cncf.model.config.v1+json";

// The config's statements about the model. Empty ones are omitted.
struct ModelPackFacts {
  std::string family, name;
  std::string architecture, format, param_size, precision, quantization;
};

// The type of the layer that holds this file: weights, their configuration, code or texts.
std::string modelpack_type(std::string_view path);
std::string render_modelpack_config(const ModelPackFacts& facts,
                                    const std::vector<ArtifactLayer>& layers);
// `layers` are in the order of the manifest. Layers are named twice, for modctl and for oras and
// CRI-O.
std::string render_modelpack_manifest(std::string_view config,
                                      const std::vector<ArtifactLayer>& layers);

// ---- container image -------------------------------------------------------------------------
inline constexpr std::string_view kOciIndexType = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kImageConfigType = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kTarLayerType = "application/vnd.oci.image.layer.v1.tar";

// The config of an image that contains no program; `architecture` is spelled as in Go.
std::string render_image_config(std::string_view architecture,
                                const std::vector<ArtifactLayer>& layers);
std::string render_image_manifest(std::string_view config,
                                  const std::vector<ArtifactLayer>& layers);
// Renders an index of the manifests of an image, by architecture.
std::string render_image_index(const std::vector<std::pair<std::string, std::string>>& manifests);

// ---- Ollama ----------------------------------------------------------------------------------
inline constexpr std::string_view kDockerManifestType =
    "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kOllamaConfigType =
    "application/vnd.docker.container.image.v1+json";

// The facts for the config and manifest, which equal those of `ollama create` byte for byte.
struct OllamaFacts {
  std::string family;      // general.architecture
  std::string model_type;  // number of parameters, as ollama_count() writes it
  std::string file_type;   // the mixture, in upper case
  std::string renderer, parser;
};
// Returns "2.30M", "7.6B" or "8B".
std::string ollama_count(uint64_t parameters);
std::string render_ollama_config(const OllamaFacts& facts);
std::string render_ollama_manifest(std::string_view config,
                                   const std::vector<ArtifactLayer>& layers);

// A parameter of a Modelfile; `json` is its value as JSON.
struct OllamaParameter {
  std::string name, json;
};
// Renders the layer "params", sorted by name.
std::string render_ollama_params(std::vector<OllamaParameter> parameters);

}  // namespace ckpt
