// Granite 4 Vision: SigLIP's tower, and a transformer with queries for each layer of the language
// model that sees the image. They are numbered in the order of those layers.
//
// Source: llama.cpp conversion/granite.py Granite4VisionMmprojModel; defaults: transformers
// models/{granite4_vision,siglip}/configuration_*.py.
#include <algorithm>

#include "core/base/numbers.h"
#include "core/base/words.h"
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kGraniteKeys[] = {
    kEpsilonKey,
    kGeluKey,
    {"vision.preproc_image_size", MetaType::kU32, "image_size"},
    {"vision.projector.query_side", MetaType::kU32, "query_side"},
    {"vision.projector.window_side", MetaType::kU32, "window_side"},
    {"vision.feature_layer", MetaType::kArray, "feature_layers"},
    {"vision.projector.spatial_offsets", MetaType::kArray, "spatial_offsets"},
    {"vision.image_grid_pinpoints", MetaType::kArray, "pinpoints", &ProjectorModel::vision, true},
};

// Which layer of the tower goes to which of the language model, through which projector.
struct VisionFeature {
  int64_t seen = 0, target = 0, number = 0;
  bool is_spatial = false;
};

// Numbers below 0 count from behind. Fails: kCorrupt: not a number of `layers`.
Result<int64_t> layer_of(const JsonValue& item, uint64_t layers) {
  const auto value = number(item);
  const auto count = static_cast<double>(layers);
  if (value && *value >= -count && *value < count) {
    return static_cast<int64_t>(*value < 0 ? *value + count : *value);
  }
  return corrupt("config.json: {} is not one of {} layers", item.dump(), layers);
}

Result<std::vector<VisionFeature>> read_features(const ProjectorModel& model) {
  constexpr const char* kLayers = "num_hidden_layers";
  CKPT_ASSIGN(const uint64_t seen, model.vision.count(kLayers));
  CKPT_ASSIGN(const uint64_t targets, model.text.count(kLayers));
  std::vector<VisionFeature> out;
  JsonValue pairs = list_in(model.root.json, "deepstack_layer_map");
  std::sort(pairs.begin(), pairs.end());
  for (const JsonValue& pair : pairs) {
    if (!pair.is_array() || pair.size() != 2) {
      return corrupt("config.json: deepstack_layer_map holds {}; expected pairs", pair.dump());
    }
    VisionFeature& each = out.emplace_back();
    each.number = static_cast<int64_t>(out.size()) - 1;
    CKPT_SET(each.seen, layer_of(pair[0], seen));
    CKPT_SET(each.target, layer_of(pair[1], targets));
  }
  for (const JsonValue& target : list_in(model.root.json, "spatial_target_layers")) {
    const auto number = static_cast<int64_t>(out.size() - pairs.size());
    CKPT_ASSIGN(const int64_t layer, layer_of(model.root.json["spatial_vision_layer"], seen));
    CKPT_ASSIGN(const int64_t where, layer_of(target, targets));
    out.push_back({layer, where, number, true});
  }
  std::ranges::stable_sort(out, {}, &VisionFeature::target);
  return out;
}

Status complete_granite4_vision(const Checkpoint&, ProjectorModel& model) {
  JsonValue& vision = model.vision.json;
  CKPT_ASSIGN(const std::vector<VisionFeature> features, read_features(model));
  vision["feature_layers"] = vision["spatial_offsets"] = JsonValue::array();
  model.deepstack.resize(list_in(model.root.json, "deepstack_layer_map").size());
  model.spatial.resize(features.size() - model.deepstack.size());
  for (size_t i = 0; i < features.size(); ++i) {
    const VisionFeature& each = features[i];
    vision["feature_layers"].push_back(each.seen);
    vision["spatial_offsets"].push_back(each.is_spatial ? each.number : -1);
    (each.is_spatial ? model.spatial : model.deepstack)[static_cast<size_t>(each.number)] = i;
  }
  CKPT_ASSIGN(const std::string rate, model.root.word("downsample_rate"));
  const size_t slash = rate.find('/');
  const auto query = number_from<uint64_t>(rate.substr(0, slash));
  const auto window = number_from<uint64_t>(slash == rate.npos ? "" : rate.substr(slash + 1));
  if (!query || !window) return corrupt("config.json: downsample_rate is '{}'", rate);
  vision["query_side"] = *query;
  vision["window_side"] = *window;
  for (const JsonValue& pair : list_in(model.root.json, "image_grid_pinpoints")) {
    if (!pair.is_array() || pair.size() != 2) return corrupt("config.json: image_grid_pinpoints");
    vision["pinpoints"].push_back(pair[1]);
    vision["pinpoints"].push_back(pair[0]);
  }
  return {};
}

}  // namespace

const ProjectorFamily kGranite4VisionProjector = {
    .name = "granite4_vision",
    .architectures = "Granite4VisionForConditionalGeneration",
    .tower = "granite4_vision",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .root_defaults = R"({"spatial_vision_layer": -1, "spatial_target_layers": [12, 15, 18, 21],
                         "image_grid_pinpoints": [[336, 672], [672, 336], [672, 672],
                                                  [1008, 336], [336, 1008]]})",
    .complete = complete_granite4_vision,
    .keys = kGraniteKeys,
};

}  // namespace ckpt
