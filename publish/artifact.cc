#include "publish/artifact.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/sha256.h"
#include "core/base/words.h"
#include "core/json/json_string.h"

namespace ckpt {
namespace {

using ArtifactJson = nlohmann::ordered_json;

std::string compact(const ArtifactJson& json) {
  return json.dump(-1, ' ', false, ArtifactJson::error_handler_t::replace);
}

ArtifactJson blob(std::string_view media_type, std::string_view sha256, uint64_t size_bytes) {
  return {{"mediaType", media_type}, {"digest", blob_digest(sha256)}, {"size", size_bytes}};
}

ArtifactJson blob_of(std::string_view media_type, std::string_view content) {
  return blob(media_type, sha256_of(content), content.size());
}

void set_known(ArtifactJson& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}

ArtifactJson blobs_of(const std::vector<ArtifactLayer>& layers) {
  ArtifactJson out = ArtifactJson::array();
  for (const ArtifactLayer& layer : layers) {
    out.push_back(blob(layer.media_type, layer.sha256, layer.size_bytes));
  }
  return out;
}

ArtifactJson digests_of(const std::vector<ArtifactLayer>& layers) {
  ArtifactJson out = ArtifactJson::array();
  for (const ArtifactLayer& layer : layers) out.push_back(blob_digest(layer.sha256));
  return out;
}

}  // namespace

std::string blob_digest(std::string_view sha256) { return fmt::format("sha256:{}", sha256); }

std::string modelpack_type(std::string_view path) {
  constexpr std::string_view kWeights[] = {".safetensors", ".gguf", ".bin", ".pt", ".pth"};
  constexpr std::string_view kTexts[] = {".md", ".html", ".pdf", ".sig"};
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const bool is_text = ends_with_any(name, kTexts) || name == "SHA256SUMS" ||
                       name == "provenance.json" || name.starts_with("LICENSE") ||
                       name.starts_with("NOTICE") || name.starts_with("USE_POLICY");
  const std::string_view kind = ends_with_any(lower_case(name), kWeights) ? "weight"
                                : name.ends_with(".py")                   ? "code"
                                : is_text                                 ? "doc"
                                                                          : "weight.config";
  return fmt::format("application/vnd.cncf.model.{}.v1.raw", kind);
}

std::string render_modelpack_config(const ModelPackFacts& facts,
                                    const std::vector<ArtifactLayer>& layers) {
  ArtifactJson descriptor = ArtifactJson::object(), config = ArtifactJson::object();
  set_known(descriptor, "family", facts.family);
  set_known(descriptor, "name", facts.name);
  set_known(config, "architecture", facts.architecture);
  set_known(config, "format", facts.format);
  set_known(config, "paramSize", facts.param_size);
  set_known(config, "precision", facts.precision);
  set_known(config, "quantization", facts.quantization);
  return compact({{"descriptor", std::move(descriptor)},
                  // The digest of an unpacked layer is that of its file.
                  {"modelfs", {{"type", "layers"}, {"diffIds", digests_of(layers)}}},
                  {"config", std::move(config)}});
}

std::string render_modelpack_manifest(std::string_view config,
                                      const std::vector<ArtifactLayer>& layers) {
  ArtifactJson listed = blobs_of(layers);
  for (size_t i = 0; i < layers.size(); ++i) {
    listed[i]["annotations"] = {{"org.cncf.model.filepath", layers[i].path},
                                {"org.opencontainers.image.title", layers[i].path}};
  }
  return compact({{"schemaVersion", 2},
                  {"mediaType", kOciManifestType},
                  {"artifactType", "application/vnd.cncf.model.manifest.v1+json"},
                  {"config", blob_of(kModelPackConfigType, config)},
                  {"layers", std::move(listed)}});
}

std::string render_image_config(std::string_view architecture,
                                const std::vector<ArtifactLayer>& layers) {
  return compact({{"architecture", architecture},
                  {"os", "linux"},
                  {"config", ArtifactJson::object()},
                  {"rootfs", {{"type", "layers"}, {"diff_ids", digests_of(layers)}}}});
}

std::string render_image_manifest(std::string_view config,
                                  const std::vector<ArtifactLayer>& layers) {
  return compact({{"schemaVersion", 2},
                  {"mediaType", kOciManifestType},
                  {"config", blob_of(kImageConfigType, config)},
                  {"layers", blobs_of(layers)}});
}

std::string render_image_index(const std::vector<std::pair<std::string, std::string>>& manifests) {
  ArtifactJson listed = ArtifactJson::array();
  for (const auto& [architecture, manifest] : manifests) {
    listed.push_back(blob_of(kOciManifestType, manifest));
    listed.back()["platform"] = {{"architecture", architecture}, {"os", "linux"}};
  }
  return compact(
      {{"schemaVersion", 2}, {"mediaType", kOciIndexType}, {"manifests", std::move(listed)}});
}

std::string ollama_count(uint64_t parameters) {
  constexpr uint64_t kThousand = 1000, kMillion = 1'000'000, kBillion = 1'000'000'000;
  const auto in_units = [&](uint64_t unit, int digits, char letter) {
    const bool is_whole = parameters % unit == 0;
    return fmt::format("{:.{}f}{}", static_cast<double>(parameters) / static_cast<double>(unit),
                       is_whole ? 0 : digits, letter);
  };
  if (parameters >= kBillion) return in_units(kBillion, 1, 'B');
  if (parameters >= kMillion) return in_units(kMillion, 2, 'M');
  if (parameters >= kThousand) return in_units(kThousand, 0, 'K');
  return std::to_string(parameters);
}

std::string render_ollama_config(const OllamaFacts& facts) {
  ArtifactJson config = {{"model_format", "gguf"},
                         {"model_family", facts.family},
                         {"model_families", ArtifactJson::array({facts.family})},
                         {"model_type", facts.model_type},
                         {"file_type", facts.file_type}};
  set_known(config, "renderer", facts.renderer);
  set_known(config, "parser", facts.parser);
  config["architecture"] = "amd64";
  config["os"] = "linux";
  return compact(config) + "\n";
}

std::string render_ollama_manifest(std::string_view config,
                                   const std::vector<ArtifactLayer>& layers) {
  return compact({{"schemaVersion", 2},
                  {"mediaType", kDockerManifestType},
                  {"config", blob_of(kOllamaConfigType, config)},
                  {"layers", blobs_of(layers)}}) +
         "\n";
}

std::string render_ollama_params(std::vector<OllamaParameter> parameters) {
  std::ranges::sort(parameters, {}, &OllamaParameter::name);
  std::string out = "{";
  for (const OllamaParameter& parameter : parameters) {
    if (out.size() > 1) out += ',';
    out += fmt::format("{}:{}", json_quoted(parameter.name, JsonEscape::kSerde), parameter.json);
  }
  return out + "}\n";
}

}  // namespace ckpt
