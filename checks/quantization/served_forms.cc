// Compares the tensors with what a server expects by the lists (serving.h).
//
// Sources: those of serving.h.
// A module of floats that a server treats as FP8 has the same shape and loads; its scales then
// contain whatever was in memory.
#include <algorithm>

#include "checks/quantization/module_lists.h"
#include "checks/quantization/serving.h"
#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

bool is_expected(Form form, const std::string& algo) {
  switch (form) {
    case Form::kPlain: return algo.empty();
    case Form::kNvfp4:
      return algo == "NVFP4" || algo == "W4A16_NVFP4" || algo.starts_with("NVFP4_AWQ");
    case Form::kFp8: return algo.starts_with("FP8");
    case Form::kPackedNvfp4: return false;
    case Form::kOther:
      return true;  // formats that this file does not check
  }
  return true;
}

bool runs_coded_heads(const Profile& profile) { return profile.does("run_quantized_heads"); }

bool has_lists(const Subject& on) {
  return on.quantization() != nullptr && has_module_lists(*on.quantization());
}

bool is_judged(const Subject& on, const Profile& profile) {
  const Quantization* declared = on.quantization();
  if (declared == nullptr) return on.is_quantized();
  if (has_module_lists(*declared)) return true;
  const bool is_mixed = declared->algo == "MIXED_PRECISION" &&
                        profile.program == Program::kSglang &&
                        !profile.does("read_mixed_precision");
  return takes_algo(profile, declared->algo) && !is_mixed;
}

// The fix for lists of other methods; `what` tells what to do with the modules' names.
Fix fix_for_lists(const Subject& on, std::string_view what) {
  // serving-config leaves the lists of MIXED_PRECISION as they are.
  const Quantization* declared = on.quantization();
  const bool is_mixed = declared != nullptr && declared->algo == "MIXED_PRECISION";
  if (!has_lists(on))
    return {is_mixed ? "mixed-to-nvfp4" : "serving-config", {}, std::string(kAgain), is_mixed, 0};
  return advised(fmt::format(fmt::runtime(what), declared->exclude_key), true);
}

// The fix for modules that no list can name. The layout of compressed-tensors leaves out heads,
// which need no list then; otherwise all modules need one form.
Fix fix_for_unlisted(const Subject& on, bool are_plain_heads) {
  const Quantization* declared = on.quantization();
  const bool is_nvfp4 = declared != nullptr && declared->algo.find("NVFP4") != std::string::npos;
  if (are_plain_heads && !has_lists(on) && is_nvfp4) {
    return {"nvfp4-layout:to=compressed-tensors", {}, {}, true, 0};
  }
  return advised(fmt::format("{}; in one form for all, because no list can name these", kAgain),
                 true);
}

// Whether codes have the shape of the floats, so that floats load in their place.
bool is_shape_kept(const Subject& on, const Module& module) {
  const std::string& method = on.quantization()->method;
  if (module.form == Form::kFp8) return true;
  if (module.weight == nullptr || module.form != Form::kOther) return false;
  const Dtype dtype = plain_dtype(*module.weight->codec).value_or(Dtype::kF32);
  return method != "bitsandbytes" && method != "torchao" &&
         (dtype == Dtype::kF8E4M3 || dtype == Dtype::kI8);
}

// Whether a server reads floats as these codes instead of rejecting their shape.
bool reads_as_codes(const Subject& on) {
  return std::ranges::any_of(on.modules, [&](const auto& entry) {
    return entry.second.form != Form::kPlain && is_shape_kept(on, entry.second);
  });
}

bool is_as_served(const Subject& on, const Module& module, const ServedModule& served) {
  if (!has_lists(on)) return is_expected(module.form, served.algo);
  return served.is_unclear || served.has_no_group ||
         (module.form == Form::kPlain) == served.algo.empty();
}

void check_lists(const CheckContext& context) {
  if (!is_judged(context.on, context.profile)) return;
  Mismatch narrow, plain, codes;
  bool is_unlisted = false, are_heads = true, has_entry = true;
  std::string entry;  // the entry of a list that names all of these modules, if has_entry
  const bool has_narrow = has_lists(context.on) && reads_as_codes(context.on);
  for (const auto& [name, served] : context.served) {
    for (const Module* shard : served.shards) {
      const bool is_forced = forced_plain(context.on, context.profile, name).has_value();  // Q14
      if (is_forced || served.is_partial || is_as_served(context.on, *shard, served)) continue;
      is_unlisted = is_unlisted || served.is_unlisted;
      has_entry = has_entry && !served.listed_as.empty() &&
                  (entry.empty() || entry == served.listed_as);
      entry = served.listed_as;
      are_heads = are_heads && is_of_head(name);
      const bool is_of_q15 = is_of_head(name) && !runs_coded_heads(context.profile) &&
                             context.on.modules.contains(shard->name);
      if (shard->form != Form::kPlain && !is_of_q15) codes.add(shard->name);
      if (shard->form != Form::kPlain) continue;
      const bool is_narrow =
          has_lists(context.on) ? has_narrow : served.algo.find("FP4") == std::string::npos;
      (is_narrow ? narrow : plain).add(is_of_embeddings(shard->name) ? name : shard->name);
    }
  }
  const std::string place = context.on.quantizations.empty() ? std::string("config.json")
                                                             : context.on.quantization()->place;
  const auto fix = [&](bool is_plain, std::string_view what) {
    if (is_plain && has_entry && !entry.empty()) {
      return Fix{fmt::format("serving-config:exclude={}", entry), {}, {}, false, 0};
    }
    return is_unlisted ? fix_for_unlisted(context.on, is_plain && are_heads)
                       : fix_for_lists(context.on, what);
  };
  const Fix add = fix(true, "name these modules in '{}', or quantize them too");
  if (plain.count != 0) {
    context.report(place, plain.text("unquantized, but the list does not exclude it"), {},
                   "assert param_data.shape == loaded_weight.shape", add);
  }
  if (narrow.count != 0) {
    context.report(place,
                   narrow.text(has_lists(context.on) ? "unquantized, but would be read as codes"
                                                     : "unquantized, but would be read as FP8"),
                   Severity::kUnsound, "scales are never filled", add);
  }
  if (codes.count != 0) {
    context.report(place, codes.text("quantized, where the server expects something else"), {},
                   has_lists(context.on)
                       ? "KeyError: '...qweight', '...weight_packed', '...weight_scale_inv'"
                       : "There is no module or parameter named '...input_scale'; KeyError",
                   fix(false, "take these modules off '{}'; or dequantize them"));
  }
}

// Reports targets that match nothing in the model.
void check_group_targets(const CheckContext& context) {
  if (!has_lists(context.on)) return;
  Mismatch found;
  for (const auto& [name, served] : context.served) {
    if (!served.has_no_group) continue;
    for (const Module* shard : served.shards) {
      const bool is_kept =
          shard->form == Form::kPlain && context.does("keep_modules_without_group_in_floats");
      if (!is_kept) found.add(shard->name);
    }
  }
  if (found.count == 0) return;
  context.report(context.on.quantization()->place + ".config_groups",
                 found.text("fitted by no target, and by no entry of ignore"));
}

// vLLM compares only shapes: it reads codes of another type, and floats among FP8, as numbers.
bool is_taken_as_numbers(const CheckContext& context, const ServedModule& served) {
  const auto has = [&](Form form) {
    return std::ranges::any_of(served.shards,
                               [form](const Module* shard) { return shard->form == form; });
  };
  if (!context.is(Program::kVllm) || served.is_partial) return false;
  if (has_lists(context.on)) return reads_as_codes(context.on);
  return has(Form::kOther) || (has(Form::kFp8) && has(Form::kPlain) && !has(Form::kNvfp4));
}

// Whether parts differ in form. Other methods may have several code layouts in one folder.
bool is_mixture(const Subject& on, const ServedModule& served) {
  const auto kind = [&](const Module& module) {
    return has_lists(on) && module.form != Form::kPlain ? Form::kOther : module.form;
  };
  const Form first = kind(*served.shards.front());
  return std::ranges::any_of(served.shards,
                             [&](const Module* shard) { return kind(*shard) != first; });
}

void check_shards(const CheckContext& context) {
  if (!is_judged(context.on, context.profile)) return;
  for (const auto& [name, served] : context.served) {
    const bool is_mixed = is_mixture(context.on, served) && !served.is_unclear;
    if (!served.is_partial && !is_mixed) continue;
    return context.report(
        served.shards.front()->name,
        is_mixed ? fmt::format("the parts of {} are stored in different ways", name)
                 : fmt::format("the list names some parts of {} only", name),
        is_taken_as_numbers(context, served) ? std::optional(Severity::kUnsound) : std::nullopt);
  }
}

void check_forced_plain(const CheckContext& context) {
  if (!is_judged(context.on, context.profile)) return;
  Mismatch found;
  std::set<std::string> called;
  std::string hint, symptom;
  for (const auto& [name, served] : context.served) {
    const auto modules = forced_plain(context.on, context.profile, name);
    if (!modules) continue;
    const size_t before = found.count;
    for (const Module* shard : served.shards) {
      if (shard->form != Form::kPlain) found.add(shard->name);
    }
    if (found.count == before || !called.insert(modules->called).second) continue;
    symptom = modules->symptom;
    hint += hint.empty() ? modules->hint : modules->hint.substr(kAgain.size());
  }
  if (found.count == 0) return;
  context.report(found.first,
                 fmt::format("{}; this server runs {} in BF16 alone",
                             found.text_at_first("quantized"), fmt::join(called, " and ")),
                 {}, symptom, advised(hint, true));
}

// The loader calls a method that no quantization has. Source: SGLang 0.5.12
// python/sglang/srt/models/granitemoehybrid.py.
void check_class_of_floats(const CheckContext& context) {
  const Subject& on = context.on;
  const bool is_of_floats =
      has_listed(context.profile, "classes of floats alone", on.model_type, false);
  if (on.quantization() == nullptr || !is_of_floats) return;
  context.tell("config.json: quantization_config",
               "weights of {} are quantized; this server reads its floats alone", on.model_class);
}

// Whether the server computes with scales that nothing fills. NVFP4 scales keep the content of
// memory. FP8 scales become the lowest number, which only matters if parts after the joined ones
// have their own scales: the joined parts are then requantized with it.
bool counts_unfilled(const Module& module, bool is_merged) {
  if (module.form == Form::kNvfp4) return true;
  if (!is_merged || module.weight == nullptr) return false;
  return module.form == Form::kPackedNvfp4 || module.weight->codec->scheme == Scheme::kFp8Tensor;
}

// Returns the end of the name of a matrix that is one on the disk and that servers run as several:
// any type may have those that all servers join; profiles list others. Empty: the module is none.
std::string joined_ending(const CheckContext& context, std::string_view name) {
  const ProjectionGroup* usual = group_joined_as(last_word(name));
  std::string out;
  if (usual != nullptr && usual->join == ServerJoin::kAll) out = fmt::format(".{}", usual->joined);
  for (const auto own : listed_for(context.profile, "joined matrices", context.on.text_type)) {
    if (name.ends_with(own)) out = own;
  }
  return out;
}

// Some loaders fill only the first scale of such a matrix and then use the largest, which may be
// uninitialized memory. Tensors that a server merges with the matrix stay floats with it.
// Source: SGLang 0.5.12 python/sglang/srt/layers/quantization/modelopt_quant.py
// (ModelOptFp4LinearMethod.create_weights), layers/linear.py (weight_loader_v2); vLLM 0.17.1
// vllm/model_executor/layers/ of the same names.
void check_joined_on_disk(const CheckContext& context, const Quantization& declared) {
  const bool is_first_alone =
      has_listed(context.profile, "algorithms that fill one scale", declared.algo, false);
  if (context.does("fill_all_scales_of_joined_matrices") && !is_first_alone) return;
  Mismatch found;
  std::set<std::string> kept;
  Form form = Form::kNvfp4;
  for (const auto& [name, module] : context.on.modules) {
    const std::string ending = joined_ending(context, name);
    const std::string_view word = last_word(ending);
    const ProjectionGroup* merged = group_with(word);
    const bool is_of_method = declared.method == "modelopt" || merged != nullptr;
    if (ending.empty() || !is_of_method || !counts_unfilled(module, merged != nullptr)) continue;
    if (found.count == 0) form = module.form;
    found.add(name);
    kept.insert(ending);
    if (merged == nullptr) continue;
    for (const std::string_view other : merged->parts()) {
      kept.insert(ending.substr(0, ending.size() - word.size()) + std::string(other));
    }
  }
  if (found.count == 0) return;
  std::string advice(kAgain);
  for (const std::string& name : kept) advice += fmt::format(" --keep '*{}'", name);
  context.report(
      found.first,
      fmt::format("{}; one matrix of what this server runs as several, and it "
                  "fills the scales of the first alone",
                  found.text_at_first(form_name(form))),
      {}, {},
      advised(fmt::format("{}; or serve it with {}", advice, find_profile("vllm")->title()), true));
}

// ModelOpt leaves experts of some families stacked, inputs before outputs. vLLM 0.17.1 was tried;
// the loaders of the others read such stacks only in MXFP4 and as floats.
void check_stacked_experts(const CheckContext& context) {
  if (context.on.is_gguf) return;
  for (const auto& [codes, form] : context.on.packed.by_codes) {
    if (parts_of_stack(last_word(codes)).empty()) continue;
    return context.report(codes, "NVFP4 of all experts in one tensor, as ModelOpt exports gpt-oss");
  }
}

void check_head(const CheckContext& context) {
  for (const auto& [name, module] : context.on.modules) {
    const bool is_head = is_of_head(name), is_embedding = is_of_embeddings(name);
    if (module.weight == nullptr || module.form == Form::kPlain || !(is_head || is_embedding)) {
      continue;
    }
    if (is_head && runs_coded_heads(context.profile)) continue;  // Q07
    const Quantization* declared = context.on.quantization();
    const bool is_mixed = declared != nullptr && declared->algo == "MIXED_PRECISION";
    if (is_mixed && module.form == Form::kNvfp4 && context.does("run_quantized_embeddings"))
      continue;
    if (module.form == Form::kOther && context.on.is_gguf) continue;
    const bool is_cast = context.is(Program::kVllm) && module.form == Form::kOther &&
                         has_word(" i8 i16 i32 i64 ", module.weight->codec->name);
    context.report(name, "quantized", is_cast ? std::optional(Severity::kUnsound) : std::nullopt);
  }
}

constexpr Check kServedChecks[] = {
    {"Q07", "the lists say what the tensors are", "U: vllm* sglang", "", "{again}", check_lists,
     "serving-config"},
    {"Q37", "every quantized module has a group", "U: vllm* sglang",
     "Unable to find matching target for ... in the compressed-tensors config",
     "export the model again", check_group_targets},
    {"Q11", "parts that are run as one are stored alike", "U: vllm* sglang",
     "Detected some but not all shards of ... are quantized", "{again}", check_shards,
     "serving-config"},
    {"Q14", "modules that only run in BF16 are not quantized", "U: vllm* sglang",
     "assert param_data.shape == loaded_weight.shape", "{again} --keep PATTERN",
     check_forced_plain},
    {"Q33", "the class reads quantized weights", "U: sglang",
     "'ModelOptFp4Config' object has no attribute 'get_cache_scale'",
     "serve the unquantized model, or with vLLM", check_class_of_floats},
    {"Q34", "the scales of matrices stored joined are all filled", "S: vllm* sglang",
     "noise, or not, from one start to the next: scales that nothing filled",
     "{again} --keep NAMES; or serve it with the current vLLM", stated<check_joined_on_disk>},
    {"Q32", "stacked experts are in a form that the server reads", "U: vllm* sglang llama.cpp",
     "KeyError: 'layers.0.mlp.experts.w2_bias'", "serve the MXFP4 model, or with TensorRT-LLM",
     check_stacked_experts},
    {"Q15", "head and embedding are unquantized", "U: vllm* sglang tensorrt-llm, I: llama.cpp",
     "There is no module or parameter named 'lm_head.input_scale'", "{again}", check_head},
};

}  // namespace

std::span<const Check> served_checks() { return kServedChecks; }

}  // namespace ckpt
