// Checks the declared quantization of a folder against its tensors and what programs support.
//
// Sources: vLLM vllm/model_executor/layers/quantization/modelopt.py and
// vllm/transformers_utils/model_arch_config_convertor.py; SGLang
// python/sglang/srt/configs/model_config.py and layers/quantization/modelopt_quant.py; llama.cpp
// conversion/base.py; NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py.
// A server stops at scales that it does not expect; scales that it expects but does not find keep
// whatever the memory contained.
#include <algorithm>

#include "checks/quantization/module_lists.h"
#include "checks/subject/subject.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

bool is_modelopt(const Quantization& declared) {
  return declared.method.starts_with("modelopt") || !declared.algo.empty();
}

bool says_awq(const Quantization& declared) {
  return declared.algo.find("AWQ") != declared.algo.npos ||
         std::ranges::any_of(declared.layers, [](const auto& layer) {
           return layer.second.find("AWQ") != layer.second.npos;
         });
}

size_t count_pre_scales(const Subject& on) {
  return static_cast<size_t>(std::ranges::count_if(
      on.modules, [](const auto& entry) { return entry.second.has_pre_quant_scale; }));
}

void check_stated(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.is_gguf) return;
  if (on.quantizations.empty() && on.is_quantized()) {
    context.report("config.json: quantization_config",
                   "absent, but weights are stored as codes with scales");
  }
  const Quantization* flat = nullptr;
  for (const Quantization& declared : on.quantizations) {
    if (flat == nullptr) {
      flat = &declared;
    } else if (is_modelopt(declared) && is_modelopt(*flat) && declared.algo != flat->algo) {
      context.report(declared.place,
                     fmt::format("says {}; {} says {}", declared.algo, flat->place, flat->algo),
                     Severity::kWarning);
    }
  }
}

// Reports a declared quantization although every weight is plain.
void check_stale(const CheckContext& context, const Quantization& declared) {
  const bool has_codes = context.on.is_quantized() || !context.on.packed.by_codes.empty();
  if (has_codes || !is_modelopt(declared)) return;
  context.tell(declared.place, "says {}, but no weight is quantized", declared.algo);
}

// AWQ on such norms needs the norms of the source; just renaming the algorithm would hide that.
Fix fix_for_algo(const Subject& on, const Quantization& declared) {
  if (has_trait(on.text_type, ModelTrait::kFoldsNormsAsPlain) &&
      (count_pre_scales(on) != 0 || says_awq(declared))) {
    return {"mixed-to-nvfp4:base=BASE", "BASE: the unquantized model's folder", {}, true, 0};
  }
  if (count_pre_scales(on) != 0 || says_awq(declared) || declared.algo == "MIXED_PRECISION") {
    return {"mixed-to-nvfp4", {}, {}, true, 0};
  }
  return advised("{again}; or serve it where it is known", true);
}

// vLLM reads quant_algo only for ModelOpt's methods.
bool is_algo_read(const CheckContext& context, const Quantization& declared) {
  if (!context.is(Program::kVllm) || declared.is_nested || declared.method.empty()) return true;
  return declared.method.starts_with("modelopt") || member(*declared.json, "producer") != nullptr;
}

void check_algo(const CheckContext& context, const Quantization& declared) {
  if (declared.algo.empty()) return;
  if (takes_algo(context.profile, declared.algo) || !is_algo_read(context, declared)) return;
  if (context.is(Program::kSglang) && declared.algo == "MIXED_PRECISION") return;  // Q03
  context.report(
      declared.place,
      fmt::format("quant_algo {}, which {} does not take", declared.algo, context.profile.help), {},
      "ModelOpt currently only supports: ...", fix_for_algo(context.on, declared));
}

void check_mixed(const CheckContext& context, const Quantization& declared) {
  if (declared.algo != "MIXED_PRECISION") return;
  // SGLang's newer class is for files with NVFP4 in some layer.
  const bool has_nvfp4 = std::ranges::any_of(declared.layers, [](const auto& layer) {
    return layer.second == "NVFP4" || layer.second == "W4A16_NVFP4";
  });
  if (context.is(Program::kSglang) && !(has_nvfp4 && context.does("read_mixed_precision"))) {
    if (context.on.model_class.starts_with("NemotronH")) return;
    return context.report(declared.place,
                          "MIXED_PRECISION, which this server reads as another program's W4A8", {},
                          "KeyError '...input_scale', or an assertion over shapes",
                          fix_for_algo(context.on, declared));
  }
  if (context.is(Program::kVllm) && declared.is_nested) {
    context.report(declared.place, "only hf_quant_config.json declares MIXED_PRECISION");
  }
  if (declared.layers.empty())
    context.report(declared.place, "MIXED_PRECISION without quantized_layers");
}

void check_nested_quantization(const CheckContext& context, const Quantization& declared) {
  if (!declared.is_nested || !context.is(Program::kVllm)) return;
  if (has_word(" FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO NVFP4 MIXED_PRECISION ", declared.algo)) {
    return;
  }
  context.tell(declared.place, "only hf_quant_config.json declares {}", declared.algo);
}

void check_method(const CheckContext& context, const Quantization& declared) {
  if (!declared.method.empty() || declared.is_nested) return;
  context.report(declared.place, "no quant_method");
}

void check_group_size(const CheckContext& context, const Quantization& declared) {
  if (declared.algo != "NVFP4") return;
  const bool is_own = declared.is_nested || member(declared.json, "group_size") != nullptr;
  if (declared.group_size && declared.group_size != 16) {
    // vLLM only reads the key next to quant_algo, and uses 16 without one.
    const bool is_read = is_own || !context.is(Program::kVllm);
    context.report(declared.place,
                   fmt::format("group_size {}; NVFP4 has groups of 16", *declared.group_size),
                   is_read ? std::nullopt : std::optional(Severity::kWarning));
  }
  const bool is_needed = declared.is_nested || context.is(Program::kSglang);
  if (!declared.group_size && is_needed) context.report(declared.place, "no group_size");
}

// Whether all groups of compressed-tensors quantize the inputs of their layers.
bool has_quantized_inputs(const Quantization& declared) {
  const JsonValue& groups = object_in(*declared.json, "config_groups");
  return !groups.empty() && std::ranges::all_of(groups, [](const JsonValue& group) {
    const JsonValue* inputs = member(group, "input_activations");
    return inputs != nullptr && inputs->is_object();
  });
}

// Finds layers whose inputs are quantized but whose input scale is missing.
Mismatch without_input_scale(const Subject& on, const Quantization& declared) {
  const bool is_compressed =
      declared.method == "compressed-tensors" && has_quantized_inputs(declared);
  const std::string* scheme = text_of(declared.json, "activation_scheme");
  const bool is_static = declared.method == "fp8" && scheme != nullptr && *scheme == "static";
  Mismatch out;
  for (const auto& [name, module] : on.modules) {
    if (module.form == Form::kPackedNvfp4) {
      if (is_compressed && on.tensor(name + ".input_global_scale") == nullptr) out.add(name);
      continue;
    }
    const bool is_fp8 = module.form == Form::kFp8;
    if ((module.form != Form::kNvfp4 && !is_fp8) || module.has_input_scale) continue;
    const bool is_modelopts = declared.algo_of(name) == (is_fp8 ? "FP8" : "NVFP4") &&
                              declared.method != "compressed-tensors";
    // transformers uses another name for the scale of FP8.
    const bool is_of_fp8 =
        is_static && is_fp8 && on.tensor(name + ".activation_scale") == nullptr;
    if (is_modelopts || is_of_fp8) out.add(name);
  }
  return out;
}

// Whether codes were not combined with their scales, which are missing or of another shape.
bool are_codes_alone(const Subject& on, const Tensor& codes, const Quantization& declared,
                     const std::string& module) {
  if (plain_dtype(*codes.codec) != Dtype::kU8 || on.packed.by_codes.contains(codes.name)) {
    return false;
  }
  // In a plan, block scales may be computed; the output's reader will combine them.
  const Tensor* scale = on.tensor(codes.name + "_scale");
  if (scale != nullptr && !scale->is_stored()) return false;
  return declared.algo_of(module).find("NVFP4") != std::string::npos ||
         declared.method == "compressed-tensors";
}

void check_quantization_scales(const CheckContext& context, const Quantization& declared) {
  constexpr const char* kAlone = "codes without scales of fitting shape, for blocks and tensor";
  for (const auto& [name, module] : context.on.modules) {
    if (module.weight == nullptr || module.form != Form::kOther) continue;
    if (!are_codes_alone(context.on, *module.weight, declared, name)) continue;
    return context.report(name, kAlone);
  }
  for (const Tensor* tensor : context.on.stray) {
    const std::string module = tensor->name.substr(0, tensor->name.rfind('.'));
    if (last_word(tensor->name) != "weight_packed") continue;
    if (!are_codes_alone(context.on, *tensor, declared, module)) continue;
    return context.report(module, kAlone);
  }
  context.report(without_input_scale(context.on, declared), "without an input_scale");
}

void check_awq(const CheckContext& context, const Quantization& declared) {
  const size_t count = count_pre_scales(context.on);
  const bool has_experts = std::ranges::any_of(context.on.modules, [](const auto& entry) {
    return entry.second.has_pre_quant_scale && is_of_experts(entry.first);
  });
  const bool is_applied =
      declared.algo == "NVFP4_AWQ" && !has_experts && context.does("apply_pre_quant_scales");
  if (count == 0 || is_applied) return;
  context.report(
      declared.place,
      fmt::format("{} with a pre_quant_scale; without it answers are wrong",
                  counted(count, "module")),
      {}, {}, fix_for_algo(context.on, declared));
}

void check_norm_fold(const CheckContext& context, const Quantization& declared) {
  if (!has_trait(context.on.text_type, ModelTrait::kFoldsNormsAsPlain) || !says_awq(declared))
    return;
  Fix repair = fix_for_algo(context.on, declared);
  if (takes_algo(context.profile, declared.algo) && declared.algo != "MIXED_PRECISION") {
    repair.step = "awq-fold-repair:base=BASE";
  }
  context.report("input_layernorm, post_attention_layernorm",
                 "an AWQ export of a model whose norms multiply by 1 + w: the exporter folds "
                 "w s where (1 + w) s - 1 is right",
                 {}, {}, std::move(repair));
}

void check_rows(const CheckContext& context) {
  const uint64_t multiple = context.is(Program::kLlamaCpp) ? 64 : 16;
  Mismatch found;
  for (const auto& [name, module] : context.on.modules) {
    const bool is_fp4 = module.form == Form::kNvfp4 || module.form == Form::kPackedNvfp4;
    if (is_fp4 && module.weight->row_values() % multiple != 0) found.add(name);
  }
  if (found.count != 0) {
    context.report(
        found.first,
        found.text_at_first(fmt::format("whose row length is not a multiple of {}", multiple)), {},
        {}, advised(fmt::format("{{again}} --keep '*.{}'", last_word(found.first)), true));
  }
}

// A scale of the KV cache, or null.
const Tensor* cache_scale(const Subject& on) {
  const auto found = std::ranges::find_if(on.stray, [](const Tensor* tensor) {
    return tensor->name.ends_with(".k_scale") || tensor->name.ends_with(".v_scale");
  });
  return found == on.stray.end() ? nullptr : *found;
}

// Exporters name cache scales by projection ("k_proj.k_scale") or by attention.
void check_cache_scales(const CheckContext& context) {
  const Tensor* scale = cache_scale(context.on);
  if (scale == nullptr) return;
  const auto is_listed = [&](std::string_view list) {
    return has_listed(context.profile, list, context.on.model_class, false);
  };
  const bool is_of_projection = scale->name.find("_proj.") != std::string::npos;
  if (is_listed(is_of_projection ? "kv scales refused" : "attention kv scales refused")) {
    context.tell(scale->name, "a scale of the KV cache, which {} does not read in {}",
                 context.on.model_class, context.profile.title());
  } else if (is_listed("kv scales dropped")) {
    context.report(scale->name,
                   fmt::format("a scale of the KV cache, which {} ignores", context.on.model_class),
                   Severity::kWarning, "KV scales of 1.0");
  }
}

void check_cache(const CheckContext& context, const Quantization& declared) {
  const bool has = cache_scale(context.on) != nullptr;
  if (declared.has_kv_scheme && !has)
    context.report(declared.place, "an FP8 KV cache, but no k_scale");
  if (!declared.has_kv_scheme && has)
    context.report(declared.place, "k_scale, but no FP8 KV cache is declared");
}

void check_leftovers(const CheckContext& context) {
  const bool asks_for_attention = looks_up(context, ruling_type(context), "attention");
  Mismatch found;
  for (const Tensor* tensor : context.on.stray) {
    const std::string& name = tensor->name;
    if (asks_for_attention && name.find(".mlp.") != name.npos) continue;
    if (name.ends_with("_amax") || name.find("_quantizer.") != name.npos) found.add(name);
  }
  if (found.count == 0) return;
  // The model's own loader skips unknown names.
  const bool passes_over = context.does("pass_over_quantizers_of_qwen3_5") &&
                           context.on.model_class.starts_with("Qwen3_5");
  context.report(
      found.first,
      fmt::format("{} tensors of quantizers: this is a trainer's checkpoint, not an export",
                  found.count),
      passes_over ? std::optional(Severity::kWarning) : std::nullopt);
}

// Whether the name is in a layer for multi-token prediction: "mtp." or after the last layer.
bool is_of_draft(const Subject& on, std::string_view name) {
  if (name.starts_with("mtp.")) return true;
  constexpr std::string_view kLayers = "layers.";
  const auto count = on.layers();
  const size_t at = name.find(kLayers);
  if (!count || at == name.npos || is_of_tower(name)) return false;
  return number_after(name.substr(at), kLayers).value_or(0) >= *count;
}

void check_draft(const CheckContext& context, const Quantization& declared) {
  const bool is_listed = has_word(" fp8 fbgemm_fp8 compressed-tensors ", declared.method) ||
                         declared.algo.starts_with("FP8") || declared.algo.starts_with("NVFP4");
  if (!is_listed) return;
  const NameList names(declared.exclude);
  const EntryList entries(declared.exclude, false);
  for (const auto& [name, module] : context.on.modules) {
    if (!module.is_linear() || module.form != Form::kPlain || !is_of_draft(context.on, name))
      continue;
    if (!is_of_usual_group(last_word(name)) && last_word(name) != "q_b_proj") continue;
    const bool is_named = names.holds_parent_of(name) || names.holds_part_of(name) ||
                          names.matches(name) ||
                          entries.fit_of_expressions(name) == EntryList::Fit::kYes;
    if (is_named) continue;
    return context.tell(declared.place, "'{}' is unquantized, and the list does not exclude it",
                        name);
  }
}

constexpr Check kQuantizationChecks[] = {
    {"Q01", "quantized weights are declared", "U: vllm* sglang tensorrt-llm llama.cpp",
     "There is no module or parameter named '...weight_scale'; shape mismatch", "", check_stated,
     "serving-config"},
    {"Q22", "weights declared as quantized are quantized", "U: vllm* sglang, W: tensorrt-llm",
     "assert param_data.shape == loaded_weight.shape", "ckpt convert IN OUT --step dequantize",
     stated<check_stale>},
    {"Q02", "the program takes the quant_algo", "U: vllm* sglang tensorrt-llm llama.cpp", "", "",
     stated<check_algo>, "mixed-to-nvfp4"},
    {"Q03", "MIXED_PRECISION is declared where the program reads it",
     "U: vllm-mixed sglang, I: tensorrt-llm", "Unknown ModelOpt quant algo: MIXED_PRECISION", "",
     stated<check_mixed>, "serving-config"},
    {"Q23", "config.json declares the quantization", "U: vllm*", "Unknown ModelOpt quant algo", "",
     stated<check_nested_quantization>, "serving-config"},
    {"Q04", "no pre_quant_scale is left over", "U: vllm* sglang llama.cpp",
     "KeyError '...pre_quant_scale', an assertion over shapes, or wrong answers", "",
     stated<check_awq>, "mixed-to-nvfp4"},
    {"Q05", "quant_method is set", "U: vllm*, W: tensorrt-llm", "Unknown quantization method: .",
     "", stated<check_method>, "serving-config"},
    {"Q06", "group_size is set to 16", "U: vllm* sglang tensorrt-llm llama.cpp",
     "NVFP4 quantization requires the following fields; No group_size found in config", "",
     stated<check_group_size>, "serving-config"},
    {"Q09", "every quantized weight has its scales", "S: vllm* sglang tensorrt-llm llama.cpp",
     "NaN or noise", "{again}", stated<check_quantization_scales>},
    {"Q10", "rows are whole groups", "U: vllm* sglang tensorrt-llm llama.cpp",
     "in features size is not multiple of 16", "", check_rows},
    {"Q16", "no training quantizers are left",
     "U: vllm* sglang tensorrt-llm llama.cpp, W: transformers-5",
     "There is no module or parameter named '...input_quantizer'; KeyError '..._amax'",
     "ckpt convert IN OUT --to nvfp4", check_leftovers},
    {"Q17", "norms that multiply by 1 + w are folded correctly",
     "S: vllm* sglang tensorrt-llm llama.cpp transformers-5",
     "loads, and answers worse than plain NVFP4", "", stated<check_norm_fold>,
     "awq-fold-repair:base=BASE"},
    {"Q18", "KV scales exist if declared", "W: vllm* sglang tensorrt-llm", "KV scales of 1.0", "",
     stated<check_cache>, "serving-config"},
    {"Q40", "the class reads the KV scales", "U: vllm* sglang",
     "KeyError: 'layers.0.self_attn.qkv_proj.k_scale'", "", check_cache_scales,
     "drop:tensors=*.[kv]_scale"},
    {"Q20", "an unquantized draft model is excluded", "W: vllm* sglang tensorrt-llm",
     "speculative decoding fails to start", "", stated<check_draft>, "serving-config"},
};

}  // namespace

std::string cache_not_checked(const Subject& on, const Profile& profile) {
  constexpr std::string_view kLists[] = {"kv scales read", "kv scales dropped", "kv scales refused",
                                         "attention kv scales refused"};
  const bool is_known = std::ranges::any_of(kLists, [&](std::string_view list) {
    return has_listed(profile, list, on.model_class, list == kLists[0]);
  });
  if (is_known || cache_scale(on) == nullptr) return {};
  return fmt::format("whether {} reads the scales of the KV cache", on.model_class);
}

std::span<const Check> quantization_checks() { return kQuantizationChecks; }

}  // namespace ckpt
