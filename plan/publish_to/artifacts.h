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
  std::vector<ArtifactLayer> layers;         // layers with a path are files of the folder
  std::map<std::string, std::string> texts;  // content of other layers and the config, by SHA-256
  std::string config, config_type;
  std::string manifest, manifest_type;
  std::string modelfile = {};  // an equivalent Modelfile for `ollama create`; else empty
  // For an index: the manifests that `manifest` names, by SHA-256.
  std::map<std::string, std::string> named_manifests = {};
  bool has_tar_layers = false;  // each layer is a tar that contains its file
};

// Makes an artifact of the form `shipment.as`. Reads all files if layers are tars, which must be
// hashed. Fails: kUsage for an unknown form; as the functions below.
Result<Artifact> artifact_of(const Shipment& shipment, const SendOptions& options);

// Makes a container image, for programs that mount only images: a layer per file, each a tar with
// models/PATH. Fails: kUsage for names that layers reserve.
Result<Artifact> image_artifact(const Shipment& shipment, const SendOptions& options);

// Makes a model for Ollama. Fails: kUsage for no GGUF, several models or a split model.
Result<Artifact> ollama_artifact(const Shipment& shipment);

// Makes a ModelPack v1 artifact: a layer per file, weights first. Equal folders give equal
// manifests.
Result<Artifact> modelpack_artifact(const Shipment& shipment);

// The name of the mixture that general.file_type states; empty if it is absent or unknown.
std::string file_type_of(const Metadata& metadata);
uint64_t parameters_of(const Checkpoint& checkpoint);

}  // namespace ckpt
