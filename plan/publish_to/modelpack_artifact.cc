// Makes a ModelPack artifact of a folder: a layer per file, whose digest is that of the file.
#include <algorithm>
#include <array>

#include "core/base/sha256.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/json/json_read.h"
#include "plan/conversion/steps.h"
#include "plan/publish_to/artifacts.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxConfigBytes = 16 << 20;

// Parses a file; null if it is missing or not JSON, because a folder may contain any file.
JsonValue json_of(const Shipment& shipment, const std::string& name) {
  if (!shipment.has(name)) return nullptr;
  const fs::path path = shipment.folder / name;
  const auto text = read_small(path, kMaxConfigBytes);
  const auto json = text ? parse_json(path.string(), *text) : Result<JsonValue>(nullptr);
  return json ? *json : JsonValue(nullptr);
}

std::string lower_text(const JsonValue& json, std::string_view key) {
  const std::string* const text = text_of(json, key);
  return text == nullptr ? "" : lower_case(*text);
}

// How the folder declares its quantization: "nvfp4", "fp8", "gptq".
std::string quantization_of(const JsonValue& config, const JsonValue& exported) {
  const JsonValue* const declared = known(exported, "quantization");
  const JsonValue* const own = known(config, "quantization_config");
  const JsonValue* const inner = known(known(config, "text_config"), "quantization_config");
  for (const JsonValue* const from : {declared, own, inner}) {
    for (const char* const key : {"quant_algo", "quant_method"}) {
      std::string name = from == nullptr ? "" : lower_text(*from, key);
      if (!name.empty()) return name;
    }
  }
  return "";
}

// Adds facts that the config.json of a Hugging Face folder declares.
void add_folder_facts(const Shipment& shipment, ModelPackFacts& facts) {
  const JsonValue config = json_of(shipment, "config.json");
  facts.family = lower_text(config, "model_type");
  facts.precision = lower_text(config, "dtype");
  if (facts.precision.empty()) facts.precision = lower_text(config, "torch_dtype");
  const bool is_known =
      facts.precision == "bfloat16" || facts.precision == "float16" || facts.precision == "float32";
  if (!is_known) facts.precision.clear();
  facts.quantization = quantization_of(config, json_of(shipment, "hf_quant_config.json"));
}

// Adds facts of the GGUF files that are models. An unreadable file adds nothing.
void add_gguf_facts(const Shipment& shipment, ModelPackFacts& facts) {
  for (const FileDigest& file : shipment.files) {
    if (!has_ending(file.name, ".gguf")) continue;
    const auto read = read_checkpoint(shipment.folder / file.name);
    if (!read || read->is_projector()) continue;
    const std::string* const family = read->metadata.find_text("general.architecture");
    const std::string type = file_type_of(read->metadata);
    if (family != nullptr) facts.family = *family;
    // Files of different types make the artifact "mixed".
    facts.quantization = facts.quantization.empty() || facts.quantization == type ? type : "mixed";
  }
  if (facts.quantization == "mixed") facts.quantization.clear();
}

std::string_view format_of(const Shipment& shipment) {
  for (const std::string_view ending : {".gguf", ".safetensors"}) {
    for (const FileDigest& file : shipment.files) {
      if (file.name.ends_with(ending)) return ending.substr(1);
    }
  }
  return "";
}

int rank_of(const ArtifactLayer& layer) {
  constexpr std::array<std::string_view, 4> kOrder{".config.v1", ".weight.v1", ".code.v1",
                                                   ".doc.v1"};
  const auto* const at = std::ranges::find_if(kOrder, [&](std::string_view part) {
    return layer.media_type.find(part) != std::string::npos;
  });
  return static_cast<int>(at - kOrder.begin());
}

}  // namespace

Result<Artifact> modelpack_artifact(const Shipment& shipment) {
  Artifact out;
  for (const FileDigest& file : shipment.files) {
    out.layers.push_back({modelpack_type(file.name), file.sha256, file.size_bytes, file.name});
  }
  std::ranges::sort(out.layers, [](const ArtifactLayer& a, const ArtifactLayer& b) {
    return std::pair(rank_of(a), a.path) < std::pair(rank_of(b), b.path);
  });
  ModelPackFacts facts;
  facts.format = format_of(shipment);
  add_folder_facts(shipment, facts);
  if (facts.format == "gguf") add_gguf_facts(shipment, facts);
  out.config = render_modelpack_config(facts, out.layers);
  out.config_type = kModelPackConfigType;
  out.texts[sha256_of(out.config)] = out.config;
  out.manifest = render_modelpack_manifest(out.config, out.layers);
  out.manifest_type = kOciManifestType;
  return out;
}

}  // namespace ckpt
