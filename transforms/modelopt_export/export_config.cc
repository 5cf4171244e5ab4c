// The lists of layers in an export's documents, in ModelOpt's order, and the checks of a recipe
// against the given options.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/numbers.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/modelopt_export/tensors.h"

namespace ckpt {
namespace {

// Sibling modules in the order in which transformers makes them, which ModelOpt lists
// them in. Others come behind these.
constexpr std::string_view kModuleOrder[] = {
    "self_attn",    "linear_attn", "q_proj",        "k_proj",
    "v_proj",       "q_a_proj",    "q_b_proj",      "kv_a_proj_with_mqa",
    "kv_b_proj",    "o_proj",      "qkv_proj",      "in_proj_qkvz",
    "in_proj_ba",   "in_proj",     "out_proj",      "in_proj_qkv",
    "in_proj_z",    "in_proj_b",   "in_proj_a",     "block_sparse_moe",
    "mlp",          "experts",     "gate_proj",     "up_proj",
    "gate_up_proj", "down_proj",   "shared_expert", "shared_experts",
    "model",        "lm_head"};

std::string_view cut_word(std::string_view& name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view out = name.substr(0, dot);
  name.remove_prefix(std::min(dot + 1, name.size()));
  return out;
}

size_t rank_of(std::string_view word) {
  return static_cast<size_t>(std::ranges::find(kModuleOrder, word) - std::begin(kModuleOrder));
}

bool word_less(std::string_view a, std::string_view b) {
  const auto x = number_from<uint64_t>(a), y = number_from<uint64_t>(b);
  if (x && y && x != y) return x < y;
  const size_t rank_a = rank_of(a), rank_b = rank_of(b);
  return rank_a != rank_b ? rank_a < rank_b : a < b;
}

bool module_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view word_a = cut_word(a), word_b = cut_word(b);
    if (word_a != word_b) return word_less(word_a, word_b);
  }
  return a.size() < b.size();
}

QuantAlgo algo_of(ExportType type) {
  QuantAlgo out;
  out.name = algo_name(type);
  if (is_nvfp4(type)) out.group_size = 16;
  return out;
}

// "….mlp.experts" of "….mlp.experts.3.up_proj" and of a stack.
std::string listed_module(const std::string& module, const Tensor& tensor) {
  const bool is_expert = is_of_expert(module) || is_stacked_module(module, tensor);
  const std::string_view stack = experts_module(module);
  return is_expert && !stack.empty() ? std::string(stack) : module;
}

// Each module by itself, as scripts of ModelOpt write them that hold no model.
QuantLayers list_by_name(const Selection& selection) {
  std::map<std::string, QuantAlgo> out;
  for (const size_t i : selection.chosen) {
    out.emplace(selection.modules[i], algo_of(selection.types[i].type));
  }
  return {out.begin(), out.end()};
}

// Names whose parents have keys and values.
bool is_of_attention(std::string_view word) {
  return role_of_inputs(word) == ProjectionRole::kAttention || word == "query_key_value";
}

}  // namespace

QuantConfig make_export_config(const ExportJob& job, QuantLayers layers, bool is_of_script) {
  QuantConfig out;
  out.kv_cache_algo = job.options.kv_cache ? job.options.kv_cache : job.calibration.kv_algo;
  if (out.kv_cache_algo && out.kv_cache_algo->empty()) out.kv_cache_algo.reset();
  std::vector<std::string> quantized;
  std::set<ExportType> types;
  for (const size_t i : job.selection.chosen) {
    quantized.push_back(job.selection.modules[i]);
    types.insert(job.selection.types[i].type);
  }
  const bool is_mixed = types.size() != 1 || job.options.keeps_fp8;
  if (is_mixed) {
    out.algo.name = kMixedPrecision;
    out.layers = is_of_script ? list_by_name(job.selection) : std::move(layers);
    if (!job.options.keeps_fp8) return out;
    out.algo.group_size = algo_of(job.options.type).group_size;
  } else {
    out.algo = algo_of(*types.begin());
  }
  out.exclude_modules = summarize_excluded(job.selection.unquantized, quantized);
  return out;
}

QuantLayers list_layers(const Checkpoint& checkpoint, const Selection& selection) {
  QuantLayers out;
  for (const size_t i : selection.chosen) {
    out.emplace_back(listed_module(selection.modules[i], checkpoint.tensors[i]),
                     algo_of(selection.types[i].type));
  }
  std::ranges::stable_sort(
      out, [](const auto& a, const auto& b) { return module_less(a.first, b.first); });
  out.erase(std::unique(out.begin(), out.end(),
                        [](const auto& a, const auto& b) { return a.first == b.first; }),
            out.end());
  return out;
}

bool needs_activations(const Selection& selection) {
  return std::ranges::any_of(selection.chosen, [&](size_t i) {
    return has_inputs(selection.types[i].type) && !selection.types[i].input_amax;
  });
}

Status check_recipe_types(const Selection& selection, const Calibration& calibration,
                          const ExportOptions& options) {
  if (options.recipe == nullptr) return {};
  if (calibration.is_qat) {
    return misuse_hint("the same without preset",
                       "preset {}: the checkpoint has quantizers of a training, which say "
                       "themselves which layers are quantized",
                       options.recipe_name);
  }
  const bool is_fp8 = std::ranges::none_of(
      selection.chosen, [&](size_t i) { return is_nvfp4(selection.types[i].type); });
  const bool is_weights_alone = std::ranges::all_of(selection.chosen, [&](size_t i) {
    return selection.types[i].type == ExportType::kNvfp4Weights;
  });
  const bool fits = options.type == ExportType::kNvfp4Weights
                        ? is_weights_alone
                        : is_fp8 == (options.type == ExportType::kFp8);
  if (!fits) {
    return misuse_hint(is_fp8 ? "--to fp8" : "--to nvfp4",
                       "preset {} makes this checkpoint {}; found type {}", options.recipe_name,
                       is_fp8 ? "FP8" : "NVFP4", options.type_name());
  }
  if (options.encode.search != ScaleSearch::kNone && is_fp8) {
    return misuse("search: FP8 has no block scales to search for");
  }
  return {};
}

Status take_recipe_cache(const Checkpoint& checkpoint, Calibration& calibration,
                         ExportOptions& options) {
  if (options.recipe == nullptr || options.kv_cache) return {};
  std::optional<RecipeCache> found;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.name.ends_with(kWeight)) continue;
    const std::string module = module_of(tensor.name);
    if (!is_of_attention(last_word(module))) continue;
    const std::string parent = module_of(module);
    CKPT_ASSIGN(const auto cache, choose_cache(*options.recipe, parent));
    if (!cache) continue;
    if (found && *found != *cache) {
      return unsupported(
          "preset {}: '{}' has another cache than layers before it; expected one for all",
          options.recipe->name, parent);
    }
    found = cache;
  }
  options.kv_cache = found ? found->algo : std::string();
  if (!found || found->is_cast) {
    calibration.kv_scales.clear();
    return {};
  }
  if (!calibration.kv_scales.empty()) return {};
  return misuse_hint(
      "--amax-from DIR with an earlier export that has k_scale and v_scale, or the recipe of "
      "kv_fp8_cast, which needs none",
      "preset {}: the largest keys and values of each layer are measured, and nothing tells them",
      options.recipe->name);
}

}  // namespace ckpt
