// All parameters of a model: the rows of its table, once for each layer and expert.
//
// Sources: as models/families; which layers are sparse: transformers modeling_qwen{2,3}_moe.py; the
// tower: models/qwen3_vl/modeling_qwen3_vl.py (Qwen3VLVisionModel), defaults of
// Qwen3_5VisionConfig. The shape of a row is the same for all layers, so it is made once.
#include <algorithm>
#include <set>

#include "core/base/numbers.h"
#include "models/models.h"
#include "models/shape.h"

namespace ckpt {
namespace {

using enum ServerCut;

// clang-format off
constexpr ParameterRule kTower[] = {
    {"patch_embed.proj.weight",
     "hidden_size in_channels temporal_patch_size patch_size patch_size"},
    {"patch_embed.proj.bias",  "hidden_size"},
    {"pos_embed.weight",       "num_position_embeddings hidden_size"},
    {"merger.norm.weight",     "hidden_size"},
    {"merger.norm.bias",       "hidden_size"},
    {"merger.linear_fc1.weight",
     "hidden_size*spatial_merge_size*spatial_merge_size"
     " hidden_size*spatial_merge_size*spatial_merge_size", kRows},
    {"merger.linear_fc1.bias", "hidden_size*spatial_merge_size*spatial_merge_size", kRows},
    {"merger.linear_fc2.weight",
     "out_hidden_size hidden_size*spatial_merge_size*spatial_merge_size", kColumns},
    {"merger.linear_fc2.bias", "out_hidden_size"},
    {".norm1.weight",          "hidden_size"},
    {".norm1.bias",            "hidden_size"},
    {".norm2.weight",          "hidden_size"},
    {".norm2.bias",            "hidden_size"},
    {".attn.qkv.weight",       "3*hidden_size hidden_size", kRows},
    {".attn.qkv.bias",         "3*hidden_size", kRows},
    {".attn.proj.weight",      "hidden_size hidden_size", kColumns},
    {".attn.proj.bias",        "hidden_size"},
    {".mlp.linear_fc1.weight", "intermediate_size hidden_size", kRows},
    {".mlp.linear_fc1.bias",   "intermediate_size", kRows},
    {".mlp.linear_fc2.weight", "hidden_size intermediate_size", kColumns},
    {".mlp.linear_fc2.bias",   "hidden_size"},
};
constexpr ClassDefault kTowerFields[] = {
    {"depth", "27"}, {"hidden_size", "1152"}, {"intermediate_size", "4304"}, {"in_channels", "3"},
    {"patch_size", "16"}, {"spatial_merge_size", "2"}, {"temporal_patch_size", "2"},
    {"out_hidden_size", "3584"}, {"num_position_embeddings", "2304"},
};
constexpr ParameterRule kMtp[] = {
    {"mtp.fc.weight",                    "hidden_size 2*hidden_size"},
    {"mtp.norm.weight",                  "hidden_size"},
    {"mtp.pre_fc_norm_embedding.weight", "hidden_size"},
    {"mtp.pre_fc_norm_hidden.weight",    "hidden_size"},
};
// clang-format on

constexpr std::string_view kPer = "per:";  // before the field that gives the count of {}

struct LayerKind {
  std::string_view attention;  // an entry of layer_types
  bool is_sparse = false;
  bool is_nextn = false;  // for multi-token prediction, behind the last
  bool is_stacked = false;
};

// The numbers that a list of config.json holds: each layer looks itself up there.
std::set<uint64_t> numbers_in(const JsonValue& config, std::string_view key) {
  std::set<uint64_t> out;
  for (const JsonValue& number : list_in(config, key)) {
    if (const auto value = whole(number)) out.insert(*value);
  }
  return out;
}

// Of a model that has no layer_types; `full`: those of full_attn_idxs.
std::string_view attention_of(const JsonValue& config, const std::set<uint64_t>& full,
                              uint64_t layer) {
  if (const std::string* pattern = text_of(config, "hybrid_override_pattern")) {
    const char letter = layer < pattern->size() ? (*pattern)[layer] : '?';
    if (letter == 'E') return "moe";
    return letter == 'M' ? "mamba" : letter == '*' ? "attention" : letter == '-' ? "mlp" : "";
  }
  const JsonValue* indices = known(config, "full_attn_idxs");
  if (indices == nullptr || !indices->is_array()) return "full_attention";
  return full.contains(layer) ? "full_attention" : "conv";
}

// Whether a word of ParameterRule::when is a field, not a kind of layer or of checkpoint.
bool is_field(std::string_view word) {
  constexpr std::string_view kKinds =
      " mamba attention conv mlp moe nextn optional sparse dense stacked separate head ";
  return !has_word(kKinds, word) && !word.ends_with("_attention") && !word.starts_with(kPer);
}

Status check_layers(std::string_view field, uint64_t count) {
  if (count <= kMaxModelLayers) return {};
  return unsupported("config.json: {} is {}; at most {}", field, count, kMaxModelLayers);
}

class Expansion {
 public:
  Expansion(const ModelConfigs& configs, const ModelForm& form)
      : configs_(configs),
        form_(form),
        text_(configs.text, configs.defaults.defaults, configs.rules.defaults) {}

  Result<std::vector<Parameter>> all() {
    CKPT_ASSIGN(layers_, text_.count("num_hidden_layers"));
    CKPT_TRY(check_layers("num_hidden_layers", layers_));
    CKPT_ASSIGN(experts_, text_.count_or_zero("num_experts"));
    if (experts_ == 0) CKPT_SET(experts_, text_.count_or_zero("n_routed_experts"));
    CKPT_ASSIGN(sparse_step_, text_.count_or_zero("decoder_sparse_step"));
    CKPT_ASSIGN(leading_dense_, text_.count_or_zero("first_k_dense_replace"));
    CKPT_ASSIGN(sparse_every_, text_.count_or_zero("moe_layer_freq"));
    CKPT_TRY(find_kinds());
    CKPT_TRY(add_nextn_kinds());
    for (uint64_t layer = 0; layer < kinds_.size(); ++layer) {
      kinds_[layer].is_stacked = form_.is_stacked(layer_name(layer));
    }
    for (const auto& list : configs_.rules.parameters) {
      for (const ParameterRule& rule : list) CKPT_TRY(add_text(rule));
    }
    if (form_.has_mtp && !configs_.rules.has_nextn) CKPT_TRY(add_mtp());
    if (form_.has_vision) CKPT_TRY(add_tower());
    return std::move(out_);
  }

 private:
  Status find_kinds() {
    const JsonValue* types = known(configs_.text, "layer_types");
    if (types == nullptr) types = known(configs_.text, "layers_block_type");
    const std::set<uint64_t> full = numbers_in(configs_.text, "full_attn_idxs");
    dense_ = numbers_in(configs_.text, "mlp_only_layers");
    uint64_t interval = 0;
    if (types == nullptr) CKPT_SET(interval, text_.count_or_zero("full_attention_interval"));
    for (uint64_t layer = 0; layer < layers_; ++layer) {
      LayerKind kind{attention_of(configs_.text, full, layer)};
      const bool is_said = types != nullptr && types->is_array() && layer < types->size();
      const std::string* type = is_said ? (*types)[layer].get_ptr<const std::string*>() : nullptr;
      if (type != nullptr) {
        kind.attention = *type;
      } else if (interval != 0) {
        kind.attention = (layer + 1) % interval == 0 ? "full_attention" : "linear_attention";
      }
      kind.is_sparse = has_experts() && is_sparse(layer);
      kinds_.push_back(kind);
    }
    return {};
  }

  Status add_nextn_kinds() {
    if (!form_.has_mtp || !configs_.rules.has_nextn) return {};
    CKPT_ASSIGN(const uint64_t count, text_.count_or_zero("num_nextn_predict_layers"));
    CKPT_TRY(check_layers("num_nextn_predict_layers", count));
    kinds_.resize(kinds_.size() + count, {"full_attention", has_experts(), true});
    return {};
  }

  // Of a model that has experts: whether this layer does.
  bool is_sparse(uint64_t layer) const {
    const JsonValue& types = list_in(configs_.text, "mlp_layer_types");
    if (layer < types.size()) return types[layer] == "sparse";
    if (layer < leading_dense_ || (layer + 1) % sparse_step_ != 0) return false;
    if (sparse_every_ != 0 && layer % sparse_every_ != 0) return false;
    const auto end = number(known(configs_.text, "moe_layer_end_index"));  // -1: the last layer
    if (end && *end != -1 && static_cast<double>(layer) > *end) return false;
    return !dense_.contains(layer);
  }

  Status check_room(uint64_t count) const {
    const uint64_t most =
        std::min(kMaxModelParameters, kMaxParametersBeyond + 4 * std::min(form_.held, kMaxTensors));
    if (count <= most && out_.size() <= most - count) return {};
    return unsupported(
        "config.json: {} layers of {} experts are more than {} parameters; {} tensors are there",
        layers_, experts_, most, form_.held);
  }

  Status add(std::string name, const ParameterRule& rule, const std::vector<uint64_t>& shape,
             ModelPart part) {
    CKPT_TRY(check_room(1));
    const bool is_tied = rule.when == "head" && text_.is_true("tie_word_embeddings");
    const bool is_optional = rule.when.find("optional") != rule.when.npos;
    const bool is_of_field =
        rule.name.ends_with(".bias") && std::ranges::any_of(split_words(rule.when), is_field);
    out_.push_back({std::move(name), shape, rule.cut, part, !is_tied && !is_optional, is_of_field});
    return {};
  }

  Status add_text(const ParameterRule& rule) {
    if (!rule.name.starts_with('.')) {
      if (!holds(rule.when, {})) return {};
      CKPT_ASSIGN(const auto shape, text_.shape(rule.shape));
      const bool is_inner = rule.name.starts_with("model.");
      return add(is_inner ? form_.root + std::string(rule.name.substr(6)) : std::string(rule.name),
                 rule, shape, ModelPart::kText);
    }
    std::vector<uint64_t> shape;
    for (uint64_t layer = 0; layer < kinds_.size(); ++layer) {
      if (!holds(rule.when, kinds_[layer])) continue;
      if (shape.empty()) CKPT_SET(shape, text_.shape(rule.shape));
      CKPT_TRY(add_in_layer(layer_name(layer), rule, shape,
                            kinds_[layer].is_nextn ? ModelPart::kMtp : ModelPart::kText));
    }
    return {};
  }

  Status add_in_layer(std::string_view layer, const ParameterRule& rule,
                      const std::vector<uint64_t>& shape, ModelPart part) {
    const size_t blank = rule.name.find("{}");
    if (blank == rule.name.npos)
      return add(fmt::format("{}{}", layer, rule.name), rule, shape, part);
    uint64_t count = experts_;
    for (const std::string_view field : words_after(rule.when, kPer)) {
      CKPT_SET(count, text_.count(field));
    }
    CKPT_TRY(check_room(count));
    for (uint64_t each = 0; each < count; ++each) {
      CKPT_TRY(add(fmt::format("{}{}{}{}", layer, rule.name.substr(0, blank), each,
                               rule.name.substr(blank + 2)),
                   rule, shape, part));
    }
    return {};
  }

  // Layers of full attention, after four tensors of their own.
  Status add_mtp() {
    for (const ParameterRule& rule : kMtp) {
      CKPT_ASSIGN(const auto shape, text_.shape(rule.shape));
      CKPT_TRY(add(std::string(rule.name), rule, shape, ModelPart::kMtp));
    }
    CKPT_ASSIGN(const uint64_t said, text_.count_or_zero("mtp_num_hidden_layers"));
    const uint64_t layers = std::clamp<uint64_t>(said, 1, kMaxModelLayers);
    for (uint64_t layer = 0; layer < layers; ++layer) {
      const std::string name = fmt::format("mtp.layers.{}", layer);
      const LayerKind kind{"full_attention", has_experts(), false, form_.is_stacked(name)};
      for (const auto& list : configs_.rules.parameters) {
        for (const ParameterRule& rule : list) {
          if (!rule.name.starts_with('.') || !holds(rule.when, kind)) continue;
          CKPT_ASSIGN(const auto shape, text_.shape(rule.shape));
          CKPT_TRY(add_in_layer(name, rule, shape, ModelPart::kMtp));
        }
      }
    }
    return {};
  }

  Status add_tower() {
    static const JsonValue kNothing = JsonValue::object();
    const Fields vision(configs_.vision == nullptr ? kNothing : *configs_.vision, kTowerFields);
    CKPT_ASSIGN(const uint64_t depth, vision.count("depth"));
    CKPT_TRY(check_layers("vision_config.depth", depth));
    constexpr std::string_view kRoot = "model.visual.";
    for (const ParameterRule& rule : kTower) {
      CKPT_ASSIGN(const auto shape, vision.shape(rule.shape));
      if (!rule.name.starts_with('.')) {
        CKPT_TRY(add(fmt::format("{}{}", kRoot, rule.name), rule, shape, ModelPart::kVision));
        continue;
      }
      for (uint64_t block = 0; block < depth; ++block) {
        CKPT_TRY(add(fmt::format("{}blocks.{}{}", kRoot, block, rule.name), rule, shape,
                     ModelPart::kVision));
      }
    }
    return {};
  }

  bool holds(std::string_view when, const LayerKind& kind) const {
    for (const std::string_view word : split_words(when)) {
      bool is_met = false;
      if (word == "mamba" || word == "attention") {  // under both names that Granite's has
        is_met = word == kind.attention ||
                 kind.attention == (word == "mamba" ? "linear_attention" : "full_attention");
      } else if (word.ends_with("_attention") || word == "conv" || word == "mlp" ||
                 word == "moe") {
        is_met = word == kind.attention;
      } else if (word == "nextn") {
        is_met = kind.is_nextn;
      } else if (word == "optional" || word.starts_with(kPer)) {
        is_met = true;
      } else if (word == "sparse" || word == "dense") {
        is_met = kind.is_sparse == (word == "sparse");
      } else if (word == "stacked" || word == "separate") {
        is_met = kind.is_stacked == (word == "stacked");
      } else {
        is_met = word == "head" ? form_.has_head : text_.is_true(word);
      }
      if (!is_met) return false;
    }
    return true;
  }

  std::string_view root() const {
    return configs_.rules.root.empty() ? std::string_view(form_.root) : configs_.rules.root;
  }
  std::string layer_name(uint64_t layer) const { return fmt::format("{}layers.{}", root(), layer); }
  bool has_experts() const { return experts_ > 0 && sparse_step_ > 0; }

  const ModelConfigs& configs_;
  const ModelForm& form_;
  Fields text_;
  uint64_t layers_ = 0, experts_ = 0;
  uint64_t sparse_step_ = 0;  // every n-th layer has experts; 0: none has
  uint64_t leading_dense_ = 0;
  std::set<uint64_t> dense_;      // mlp_only_layers
  uint64_t sparse_every_ = 0;     // the same of DeepSeek, counted from layer 0
  std::vector<LayerKind> kinds_;  // with those for multi-token prediction
  std::vector<Parameter> out_;
};

}  // namespace

uint64_t held_by(const Tensor& tensor) {
  return tensor.shape.size() == 3 ? std::clamp<uint64_t>(tensor.shape[0], 1, kMaxTensors) : 1;
}

void ModelForm::note_experts(std::string_view name) {
  constexpr std::string_view kExperts = ".mlp.experts.";
  const size_t at = name.find(kExperts);
  if (at == name.npos) return;
  const bool is_listed = number_after(name.substr(at), kExperts).has_value();
  (is_listed ? listed : stacked).emplace(name.substr(0, at));
}

ModelForm form_of(const std::vector<Tensor>& tensors) {
  ModelForm out;
  for (const Tensor& tensor : tensors) out.held += held_by(tensor);
  return out;
}

Result<std::vector<Parameter>> expected_parameters(const ModelConfigs& configs,
                                                   const ModelForm& form) {
  return Expansion(configs, form).all();
}

}  // namespace ckpt
