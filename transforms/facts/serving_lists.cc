// Makes quantization lists agree with the tensors.
//
//   module            on disk     on the list      becomes
//   X.mlp.gate        floats      no               every float module by its full name, "mtp*"
//   X.mlp.up_proj     codes       yes              removed from the list
//   embed_out         floats      under that name  lm_head is added, the name in servers
//
// vLLM matches an entry with any part of a name, SGLang with the full name or one component; full
// names mean the same to both.
// Source: vLLM vllm/model_executor/layers/quantization/modelopt.py (is_layer_excluded); SGLang
// python/sglang/srt/layers/quantization/modelopt_quant.py (is_layer_excluded).
#include <algorithm>
#include <set>

#include "core/base/name_list.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/facts/serving_config.h"

namespace ckpt {
namespace {

struct Modules {
  std::vector<std::string> plain, coded;  // linear layers
};

// vLLM renames some modules but not the entries of lists, so lists need its names too. No method
// quantizes routers.
// Source: vLLM 0.32 vllm/model_executor/models/transformers/{base,causal}.py, by which it runs
// GPT-NeoX, and models/{falcon_h1,granitemoehybrid,minimax_m2,stablelm}.py; of 0.17.1
// models/starcoder2.py.
std::string other_name(std::string_view name, std::string_view model_type) {
  for (const RenamedPart& part : traits_of(model_type).vllm_names) {
    if (name.ends_with(".gate")) continue;
    if (auto renamed = rename_part(name, part)) return *std::move(renamed);
  }
  return {};
}

bool is_linear(const Tensor& tensor) {
  if (tensor.shape.size() != 2) return false;
  // A norm has two axes if it has a row per head (Command R).
  constexpr std::string_view kOtherWeights[] = {"embed_tokens.weight", "pos_embed.weight",
                                                "wte.weight", "wpe.weight", "norm.weight"};
  return !ends_with_any(tensor.name, kOtherWeights);
}

// Returns vLLM's name of the module whose experts `tensor` stacks; empty for other tensors.
std::string stack_of(const Tensor& tensor, std::string_view model_type) {
  if (tensor.shape.size() != 3) return {};
  if (is_of_experts(tensor.name)) return std::string(experts_module(tensor.name));
  constexpr std::string_view kGranite = ".block_sparse_moe.";
  const size_t block = tensor.name.find(kGranite);
  if (block != tensor.name.npos)
    return tensor.name.substr(0, block + kGranite.size()) + "experts";
  const std::string other = other_name(module_of(tensor.name), model_type);
  return other.ends_with(".experts") ? other : std::string();
}

Modules modules_of(const Checkpoint& checkpoint, std::string_view model_type) {
  Modules out;
  for (const Tensor& tensor : checkpoint.tensors) {
    std::string name = stack_of(tensor, model_type);
    if (name.empty()) {
      if (!tensor.name.ends_with(kWeight) || !is_linear(tensor)) continue;
      name = module_of(tensor.name);
    }
    // A plan stores codes as plain bytes if an earlier step recomputes their scales.
    const bool is_coded = tensor.has_scales() || plain_dtype(*tensor.codec) == Dtype::kU8;
    std::vector<std::string>& modules = is_coded ? out.coded : out.plain;
    if (std::string other = other_name(name, model_type); !other.empty()) {
      modules.push_back(std::move(other));
    }
    modules.push_back(std::move(name));
  }
  std::ranges::sort(out.plain);
  return out;
}

// Matches as vLLM, the laxer reader: any part of the name, or a pattern.
bool fits(const NameList& list, const Modules& modules) {
  const auto listed = [&](const std::string& name) {
    return list.holds_part_of(name) || list.matches(name);
  };
  return std::ranges::all_of(modules.plain, listed) && std::ranges::none_of(modules.coded, listed);
}

// Lists full names, but only the root of a tree of floats. If a listed head is also the embedding,
// it stays listed, because vLLM 0.32 would quantize it.
std::vector<std::string> explicit_list(const Modules& modules,
                                       const std::vector<std::string>& before) {
  std::vector<std::string> out;
  const auto is_coded_below = [&](std::string_view root) {
    return std::ranges::any_of(modules.coded,
                               [&](const std::string& name) { return name.starts_with(root); });
  };
  const bool is_mtp_coded = is_coded_below("mtp.");
  const bool is_visual_coded = is_coded_below("model.visual.");
  // Names are sorted, so the names of one tree are adjacent.
  const auto add = [&](std::string name) {
    if (out.empty() || out.back() != name) out.push_back(std::move(name));
  };
  std::vector<std::string> plain = modules.plain;
  const std::set<std::string_view> coded(modules.coded.begin(), modules.coded.end());
  for (const std::string& name : before) {
    if (is_of_head(name) && !coded.contains(name)) plain.push_back(name);
  }
  std::ranges::sort(plain);
  for (const std::string& name : plain) {
    if (name.starts_with("mtp.") && !is_mtp_coded) {
      add("mtp*");
    } else if (name.starts_with("model.visual.") && !is_visual_coded) {
      add("model.visual*");
    } else {
      add(name);
    }
  }
  return out;
}

bool has_cache_scales(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& tensor) {
    return tensor.name.ends_with(".k_scale") || tensor.name.ends_with(".v_scale");
  });
}

// Whether an earlier step quantizes; if so, the user requested the declared cache.
bool is_quantized_by_earlier_step(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& tensor) {
    return !tensor.is_stored() && !plain_dtype(*tensor.codec);
  });
}

// Sets the members of `wanted` and leaves all others unchanged.
void edit_embedded(JsonText& config, const QuantConfig& wanted) {
  const std::vector<QuantPlace> places = quant_places(config);
  JsonText* declared = places.empty() ? nullptr : &places[0].declared();
  if (declared == nullptr || !declared->is_object() || declared->find("quant_algo") == nullptr) {
    set_quant_statement(config, make_quantization_config(wanted));
    return;
  }
  if (!declared->find_text("quant_method"))
    declared->set("quant_method", JsonText::text("modelopt"));
  if (wanted.exclude_modules) declared->set("ignore", JsonText::texts(*wanted.exclude_modules));
  if (!wanted.kv_cache_algo) declared->remove("kv_cache_scheme");
}

void edit_own(JsonText& own, const QuantConfig& wanted) {
  JsonText* declared = own.find("quantization");
  if (declared == nullptr) return;
  if (wanted.exclude_modules) {
    declared->set("exclude_modules", JsonText::texts(*wanted.exclude_modules));
  }
  if (wanted.algo.group_size && declared->find("group_size") == nullptr) {
    declared->set("group_size", JsonText::number(*wanted.algo.group_size));
  }
  if (!wanted.kv_cache_algo) declared->set("kv_cache_quant_algo", JsonText::null());
}

}  // namespace

Status fix_quantization_lists(Checkpoint& checkpoint, const Context& context) {
  CKPT_ASSIGN(std::optional<QuantConfig> declared, read_quant_config(checkpoint));
  if (!declared) return {};
  QuantConfig wanted = *declared;
  CKPT_ASSIGN(auto config, read_json(checkpoint, "config.json"));
  const std::string model_type =
      config ? config->root.find_text("model_type").value_or("") : std::string();
  const Modules modules = modules_of(checkpoint, model_type);
  const auto before = wanted.exclude_modules.value_or(std::vector<std::string>());
  if (wanted.algo.name != kMixedPrecision && !modules.coded.empty() &&
      !fits(NameList(before), modules)) {
    wanted.exclude_modules = explicit_list(modules, before);
    context.note("the list of modules that are not quantized is rebuilt: {} entries",
                 wanted.exclude_modules->size());
  }
  if (wanted.algo.name == "NVFP4" && !wanted.algo.group_size) wanted.algo.group_size = 16;
  if (wanted.kv_cache_algo && !has_cache_scales(checkpoint) &&
      !is_quantized_by_earlier_step(checkpoint)) {
    context.note("the folder no longer declares an {} KV cache: it has no scales",
                 *wanted.kv_cache_algo);
    wanted.kv_cache_algo.reset();
  }
  for (const std::string_view path : {std::string_view("config.json"), kQuantConfigName}) {
    CKPT_ASSIGN(auto document, read_json(checkpoint, path));
    if (!document) continue;
    path == kQuantConfigName ? edit_own(document->root, wanted)
                             : edit_embedded(document->root, wanted);
    write_json(checkpoint, path, *document);
  }
  return {};
}

}  // namespace ckpt
