// Checks the form of the quantization section: its keys, their types, and whether the weights are
// stored in the declared method.
//
// Sources: vLLM vllm/model_executor/layers/quantization/__init__.py (QUANTIZATION_METHODS),
// modelopt.py, fp8.py, gptq_marlin.py, awq_marlin.py (get_from_keys) of 0.17.1 and 0.32.0, and
// vllm/transformers_utils/model_arch_config_convertor.py.
// `producer` is read before the method is, and must be an object.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/name_list.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Keys that a method's reader requires, separated by spaces; one of two spellings suffices.
struct RequiredKeys {
  std::string_view method, keys;
};
constexpr RequiredKeys kKeysOfMethods[] = {{"fp8", "activation_scheme"},
                                          {"gptq", "bits group_size desc_act"},
                                          {"awq", "bits|w_bit group_size|q_group_size zero_point"}};

// The quantization section in config.json, of any type; nullptr if there is none.
const JsonValue* statement(const Subject& on) {
  const JsonValue* outer = member(on.config, "quantization_config");
  return outer != nullptr ? outer : member(on.text_config(), "quantization_config");
}

void check_object(const CheckContext& context) {
  const JsonValue* declared = statement(context.on);
  if (declared == nullptr) return;
  if (!declared->is_object())
    return context.report("config.json: quantization_config", no_object(*declared));
  if (!context.profile.serves()) return;
  const JsonValue* producer = member(*declared, "producer");
  if (producer != nullptr && !producer->is_object()) {
    context.report("config.json: quantization_config.producer", no_object(*producer));
  }
}

// Words that the classes of compressed-tensors validate.
constexpr std::string_view kStrategies =
    " tensor channel group block token tensor_group attn_head ";

// transformers loads a model as unquantized if it does not know the method. It stops at codes that
// have another shape than the weight, and takes FP8 values without their scales.
std::optional<Severity> severity_of_skipped(const CheckContext& context) {
  if (!context.is(Program::kTransformers)) return {};
  const auto stores = [&](Form form) {
    return std::ranges::any_of(context.on.modules, [form](const auto& entry) {
      return entry.second.weight != nullptr && entry.second.form == form;
    });
  };
  if (stores(Form::kNvfp4)) return Severity::kUnloaded;
  return stores(Form::kFp8) || stores(Form::kOther) ? Severity::kUnsound : Severity::kWarning;
}

void check_statement_method(const CheckContext& context) {
  const JsonValue* method = member(statement(context.on), "quant_method");
  if (method == nullptr) return;  // Q05
  const std::string& name =
      context.on.quantizations.empty() ? "" : context.on.quantizations[0].method;
  const bool is_known = has_listed(context.profile, "quantization methods", name, true);
  if (method->is_string() && (is_known || name.empty())) return;
  std::optional<Fix> fix;
  if (context.is(Program::kTransformers) && context.on.is_quantized()) {
    fix = advised("ckpt convert IN OUT --step dequantize");
  }
  context.report("config.json: quantization_config.quant_method",
                 fmt::format("{}, which {} does not have", method->dump(), context.profile.help),
                 severity_of_skipped(context), {}, std::move(fix));
}

// Faults of groups of compressed-tensors: at least one must exist, and each must name its modules.
std::vector<std::pair<std::string, std::string>> faults_of_groups(const JsonValue& json) {
  std::vector<std::pair<std::string, std::string>> out;
  const JsonValue* ignore = member(json, "ignore");
  if (ignore != nullptr && !is_list_of_texts(*ignore)) {
    out.emplace_back("ignore", fmt::format("{}; expected a list of names", ignore->dump()));
  }
  const JsonValue* format = known(json, "format");
  if (format != nullptr && !format->is_string()) {
    out.emplace_back("format", fmt::format("{}; expected a text", format->dump()));
  }
  const JsonValue* groups = member(json, "config_groups");
  if (groups == nullptr) return out;
  if (!groups->is_object() || groups->empty()) {
    out.emplace_back("config_groups", "no object of groups");
    return out;
  }
  for (const auto& item : groups->items()) {
    if (!item.value().is_object()) continue;
    const JsonValue* strategy = known(known(item.value(), "weights"), "strategy");
    const auto* word = strategy == nullptr ? nullptr : strategy->get_ptr<const std::string*>();
    if (strategy != nullptr && (word == nullptr || !has_word(kStrategies, *word))) {
      out.emplace_back(fmt::format("config_groups.{}.weights.strategy", item.key()),
                       fmt::format("{}; expected one of{}", strategy->dump(), kStrategies));
    }
    const JsonValue* targets = member(item.value(), "targets");
    if (targets != nullptr && is_list_of_texts(*targets) && !targets->empty()) continue;
    out.emplace_back(fmt::format("config_groups.{}.targets", item.key()), "no list of names");
  }
  return out;
}

void check_statement_keys(const CheckContext& context) {
  const JsonValue* json = statement(context.on);
  const Quantization* declared = context.on.quantization();
  if (json == nullptr || !json->is_object() || declared == nullptr) return;
  const auto report = [&](std::string_view key, std::string found) {
    context.report(fmt::format("config.json: quantization_config.{}", key), std::move(found));
  };
  const RequiredKeys* needs = find_by(kKeysOfMethods, &RequiredKeys::method, declared->method);
  for (const std::string_view keys : split_words(needs == nullptr ? "" : needs->keys)) {
    const std::string_view key = keys.substr(0, keys.find('|'));
    const std::string_view other = keys.substr(keys.rfind('|') + 1);
    if (member(*json, key) != nullptr || member(*json, other) != nullptr) continue;
    report(key, fmt::format("absent; {} needs it", declared->method));
  }
  if (declared->method == "compressed-tensors" && context.is(Program::kVllm)) {
    for (const auto& [key, fault] : faults_of_groups(*json)) report(key, fault);
  }
  if (!declared->method.starts_with("modelopt") || member(*json, "quantization") != nullptr) return;
  const JsonValue* algo = member(*json, "quant_algo");
  if (!is_truthy(algo) || !algo->is_string()) {
    report("quant_algo",
           algo == nullptr ? "absent" : fmt::format("{}; expected a name", algo->dump()));
  } else if (declared->method == "modelopt_fp4" &&
             declared->algo.find("NVFP4") == std::string::npos) {
    report("quant_algo", fmt::format("{}; the method modelopt_fp4 is for NVFP4", declared->algo));
  }
  const JsonValue* ignore = member(*json, "ignore");
  if (ignore == nullptr) return;
  if (!is_list_of_texts(*ignore)) report("ignore", "no list of names");
}

// The severity of floats where codes are declared. transformers 5 decodes nothing then, if it knows
// the method; servers read the floats as FP8 codes.
std::optional<Severity> weight_of_floats(const CheckContext& context, const std::string& method) {
  const bool is_class = !context.profile.serves();
  const bool is_old = context.profile.has_transformers_4();
  if (method == "bitsandbytes") return Severity::kUnloaded;
  if (!has_word(" fp8 mxfp4 ", method)) {
    return is_class ? Severity::kUnsound : std::optional<Severity>();
  }
  if (is_class) return is_old ? Severity::kUnloaded : Severity::kWarning;
  return method == "fp8" ? std::optional(Severity::kUnsound) : std::nullopt;
}

// Reports a method that stores codes if the checkpoint has only floats.
void check_floats(const CheckContext& context, const Quantization& declared) {
  constexpr std::string_view kStored = " mxfp4 fp8 gptq awq compressed-tensors bitsandbytes ";
  if (!has_word(kStored, declared.method) || declared.json == nullptr) return;
  // Skips compressed-tensors of a model in training, or in the format "dense".
  const std::string* status = text_of(*declared.json, "quantization_status");
  const std::string* format = text_of(*declared.json, "format");
  const bool is_open =
      (status != nullptr && *status != "compressed") || (format != nullptr && *format == "dense");
  if (declared.method == "compressed-tensors" && is_open) return;
  // transformers 4.57 quantizes to 8 bits while loading.
  const bool is_8bit = is_truthy(known(*declared.json, "load_in_8bit"));
  if (is_8bit && context.profile.has_transformers_4() && !context.profile.serves()) return;
  std::vector<std::string> kept = declared.exclude;
  for (const char* key : {"modules_to_not_convert", "llm_int8_skip_modules", "ignored_layers"}) {
    for (const JsonValue& entry : list_in(*declared.json, key)) {
      if (entry.is_string()) kept.push_back(entry.get<std::string>());
    }
  }
  const NameList excluded(kept);
  if (!std::ranges::all_of(context.on.checkpoint.tensors, &Tensor::is_plain_float)) return;
  for (const auto& [name, module] : context.on.modules) {
    const bool is_asked =
        name.find(declared.method == "mxfp4" ? ".experts" : ".layers.") != name.npos;
    if (!is_asked || !module.is_linear()) continue;
    if (excluded.matches(name) || excluded.holds_part_of(name)) continue;
    return context.report(
        declared.place, fmt::format("says {}, but '{}' is stored as floats", declared.method, name),
        weight_of_floats(context, declared.method));
  }
}

// Reports weights whose layout belongs to another method than the declared one.
void check_layout(const CheckContext& context, const Quantization& declared) {
  check_floats(context, declared);
  if (!context.profile.serves()) return;
  const bool is_other = has_word(" awq gptq mxfp4 bitsandbytes quark ", declared.method);
  const bool is_packed = declared.method == "compressed-tensors";
  const bool has_format = known(declared.json, "format") != nullptr;
  for (const auto& [name, module] : context.on.modules) {
    const bool is_modelopt = module.form == Form::kNvfp4 || module.form == Form::kFp8;
    if (!is_modelopt ||
        !(is_other || (is_packed && (!has_format || module.form == Form::kNvfp4)))) {
      continue;
    }
    return context.tell(declared.place, "says {}, but '{}' is stored as ModelOpt's {}",
                        declared.method, name, form_name(module.form));
  }
}

constexpr Check kQuantizationStatementChecks[] = {
    {"Q25", "quantization_config is an object", "U: vllm* sglang transformers*, W: tensorrt-llm",
     "'NoneType' object has no attribute 'to_dict'", kTakeConfig, check_object},
    {"Q26", "the program has the quant_method", "U: vllm* transformers*",
     "Unknown quantization method; Unknown quantization type, then a size mismatch",
     "export the model again", check_statement_method},
    {"Q27", "the statement has what its method needs", "U: vllm* sglang, W: tensorrt-llm",
     "Missing 'quant_algo' in quantization config; Cannot find any of [...]; exclude_modules must "
     "be a list",
     "export the model again", check_statement_keys},
    {"Q28", "the quant_method is that of the weights",
     "U: vllm* sglang transformers*, W: tensorrt-llm",
     "No compressed-tensors compatible scheme was found; KeyError", "export the model again",
     stated<check_layout>},
};

}  // namespace

std::span<const Check> quantization_statement_checks() { return kQuantizationStatementChecks; }

}  // namespace ckpt
