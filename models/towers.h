// Towers of vision and audio models with their projectors, one table each: the names and shapes of
// their tensors, and their names and changes in the projectors of llama.cpp.
//
//   model.visual.blocks.3.attn.qkv.weight
//   └─ prefix ─┘└──── stem, {} = 3 ┘└──┴─ suffix, kept          v.blk.3.attn_qkv.weight
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "models/class_defaults.h"
#include "models/row_lists.h"

namespace ckpt {

// The change of the values of a tensor in a projector, in addition to its new name.
enum class TowerChange : uint8_t {
  kNone,
  kAddOne,      // a norm whose weights are stored minus one
  kFrames,      // {out, in, 2 frames, h, w}: `to` gets the first frame, `second` the other
  kDeepstack,   // the number of the merger becomes its entry in ProjectorModel::deepstack
  kSpatial,     // the same in ProjectorModel::spatial
  kThirds,      // rows of q, k, v: `to` gets q, `second` names the others
  kAxes,        // rows of each head in the order of a rotation along three axes
  kNextRows,    // all rows but the first, that of a class token
  kColumn,      // {n} as {n, 1}
  kChannels,    // {n} as {1, n, 1, 1}
  kPairs,       // rows of each head from halves to pairs
  kPixels,      // {out, h w rgb} as {out, rgb, h, w}
  kImageBreak,  // only the embedding of the token [IMG_BREAK]; nothing if it is token 0
  kSqueeze,     // axes of length 1 dropped
  kSoftplus,    // log(1 + exp(x))
};

// The type of a tensor in a projector: by the common rules, or independent of the outtype.
enum class TowerStore : uint8_t {
  kByRules,
  kPatches,  // F16 in an F16 file, else F32
  kF32,
  kF16,
};

struct TowerChanges {
  TowerChange change = TowerChange::kNone;
  TowerStore store = TowerStore::kByRules;
  std::string_view second = {};  // names of the other tensors, if a change gives several
};

// A tensor, or several: "norm{1,2}" stands for two tensors, and `to` then lists two names as well.
//   from    the name without its prefix: "blocks.{}.attn.qkv". The row is for the weight and the
//           bias, whose suffixes ".weight" and ".bias" stay as they are
//   to      the name in a projector; empty: projectors leave the tensor out
//   shape   of the weight, as in ParameterRule: fields of vision_config, or "text.X" of the text
//           part, "wrapper.X" of config.json, "audio.X" of audio_config; "?" if only the name is
//           known. Empty: the tensor may be there. Words behind a comma: bias or bias:FIELD, of as
//           many values as the weight has rows, if the field is true; bare, no suffix follows;
//           if:FIELD; each:FIELD, as many as the number or the entries of this field, not as layers
//   cut     of the weight; a bias is cut with its rows
struct TowerRule {
  std::string_view from, to;
  std::string_view shape = {};
  ServerCut cut = ServerCut::kWhole;
  TowerChanges in_projector = {};
};

// How names in a checkpoint may begin (`found`), and what rows write in the place of that prefix
// (`known_as`): "model.vision_tower." and "tower.".
struct TowerPrefix {
  std::string_view found, known_as;
  bool is_of_text = false;
};

//   kind      the name of the table
//   wrappers  model_types of the wrappers that have this tower, between spaces
//   type      set where these wrappers may have several towers: the vision_config.model_type of
//             this one
//   depth     the field that counts the layers, empty if none does; `heads` counts attention heads
//   mid       a component of names in checkpoints that rows omit: ".linear"
struct TowerTable {
  std::string_view kind, wrappers;
  std::span<const TowerPrefix> prefixes;  // the first match counts
  RowLists<TowerRule> rows;
  std::span<const ClassDefault> defaults = {};
  std::string_view depth = "num_hidden_layers", heads = "num_attention_heads";
  std::string_view type = {};
  std::span<const std::string_view> more_suffixes = {};  // in addition to ".weight" and ".bias"
  std::string_view mid = {};
};
const TowerTable& tower_named(std::string_view kind);
// The tower of a wrapper by its model_type and config.json; nullptr if no table names the wrapper.
const TowerTable* tower_of(std::string_view wrapper_type, const JsonValue& config);

// Whether a tensor or module belongs to a tower or a projector, in any spelling that wrappers use.
// Entries of lists of modules, which may be patterns, are accepted too.
bool is_of_tower(std::string_view name);

// The row of a tensor, its name in the projector without suffix, and the number for each {}.
struct TowerMatch {
  const TowerRule* rule = nullptr;
  std::string to, suffix;
  std::vector<std::string> numbers;
};
std::optional<TowerMatch> find_tower_rule(const TowerTable& tower, std::string_view name);
// `name` of a checkpoint as rows write it; empty if it begins with none of the prefixes.
std::string known_in_tower(const TowerTable& tower, std::string_view name);

}  // namespace ckpt
