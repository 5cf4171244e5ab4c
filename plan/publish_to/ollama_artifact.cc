// Makes a model for Ollama: a manifest that names the unchanged GGUF file, so that its digest stays
// the published one. `ollama create` would write another file.
//
//   model ▸ projector ▸ adapter ▸ template ▸ system ▸ license ▸ params
//
// Since 0.30 Ollama uses the chat template of the GGUF file. A layer "template" would replace it,
// so it is only added if the folder has a file of that name. Source: ollama/ollama
// server/create.go, createModel().
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/numbered_name.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/json/json_edit.h"
#include "core/json/json_string.h"
#include "core/model/json_documents.h"
#include "core/model/usual_type.h"
#include "models/models.h"
#include "plan/conversion/steps.h"
#include "plan/publish_to/artifacts.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxOllamaTextBytes = 4 << 20;
constexpr std::string_view kOllamaLayer = "application/vnd.ollama.image.";

struct GgufFile {
  const FileDigest* file = nullptr;
  Checkpoint checkpoint;
};

// Opens the GGUF files. Fails as ollama_artifact() does.
Result<std::vector<GgufFile>> gguf_files(const Shipment& shipment) {
  std::vector<GgufFile> out;
  const std::string folder = shipment.folder.string();
  for (const FileDigest& file : shipment.files) {
    if (!has_ending(file.name, ".gguf")) continue;
    const fs::path path = shipment.folder / file.name;
    if (parse_numbered(file.name)) {
      return misuse_hint(
          fmt::format("ckpt convert {} release/model.gguf", shell_path(path.string())),
          "{}: part of a split file; Ollama names files by digest, so that parts are not found",
          path.string());
    }
    CKPT_ASSIGN(Checkpoint checkpoint, read_checkpoint(path));
    out.push_back({&file, std::move(checkpoint)});
  }
  if (!out.empty()) return out;
  return misuse_hint(
      fmt::format("ckpt convert {} release/model.gguf --to " CKPT_USUAL_TYPE, shell_path(folder)),
      "{}: no GGUF file; Ollama runs GGUF files", folder);
}

// The kind of a GGUF: "model", "adapter" and others; an importance matrix is an "imatrix".
std::string kind_of(const Checkpoint& checkpoint) {
  if (checkpoint.is_projector()) return "projector";
  const std::string* const type = checkpoint.metadata.find_text("general.type");
  return type == nullptr ? "model" : *type;
}

// Requires that the adapter fits the model. Fails as ollama_artifact() does.
Status check_adapter(const Shipment& shipment, const GgufFile& adapter, const GgufFile& model) {
  const std::string own = architecture_of(adapter.checkpoint);
  const std::string expected = architecture_of(model.checkpoint);
  if (own == expected) return {};
  return misuse_hint("a folder without it", "{}: {} is an adapter of '{}'; {} is a '{}'",
                     shipment.folder.string(), adapter.file->name, own, model.file->name, expected);
}

// Adds the only model, then its projector and adapters. Fails as ollama_artifact() does.
Result<const GgufFile*> add_weights(const Shipment& shipment, const std::vector<GgufFile>& files,
                                    Artifact& out) {
  const GgufFile* model = nullptr;
  for (const std::string_view kind : {"model", "projector", "adapter"}) {
    const GgufFile* first = nullptr;
    for (const GgufFile& file : files) {
      if (kind_of(file.checkpoint) != kind) continue;
      if (kind != "adapter" && first != nullptr) {
        return misuse_hint("a folder for each of them",
                           "{}: {} and {} are two {}s; expected one for a name in Ollama",
                           shipment.folder.string(), first->file->name, file.file->name, kind);
      }
      first = &file;
      if (kind == "model") model = &file;
      if (model == nullptr) continue;
      if (kind == "adapter") CKPT_TRY(check_adapter(shipment, file, *model));
      out.layers.push_back({fmt::format("{}{}", kOllamaLayer, kind), file.file->sha256,
                            file.file->size_bytes, file.file->name});
      out.modelfile += fmt::format("{} {}\n", kind == "adapter" ? "ADAPTER" : "FROM",
                                   (shipment.folder / file.file->name).string());
    }
  }
  if (model != nullptr) return model;
  return misuse("{}: {} is not a model (found type '{}'); expected one next to it",
                shipment.folder.string(), files[0].file->name, kind_of(files[0].checkpoint));
}

void add_text(Artifact& out, std::string_view kind, std::string content) {
  const std::string sha256 = sha256_of(content);
  out.layers.push_back({fmt::format("{}{}", kOllamaLayer, kind), sha256, content.size(), ""});
  out.texts[sha256] = std::move(content);
}

// A Modelfile has no escapes, so it cannot contain a text with this quote.
constexpr std::string_view kLongQuote = R"(""")";

std::string modelfile_text(const std::string& text) {
  const std::string_view quote = text.find_first_of("\n\"") == text.npos ? "\"" : kLongQuote;
  return fmt::format("{}{}{}", quote, text, quote);
}

Status add_texts(const Shipment& shipment, Artifact& out) {
  for (const std::string_view kind : {"template", "system", "license"}) {
    for (const FileDigest& file : shipment.files) {
      if (file.name != kind && !(kind == "license" && file.name.starts_with("LICENSE"))) continue;
      CKPT_ASSIGN(std::string text, read_small(shipment.folder / file.name, kMaxOllamaTextBytes));
      if (kind == "license" || text.find(kLongQuote) != text.npos) {
        out.modelfile += fmt::format("# {}: the text of {}\n", upper_case(kind), file.name);
      } else {
        out.modelfile += fmt::format("{} {}\n", kind == "template" ? "TEMPLATE" : "SYSTEM",
                                     modelfile_text(text));
      }
      add_text(out, kind, std::move(text));
    }
  }
  return {};
}

// Formats a number as Go does: the shortest text that parses to the same float.
std::string go_number(double value, bool is_float32) {
  return is_float32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

struct SamplingName {
  std::string_view ollama, gguf, config;
};
constexpr std::array kSamplingNames{
    SamplingName{"min_p", "general.sampling.min_p", "min_p"},
    SamplingName{"repeat_penalty", "general.sampling.penalty_repeat", "repetition_penalty"},
    SamplingName{"temperature", "general.sampling.temp", "temperature"},
    SamplingName{"top_k", "general.sampling.top_k", "top_k"},
    SamplingName{"top_p", "general.sampling.top_p", "top_p"},
};

// Requires that a sampling parameter is a finite number. Fails: kCorrupt.
Status check_sampling(std::string_view key, bool is_number, double value) {
  if (is_number && std::isfinite(value)) return {};
  return corrupt("{}: expected a finite number", key);
}

// The parameter in GGUF metadata; empty if absent. Fails: kCorrupt.
Result<std::string> sampling_in(const Metadata& metadata, std::string_view key) {
  const MetaValue* const value = metadata.find(key);
  if (value == nullptr) return "";
  const auto* const natural = std::get_if<uint64_t>(&value->value);
  const auto* const whole = std::get_if<int64_t>(&value->value);
  const auto* const real = std::get_if<double>(&value->value);
  const bool is_number = (natural && value->type != MetaType::kBool) || whole || real;
  CKPT_TRY(check_sampling(key, is_number, real ? *real : 0));
  if (real) return go_number(*real, value->type == MetaType::kF32);
  return natural ? std::to_string(*natural) : std::to_string(*whole);
}

// The parameter in generation_config.json; empty if absent. Fails: kCorrupt.
Result<std::string> sampling_in(const JsonValue& config, std::string_view key) {
  const JsonValue* const value = known(config, key);
  if (value == nullptr) return "";
  const auto real = number(*value);
  CKPT_TRY(check_sampling(key, real.has_value(), real.value_or(0)));
  return go_number(*real, false);
}

bool is_finite(const JsonValue& json) {
  if (json.is_structured()) return std::ranges::all_of(json, is_finite);
  return !json.is_number() || std::isfinite(json.get<double>());
}

// Reads the folder's file "params" unchanged. Fails: kCorrupt unless it is a JSON object of finite
// numbers and texts.
Result<std::vector<OllamaParameter>> parameters_in(const fs::path& path) {
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxOllamaTextBytes));
  CKPT_ASSIGN(const JsonValue values, parse_json(path.string(), text));
  if (!values.is_object() || !is_finite(values)) {
    return corrupt("{}: expected a JSON object of parameters without NaN or Inf", path.string());
  }
  CKPT_ASSIGN(const JsonText params, in(path.string(), JsonText::parse(text)));
  std::vector<OllamaParameter> out;
  const JsonStyle style{0, false, false, false};
  for (const auto& [name, value] : params.members()) out.push_back({name, value.dump(style)});
  return out;
}

// The sampling parameters in generation_config.json or in the GGUF file. Fails: kCorrupt.
Result<std::vector<OllamaParameter>> sampling_of(const Shipment& shipment, const GgufFile& model) {
  constexpr std::string_view kConfig = "generation_config.json";
  const fs::path path = shipment.folder / kConfig;
  JsonValue config = JsonValue::object();
  if (shipment.has(kConfig)) {
    CKPT_ASSIGN(const std::string text, read_small(path, kMaxOllamaTextBytes));
    CKPT_ASSIGN(config, parse_json(path.string(), text));
  }
  std::vector<OllamaParameter> out;
  for (const SamplingName& name : kSamplingNames) {
    CKPT_ASSIGN(std::string value, in(path.string(), sampling_in(config, name.config)));
    if (value.empty()) {
      CKPT_ASSIGN(value, in((shipment.folder / model.file->name).string(),
                            sampling_in(model.checkpoint.metadata, name.gguf)));
    }
    if (!value.empty()) out.push_back({std::string(name.ollama), std::move(value)});
  }
  return out;
}

// The parameters for the layer "params". Fails: kCorrupt.
Result<std::vector<OllamaParameter>> ollama_parameters(const Shipment& shipment,
                                                       const GgufFile& model) {
  CKPT_ASSIGN(std::vector<OllamaParameter> out, shipment.has("params")
                                                    ? parameters_in(shipment.folder / "params")
                                                    : sampling_of(shipment, model));
  const bool stops = std::ranges::any_of(
      out, [](const OllamaParameter& parameter) { return parameter.name == "stop"; });
  if (architecture_of(model.checkpoint) == "gemma4" && !stops) {
    out.push_back({"stop", R"(["<turn|>"])"});
  }
  return out;
}

void add_parameters(Artifact& out, const std::vector<OllamaParameter>& parameters) {
  if (parameters.empty()) return;
  for (const auto& [name, json] : parameters) {
    const auto value = JsonText::parse(json);
    std::vector<JsonText> items{value ? *value : JsonText()};
    if (value && value->is_array()) items = value->items();
    for (const JsonText& item : items) {
      const auto text = item.as_text();
      out.modelfile +=
          fmt::format("PARAMETER {} {}\n", name, text ? modelfile_text(*text) : item.dump(0));
    }
  }
  add_text(out, "params", render_ollama_params(parameters));
}

OllamaFacts facts_of(const Checkpoint& checkpoint) {
  OllamaFacts facts;
  facts.family = architecture_of(checkpoint);
  facts.model_type = ollama_count(parameters_of(checkpoint));
  facts.file_type = upper_case(file_type_of(checkpoint.metadata));
  if (facts.file_type.empty()) facts.file_type = "unknown";
  const OllamaFamily programs = ollama_family(facts.family);
  facts.renderer = programs.renderer;
  facts.parser = programs.parser;
  return facts;
}

}  // namespace

std::string file_type_of(const Metadata& metadata) {
  const auto number = metadata.find_unsigned("general.file_type");
  if (!number) return "";
  for (const TypeInfo& type : all_types()) {
    // Only ckpt uses the name "nvfp4-ggml".
    if (type.number == *number) return std::string(type.name.substr(0, type.name.find('-')));
  }
  return "";
}

uint64_t parameters_of(const Checkpoint& checkpoint) {
  uint64_t values = 0;
  for (const Tensor& tensor : checkpoint.tensors) values += tensor.values();
  return values;
}

Result<Artifact> ollama_artifact(const Shipment& shipment) {
  Artifact out;
  CKPT_ASSIGN(const std::vector<GgufFile> files, gguf_files(shipment));
  CKPT_ASSIGN(const GgufFile* model, add_weights(shipment, files, out));
  CKPT_TRY(add_texts(shipment, out));
  CKPT_ASSIGN(const auto parameters, ollama_parameters(shipment, *model));
  add_parameters(out, parameters);
  const OllamaFacts facts = facts_of(model->checkpoint);
  if (!facts.renderer.empty()) {
    out.modelfile += fmt::format("RENDERER {}\nPARSER {}\n", facts.renderer, facts.parser);
  }
  out.config = render_ollama_config(facts);
  out.config_type = kOllamaConfigType;
  out.texts[sha256_of(out.config)] = out.config;
  out.manifest = render_ollama_manifest(out.config, out.layers);
  out.manifest_type = kDockerManifestType;
  return out;
}

}  // namespace ckpt
