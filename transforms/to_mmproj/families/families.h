// Projectors as data: for each kind the classes of models that have it, defaults of these classes,
// and the keys of its file. Its tensors are in the tables of models/towers/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/metadata.h"
#include "models/models.h"
#include "transforms/facts/torch_dtype.h"

namespace ckpt {

struct ProjectorFamily;

// Fields of configurations with the number of a tower's layers.
inline constexpr std::string_view kBlockFields =
    "n_layers num_hidden_layers n_layer num_layers depth layers encoder_layers "
    "vt_num_hidden_layers";

// An object of the configuration, and its name for messages.
struct ConfigPart {
  std::string where;  // "config.json: vision_config"
  JsonValue json;

  // The first present field among `fields` (separated by spaces). Fails: kCorrupt if there is none,
  // or its type is wrong.
  Result<uint64_t> count(std::string_view fields) const;
  Result<double> real(std::string_view fields) const;
  Result<std::string> word(std::string_view fields) const;
  Result<std::vector<float>> reals(std::string_view fields) const;
  // nullptr if the field is absent or null.
  const JsonValue* find(std::string_view field) const { return known(json, field); }

 private:
  Result<const JsonValue*> first(std::string_view fields) const;
};

struct ProjectorModel {
  const ProjectorFamily* family = nullptr;
  ConfigPart root;          // config.json
  ConfigPart text;          // text_config
  ConfigPart vision;        // vision_config, defaults filled in
  ConfigPart audio;         // audio_config; empty: no audio tower
  ConfigPart preprocessor;  // preprocessor_config.json and processor_config.json
  uint64_t text_width = 0;  // hidden_size of the language model
  OutType out_type = OutType::kF32;
  bool is_of_nvfp4 = false;                  // hf_quant_config.json declares the model's weights so
  std::vector<uint64_t> deepstack = {};      // numbers of mergers, by the number in their names
  std::string_view left_out = {};            // start of names whose tensors are omitted
  std::vector<uint64_t> spatial = {};        // the same for spatial_projectors
  std::optional<uint64_t> break_token = {};  // [IMG_BREAK]

  bool hears() const { return !audio.json.empty(); }
  bool sees() const { return !vision.json.empty(); }
};

// Fails: kUsage without config.json; kUnsupported for an architecture without a projector, naming
// the supported ones, and for a model without towers; kCorrupt.
Result<ProjectorModel> read_projector_model(const Checkpoint& checkpoint);

// A key that follows the common ones.
//   key     behind "clip."; {} is the text of the field, the activation
//   type    kBool: true; kArray: of I32
//   fields  of `part`; the first that is there counts
struct TowerKey {
  std::string_view key;
  MetaType type;
  std::string_view fields = {};
  ConfigPart ProjectorModel::*part = &ProjectorModel::vision;
  bool is_optional = false;  // omitted if no field is there
};
inline constexpr TowerKey kEpsilonKey = {"vision.attention.layer_norm_epsilon", MetaType::kF32,
                                         "layer_norm_eps"};
inline constexpr TowerKey kRmsEpsilonKey = {kEpsilonKey.key, MetaType::kF32, "rms_norm_eps"};
inline constexpr TowerKey kGeluKey = {"use_gelu", MetaType::kBool};
inline constexpr TowerKey kActivationKey = {"use_{}", MetaType::kText, "hidden_act"};
inline constexpr TowerKey kScaleKey = {"vision.projector.scale_factor", MetaType::kU32,
                                       "scale_factor"};
inline constexpr TowerKey kMergeKey = {"vision.spatial_merge_size", MetaType::kU32,
                                       "spatial_merge_size"};

struct ProjectorFamily {
  std::string_view name;           // clip.projector_type
  std::string_view architectures;  // in config.json, separated by spaces
  // Defaults of the class for fields that vision_config or config.json lacks, as JSON objects.
  // `tower` names a table in models/towers/, whose numeric defaults are for vision_config as well.
  std::string_view tower = {}, vision_defaults = {};  // no vision_defaults: no vision tower
  std::string_view root_defaults = "{}";
  std::string_view text_defaults = "{}";
  std::string_view audio_defaults = {};   // empty: the family has no audio tower
  // Sets fields that follow from others, or from documents. May be null.
  Status (*complete)(const Checkpoint& checkpoint, ProjectorModel& model) = nullptr;
  std::span<const TowerKey> keys = {};
  // Adds the keys that follow those. May be null.
  Status (*add_keys)(const ProjectorModel& model, Metadata& metadata) = nullptr;
};

extern const ProjectorFamily kQwen2VlProjector, kQwen25VlProjector;
extern const ProjectorFamily kQwen3VlProjector, kQwen3VlMoeProjector, kQwen35Projector;
extern const ProjectorFamily kGlm4vProjector, kGlmOcrProjector;
extern const ProjectorFamily kGemma3Projector, kGemma3nProjector, kGemma4Projector;
extern const ProjectorFamily kMistral3Projector, kLlavaProjector, kLlama4Projector;
extern const ProjectorFamily kLfm2VlProjector, kSmolVlmProjector, kInternVlProjector;
extern const ProjectorFamily kPaddleOcrProjector, kMiniCpmV46Projector, kGranite4VisionProjector;
extern const ProjectorFamily kHunyuanVlProjector, kMiniMaxM3Projector;
extern const ProjectorFamily kVoxtralProjector, kUltravoxProjector;

// Rounded down. Fails: kCorrupt: a field that is missing, or not more than 0.
Result<uint64_t> inverse_of(const ConfigPart& part, std::string_view field);

std::span<const ProjectorFamily* const> projector_families();

// The family of the first architecture in config.json; nullptr if there is none.
const ProjectorFamily* find_projector_family(const JsonValue& config);

}  // namespace ckpt
