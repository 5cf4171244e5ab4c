// The configuration of a model's towers, ready for queries.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "transforms/facts/torch_dtype.h"

namespace ckpt {

struct ProjectorFamily;

// Names of the number of a tower's layers in configurations.
inline constexpr std::string_view kBlockFields =
    "n_layers num_hidden_layers n_layer num_layers depth layers encoder_layers "
    "vt_num_hidden_layers";

// An object of the configuration, and what messages call it.
struct ConfigPart {
  std::string where;  // "config.json: vision_config"
  JsonValue json;

  // The first of `fields` (separated by spaces) that is there. Fails: kCorrupt when none is, or it
  // is of another kind.
  Result<uint64_t> count(std::string_view fields) const;
  Result<double> real(std::string_view fields) const;
  Result<std::string> word(std::string_view fields) const;
  Result<std::vector<float>> reals(std::string_view fields) const;
  // The same as nullptr when it is absent or null.
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
  bool is_of_nvfp4 = false;                  // hf_quant_config.json says so of the model's weights
  std::vector<uint64_t> deepstack = {};      // layers that mergers read, in their order
  std::optional<uint64_t> break_token = {};  // [IMG_BREAK]

  bool hears() const { return !audio.json.empty(); }
};

// Fails: kUsage without config.json; kUnsupported for an architecture whose projectors are not
// made, naming those that are, and for a model without towers; kCorrupt.
Result<ProjectorModel> read_projector_model(const Checkpoint& checkpoint);

}  // namespace ckpt
