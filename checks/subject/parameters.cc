// Compares names in the spelling of the family's table: Names removes the prefixes that wrappers
// add, and Comparison matches the rest, including stacked and fused forms.
#include <algorithm>
#include <set>

#include "checks/subject/subject.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

// Buffers that older programs saved. Every loader skips them.
constexpr std::string_view kBuffers[] = {"rotary_emb.inv_freq",     "rotary_pos_emb.inv_freq",
                                         "rotary_emb.cos_cached",   "rotary_emb.sin_cached",
                                         "embeddings.position_ids", ".attn.bias",
                                         ".attn.masked_bias"};
// Names of towers and projectors begin with these, whichever table there is.
constexpr std::string_view kTowerRoots[] = {"model.visual.", "visual.", "vision_tower.",
                                            "vision_model.", "multi_modal_projector.",
                                            "mm_projector."};
// The last words of entries that accompany a quantized weight.
constexpr std::string_view kSides =
    " weight_scale weight_scale_2 weight_scale_inv weight_packed weight_global_scale weight_shape"
    " weight_zero_point input_scale input_global_scale pre_quant_scale qweight qzeros scales g_idx"
    " k_scale v_scale kv_scale q_scale k_zero_point v_zero_point _amax _blocks _scales ";
constexpr std::string_view kClassifier = "ForSequenceClassification";
constexpr std::string_view kCacheScales = " k_scale v_scale kv_scale q_scale ";

// Words that may precede a model's own names, one after another.
constexpr std::string_view kWrapperWords =
    " model language_model transformer module base_model _orig_mod text_model llm ";

// The parts of a name: "model.language_model.norm.weight" is "norm.weight", with the prefix
// "model.language_model.".
struct Spelling {
  NameKind kind = NameKind::kOther;
  std::string_view lead, tail;
};

class Names {
 public:
  Names(const Family& table, const TowerTable* tower) : table_(table), root_(table.root) {
    if (tower != nullptr) add_roots(*tower);
    for (const auto& list : table.parameters) {
      for (const ParameterRule& rule : list) {
        if (rule.name.starts_with('.')) continue;
        const bool is_inner = rule.name.starts_with(root_);
        const std::string_view own = is_inner ? rule.name.substr(root_.size()) : rule.name;
        (is_inner ? inner_ : outer_).push_back(own.substr(0, own.find('.') + 1));
        const bool is_other = is_of_head(rule.name) && !rule.name.starts_with("lm_head.");
        if (is_other) head_ = rule.name.substr(0, rule.name.find('.') + 1);
      }
    }
  }

  Spelling apart(std::string_view name) const {
    bool is_wrapped = true;  // all words are known; other towers have layers too
    for (size_t at = 0;;) {
      const std::string_view tail = name.substr(at);
      const NameKind kind = kind_of(tail);
      if (kind != NameKind::kOther && (kind != NameKind::kText || is_wrapped)) {
        return {kind, name.substr(0, at), tail};
      }
      const size_t dot = tail.find('.');
      if (dot == tail.npos) return {};
      is_wrapped &= (!root_.empty() && tail.starts_with(root_)) ||
                    has_word(kWrapperWords, tail.substr(0, dot)) ||
                    has_word(table_.prefixes, tail.substr(0, dot + 1));
      at += dot + 1;
    }
  }

  // The name in the spelling of the tables.
  std::string canonical(std::string_view name) const {
    const Spelling found = apart(name);
    if (found.kind == NameKind::kOther) return std::string(name);
    if (is_other_head(found.tail)) return fmt::format("{}{}", head_, found.tail.substr(8));
    const bool is_qwen_tower = found.tail.starts_with("visual.");
    if (found.kind == NameKind::kTower && !is_qwen_tower) return without_mid(found.tail);
    if (found.kind != NameKind::kText && !is_qwen_tower) return std::string(found.tail);
    return own_name(table_, fmt::format("{}{}", is_qwen_tower ? "model." : root_, found.tail));
  }

  bool is_in_tower(std::string_view name) const {
    return std::ranges::any_of(tower_roots_,
                               [name](std::string_view root) { return name.starts_with(root); });
  }

 private:
  // The first word of each prefix, behind "model.".
  void add_roots(const TowerTable& tower) {
    mid_ = tower.mid;
    for (const TowerPrefix& prefix : tower.prefixes) {
      std::string_view root = prefix.found;
      if (prefix.is_of_text) continue;
      if (root.starts_with("model.")) root.remove_prefix(6);
      tower_roots_.push_back(root.substr(0, root.find('.') + (root.find('.') != root.npos)));
    }
  }

  std::string without_mid(std::string_view name) const {
    return mid_.empty() ? std::string(name) : replace_all(name, fmt::format("{}.", mid_), ".");
  }

  NameKind kind_of(std::string_view tail) const {
    const auto begins = [tail](std::string_view start) { return tail.starts_with(start); };
    if (is_in_tower(tail) && !tail.starts_with("model.")) return NameKind::kTower;
    if (tail.starts_with("mtp.")) return NameKind::kDraft;
    if (std::ranges::any_of(outer_, begins) || is_other_head(tail)) return NameKind::kHead;
    const bool is_text = tail.starts_with(table_.layers) || std::ranges::any_of(inner_, begins);
    return is_text ? NameKind::kText : NameKind::kOther;
  }

  // Newer releases of transformers read heads with other names under the name lm_head, too.
  bool is_other_head(std::string_view tail) const {
    return !head_.empty() && tail.starts_with("lm_head.");
  }

  const Family& table_;
  std::string_view root_, head_;  // `head_` is empty if it is "lm_head." in the table
  std::vector<std::string_view> inner_, outer_;
  std::vector<std::string_view> tower_roots_{std::begin(kTowerRoots), std::end(kTowerRoots)};
  std::string_view mid_;
};

// Restores the prefix that Names::canonical() removed, as in the checkpoint's other tensors.
std::string spelled_as(std::string_view root, const std::string& name) {
  if (!name.starts_with("model.") || name.starts_with("model.visual.")) return name;
  return std::string(root) + name.substr(6);
}

// The server's joined tensor: "…self_attn.qkv_proj.weight", "…mlp.experts.down_proj.weight".
std::string served_parameter(std::string name) {
  const std::string module = module_of(name);
  const std::string_view word = last_word(module);
  if (const ProjectionGroup* row = listed_group_with(word)) {
    name.replace(module.size() - word.size(), word.size(), row->joined);
  }
  const auto expert = expert_name(name);
  return expert ? std::string(expert->front) + std::string(expert->rest) : name;
}

class Comparison {
 public:
  Comparison(const Subject& on, const Family& table)
      : on_(on),
        alone_(traits_of(on.text_type).only_in_transformers),
        tower_(tower_of(on.model_type, on.config)),
        names_(table, tower_) {
    out_.table = &table;
    for (const Tensor& tensor : on.checkpoint.tensors) {
      held_.emplace(names_.canonical(tensor.name), &tensor);
      note_form(names_.apart(tensor.name));
    }
    for (const auto& [codes, form] : on.packed.by_codes) {
      packed_[names_.canonical(form.weight)] = &form;
    }
  }

  // Reports only the forms of names.
  ParameterReport forms_alone() {
    out_.table = nullptr;
    return std::move(out_);
  }

  ParameterReport run() {
    const Family* defaults = table_of_model_type(on_.text_type);
    auto expected = expected_parameters(
        {*out_.table, defaults == nullptr ? *out_.table : *defaults, on_.text_config()}, form());
    const bool has_own_head = has_word(out_.table->architectures, on_.model_class);
    if (expected && on_.model_class.ends_with(kClassifier) && !has_own_head) add_scores(*expected);
    if (!compare_all(expected) || !compare_tower()) return std::move(out_);
    for (Deviation& missing : out_.missing) {
      missing.is_partly_there = filled_.count(served_parameter(missing.name)) != 0;
      missing.name = spelled_as(out_.root, missing.name);
    }
    for (const Tensor& tensor : on_.checkpoint.tensors) judge_other(tensor);
    match_class_names();
    return std::move(out_);
  }

 private:
  // Adds the head of a classifier, with a row per label.
  void add_scores(std::vector<Parameter>& out) const {
    const auto labels = class_labels(on_.config);
    const auto hidden = number_of_fields(*out_.table, on_.text_config(), "hidden_size");
    if (labels && hidden) out.push_back({"score.weight", {labels->size(), *hidden}});
  }

  void note_form(const Spelling& name) {
    if (name.kind == NameKind::kOther) return;
    const bool is_text = name.kind == NameKind::kText;
    const std::string_view stem = name.tail.substr(0, name.tail.find('.'));
    NameForm& form = out_.forms[fmt::format("{}{}", name.lead, is_text ? "*" : stem)];
    form.kind = name.kind;
    form.lead = name.lead;
    form.stems.emplace(stem);
    if (is_text && name.tail.starts_with(out_.table->layers)) out_.root = name.lead;
  }

  // Returns false if the configuration does not determine the parameters.
  bool compare_all(const Result<std::vector<Parameter>>& expected) {
    if (!expected) {
      out_.bad_field = expected.error().what;
      out_.is_beyond_limits = expected.error().code == ErrorCode::kUnsupported;
      return false;
    }
    for (const Parameter& parameter : *expected) compare(parameter);
    return true;
  }

  bool compare_tower() {
    if (tower_ == nullptr || !has_tower_) return true;
    const auto hidden = number_of_fields(*out_.table, on_.text_config(), "hidden_size");
    auto expected = expected_tower(*tower_, on_.config, hidden ? *hidden : 0);
    if (expected) {
      for (Parameter& parameter : *expected) parameter.name = spelled_in_tower(parameter.name);
    }
    return compare_all(expected);
  }

  // The name of canonical() for one that the tower's table knows: with the first prefix of which
  // there is such a tensor, else with the first.
  std::string spelled_in_tower(const std::string& known) const {
    std::string out;
    for (const TowerPrefix& prefix : tower_->prefixes) {
      if (prefix.is_of_text || !known.starts_with(prefix.known_as)) continue;
      std::string name =
          names_.canonical(fmt::format("{}{}", prefix.found, known.substr(prefix.known_as.size())));
      if (held_.contains(name)) return name;
      if (out.empty()) out = std::move(name);
    }
    return out;
  }

  ModelForm form() {
    ModelForm out = form_of(on_.checkpoint.tensors);
    out.is_classifier = on_.model_class.ends_with(kClassifier);
    out.has_head = !on_.model_class.ends_with("Model") && !out.is_classifier;
    const bool is_wrapper = on_.model_class.ends_with("ForConditionalGeneration");
    for (const auto& [name, tensor] : held_) {
      out.note_experts(name);
      has_tower_ |= is_wrapper && names_.is_in_tower(name);
      out.has_mtp |= out_.table->drafts.are_outside && name.starts_with("mtp.");
      out_.has_nextn |= out_.table->drafts.are_behind && on_.layers() &&
                        number_after(name, "model.layers.") >= *on_.layers();
    }
    out.has_mtp |= out_.has_nextn;
    return out;
  }

  const Tensor* find(const std::string& name) {
    const auto at = held_.find(name);
    if (at == held_.end()) return nullptr;
    used_.insert(at->second);
    return at->second;
  }

  // Codes without known scales, or with a description in other tensors, have an unknown shape.
  bool has_codes(const std::string& name) {
    if (find(name + "_blocks") != nullptr) return true;
    if (!name.ends_with(".weight")) return false;
    const std::string stem = name.substr(0, name.size() - 6);
    return find(name + "_packed") != nullptr || find(stem + "qweight") != nullptr;
  }

  static Deviation deviation(const Parameter& parameter, const std::string& name,
                             std::vector<uint64_t> found) {
    return {name, parameter.shape, std::move(found), parameter.cut, parameter.part, false, {}};
  }

  void compare(const Parameter& parameter) {
    if (const auto packed = packed_.find(parameter.name); packed != packed_.end()) {
      const PackedForm& form = *packed->second;
      filled_.insert(served_parameter(parameter.name));
      if (!parameter.shape.empty() && form.shape != parameter.shape) {
        out_.wrong.push_back(deviation(parameter, form.weight, form.shape));
      }
      return;
    }
    const Tensor* tensor = find(parameter.name);
    if (tensor == nullptr && is_of_experts(parameter.name)) {
      tensor = find(parameter.name + ".weight");
    }
    if (tensor == nullptr && has_codes(parameter.name)) {
      out_.has_unknown_codes = true;
      filled_.insert(served_parameter(parameter.name));
      return;
    }
    if (tensor == nullptr) {
      if (parameter.is_required) {
        out_.missing.push_back(deviation(parameter, parameter.name, {}));
      }
      return;
    }
    filled_.insert(served_parameter(parameter.name));
    if (parameter.part != ModelPart::kVision && names_any(parameter.name, alone_)) {
      out_.extra.push_back(described(*tensor, parameter.name));
      out_.extra.back().is_in_transformers = true;
    }
    const auto dtype = plain_dtype(*tensor->codec);
    const bool is_integer =
        dtype == Dtype::kI8 || dtype == Dtype::kI16 || dtype == Dtype::kI32 || dtype == Dtype::kI64;
    const bool is_same = parameter.shape.empty() || tensor->shape == parameter.shape;
    if (dtype == Dtype::kU8 || (is_integer && !is_same)) {
      out_.has_unknown_codes = true;
    } else if (!is_same) {
      out_.wrong.push_back(deviation(parameter, tensor->name, tensor->shape));
    }
  }

  // Other checks judge scales and similar tensors with the module that they belong to.
  bool is_side(std::string_view name) const {
    if (name.find("_quantizer.") != name.npos) return true;
    const std::string_view word = name.substr(name.rfind('.') + 1);
    const bool is_declared = on_.quantization() != nullptr || on_.is_quantized();
    if (word == "_amax" || has_word(is_declared ? kSides : kCacheScales, word)) return true;
    // Stacks have parameters whose names do not end in "weight".
    const size_t end = std::min(name.rfind("_scale"), name.rfind("_zero_point"));
    return is_declared && end != name.npos && held_.contains(std::string(name.substr(0, end)));
  }

  // Tensors of an existing expert are recognized by its name, whatever word follows.
  bool is_of_expert(const std::string& name) const {
    const auto held = held_.find(name.substr(0, name.rfind('.')) + ".weight");
    return name.find(".mlp.experts.") != name.npos && held != held_.end() &&
           used_.count(held->second) != 0;
  }

  // For MXFP4: the codes that these scales belong to, or nullptr.
  const Tensor* held(std::string_view scales, std::string_view end) const {
    const size_t stem = scales.size() - std::string_view("_scales").size();
    const auto found = held_.find(std::string(scales.substr(0, stem)) + std::string(end));
    return found == held_.end() ? nullptr : found->second;
  }

  void judge_other(const Tensor& tensor) {
    if (used_.count(&tensor) != 0 || names_any(tensor.name, kBuffers)) return;
    if (on_.packed.parts.contains(tensor.name)) return;
    const std::string name = names_.canonical(tensor.name);
    if (name.ends_with("_scales") && used_.count(held(name, "_blocks")) != 0) return;
    if (has_tower_ && names_.is_in_tower(name) && may_be_in_tower(tensor.name)) return;
    if (is_side(name) || (out_.table->drafts.are_outside && name.starts_with("mtp."))) return;
    out_.extra.push_back(described(tensor, name));
  }

  // Whether there may be such a tensor, which the list of parameters does not have.
  bool may_be_in_tower(std::string_view name) {
    out_.has_unlisted_tower |= tower_ == nullptr;
    if (tower_ == nullptr) return true;
    const auto match = find_tower_rule(*tower_, name);
    return match &&
           (match->rule->shape.empty() ||
            std::ranges::find(tower_->more_suffixes, match->suffix) != tower_->more_suffixes.end());
  }

  // Pairs each tensor that the table lacks with a missing parameter, where transformers 5 gives
  // both the same name when it loads the model.
  void match_class_names() {
    if (out_.missing.empty() || out_.extra.empty()) return;
    const auto words = class_names_of(on_.checkpoint);
    std::unordered_map<std::string, Deviation*> missing;
    for (Deviation& each : out_.missing) {
      missing[each.name] = &each;
      for (std::string& name : names_in_class(each.name, words)) missing[std::move(name)] = &each;
    }
    for (ExtraTensor& extra : out_.extra) {
      for (const std::string& name : names_in_class(extra.name, words)) {
        const auto found = missing.find(name);
        if (found == missing.end() || on_.tensor(extra.name)->shape != found->second->expected) {
          continue;
        }
        found->second->other_name = extra.name;
        extra.is_renamed = true;
      }
    }
  }

  // `name` is the spelling of canonical().
  ExtraTensor described(const Tensor& tensor, const std::string& name) const {
    ExtraTensor extra{tensor.name};
    const auto layer = number_after(name, "model.layers.");
    extra.is_in_layer = layer.has_value();
    extra.is_beyond = layer && on_.layers() && *layer >= *on_.layers();
    extra.is_of_expert = is_of_expert(name);
    extra.is_bias = name.ends_with(".bias");
    extra.is_tower = names_.is_in_tower(name);
    const bool is_wrapper = on_.model_class.ends_with("ForConditionalGeneration");
    extra.is_outermost = is_wrapper
                             ? !extra.is_tower && name == tensor.name && !is_below_root(tensor.name)
                             : !name.starts_with("model.");
    return extra;
  }

  // True in wrappers whose text part is named like a text model.
  bool is_below_root(std::string_view name) const {
    return out_.root == "model." && name.starts_with("model.");
  }

  const Subject& on_;
  const StaticVector<std::string_view, 4>& alone_;  // parts of names that only transformers has
  const TowerTable* const tower_;              // null: no table has the wrapper's
  const Names names_;
  ParameterReport out_;
  bool has_tower_ = false;
  std::unordered_map<std::string, const Tensor*> held_;        // by canonical name
  std::unordered_map<std::string, const PackedForm*> packed_;  // packed weights by canonical name
  std::set<const Tensor*> used_;
  std::set<std::string> filled_;  // by the server's names
};

// Chooses the table by class, as servers do; without a class by type.
const Family* table_of(const Subject& on) {
  if (on.config.is_null()) return nullptr;
  if (on.model_class.empty()) return table_of_model_type(on.model_type);
  std::string name = on.model_class;
  const Family* table = table_of_architecture(name);
  if (table == nullptr && name.ends_with(kClassifier)) {
    name.replace(name.size() - kClassifier.size(), kClassifier.size(), "ForCausalLM");
    table = table_of_architecture(name);
  }
  const bool is_known_wrapper =
      on.has_text_config() && tower_of(on.model_type, on.config) != nullptr;
  if (table == nullptr && is_known_wrapper) table = table_of_model_type(on.text_type);
  // A wrapper may contain a model of another family than its class usually does.
  const bool is_other = on.has_text_config() && !on.text_type.empty() && table != nullptr &&
                        !has_word(table->model_types, on.text_type) &&
                        family_of_type(on.text_type) == nullptr;
  if (is_other || table == nullptr) return nullptr;
  const FamilyVariant* variant = variant_of(*table, on.text_config());
  return variant == nullptr ? table : variant->family;
}

}  // namespace

ParameterReport compare_parameters(const Subject& on) {
  const Family* table = table_of(on);
  // Check C04 reports a wrapper's type in a flat file.
  const bool is_half = has_trait(on.model_type, ModelTrait::kFlatWrapper) && !on.has_text_config();
  if (table == nullptr || !on.mlx.empty()) return {};
  if (is_half) return Comparison(on, *table).forms_alone();
  return compare_parameters(on, *table);
}

ParameterReport compare_parameters(const Subject& on, const Family& table) {
  return Comparison(on, table).run();
}

}  // namespace ckpt
