// Rates how programs handle parameters that deviate from the tables (models/models.h).
//
// Sources: vLLM 0.17.1
// vllm/model_executor/models/{llama,qwen2,qwen2_moe,qwen3_moe,qwen3_5,utils}.py (load_weights),
// layers/linear.py and layers/fused_moe/layer.py (weight_loader), model_loader/default_loader.py;
// SGLang python/sglang/srt/models/{llama,qwen2,qwen3_5}.py; transformers
// src/transformers/modeling_utils.py (_load_pretrained_model); llama.cpp conversion/base.py
// (map_tensor_name) and src/llama-model-loader.cpp (check_tensor_dims). Readers of this code may
// miss: servers load only their rank's piece of each tensor, so a tensor that is larger along that
// dimension than config.json declares is cut silently; and joined parameters count as loaded once
// one piece is loaded.
#include <algorithm>
#include <ranges>

#include "checks/subject/subject.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr size_t kNamesShown = 3;
constexpr size_t kNamesDropped = 8;  // limit for one advised command

using Rating = std::optional<Severity>;

bool is_asked(const CheckContext& context, ModelPart part) {
  const Program program = context.profile.program;
  if (program == Program::kTransformers) {
    return part != ModelPart::kMtp && reads_weight_names(context);
  }
  // vLLM then runs the language model alone, which check C14 reports.
  const bool is_left_out = program == Program::kVllm && !context.on.has_vision_tensors();
  return part != ModelPart::kVision || !(is_left_out || context.profile.runs_llama_server());
}

// The findings of one check: one per severity, however many tensors there are.
class FindingsBySeverity {
 public:
  bool can_drop = false;  // advise to drop them if nothing else fixes them

  void add(Rating severity, const std::string& name, std::string text) {
    if (!severity) return;
    Group& group = groups_[static_cast<size_t>(*severity)];
    if (group.count++ == 0) group.first = name;
    if (group.texts.size() < kNamesShown) group.texts.push_back(std::move(text));
    if (group.names.size() < kNamesDropped) group.names.push_back(name);
  }

  // `one` and `many` state the fault: "tensor is missing", "tensors are missing".
  void report(const CheckContext& context, std::string_view one, std::string_view many,
              const std::array<std::string, 4>& symptoms, std::optional<Fix> fix = {}) {
    for (size_t i = groups_.size(); i-- > 0;) {
      const Group& group = groups_[i];
      if (group.count == 0) continue;
      context.report(
          group.first,
          fmt::format("{} {}: {}{}", group.count, group.count == 1 ? one : many,
                      fmt::join(group.texts, "; "), group.count > group.texts.size() ? "; …" : ""),
          static_cast<Severity>(i), symptoms[i],
          can_drop && !fix ? std::optional(drop_of(group)) : fix);
    }
  }

 private:
  struct Group {
    size_t count = 0;
    std::string first;
    std::vector<std::string> texts, names;
  };
  static Fix drop_of(const Group& group) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const bool are_all = group.count == group.names.size() &&
                         std::ranges::all_of(group.names, [&](const std::string& name) {
                           return name.find_first_not_of(kPlain) == name.npos;
                         });
    const std::string names =
        are_all ? fmt::format("{}", fmt::join(group.names, ",tensors=")) : std::string("GLOB");
    return advised(fmt::format("ckpt convert IN OUT --step drop:tensors={}; or take config.json "
                               "from the source model",
                               names),
                   true);
  }

  std::array<Group, 4> groups_;  // by severity
};

// Whether the profile lists the model's type.
bool is_listed(const CheckContext& context, std::string_view list) {
  return has_listed(context.profile, list, ruling_type(context), false);
}

// Whether the program's class has the bias. Some biases exist only in vLLM 0.17.1 or transformers.
bool has_bias_there(const CheckContext& context, const Deviation& missing) {
  if (!missing.name.ends_with(".bias") || missing.part != ModelPart::kText) return true;
  const std::string_view type = ruling_type(context);
  if (!context.is(Program::kVllm)) return !has_trait(type, ModelTrait::kBiasesInVllm);
  return !names_any(missing.name, listed_for(context.profile, "absent biases", type));
}

bool is_of_other_program(const CheckContext& context, const Deviation& found) {
  return !context.is(Program::kTransformers) &&
         names_any(found.name, traits_of(context.on.text_type).only_in_transformers);
}

// Whether the program translates names of tensors by the rules of data/class_names.txt.
bool renames_while_loading(const CheckContext& context) {
  return context.is(Program::kTransformers) && !context.profile.has_transformers_4();
}

Rating rate_missing(const CheckContext& context, const Deviation& missing) {
  if (!missing.other_name.empty() && renames_while_loading(context)) return std::nullopt;
  if (!is_asked(context, missing.part) || is_of_other_program(context, missing))
    return std::nullopt;
  const bool is_head = is_of_head(missing.name) && missing.name.ends_with(".weight");
  if (is_head || !has_bias_there(context, missing)) return std::nullopt;  // C10
  switch (context.profile.program) {
    case Program::kVllm:
      if (missing.part == ModelPart::kMtp) return Severity::kWarning;
      // vLLM checks only unquantized models for parameters that were never filled.
      if (runs_by_fallback(context.profile, context.on.model_class)) return Severity::kUnloaded;
      return context.on.quantization() == nullptr && !missing.is_partly_there ? Severity::kUnloaded
                                                                              : Severity::kUnsound;
    case Program::kSglang:
      return missing.part == ModelPart::kMtp ? Severity::kWarning : Severity::kUnsound;
    case Program::kTransformers: return Severity::kUnsound;
    case Program::kTensorrt:
    case Program::kLlamaCpp: return Severity::kUnloaded;
    case Program::kOllama:  // does not apply
      break;
  }
  return std::nullopt;
}

// Unknown tensors may be the missing ones under other names: advises renaming, not dropping.
std::optional<Fix> renaming(const CheckContext& context) {
  const ParameterReport& report = context.on.parameters;
  if (report.missing.empty() || report.extra.empty()) return std::nullopt;
  Fix out = advised("save the model again under the names that its class has");
  const bool are_linear = std::ranges::any_of(
      report.extra, [](const ExtraTensor& extra) { return linear_expert(extra.name).has_value(); });
  out.step = are_linear ? "experts:to=fused" : renaming_step(context.on);
  return out;
}

void check_missing_parameters(const CheckContext& context) {
  FindingsBySeverity found;
  for (const Deviation& missing : context.on.parameters.missing) {
    found.add(rate_missing(context, missing), missing.name, fmt::format("'{}'", missing.name));
  }
  const std::optional<Fix> rename = renaming(context);
  found.report(context, "tensor that the model has is missing",
               "tensors that the model has are missing",
               {"", "speculative decoding fails to start",
                "weights that nothing fills: wrong answers without a word",
                "Following weights were not initialized from checkpoint; missing tensor"},
               rename && !rename->step.empty() ? rename : std::nullopt);
}

// Whether the tensor is larger only along the dimension that servers cut.
bool is_cut_silently(const Deviation& wrong) {
  if (wrong.cut == ServerCut::kWhole || wrong.found.size() != wrong.expected.size()) return false;
  const bool is_of_experts = names_any(wrong.name, {"experts", "block_sparse_moe"});
  const size_t stack = wrong.expected.size() == 3 && is_of_experts;
  const size_t cut = stack + (wrong.cut == ServerCut::kColumns ? 1 : 0);
  for (size_t i = 0; i < wrong.expected.size(); ++i) {
    const bool may_be_larger = i == cut || (stack == 1 && i == 0);
    if (wrong.found[i] < wrong.expected[i]) return false;
    if (wrong.found[i] > wrong.expected[i] && !may_be_larger) return false;
  }
  return true;
}

// Whether a single expert is stored as a stack of one, which vLLM uses for all experts.
bool is_stack_of_one(const Deviation& wrong) {
  if (experts_module(wrong.name).empty() || wrong.expected.size() != 2) return false;
  return wrong.found.size() == 3 && wrong.found[0] == 1 &&
         std::ranges::equal(wrong.expected, wrong.found | std::views::drop(1));
}

// Some vLLM classes use hidden_size / num_attention_heads, whatever head_dim is.
bool has_natural_heads(const CheckContext& context, const Deviation& wrong) {
  const JsonValue& text = context.on.text_config();
  const JsonValue* said = known(text, "head_dim");
  const bool is_ignored = said != nullptr && is_listed(context, "own head sizes") &&
                          wrong.name.find("self_attn.") != wrong.name.npos;
  if (!is_ignored || wrong.found.size() != wrong.expected.size()) return false;
  const Family& table = *context.on.parameters.table;
  const auto natural = number_of_fields(table, text, "hidden_size/num_attention_heads");
  const uint64_t head = whole(*said).value_or(0);
  if (!natural || head == 0 || head > UINT32_MAX) return false;
  for (size_t i = 0; i < wrong.found.size(); ++i) {
    const uint64_t found = wrong.found[i], expected = wrong.expected[i];
    if (found == expected) continue;
    if (expected % head != 0 || found != expected / head * *natural) return false;
  }
  return true;
}

Rating rate_shape(const CheckContext& context, const Deviation& wrong) {
  if (!is_asked(context, wrong.part) || is_of_other_program(context, wrong)) return std::nullopt;
  if (!context.is_server()) return Severity::kUnloaded;
  if (context.is(Program::kVllm)) {
    if (!has_bias_there(context, wrong) || has_natural_heads(context, wrong)) return std::nullopt;
    if (std::ranges::count(wrong.expected, 0u) != 0) return Severity::kUnloaded;
  }
  if (wrong.part == ModelPart::kMtp) return Severity::kWarning;
  if (context.is(Program::kVllm) && is_stack_of_one(wrong)) return Severity::kUnsound;
  return is_cut_silently(wrong) ? Severity::kUnsound : Severity::kUnloaded;
}

// For families without a table, checks only the embedding.
void check_embedding(const CheckContext& context, FindingsBySeverity& found) {
  const JsonValue* vocab = context.on.text_field("vocab_size");
  const JsonValue* hidden = context.on.text_field("hidden_size");
  if (vocab == nullptr || hidden == nullptr) return;
  for (const auto& [name, module] : context.on.modules) {
    if (!name.ends_with("embed_tokens") || module.weight == nullptr) continue;
    if (module.form != Form::kPlain || module.weight->shape.size() != 2) continue;
    const auto& shape = module.weight->shape;
    if (shape[0] == whole(*vocab) && shape[1] == whole(*hidden)) continue;
    found.add(Severity::kUnloaded, module.weight->name,
              fmt::format("'{}' is {}; expected [{}, {}]", module.weight->name, shape_text(shape),
                          vocab->dump(), hidden->dump()));
  }
}

// Fixes vocab_size if all tensors with a row per token agree on another number of rows: config.json
// is then older than the tensors.
std::optional<Fix> resized_vocabulary(const CheckContext& context) {
  const ParameterReport& report = context.on.parameters;
  const auto said = whole(context.on.text_field("vocab_size"));
  if (!said || report.wrong.empty()) return std::nullopt;
  const std::vector<uint64_t>& resized = report.wrong.front().found;
  const bool is_older = std::ranges::all_of(report.wrong, [&](const Deviation& wrong) {
    return wrong.found == resized && wrong.found.size() == 2 && wrong.expected[0] == *said &&
           wrong.found[1] == wrong.expected[1];
  });
  const Tensor* head = context.on.tensor("lm_head.weight");
  if (!is_older || (head != nullptr && head->shape != resized)) return std::nullopt;
  Fix out = advised(kTakeConfig);
  out.step = fmt::format("config:set={}vocab_size={}",
                         context.on.has_text_config() ? "text_config." : "", resized[0]);
  return out;
}

// Whether a stack of experts has its last two axes exchanged. transformers 5 saves the stacks of
// some classes so, and reads them in either order.
bool is_exchanged(const CheckContext& context, const Deviation& wrong) {
  const Family* table = context.on.parameters.table;
  if (table == nullptr || table->forms.turned == nullptr) return false;
  std::vector<uint64_t> exchanged = wrong.found;
  if (exchanged.size() == 3) std::swap(exchanged[1], exchanged[2]);
  return is_of_experts(wrong.name) && exchanged == wrong.expected;
}

void check_parameter_shapes(const CheckContext& context) {
  const ParameterReport& report = context.on.parameters;
  FindingsBySeverity found;
  std::optional<Fix> single;
  if (!report.is_compared()) check_embedding(context, found);
  if (report.is_beyond_limits) {
    context.tell("config.json", "{}; no shapes follow", report.bad_field);
  }
  for (const Deviation& wrong : report.wrong) {
    const bool is_turned = is_exchanged(context, wrong);
    if (is_turned && context.is(Program::kTransformers) && !context.profile.has_transformers_4()) {
      continue;
    }
    if (is_turned) single.emplace().step = "experts:to=single";
    found.add(rate_shape(context, wrong), wrong.name,
              fmt::format("'{}' is {}; expected {}", wrong.name, shape_text(wrong.found),
                          shape_text(wrong.expected)));
  }
  found.report(context, "tensor is not of the shape that config.json says",
               "tensors are not of the shape that config.json says",
               {"", "speculative decoding fails to start",
                "the part that fits is taken without a word: wrong answers",
                "assert param_data.shape == loaded_weight.shape; size mismatch; wrong shape"},
               single ? single : resized_vocabulary(context));
}

// Whether a member of a group that all servers join is part of `name`, with `front` before it.
bool names_member(std::string_view name, std::string_view front, ProjectionRole last) {
  return std::ranges::any_of(projection_groups(), [&](const ProjectionGroup& group) {
    return group.join == ServerJoin::kAll && group.role <= last &&
           std::ranges::any_of(group.parts(), [&](std::string_view part) {
             return name.find(fmt::format("{}{}", front, part)) != name.npos;
           });
  });
}

// Whether the number in "model.layers.61.mlp.gate" is one of `count` numbers from `first` on.
bool has_layer_in(std::string_view name, uint64_t first, uint64_t count) {
  constexpr std::string_view kLayers = "layers.";
  for (size_t at = name.find(kLayers); at != name.npos; at = name.find(kLayers, at)) {
    at += kLayers.size();
    std::string_view rest = name.substr(at);
    const auto number = take_leading<uint64_t>(rest);
    const bool is_whole = number && rest.starts_with('.');
    if (is_whole && *number >= first && *number - first < count) return true;
  }
  return false;
}

bool is_head_skipped(const CheckContext& context) {
  if (context.on.model_class.ends_with("Model")) return true;  // for embeddings
  const bool is_kept = has_listed(context.profile, "heads", "kept", false);
  return !is_kept && head_ties(context.on.config).of_text() &&
         is_listed(context, "tied heads passed over");
}

// Whether vLLM never reads the name: layers for multi-token prediction after the last layer and, in
// some classes, scales.
bool is_passed_over(const CheckContext& context, const ExtraTensor& extra) {
  const Subject& on = context.on;
  const uint64_t first = on.layers().value_or(UINT64_MAX);
  const uint64_t count = whole(on.text_field(kNextnCountField)).value_or(0);
  const bool may_be_draft = extra.is_beyond && on.parameters.table->drafts.are_behind;
  if (may_be_draft && has_layer_in(extra.name, first, count)) return true;
  if (extra.name.starts_with("lm_head.") && is_head_skipped(context)) return true;
  const auto skipped = listed_for(context.profile, "names passed over", ruling_type(context));
  if (names_any(extra.name, skipped)) return true;
  return extra.name.ends_with("_scale") &&
         has_listed(context.profile, "scales passed over", on.text_type, false);
}

// Whether the loader stops at the tensor instead of skipping it.
bool is_refused(const CheckContext& context, const ExtraTensor& extra) {
  const Family* table = context.on.parameters.table;
  const auto asks_for = [&](std::string_view kind) {
    return table != nullptr && looks_up(context, table->text_type(), kind);
  };
  const bool asks_for_attention = asks_for("attention");
  switch (context.profile.program) {
    case Program::kVllm:
      if (is_passed_over(context, extra)) return false;
      if (extra.is_tower && !(asks_for_attention && extra.name.starts_with("model."))) return true;
      if (context.does("refuse_extra_weights")) return !extra.is_bias;
      if (runs_by_fallback(context.profile, context.on.model_class)) return true;
      if (extra.is_outermost) return true;
      if (asks_for_attention) return names_member(extra.name, ".", ProjectionRole::kAttention);
      if (extra.is_bias) {
        return has_listed(context.profile, "biases looked up", context.on.text_type, false);
      }
      if (asks_for("nothing")) return false;
      if (extra.is_of_expert) return true;
      if (asks_for("experts")) return false;
      return !asks_for("fused") || names_member(extra.name, "", ProjectionRole::kMlp);
    case Program::kSglang:
      return !asks_for("experts") && !extra.is_bias && !extra.is_beyond &&
             names_member(extra.name, "", ProjectionRole::kMlp);
    case Program::kLlamaCpp: return !extra.is_tower;
    case Program::kTensorrt:
    case Program::kOllama:
    case Program::kTransformers: return false;
  }
  return false;
}

// Some vLLM 0.17.1 classes look up cache scales by their stored names; others map scales of
// projections to nothing and continue.
void check_cache_scales(const CheckContext& context, FindingsBySeverity& found) {
  if (!context.does("look_up_cache_scales") || context.on.quantization() != nullptr) return;
  const bool asks_for_all = runs_by_fallback(context.profile, context.on.model_class);
  for (const Tensor* tensor : context.on.stray) {
    const std::string& name = tensor->name;
    if (!name.ends_with(".k_scale") && !name.ends_with(".v_scale")) continue;
    if (asks_for_all) found.add(Severity::kUnloaded, name, fmt::format("'{}'", name));
    const bool is_projected = name.ends_with("_proj.k_scale") || name.ends_with("_proj.v_scale");
    const bool is_found =
        is_listed(context, "cache scales looked up") ||
        (is_projected && is_listed(context, "cache scales of projections looked up"));
    if (is_found) found.add(Severity::kUnloaded, name, fmt::format("'{}'", name));
  }
}

// Without a declared number of draft layers, classes of transformers 4.57 have no default and vLLM
// looks for their tensors in the model.
void check_uncounted(const CheckContext& context) {
  const bool is_counted = member(context.on.text_config(), kNextnCountField) != nullptr;
  const bool asks = is_listed(context, "drafts without a count");
  if (!asks || is_counted || !context.on.parameters.has_nextn) return;
  context.report("config.json: num_nextn_predict_layers",
                 "absent, and there are layers behind the last", Severity::kUnloaded,
                 "KeyError: 'model.layers.2.eh_proj.weight'");
}

// Finds parameters that the class has, but that its loader passes over.
void check_unfilled(const CheckContext& context) {
  const auto parts = listed_for(context.profile, "parameters never filled", ruling_type(context));
  FindingsBySeverity found;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    if (!names_any(tensor.name, parts)) continue;
    found.add(Severity::kUnsound, tensor.name, fmt::format("'{}'", tensor.name));
  }
  found.report(context, "tensor that this server's loader passes over, though the model needs it",
               "tensors that this server's loader passes over, though the model needs them",
               {"", "", "computes with zeros in their place: wrong answers without a word", ""},
               advised("serve it with a program that reads them"));
}

void check_extra(const CheckContext& context) {
  if (!is_asked(context, ModelPart::kText)) return;
  check_uncounted(context);
  check_unfilled(context);
  FindingsBySeverity found;
  found.can_drop = true;
  check_cache_scales(context, found);
  for (const ExtraTensor& extra : context.on.parameters.extra) {
    if (extra.is_in_transformers && context.is(Program::kTransformers)) continue;
    if (extra.is_renamed && renames_while_loading(context)) continue;
    const bool is_input_scale = extra.name.ends_with(".activation_scale");
    constexpr std::string_view kReaders = "classes that read activation_scale";
    if (is_input_scale && has_listed(context.profile, kReaders, context.on.model_class, false))
      continue;
    const Severity passed_over = extra.is_in_layer ? Severity::kUnsound : Severity::kWarning;
    found.add(is_refused(context, extra) ? Severity::kUnloaded : passed_over, extra.name,
              fmt::format("'{}'", extra.name));
  }
  found.report(context, "tensor that the model does not have",
               "tensors that the model does not have",
               {"", "passed over", "passed over: what is computed is another model's",
                "KeyError; There is no module or parameter named ...; Can not map tensor"},
               renaming(context));
}

// Checks for layers that draft tokens: declared, but omitted by whoever saved the model.
void check_draft_layers(const CheckContext& context) {
  const Subject& on = context.on;
  const Family* table = on.parameters.table;
  if (table == nullptr) return;
  const bool is_mtp = table->drafts.are_outside;
  const char* field = is_mtp ? kMtpCountField : kNextnCountField;
  const uint64_t declared = whole(on.text_field(field)).value_or(0);
  const bool is_mtp_there = std::ranges::any_of(
      on.checkpoint.tensors, [](const Tensor& tensor) { return tensor.name.starts_with("mtp."); });
  const bool is_there =
      is_mtp ? is_mtp_there : !table->drafts.are_behind || on.parameters.has_nextn;
  if (declared == 0 || is_there) {
    return;
  }
  const uint64_t first = on.layers().value_or(0);
  const std::string names =
      is_mtp ? std::string("mtp.*") : fmt::format("{}layers.{}.*", on.parameters.root, first);
  context.report(
      fmt::format("config.json: {}", field),
      fmt::format("{}, but no tensor is called {}", declared, names), {}, {},
      advised(fmt::format("ckpt convert IN OUT --step 'graft:from=BASE,tensors={}'", names), true));
}

constexpr Check kParameterChecks[] = {
    {"W02", "all tensors that the model has are there",
     "U: vllm* tensorrt-llm llama.cpp, S: sglang transformers*", "", "download or convert again",
     check_missing_parameters},
    {"W09", "all tensors have the shapes that config.json says", "U: all",
     "shape mismatch; a number is expected", kTakeConfig, check_parameter_shapes},
    {"W10", "every tensor belongs to the model",
     "U: vllm* sglang llama.cpp, W: tensorrt-llm transformers*", "", "", check_extra},
    {"W13", "draft layers that config.json declares are there", "W: vllm* sglang",
     "speculative decoding fails to start", "", check_draft_layers},
};

}  // namespace

bool reads_weight_names(const CheckContext& context) {
  const Quantization* declared = context.on.quantization();
  if (declared == nullptr) return !context.on.is_quantized();
  return has_listed(context.profile, "quantized by name", declared->method, false);
}

std::string weights_not_checked(const Subject& on, const Profile& profile) {
  if (on.is_gguf) {
    if (profile.runs_llama_server()) return gguf_not_checked(on, profile);
    if (!profile.does("read_gguf")) return "the weights: GGUF files are not read at all";
    return profile.serves() ? "the weights: of a GGUF, only the architecture and types are checked"
                            : "the weights: of a GGUF, only the architecture is checked";
  }
  if (profile.program == Program::kOllama) {
    return "the weights: `ollama create` converts a folder by code of its own";
  }
  if (const std::string* other = preferred_weights(on, profile)) {
    return fmt::format("the weights: this program reads '{}' instead of the files checked here",
                       *other);
  }
  const Quantization* const declared = on.quantization();
  const bool is_quantized = declared != nullptr || on.is_quantized();
  const bool is_skipped =  // Q26
      declared != nullptr && !has_listed(profile, "quantization methods", declared->method, true);
  if (profile.program == Program::kTransformers && is_quantized && !is_skipped) {
    return "the weights: of quantized models this profile reads the configuration and tokenizer";
  }
  const ParameterReport& report = on.parameters;
  if (!on.mlx.empty()) {
    const bool is_converted = profile.program == Program::kLlamaCpp && !on.mlx.is_quantized;
    return is_converted ? "" : "the weights: they are as MLX saves them";  // its GGUF is checked
  }
  if (!report.is_compared()) {
    return fmt::format("the weights: no list of the parameters of '{}'",
                       on.model_class.empty() ? on.model_type : on.model_class);
  }
  if (!report.bad_field.empty()) return fmt::format("the weights: {}", report.bad_field);
  if (report.has_unknown_codes && !on.packed.fault.empty()) {
    return "the weights: parts of packed ones do not fit";
  }
  if (report.has_unlisted_tower && profile.program != Program::kLlamaCpp) {
    return fmt::format("the vision tower: no list of the parameters of '{}'", on.model_type);
  }
  if (report.has_unknown_codes) return "the weights: stored in a way that is not decoded here";
  return names_not_checked(on, profile);
}

std::span<const Check> parameter_checks() { return kParameterChecks; }

}  // namespace ckpt
