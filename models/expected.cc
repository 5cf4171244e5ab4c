// All parameters of a model: the rows of its table, once for each layer and expert.
//
// The shape of a row follows from the fields, of which some may list a number for each layer. The
// tables in models/families name their sources.
#include <algorithm>

#include "core/base/numbers.h"
#include "models/models.h"
#include "models/shape.h"

namespace ckpt {
namespace {

using enum ServerCut;

// clang-format off
constexpr ParameterRule kMtp[] = {
    {"mtp.fc.weight",                    "hidden_size 2*hidden_size"},
    {"mtp.norm.weight",                  "hidden_size"},
    {"mtp.pre_fc_norm_embedding.weight", "hidden_size"},
    {"mtp.pre_fc_norm_hidden.weight",    "hidden_size"},
};
// clang-format on

// In a row's `when`: the layer belongs to the model itself, not to multi-token prediction.
constexpr std::string_view kTrunk = "trunk";
constexpr std::string_view kPer = "per:";  // before the field that gives the count of {}
// "in:FIELD": the list FIELD has the number of the layer, counted from 1.
constexpr std::string_view kIn = "in:";
// "at:FIELD", "at:FIELD=N": the list FIELD has a number above 0, or N, for the layer.
constexpr std::string_view kAt = "at:";
// "below:FIELD", "from:FIELD": the layer is one of the first FIELD layers, or follows them.
constexpr std::string_view kBelow = "below:", kFrom = "from:";

struct LayerKind : ResolvedLayer {
  std::string name;       // of the layer
  uint64_t number = 0;    // in its stack
  bool is_nextn = false;  // for multi-token prediction, behind the last
  bool is_decoder = false;
  bool is_stacked = false;
};

// Whether a word of ParameterRule::when is a field, not a kind of layer or of checkpoint.
bool is_field(std::string_view word) {
  constexpr std::string_view kKinds =
      " mamba attention conv mlp moe nextn trunk optional sparse dense stacked separate head"
      " classifier encoder decoder ";
  return !has_word(kKinds, word) && !word.ends_with("_attention") && word.find(':') == word.npos;
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
    CKPT_TRY(find_kinds());
    CKPT_TRY(add_decoder());
    for (LayerKind& kind : kinds_) kind.is_stacked = form_.is_stacked(kind.name);
    for (const auto& list : configs_.rules.parameters) {
      for (const ParameterRule& rule : list) CKPT_TRY(add_text(rule));
    }
    if (form_.has_mtp && !configs_.rules.drafts.are_behind) CKPT_TRY(add_mtp());
    return std::move(out_);
  }

 private:
  Status find_kinds() {
    const Fields all(configs_.text, configs_.defaults.defaults, configs_.rules.defaults,
                     ReadBy::kAll);
    uint64_t drafts = 0;
    if (form_.has_mtp && configs_.rules.drafts.are_behind) {
      CKPT_SET(drafts, all.count_or_zero(kNextnCountField));
      CKPT_TRY(check_layers(kNextnCountField, drafts));
    }
    CKPT_ASSIGN(auto layers, resolve_layers(all, configs_.defaults, layers_ + drafts));
    // Layers for multi-token prediction are like most others, unless a list has entries for them.
    const bool is_listed = !list_in(configs_.text, "moe_layer_freq").empty() ||
                           text_of(configs_.text, "moe_layers_enum") != nullptr;
    for (ResolvedLayer& layer : layers) {
      const bool is_draft = kinds_.size() >= layers_;
      if (is_draft && !is_listed) layer = {"full_attention", has_experts()};
      const uint64_t number = kinds_.size();
      kinds_.push_back({std::move(layer), layer_name(number), number, is_draft});
    }
    return {};
  }

  Status add_decoder() {
    const FamilyDecoder& decoder = configs_.rules.decoder;
    if (decoder.layers.empty()) return {};
    CKPT_ASSIGN(const uint64_t count, text_.count(decoder.count));
    CKPT_TRY(check_layers(decoder.count, count));
    for (uint64_t i = 0; i < count; ++i) {
      std::string name = fmt::format("{}{}", decoder.layers, i);
      kinds_.push_back({{"full_attention"}, std::move(name), i, false, true});
    }
    return {};
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
    for (const LayerKind& kind : kinds_) {
      if (!holds(rule.when, kind)) continue;
      text_.set_layer(kind.number);
      CKPT_ASSIGN(const std::vector<uint64_t> shape, text_.shape(rule.shape));
      CKPT_TRY(add_in_layer(kind.name, rule, shape,
                            kind.is_nextn ? ModelPart::kMtp : ModelPart::kText));
    }
    text_.set_layer(std::nullopt);
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
    CKPT_ASSIGN(const uint64_t declared, text_.count_or_zero(kMtpCountField));
    const uint64_t layers = std::clamp<uint64_t>(declared, 1, kMaxModelLayers);
    for (uint64_t layer = 0; layer < layers; ++layer) {
      const std::string name = fmt::format("mtp.layers.{}", layer);
      LayerKind kind{{"full_attention", has_experts()}, name, layer};
      kind.is_stacked = form_.is_stacked(name);
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

  bool holds(std::string_view when, const LayerKind& kind) const {
    for (const std::string_view word : split_words(when)) {
      bool is_met = false;
      if (word == "mamba" || word == "attention") {  // under both names that Granite's has
        is_met = word == kind.type ||
                 kind.type == (word == "mamba" ? "linear_attention" : "full_attention");
      } else if (word == "full_attention") {  // under newer names, too
        is_met = kind.is_attention() && kind.memory() == LayerMemory::kFull;
      } else if (word.ends_with("_attention") || word == "conv" || word == "mlp" ||
                 word == "moe") {
        is_met = word == kind.type;
      } else if (word == "nextn") {
        is_met = kind.is_nextn;
      } else if (word == kTrunk) {
        is_met = !kind.is_nextn;
      } else if (word.starts_with(kIn)) {
        is_met = std::ranges::any_of(
            list_in(configs_.text, word.substr(kIn.size())),
            [&](const JsonValue& layer) { return layer == kind.number + 1; });
      } else if (word.starts_with(kAt)) {
        is_met = has_number(word.substr(kAt.size()), kind.number);
      } else if (word.starts_with(kBelow)) {
        is_met = kind.number < first_layers(word.substr(kBelow.size()));
      } else if (word.starts_with(kFrom)) {
        is_met = kind.number >= first_layers(word.substr(kFrom.size()));
      } else if (word == "encoder" || word == "decoder") {
        is_met = kind.is_decoder == (word == "decoder");
      } else if (word == "optional" || word.starts_with(kPer)) {
        is_met = true;
      } else if (word == "sparse" || word == "dense") {
        is_met = kind.is_sparse == (word == "sparse");
      } else if (word == "stacked" || word == "separate") {
        is_met = kind.is_stacked == (word == "stacked");
      } else if (word == "classifier") {
        is_met = form_.is_classifier;
      } else {
        is_met = word == "head" ? form_.has_head : text_.is_true(word);
      }
      if (!is_met) return false;
    }
    return true;
  }

  // "FIELD" or "FIELD=N": the list FIELD has this number for the layer, or one above zero.
  bool has_number(std::string_view text, uint64_t layer) const {
    const size_t sign = std::min(text.find('='), text.size());
    const JsonValue list = list_in(configs_.text, text.substr(0, sign));
    const uint64_t number = layer < list.size() ? whole(list[layer]).value_or(0) : 0;
    if (sign == text.size()) return number > 0;
    return number_from<uint64_t>(text.substr(sign + 1)) == number;
  }
  uint64_t first_layers(std::string_view field) const {
    return text_.count_or_zero(field).value_or(0);
  }

  std::string_view root() const {
    const bool is_usual = configs_.rules.root == Family().root;
    return is_usual ? std::string_view(form_.root) : configs_.rules.root;
  }
  std::string layer_name(uint64_t layer) const {
    const std::string_view drafts = configs_.rules.drafts.layers;
    if (layer >= layers_ && !drafts.empty()) {
      return fmt::format("{}{}", drafts, layer - layers_);
    }
    return fmt::format("{}{}{}", root(), configs_.rules.layers, layer);
  }
  bool has_experts() const { return experts_ > 0 && sparse_step_ > 0; }

  const ModelConfigs& configs_;
  const ModelForm& form_;
  Fields text_;
  uint64_t layers_ = 0, experts_ = 0;
  uint64_t sparse_step_ = 0;      // each sparse_step_-th layer has experts; 0: none has
  std::vector<LayerKind> kinds_;  // with those for multi-token prediction
  std::vector<Parameter> out_;
};

}  // namespace

uint64_t held_by(const Tensor& tensor) {
  return tensor.shape.size() == 3 ? std::clamp<uint64_t>(tensor.shape[0], 1, kMaxTensors) : 1;
}

void ModelForm::note_experts(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.", kMlp = ".mlp";
  const size_t at = name.find(kExperts);
  if (at == name.npos) return;
  const bool is_listed = number_after(name.substr(at), kExperts).has_value();
  if (!is_listed && name.find("_proj", at) == name.npos) return;  // a bias of the router
  std::string_view layer = name.substr(0, at);
  if (layer.ends_with(kMlp)) layer.remove_suffix(kMlp.size());
  (is_listed ? listed : stacked).emplace(layer);
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
