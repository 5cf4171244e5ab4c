// Vision and audio towers of models, as data: their architectures, the names of their tensors in a
// projector, the changes of values, and the keys that a family adds.
//
//   model.visual.blocks.3.attn.qkv.weight
//   └─ prefix ─┘└──── stem, {} = 3 ┘└──┴─ suffix, kept          v.blk.3.attn_qkv.weight
//
// Source of every row: llama.cpp conversion/{qwen3vl,gemma,llava,llama4}.py and
// gguf-py/gguf/tensor_mapping.py.
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

// The change of the values of a tower's tensor, in addition to its new name.
enum class TowerChange : uint8_t {
  kNone,
  kAddOne,      // a norm whose weights are stored minus one
  kFrames,      // {out, in, 2 frames, h, w}: `to` gets the first frame, `second` the other
  kDeepstack,   // the number of the merger becomes its entry in ProjectorModel::deepstack
  kQueries,     // the same; a number before says 0 for `deepstack`, 1 for `spatial`
  kThirds,      // rows of q, k, v: `to` gets q, `second` names the others
  kAxes,        // rows of each head in the order of a rotation along three axes
  kNextRows,    // all rows but the first, that of a class token
  kColumn,      // {n} as {n, 1}
  kPairs,       // rows of each head from halves to pairs
  kPixels,      // {out, h w rgb} as {out, rgb, h, w}
  kImageBreak,  // only the embedding of the token [IMG_BREAK]; nothing if it is token 0
  kSqueeze,     // axes of length 1 dropped
  kSoftplus,    // log(1 + exp(x))
};

// The type of a stored tensor: by the common rules, or independent of the outtype.
enum class TowerStore : uint8_t {
  kByRules,
  kPatches,  // F16 in an F16 file, else F32
  kF32,
  kF16,
};

struct TowerRule {
  std::string_view from;  // "blocks.{}.attn.qkv", after a prefix of the family
  std::string_view to;    // "v.blk.{}.attn_qkv"; empty: the tensor is omitted
  TowerChange change = TowerChange::kNone;
  TowerStore store = TowerStore::kByRules;
  std::string_view second = {};  // names of the other tensors, if a change gives several
};

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

// A possible prefix of a tensor in the checkpoint; in rows it is replaced by the second word.
struct TowerPrefix {
  std::string_view found, known_as;
};

struct ProjectorFamily {
  std::string_view name;           // clip.projector_type
  std::string_view architectures;  // in config.json, separated by spaces
  // Defaults of the model class for fields that vision_config or config.json lacks. They are JSON
  // objects. `tower` names a table in models/ whose numeric defaults apply to vision_config too.
  std::string_view vision_defaults = {}, tower = {};  // both empty: there is no vision tower
  std::string_view root_defaults = "{}";
  std::string_view text_defaults = "{}";
  std::string_view audio_defaults = {};   // empty: the family has no audio tower
  std::span<const TowerPrefix> prefixes = {};  // the first match counts
  RowLists<TowerRule> names = {};
  std::span<const std::string_view> more_suffixes = {};  // in addition to ".weight" and ".bias"
  std::string_view left_out = {};  // a component of names that rows omit
  // Sets fields that follow from others, or from documents. May be null.
  Status (*complete)(const Checkpoint& checkpoint, ProjectorModel& model) = nullptr;
  std::span<const TowerKey> keys = {};
  // Adds the keys that follow those. May be null.
  Status (*add_keys)(const ProjectorModel& model, Metadata& metadata) = nullptr;
};

extern const ProjectorFamily kQwen2VlProjector, kQwen25VlProjector;
extern const ProjectorFamily kQwen3VlProjector, kQwen3VlMoeProjector, kQwen35Projector;
extern const ProjectorFamily kGlm4vProjector, kGlmOcrProjector;
extern const ProjectorFamily kGemma3Projector, kGemma4Projector;
extern const ProjectorFamily kMistral3Projector, kLlavaProjector, kLlama4Projector;
extern const ProjectorFamily kLfm2VlProjector, kSmolVlmProjector, kInternVlProjector;
extern const ProjectorFamily kPaddleOcrProjector, kMiniCpmV46Projector, kGranite4VisionProjector;
extern const ProjectorFamily kHunyuanVlProjector, kMiniMaxM3Projector;
extern const ProjectorFamily kVoxtralProjector, kUltravoxProjector;

// Layers of CLIP's and SigLIP's towers, below "tower.", and SigLIP's head, which projectors leave
// out.
extern const std::span<const TowerRule> kClipLayers, kSiglipHead;

// Rounded down. Fails: kCorrupt: a field that is missing, or not more than 0.
Result<uint64_t> inverse_of(const ConfigPart& part, std::string_view field);

std::span<const ProjectorFamily* const> projector_families();

// The family of the first architecture in config.json; nullptr if there is none.
const ProjectorFamily* find_projector_family(const JsonValue& config);

}  // namespace ckpt
