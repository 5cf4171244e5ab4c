// Checks that the program's class finds tensors under the names that it expects.
//
// Source: vLLM vllm/model_executor/models/qwen3_5.py and qwen3_vl.py (hf_to_vllm_mapper), utils.py
// (AutoWeightsLoader); transformers src/transformers/conversion_mapping.py.
// Names do not follow from model_type: a text-only folder may have the wrapper's names.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

// The forms of names under which the class reads its tensors, the usual one first; empty if the
// profile does not list them.
std::vector<std::string_view> forms_read(const Subject& on, const Profile& profile) {
  constexpr std::string_view kSection = "names ";
  const auto listed = [&](std::string_view name) {
    return split_words(section_with(profile, kSection, name));
  };
  const bool is_wrapper = on.model_class.ends_with("ForConditionalGeneration");
  if (runs_by_fallback(profile, on.model_class)) {
    return listed(is_wrapper ? std::string_view(on.model_class) : "(fallback)");
  }
  auto out = listed(on.model_class);
  if (out.empty() && !is_wrapper) {
    out = listed("(others)");
    if (!on.checkpoint.has_head()) std::ranges::copy(listed("(headless)"), std::back_inserter(out));
  }
  // Embedding models and classifiers may lack the prefix of the wrapping class.
  const bool is_pooled = on.is_embedding_model() || on.model_class.ends_with("Model") ||
                         on.model_class.ends_with("Classification");
  if (is_pooled) std::ranges::copy(listed("(pooled)"), std::back_inserter(out));
  return out;
}

NameKind kind_of_form(std::string_view form) {
  const std::string_view last = last_word(form);
  if (last.ends_with('*')) return NameKind::kText;
  return is_of_head(last) ? NameKind::kHead : NameKind::kTower;
}

// Whether the class's own table uses this form for the text part or the head.
bool is_own_form(const Family* table, const std::string& form, const NameForm& names) {
  if (table == nullptr) return false;
  if (names.kind == NameKind::kText) {
    return table->root != Family().root && names.lead == table->root;
  }
  return names.kind == NameKind::kHead && last_word(form) != "lm_head" &&
         std::ranges::any_of(table->parameters, [&](const std::span<const ParameterRule> list) {
           return std::ranges::find(list, form + ".weight", &ParameterRule::name) != list.end();
         });
}

// The first of `forms` for the same part of the model as `names`; empty if the class has none.
std::string_view form_wanted(std::span<const std::string_view> forms, const NameForm& names) {
  for (const std::string_view form : forms) {
    const bool is_same = kind_of_form(form) == names.kind;
    const bool is_tower = names.kind == NameKind::kTower;
    if (is_same && (!is_tower || names.stems.contains(std::string(last_word(form))))) return form;
  }
  return {};
}

// The superfluous prefix, if the rest of the names has the wanted form; else empty.
std::string_view extra_front(std::string_view lead, std::string_view wanted) {
  wanted.remove_suffix(last_word(wanted).size());
  const std::string_view front = lead.substr(0, lead.size() - std::min(lead.size(), wanted.size()));
  return lead.ends_with(wanted) && front.ends_with('.') ? front : std::string_view();
}

void add_renames(const NameForm& names, std::string_view wanted, std::vector<std::string>& out) {
  const std::string_view last = last_word(wanted);
  const std::string_view lead = wanted.substr(0, wanted.size() - last.size());
  for (const std::string& stem : names.stems) {
    const std::string_view to = names.kind == NameKind::kHead ? last : stem;
    out.push_back(fmt::format("from={}{}.,to={}{}.", names.lead, stem, lead, to));
  }
}

std::string_view words_for(const NameForm& names, const Subject& on, bool is_wrapper) {
  if (names.kind != NameKind::kText) return "names under another prefix";
  if (names.lead.empty() || names.lead == "language_model.") return "names of the text part alone";
  if (is_wrapper) return "names of the text model";
  if (names.lead.find("language_model.") == names.lead.npos) return "names under another prefix";
  return on.has_text_config() ? "names of a wrapper"
                              : "names of a wrapper, but config.json has no text_config";
}

void check_prefix(const CheckContext& context) {
  const Subject& on = context.on;
  const bool is_wrapper = on.model_class.ends_with("ForConditionalGeneration");
  if (context.is(Program::kTransformers) && !reads_weight_names(context)) return;
  const auto read = forms_read(context.on, context.profile);
  const Family* table = on.parameters.table;
  const std::string_view own = table == nullptr ? std::string_view() : table->prefixes;
  std::vector<std::string> rules;
  std::set<std::string_view> fronts;  // superfluous prefixes; "" for names that are read
  std::string place, found;
  bool is_text_elsewhere = false;
  for (const auto& [form, names] : on.parameters.forms) {
    const std::string_view wanted = form_wanted(read, names);
    const bool is_own = names.lead.empty() || has_word(own, names.lead);
    const bool is_read = wanted.empty() || std::ranges::count(read, form) != 0 ||
                         (!own.empty() && is_own) || is_own_form(table, form, names);
    fronts.insert(is_read ? std::string_view() : extra_front(names.lead, wanted));
    if (is_read) continue;
    add_renames(names, wanted, rules);
    const bool is_text = names.kind == NameKind::kText;
    is_text_elsewhere = is_text_elsewhere || is_text;
    if (!place.empty() && !is_text) continue;
    place = is_text ? names.lead + "layers.*" : form + ".*";
    found = fmt::format("{}; '{}' wants {}{}.*", words_for(names, on, is_wrapper), on.model_class,
                        is_text ? wanted.substr(0, wanted.size() - 1) : wanted,
                        is_text ? "layers" : "");
  }
  if (place.empty()) return;
  // vl-wrap turns the names of these text models into those of a wrapper, but renames no tower.
  const bool is_wrapped_again =
      is_text_elsewhere && has_trait(on.text_type, ModelTrait::kTakesWrapperNames);
  Fix rename;
  const bool is_in_front = fronts.size() == 1 && !fronts.begin()->empty();
  rename.step = is_in_front ? fmt::format("rename:from={},to=", *fronts.begin())
                            : fmt::format("rename:{}", fmt::join(rules, ","));
  context.report(
      std::move(place), std::move(found), {},
      context.is(Program::kTransformers) ? "newly initialized: weights of random numbers" : "",
      is_wrapped_again ? std::nullopt : std::optional(std::move(rename)));
}

// Whether the name is a part of MXFP4: X_blocks with X_scales.
bool is_mxfp4_part(const Subject& on, const std::string& name) {
  constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
  const bool is_blocks = name.ends_with(kBlocks);
  if (!is_blocks && !name.ends_with(kScales)) return false;
  const std::string stem = name.substr(0, name.size() - kBlocks.size());
  return on.tensor(stem + std::string(is_blocks ? kScales : kBlocks)) != nullptr;
}

void check_unknown(const CheckContext& context) {
  Mismatch found;
  for (const Tensor* tensor : context.on.stray) {
    const std::string& name = tensor->name;
    const auto dtype = plain_dtype(*tensor->codec);
    const bool is_codes = dtype == Dtype::kU8 || dtype == Dtype::kI8;
    const bool is_usual = name.ends_with(".bias") || name.ends_with(".A_log") ||
                          name.ends_with(".dt_bias") || name.ends_with("_scale") ||
                          name.ends_with("_amax") || name.find("_quantizer.") != name.npos;
    const bool is_packed = context.on.packed.parts.contains(name);
    if (context.on.is_gguf || is_usual || !is_codes || is_packed) continue;
    if (!is_mxfp4_part(context.on, name)) found.add(name);
  }
  if (found.count == 0) return;
  context.tell(found.first, "{} tensors of codes without their scales", found.count);
}

void check_packed(const CheckContext& context) {
  const Quantization* declared = context.on.quantization();
  if (context.on.packed.fault.empty()) return;
  context.report(declared == nullptr ? "config.json" : declared->place, context.on.packed.fault);
}

// Rates stacks of experts by what this server's class does with them; nullopt: as for most classes.
std::optional<Severity> rate_stacks(const CheckContext& context) {
  const auto is_listed = [&](std::string_view list) {
    return has_listed(context.profile, list, ruling_type(context), false);
  };
  if (is_listed("stacks of experts refused")) return Severity::kUnloaded;
  return is_listed("stacks of experts passed over") ? std::optional(Severity::kUnsound)
                                                    : std::nullopt;
}

// Some classes read stacks of experts; other classes of transformers 5 stack them only in memory.
void check_stacks(const CheckContext& context) {
  const bool is_known = context.on.parameters.is_compared();
  if (!is_known || has_trait(ruling_type(context), ModelTrait::kStackedExperts)) return;
  const uint64_t layers = context.on.layers().value_or(UINT64_MAX);
  const Tensor* draft = nullptr;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    if (parts_of_stack(last_word(tensor.name)).size() != 2 || tensor.shape.size() != 3) continue;
    const bool is_draft =
        tensor.name.starts_with("mtp.") ||
        number_after(tensor.name, context.on.parameters.root + "layers.") >= layers;
    if (is_draft) {
      draft = &tensor;
      continue;
    }
    return context.report(tensor.name,
                          "all experts in one tensor, as transformers 5 has them in memory",
                          rate_stacks(context));
  }
  if (draft == nullptr || !context.is_server()) return;
  context.report(draft->name, "all experts of a draft layer in one tensor", Severity::kWarning,
                 "speculative decoding fails to start");
}

void check_mlx(const CheckContext& context) {
  const MlxTensors& mlx = context.on.mlx;
  if (mlx.is_quantized) {
    return context.report("*.scales", "MLX quantized these weights, which only MLX reads", {}, {},
                          advised(mlx.is_decoded() ? "ckpt convert IN OUT --step dequantize"
                                                   : std::string(kMlxDequantize)));
  }
  // A GGUF would be made of the original values.
  if (mlx.changed.empty() || context.profile.runs_llama_server()) return;
  context.tell(context.on.checkpoint.tensors[mlx.changed[0].first].name,
               "{} tensors have the names, axes or values that MLX gives them", mlx.changed.size());
}

constexpr Check kWeightChecks[] = {
    {"W01", "tensor names are those of the class", "U: vllm* tensorrt-llm, S: sglang transformers*",
     "There is no module or parameter named 'model'", "", check_prefix, "vl-wrap"},
    {"W12", "experts are single where the program reads them so",
     "U: vllm-tf4, S: sglang transformers-4, W: vllm-tf5 tensorrt-llm",
     "KeyError: 'layers.0.mlp.experts.down_proj'; or experts of random numbers", "", check_stacks,
     "experts:to=single"},
    {"W03", "no codes without scales", "W: vllm* sglang tensorrt-llm llama.cpp transformers-5", "",
     "quantize again", check_unknown},
    {"W18", "weights are as the model's release has them, not as MLX saves them", "U: all",
     "size mismatch; KeyError: 'switch_mlp'; answers are nonsense", "ckpt convert IN OUT",
     check_mlx},
    {"W11", "parts of packed weights are there and fit", "U: all",
     "KeyError; size mismatch; wrong answers",
     "take config.json from the source model, or download the folder again", check_packed},
};

}  // namespace

std::string names_not_checked(const Subject& on, const Profile& profile) {
  const bool is_asked = profile.program == Program::kVllm || profile.program == Program::kSglang ||
                        profile.program == Program::kTransformers;
  const bool is_wrapper = on.model_class.ends_with("ForConditionalGeneration");
  const bool may_run =
      knows_model_class(profile, on.model_class) || runs_by_fallback(profile, on.model_class);
  if (!is_asked || !is_wrapper || !may_run) return {};
  if (!forms_read(on, profile).empty()) return {};
  return fmt::format("the names of the weights: those that '{}' reads are not known here",
                     on.model_class);
}

std::span<const Check> weight_checks() { return kWeightChecks; }

}  // namespace ckpt
