// Artifacts that targets make from a folder: blobs, a config and a manifest that names them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "plan/publish_to/publish_to.h"

namespace ckpt {

struct Artifact {
  std::vector<ArtifactLayer> layers;         // those with a path are files of the folder
  std::map<std::string, std::string> texts;  // of the others and of the config, by SHA-256
  std::string config, config_type;
  std::string manifest, manifest_type;
  std::string modelfile = {};  // what `ollama create` would read; else empty
  // For an index: the manifests that `manifest` names, by their SHA-256.
  std::map<std::string, std::string> named_manifests = {};
  bool has_tar_layers = false;  // each layer is a tar with its file
};

// The artifact of the form `shipment.as`. Reads all files if tars have to be hashed. Fails: kUsage
// for an unknown form; as the functions below.
Result<Artifact> artifact_of(const Shipment& shipment, const SendOptions& options);

// For programs that mount only container images: a layer for each file, a tar with models/PATH in
// it. Fails: kUsage for names that layers reserve.
Result<Artifact> image_artifact(const Shipment& shipment, const SendOptions& options);

// For Ollama. Fails: kUsage if the folder has no GGUF, several models or a split model.
Result<Artifact> ollama_artifact(const Shipment& shipment);

// ModelPack v1: a layer for each file, weights first. Identical folders give identical manifests.
Result<Artifact> modelpack_artifact(const Shipment& shipment);

// The name of the mixture, by general.file_type; empty if it is absent or unknown.
std::string file_type_of(const Metadata& metadata);
uint64_t parameters_of(const Checkpoint& checkpoint);

}  // namespace ckpt
