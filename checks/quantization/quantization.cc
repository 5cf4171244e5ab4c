// Checks of what a folder says about its quantization, against what its tensors are and what the
// program takes.
//
// Sources: vLLM vllm/model_executor/layers/quantization/modelopt.py and
// vllm/transformers_utils/model_arch_config_convertor.py; SGLang
// python/sglang/srt/configs/model_config.py and layers/quantization/modelopt_quant.py; llama.cpp
// conversion/base.py; NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py.
// Scales that a server does not expect stop it, and scales that it expects and does not find are
// left as memory happened to be.
#include <algorithm>

#include "checks/quantization/module_lists.h"
#include "checks/subject/subject.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

bool is_modelopt(const Quantization& said) {
  return said.method.starts_with("modelopt") || !said.algo.empty();
}

bool says_awq(const Quantization& said) {
  return said.algo.find("AWQ") != said.algo.npos ||
         std::ranges::any_of(said.layers, [](const auto& layer) {
           return layer.second.find("AWQ") != layer.second.npos;
         });
}

size_t count_pre_scales(const Examined& on) {
  return static_cast<size_t>(std::ranges::count_if(
      on.modules, [](const auto& entry) { return entry.second.has_pre_quant_scale; }));
}

void look_stated(const Look& look) {
  const Examined& on = look.on;
  if (on.is_gguf) return;
  if (on.quantizations.empty() && on.is_quantized()) {
    look.report("config.json: quantization_config",
                "absent, but weights are stored as codes with scales");
  }
  const Quantization* flat = nullptr;
  for (const Quantization& said : on.quantizations) {
    if (flat == nullptr) {
      flat = &said;
    } else if (is_modelopt(said) && is_modelopt(*flat) && said.algo != flat->algo) {
      look.report(said.place,
                  fmt::format("says {}; {} says {}", said.algo, flat->place, flat->algo),
                  Severity::kWarning);
    }
  }
}

// A statement that is for nothing: every weight is plain.
void look_stale(const Look& look, const Quantization& said) {
  const bool has_codes = look.on.is_quantized() || !look.on.packed.by_codes.empty();
  if (has_codes || !is_modelopt(said)) return;
  look.tell(said.place, "says {}, but no weight is quantized", said.algo);
}

// Quirk of models whose norms multiply by 1 + w, which ModelOpt's AWQ takes for w.
constexpr std::string_view kPlainFolds = "folds_norms_as_plain";

// AWQ on such norms needs the source's norms; to rename it alone would hide that.
Fix mend_of_algo(const Examined& on, const Quantization& said) {
  if (has_quirk(on.text_type, kPlainFolds) && (count_pre_scales(on) != 0 || says_awq(said))) {
    return {"mixed-to-nvfp4:base=BASE", "BASE: the unquantized model's folder", {}, true, 0};
  }
  if (count_pre_scales(on) != 0 || says_awq(said) || said.algo == "MIXED_PRECISION") {
    return {"mixed-to-nvfp4", {}, {}, true, 0};
  }
  return advised("{again}; or serve it where it is known", true);
}

// vLLM reads quant_algo for ModelOpt's methods alone.
bool is_algo_read(const Look& look, const Quantization& said) {
  if (!look.is(Program::kVllm) || said.is_nested || said.method.empty()) return true;
  return said.method.starts_with("modelopt") || member(*said.json, "producer") != nullptr;
}

void look_algo(const Look& look, const Quantization& said) {
  if (said.algo.empty()) return;
  if (takes_algo(look.profile, said.algo) || !is_algo_read(look, said)) return;
  if (look.is(Program::kSglang) && said.algo == "MIXED_PRECISION") return;  // Q03
  look.report(said.place,
              fmt::format("quant_algo {}, which {} does not take", said.algo, look.profile.help),
              {}, "ModelOpt currently only supports: ...", mend_of_algo(look.on, said));
}

void look_mixed(const Look& look, const Quantization& said) {
  if (said.algo != "MIXED_PRECISION") return;
  // SGLang's newer class is for files with NVFP4 in some layer.
  const bool has_nvfp4 = std::ranges::any_of(said.layers, [](const auto& layer) {
    return layer.second == "NVFP4" || layer.second == "W4A16_NVFP4";
  });
  if (look.is(Program::kSglang) && !(has_nvfp4 && look.does("read_mixed_precision"))) {
    if (look.on.model_class.starts_with("NemotronH")) return;
    return look.report(
        said.place, "MIXED_PRECISION, which this server reads as another program's W4A8", {},
        "KeyError '...input_scale', or an assertion over shapes", mend_of_algo(look.on, said));
  }
  if (look.is(Program::kVllm) && said.is_nested) {
    look.report(said.place, "only hf_quant_config.json declares MIXED_PRECISION");
  }
  if (said.layers.empty()) look.report(said.place, "MIXED_PRECISION without quantized_layers");
}

void look_nested_quantization(const Look& look, const Quantization& said) {
  if (!said.is_nested || !look.is(Program::kVllm)) return;
  if (has_word(" FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO NVFP4 MIXED_PRECISION ", said.algo)) {
    return;
  }
  look.tell(said.place, "only hf_quant_config.json declares {}", said.algo);
}

void look_method(const Look& look, const Quantization& said) {
  if (!said.method.empty() || said.is_nested) return;
  look.report(said.place, "no quant_method");
}

void look_group_size(const Look& look, const Quantization& said) {
  if (said.algo != "NVFP4") return;
  const bool is_own = said.is_nested || member(said.json, "group_size") != nullptr;
  if (said.group_size && said.group_size != 16) {
    // vLLM reads the key next to quant_algo only, and uses 16 without one.
    const bool is_read = is_own || !look.is(Program::kVllm);
    look.report(said.place, fmt::format("group_size {}; NVFP4 has groups of 16", *said.group_size),
                is_read ? std::nullopt : std::optional(Severity::kWarning));
  }
  const bool is_needed = said.is_nested || look.is(Program::kSglang);
  if (!said.group_size && is_needed) look.report(said.place, "no group_size");
}

// Whether all groups of compressed-tensors quantize the inputs of their layers.
bool has_quantized_inputs(const Quantization& said) {
  const JsonValue& groups = object_in(*said.json, "config_groups");
  return !groups.empty() && std::ranges::all_of(groups, [](const JsonValue& group) {
    const JsonValue* inputs = member(group, "input_activations");
    return inputs != nullptr && inputs->is_object();
  });
}

// Layers whose inputs are quantized by a scale that is not there.
Mismatch without_input_scale(const Examined& on, const Quantization& said) {
  const bool is_compressed = said.method == "compressed-tensors" && has_quantized_inputs(said);
  const std::string* scheme = text_of(said.json, "activation_scheme");
  const bool is_static = said.method == "fp8" && scheme != nullptr && *scheme == "static";
  Mismatch out;
  for (const auto& [name, module] : on.modules) {
    if (module.form == Form::kPackedNvfp4) {
      if (is_compressed && on.tensor(name + ".input_global_scale") == nullptr) out.add(name);
      continue;
    }
    const bool is_fp8 = module.form == Form::kFp8;
    if ((module.form != Form::kNvfp4 && !is_fp8) || module.has_input_scale) continue;
    const bool is_modelopts =
        said.algo_of(name) == (is_fp8 ? "FP8" : "NVFP4") && said.method != "compressed-tensors";
    // transformers has another name for the scale of FP8.
    const bool is_of_fp8 =
        is_static && is_fp8 && on.tensor(name + ".activation_scale") == nullptr;
    if (is_modelopts || is_of_fp8) out.add(name);
  }
  return out;
}

// Codes whose scales are missing or of another shape are not put together by the reader.
bool are_codes_alone(const Examined& on, const Tensor& codes, const Quantization& said,
                     const std::string& module) {
  if (plain_dtype(*codes.codec) != Dtype::kU8 || on.packed.by_codes.contains(codes.name)) {
    return false;
  }
  // In a plan the block scales may be recomputed; the reader will put them together.
  const Tensor* scale = on.tensor(codes.name + "_scale");
  if (scale != nullptr && !scale->is_stored()) return false;
  return said.algo_of(module).find("NVFP4") != std::string::npos ||
         said.method == "compressed-tensors";
}

void look_quantization_scales(const Look& look, const Quantization& said) {
  constexpr const char* kAlone = "codes without scales of fitting shape, for blocks and tensor";
  for (const auto& [name, module] : look.on.modules) {
    if (module.weight == nullptr || module.form != Form::kOther) continue;
    if (!are_codes_alone(look.on, *module.weight, said, name)) continue;
    return look.report(name, kAlone);
  }
  for (const Tensor* tensor : look.on.stray) {
    const std::string module = tensor->name.substr(0, tensor->name.rfind('.'));
    if (last_word(tensor->name) != "weight_packed") continue;
    if (!are_codes_alone(look.on, *tensor, said, module)) continue;
    return look.report(module, kAlone);
  }
  look.report(without_input_scale(look.on, said), "without an input_scale");
}

void look_awq(const Look& look, const Quantization& said) {
  const size_t count = count_pre_scales(look.on);
  const bool has_experts = std::ranges::any_of(look.on.modules, [](const auto& entry) {
    return entry.second.has_pre_quant_scale && entry.first.find(".experts.") != entry.first.npos;
  });
  const bool is_applied =
      said.algo == "NVFP4_AWQ" && !has_experts && look.does("apply_pre_quant_scales");
  if (count == 0 || is_applied) return;
  look.report(
      said.place,
      fmt::format("{} modules have a pre_quant_scale; without it their answers are wrong", count),
      {}, {}, mend_of_algo(look.on, said));
}

void look_norm_fold(const Look& look, const Quantization& said) {
  if (!has_quirk(look.on.text_type, kPlainFolds) || !says_awq(said)) return;
  Fix repair = mend_of_algo(look.on, said);
  if (takes_algo(look.profile, said.algo) && said.algo != "MIXED_PRECISION") {
    repair.step = "awq-fold-repair:base=BASE";
  }
  look.report("input_layernorm, post_attention_layernorm",
              "an AWQ export of a model whose norms multiply by 1 + w: the exporter folds "
              "w s where (1 + w) s - 1 is right",
              {}, {}, std::move(repair));
}

void look_rows(const Look& look) {
  const uint64_t multiple = look.is(Program::kLlamaCpp) ? 64 : 16;
  Mismatch found;
  for (const auto& [name, module] : look.on.modules) {
    const bool is_fp4 = module.form == Form::kNvfp4 || module.form == Form::kPackedNvfp4;
    if (is_fp4 && module.weight->row_values() % multiple != 0) found.add(name);
  }
  if (found.count != 0) {
    look.report(
        found.first,
        found.text_at_first(fmt::format("whose row length is not a multiple of {}", multiple)), {},
        {}, advised(fmt::format("{{again}} --keep '*.{}'", last_word(found.first)), true));
  }
}

// A scale of the cache, or null.
const Tensor* cache_scale(const Examined& on) {
  const auto found = std::ranges::find_if(on.stray, [](const Tensor* tensor) {
    return tensor->name.ends_with(".k_scale") || tensor->name.ends_with(".v_scale");
  });
  return found == on.stray.end() ? nullptr : *found;
}

// Exporters name them by projections, "k_proj.k_scale", or by the attention.
void look_cache_scales(const Look& look) {
  const Tensor* scale = cache_scale(look.on);
  if (scale == nullptr) return;
  const auto is_listed = [&](std::string_view list) {
    return has_listed(look.profile, list, look.on.model_class, false);
  };
  const bool is_of_projection = scale->name.find("_proj.") != std::string::npos;
  if (is_listed(is_of_projection ? "kv scales refused" : "attention kv scales refused")) {
    look.tell(scale->name, "a scale of the KV cache, which {} does not read in {}",
              look.on.model_class, look.profile.title());
  } else if (is_listed("kv scales dropped")) {
    look.report(scale->name,
                fmt::format("a scale of the KV cache, which {} ignores", look.on.model_class),
                Severity::kWarning, "KV scales of 1.0");
  }
}

void look_cache(const Look& look, const Quantization& said) {
  const bool has = cache_scale(look.on) != nullptr;
  if (said.has_kv_scheme && !has) look.report(said.place, "an FP8 KV cache, but no k_scale");
  if (!said.has_kv_scheme && has)
    look.report(said.place, "k_scale, but no FP8 KV cache is declared");
}

void look_leftovers(const Look& look) {
  const bool asks_for_attention =
      look.is(Program::kVllm) && has_quirk(ruling_type(look), "looks_up_attention_alone");
  Mismatch found;
  for (const Tensor* tensor : look.on.stray) {
    const std::string& name = tensor->name;
    if (asks_for_attention && name.find(".mlp.") != name.npos) continue;
    if (name.ends_with("_amax") || name.find("_quantizer.") != name.npos) found.add(name);
  }
  if (found.count == 0) return;
  // The model's own loader passes over names that it does not know.
  const bool passes_over = look.does("pass_over_quantizers_of_qwen3_5") &&
                           look.on.model_class.starts_with("Qwen3_5");
  look.report(found.first,
              fmt::format("{} tensors of quantizers: this is a trainer's checkpoint, not an export",
                          found.count),
              passes_over ? std::optional(Severity::kWarning) : std::nullopt);
}

// Of the layers for multi-token prediction: "mtp.", or those behind the last.
bool is_of_draft(const Examined& on, std::string_view name) {
  if (name.starts_with("mtp.")) return true;
  constexpr std::string_view kLayers = "layers.";
  const auto count = whole(on.text_field("num_hidden_layers"));
  const size_t at = name.find(kLayers);
  if (!count || at == name.npos || is_of_tower(name)) return false;
  return number_after(name.substr(at), kLayers).value_or(0) >= *count;
}

void look_draft(const Look& look, const Quantization& said) {
  const bool is_listed = has_word(" fp8 fbgemm_fp8 compressed-tensors ", said.method) ||
                         said.algo.starts_with("FP8") || said.algo.starts_with("NVFP4");
  if (!is_listed) return;
  const NameList names(said.exclude);
  const EntryList entries(said.exclude, false);
  for (const auto& [name, module] : look.on.modules) {
    if (!module.is_linear() || module.form != Form::kPlain || !is_of_draft(look.on, name)) continue;
    constexpr std::string_view kAlways = " q_proj o_proj q_b_proj gate_proj up_proj down_proj ";
    if (!has_word(kAlways, last_word(name))) continue;
    const bool is_named = names.holds_parent_of(name) || names.holds_part_of(name) ||
                          names.matches(name) ||
                          entries.fit_of_expressions(name) == EntryList::Fit::kYes;
    if (is_named) continue;
    return look.tell(said.place, "'{}' is unquantized, and the list does not exclude it", name);
  }
}

constexpr Check kQuantizationChecks[] = {
    {"Q01", "quantized weights are declared", "U: vllm* sglang tensorrt-llm llama.cpp",
     "There is no module or parameter named '...weight_scale'; shape mismatch", "", look_stated,
     "serving-config"},
    {"Q22", "weights declared as quantized are quantized", "U: vllm* sglang, W: tensorrt-llm",
     "assert param_data.shape == loaded_weight.shape", "ckpt convert IN OUT --step dequantize",
     stated<look_stale>},
    {"Q02", "the program takes the quant_algo", "U: vllm* sglang tensorrt-llm llama.cpp", "", "",
     stated<look_algo>, "mixed-to-nvfp4"},
    {"Q03", "MIXED_PRECISION is declared where the program reads it",
     "U: vllm-mixed sglang, I: tensorrt-llm", "Unknown ModelOpt quant algo: MIXED_PRECISION",
     "", stated<look_mixed>, "serving-config"},
    {"Q23", "config.json declares the quantization", "U: vllm*", "Unknown ModelOpt quant algo", "",
     stated<look_nested_quantization>, "serving-config"},
    {"Q04", "no pre_quant_scale is left over", "U: vllm* sglang llama.cpp",
     "KeyError '...pre_quant_scale', an assertion over shapes, or wrong answers", "",
     stated<look_awq>, "mixed-to-nvfp4"},
    {"Q05", "quant_method is set", "U: vllm*, W: tensorrt-llm", "Unknown quantization method: .",
     "", stated<look_method>, "serving-config"},
    {"Q06", "group_size is set to 16", "U: vllm* sglang tensorrt-llm llama.cpp",
     "NVFP4 quantization requires the following fields; No group_size found in config", "",
     stated<look_group_size>, "serving-config"},
    {"Q09", "every quantized weight has its scales", "S: vllm* sglang tensorrt-llm llama.cpp",
     "NaN or noise", "{again}", stated<look_quantization_scales>},
    {"Q10", "rows are whole groups", "U: vllm* sglang tensorrt-llm llama.cpp",
     "in features size is not multiple of 16", "", look_rows},
    {"Q16", "no training quantizers are left",
     "U: vllm* sglang tensorrt-llm llama.cpp, W: transformers-5",
     "There is no module or parameter named '...input_quantizer'; KeyError '..._amax'",
     "ckpt convert IN OUT --to nvfp4", look_leftovers},
    {"Q17", "norms that multiply by 1 + w are folded correctly",
     "S: vllm* sglang tensorrt-llm llama.cpp transformers-5",
     "loads, and answers worse than plain NVFP4", "", stated<look_norm_fold>,
     "awq-fold-repair:base=BASE"},
    {"Q18", "KV scales exist if declared", "W: vllm* sglang tensorrt-llm", "KV scales of 1.0", "",
     stated<look_cache>, "serving-config"},
    {"Q40", "the class reads the KV scales", "U: vllm* sglang",
     "KeyError: 'layers.0.self_attn.qkv_proj.k_scale'", "", look_cache_scales,
     "drop:tensors=*.[kv]_scale"},
    {"Q20", "an unquantized draft model is excluded", "W: vllm* sglang tensorrt-llm",
     "speculative decoding fails to start", "", stated<look_draft>, "serving-config"},
};

}  // namespace

std::string cache_not_checked(const Examined& on, const Profile& profile) {
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
