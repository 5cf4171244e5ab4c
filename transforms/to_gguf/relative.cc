// Finds the known class that is most similar to a class without a table.
//
//   names of tensors ─▶ families with names for half of them ─▶ their tables, by config.json
//
// The nearest class has the fewest misfits: tensors that are missing, left over or misshapen. Among
// equals, the one that leaves the fewest fields of config.json unread wins.
#include "transforms/to_gguf/relative.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/nearest.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "models/models.h"
#include "transforms/facts/like.h"
#include "transforms/packed/quant_summary.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

// Fields that code reads instead of a table, that contain parts of the model, or that do not affect
// inference. They do not count as unread.
constexpr std::string_view kOtherFields =
    " architectures model_type torch_dtype dtype transformers_version use_cache initializer_range "
    "auto_map quantization_config rope_theta partial_rotary_factor rope_local_base_freq "
    "original_max_position_embeddings layer_types num_hidden_layers hybrid_override_pattern "
    "full_attn_idxs tie_word_embeddings vocab_size pretraining_tp is_encoder_decoder is_decoder "
    "return_dict router_aux_loss_coef aux_loss_alpha output_router_logits max_position_embeddings "
    "sliding_window use_sliding_window max_window_layers head_dim chunk_size_feed_forward "
    "tokenizer_class _name_or_path ";
constexpr std::string_view kRopeFields =
    "rope_type type factor rope_theta original_max_position_embeddings low_freq_factor "
    "high_freq_factor beta_fast beta_slow mscale mscale_all_dim attention_factor short_factor "
    "long_factor mrope_section mrope_interleaved partial_rotary_factor full_attention "
    "sliding_attention truncate";
constexpr std::string_view kUsualActivation = "silu";
constexpr std::string_view kOtherEndings[] = {"_token_id", "_token_index", "dropout", "_prob"};

// All words in the family's tables, which include the names of the fields that they read.
std::string table_words(const Family& family) {
  std::string out =
      fmt::format("{}{} {} {} {}", kOtherFields, family.activation.fields,
                  family.keys_around.own_spellings, family.sizes.norm_groups, kExpertCounts);
  for (const auto list :
       {kCommonKeys, family.keys, family.keys_around.more, family.keys_around.early}) {
    for (const KeyRule& rule : list) out.append(" ").append(rule.fields);
  }
  for (const ClassDefault& row : family.defaults) {
    out += fmt::format(" {} {}", row.field, row.value);
  }
  for (const auto& list : family.parameters) {
    for (const ParameterRule& rule : list) out += fmt::format(" {} {}", rule.shape, rule.when);
  }
  for (const GraphConstant& constant : family.graph.constants) {
    out.append(" ").append(constant.field);
  }
  for (char& c : out) c = c == '+' || c == '*' || c == '/' || c == ':' ? ' ' : c;
  return out;
}

struct NamedFields {
  std::vector<std::string> unread;  // set, but not in the family's tables
  size_t named = 0;                 // fields in the tables
};
NamedFields fields_of(const JsonValue& config, const JsonValue& rope, const Family& family) {
  const std::string read = table_words(family);
  NamedFields out;
  for (const JsonValue* level : {&config, &rope}) {
    for (const auto& [key, value] : level->items()) {
      const bool is_named = has_word(read, key) || (level == &rope && has_word(kRopeFields, key));
      const bool is_idle = !is_truthy(&value) || value.is_object();
      out.named += is_named;
      if (!is_named && !is_idle && !ends_with_any(key, kOtherEndings)) out.unread.push_back(key);
    }
  }
  return out;
}

// The activation that config.json declares, if llama.cpp computes the family with another one.
std::string other_activation(const JsonValue& config, const Family& family) {
  for (const std::string_view field : split_words(family.activation.fields)) {
    const std::string* found = text_of(config, field);
    if (found != nullptr) return *found == family.activation.name ? std::string() : *found;
  }
  return {};
}

struct Relative {
  std::string architecture = {};
  size_t tensors = 0;
  std::vector<std::string> misfits = {};  // tensors: left over, of another shape, missing
  size_t unheld = 0;                      // missing parameters that are optional
  bool is_partial = false;                // the family's table does not say which are optional
  std::string activation = {};            // config.json's, if the family has another
  bool assumes_activation = false;        // config.json names none, and llama.cpp's is unusual
  bool has_other_parts = false;           // only one of the two has towers, or generates text
  NamedFields fields = {};
  bool fits() const { return misfits.empty() && activation.empty(); }
  auto rank() const {
    return std::tuple(misfits.size() + (is_partial ? unheld : 0), !activation.empty(),
                      has_other_parts, fields.unread.size(), assumes_activation, unheld,
                      SIZE_MAX - fields.named);
  }
};

Status compare_tensors(const std::vector<NamedTensor>& tensors, const Model& model,
                       Relative& out) {
  CKPT_ASSIGN(const auto expected, table_parameters(tensors, model));
  CKPT_ASSIGN(const auto missing, missing_parameters(tensors, model));
  std::unordered_map<std::string_view, const std::vector<uint64_t>*> shapes;
  for (const Parameter& parameter : expected) shapes.emplace(parameter.name, &parameter.shape);
  out.unheld = expected.size() - missing.size();
  for (const NamedTensor& named : tensors) {
    auto found = shapes.find(named.name);
    if (found == shapes.end()) found = shapes.find(table_name(named, *model.family));
    const auto rule = find_name_rule(*model.family, named.name);
    const bool is_beyond = rule && (rule->rule->to.empty() || model.family->is_partial);
    const bool fits =
        found != shapes.end() ? has_shape(named, *found->second, *model.family) : is_beyond;
    if (!fits) out.misfits.push_back(named.tensor.name);
    out.unheld -= found != shapes.end();
  }
  out.tensors = tensors.size();
  out.is_partial = model.family->is_partial;
  for (const Parameter& parameter : missing) out.misfits.push_back(parameter.name);
  return {};
}

// Compares the checkpoint with a family. Fails: the family cannot convert this config.json.
Result<Relative> compare_with(const Family& family, Checkpoint& trial, Codecs codecs) {
  CKPT_TRY(make_like(trial, split_words(family.architectures).front()));
  CKPT_ASSIGN(Model model, read_model(trial));
  const bool has_towers = known(model.root, "vision_config") != nullptr;
  Relative out{class_like(family, {}, has_towers)};
  out.activation = other_activation(model.config, *model.family);
  const auto is_named = [&](std::string_view field) {
    return known(model.config, field) != nullptr;
  };
  out.assumes_activation =
      model.family->activation.name != kUsualActivation &&
      std::ranges::none_of(split_words(model.family->activation.fields), is_named);
  out.fields = fields_of(merged_config(model.root), model.rope, *model.family);
  const bool generates = out.architecture.find("ForC") != std::string::npos;
  out.has_other_parts =
      out.architecture.ends_with("ForConditionalGeneration") != has_towers || !generates;
  CKPT_ASSIGN(std::vector<NamedTensor> tensors, select_tensors(trial, true, model, codecs));
  CKPT_TRY(compare_tensors(tensors, model, out));
  if (!out.fits()) return out;
  Metadata keys;
  CKPT_TRY(check_layers(tensors, model));
  CKPT_TRY(add_model_keys(trial, model, keys));
  CKPT_TRY(make_gguf_tensors(std::move(tensors), model, codecs));
  return out;
}

// Whether the family has names for half of the tensors, estimated from a sample.
bool has_half(const Family& family, const std::vector<Tensor>& tensors) {
  const size_t step = std::max<size_t>(1, tensors.size() / 256);
  size_t asked = 0, known = 0;
  for (size_t i = 0; i < tensors.size(); i += step) {
    if (is_of_tower(tensors[i].name)) continue;
    const std::string name = own_name(family, tensors[i].name);
    known += find_name_rule(family, name).has_value();
    ++asked;
  }
  return 2 * known >= asked;
}

std::optional<Relative> nearest_relative(const Checkpoint& input, Codecs codecs) {
  auto trial = with_whole_weights(input, codecs);
  if (!trial) return std::nullopt;
  std::optional<Relative> best;
  for (const Family* family : families()) {
    if (!has_half(*family, trial->tensors)) continue;
    auto tried = compare_with(*family, *trial, codecs);
    if (tried && (!best || tried->rank() < best->rank())) best = std::move(*tried);
  }
  return best;
}

// Describes how the family's table changes values of tensors.
std::string changes_of(const std::vector<NamedTensor>& tensors, const Family& family) {
  static constexpr std::pair<Change, std::string_view> kWords[] = {
      {Change::kAddOne, "1 is added to norms"},
      {Change::kRopeQuery, "rows of q and k become pairs for rotary embeddings"},
      {Change::kQkvOfHeads, "rows of q, k and v are sorted by head"},
      {Change::kDecay, "A_log becomes -exp(A_log)"},
      {Change::kDecayColumn, "A_log becomes -exp(A_log)"},
      {Change::kExpColumn, "A_log becomes exp(A_log)"},
      {Change::kKeyValue, "kv_b_proj is split"},
      {Change::kSwapHalves, "experts are transposed, gate and up are halves"},
      {Change::kSwapPairs, "experts are transposed, gate and up alternate"}};
  std::set<Change> made;
  for (const NamedTensor& named : tensors) {
    if (const auto match = find_name_rule(family, named.name)) made.insert(match->rule->change);
  }
  std::string out;
  for (const auto& [change, words] : kWords) {
    if (made.contains(change)) out += fmt::format("{}{}", out.empty() ? "" : ", ", words);
  }
  return out.empty() ? "no values change" : out;
}

// Lists fields whose value the conversion assumes, with this value: config.json lacks the field, or
// llama.cpp computes with a constant.
std::vector<std::string> assumed_fields(const JsonValue& declared, const Model& model) {
  std::vector<std::string> out;
  const Family& family = *model.family;
  for (const ClassDefault& row : family.defaults) {
    const JsonValue* value = known(model.config, row.field);
    const bool is_read = row.read_by != ReadBy::kShapes && value != nullptr;
    const bool is_in_rope = row.field == "rope_theta" && known(model.rope, row.field) != nullptr;
    if (!is_read || known(declared, row.field) != nullptr || is_in_rope) continue;
    out.push_back(fmt::format("{} {}", row.field, value->dump()));
  }
  const auto says = [&](std::string_view field) { return known(declared, field) != nullptr; };
  if (std::ranges::none_of(split_words(family.activation.fields), says)) {
    out.push_back(fmt::format("activation {}", family.activation.name));
  }
  for (const GraphConstant& constant : family.graph.constants) {
    const JsonValue* found = known(declared, constant.field);
    const std::string text = found == nullptr ? "" : found->dump();
    if (text == constant.value || constant.overridable) continue;
    out.push_back(fmt::format("{} {}{}", constant.field, constant.value,
                              text.empty() ? "" : fmt::format(" (config.json: {})", text)));
  }
  return out;
}

}  // namespace

Status require_table(const Checkpoint& input, Codecs codecs) {
  CKPT_ASSIGN(const auto root, read_object(input, "config.json"));
  if (root == nullptr) return {};  // read_model() reports it
  const NamedClass named = find_class(*root);
  if (named.family != nullptr) return {};
  const std::optional<Relative> near = nearest_relative(input, codecs);
  const std::string start = fmt::format("config.json: ckpt has no table for {}", named.words());
  const std::string hint =
      fmt::format("{}; docs/FAMILIES.md shows what works without a table", kTwoSteps);
  if (!near || 2 * near->misfits.size() > near->tensors) {
    return unsupported_hint(hint, "{}, and none is close to its tensors", start);
  }
  if (near->fits()) {
    const std::vector<std::string>& unread = near->fields.unread;
    return unsupported_hint(
        fmt::format("--like {}, which lists what it assumes; or {}", near->architecture, hint),
        "{}; its {} tensors are those of {}{}{}", start, near->tensors, near->architecture,
        unread.empty() ? "" : ", which does not read ", fmt::join(unread, ", "));
  }
  if (near->misfits.empty()) {
    return unsupported_hint(hint, "{}; its tensors are those of {}, but its activation is {}",
                            start, near->architecture, near->activation);
  }
  return unsupported_hint(
      hint, "{}; nearest is {}, which {} of {} tensors do not fit: {}", start, near->architecture,
      near->misfits.size(), near->tensors, first_names(summarize_names(near->misfits), 4));
}

Status note_assumptions(const JsonValue& config, const std::vector<NamedTensor>& tensors,
                        const Model& model, const Context& context) {
  const JsonValue declared = merged_config(config);
  const std::string before = fmt::format("--like {}: ", model.architecture);
  if (const auto other = other_activation(declared, *model.family); !other.empty()) {
    return unsupported_hint("the architecture of a model that has this activation",
                            "{}the activation is {}; llama.cpp computes {} with {}", before, other,
                            model.family->name, model.family->activation.name);
  }
  Relative compared;
  CKPT_TRY(compare_tensors(tensors, model, compared));
  if (!compared.misfits.empty()) {
    return unsupported("{}{} tensors of its table and of the model do not fit: {}", before,
                       compared.misfits.size(),
                       first_names(summarize_names(compared.misfits), 8));
  }
  context.note("{}{} is converted by its table, and llama.cpp computes it as {}; {}", before,
               find_class(config).words(), model.family->name, changes_of(tensors, *model.family));
  if (const auto assumed = assumed_fields(declared, model); !assumed.empty()) {
    context.note("{}assumed: {}", before, fmt::join(assumed, ", "));
  }
  const NamedFields fields = fields_of(declared, model.rope, *model.family);
  if (!fields.unread.empty()) {
    context.note("{}these fields of config.json have no effect: {}", before,
                 fmt::join(fields.unread, ", "));
  }
  return {};
}

}  // namespace ckpt
