// Checks of the configuration and the tensors of an adapter against each other, and of the options
// of the step.
#include <algorithm>

#include "transforms/lora/adapter.h"
#include "transforms/lora/into_quantized.h"
#include "transforms/lora/stacked_experts.h"
#include "transforms/packed/packed.h"

namespace ckpt {
namespace {

// Whether PEFT asks the lists of modules and layers: not for parameters.
bool is_product_of_module(const AdapterConfig& config, const AdapterModule& module) {
  return module.first_factor() != nullptr && !is_stack_of_experts(module) &&
         !config.has_parameter(module.name);
}

// Nor for layers, where target_modules has the entire name.
Status check_layer(const AdapterConfig& config, const AdapterModule& module) {
  const std::vector<uint64_t>& layers = config.layers;
  const bool is_asked = is_product_of_module(config, module) &&
                        std::ranges::find(config.targets, module.name) == config.targets.end();
  const size_t at = module.name.find("layers.");
  if (layers.empty() || !is_asked || at == module.name.npos) return {};
  std::string_view rest = std::string_view(module.name).substr(at + 7);
  rest = rest.substr(0, rest.find('.'));
  const auto is_layer = [&](uint64_t layer) { return fmt::format("{}", layer) == rest; };
  if (std::ranges::any_of(layers, is_layer)) return {};
  return corrupt("tensor '{}': layers_to_transform lists [{}], not layer {}", module.first_tensor(),
                 fmt::join(layers, ", "), rest);
}

// PEFT leaves such modules as they are, whatever the file has for them.
Status check_excluded(const AdapterConfig& config, const AdapterModule& module) {
  if (!is_product_of_module(config, module)) return {};
  const auto is_named = [&](const std::string& words) { return module.is_called(words); };
  const bool is_excluded =
      std::ranges::any_of(config.excluded, is_named) ||
      (config.excluded_names && config.excluded_names->is_found_in(module.name));
  if (!is_excluded) return {};
  return corrupt_hint("removing the module from exclude_modules, or its tensors from the file",
                      "tensor '{}': exclude_modules names '{}', to which PEFT would add nothing",
                      module.first_tensor(), module.name);
}

Status check_magnitude(const AdapterConfig& config, const AdapterModule& module, bool has_product) {
  const Tensor* magnitude = module.find(AdapterPart::kMagnitude);
  if (magnitude != nullptr && !has_product) {
    return corrupt("tensor '{}': '{}' has no lora_A", magnitude->name, module.name);
  }
  if (!has_product || (magnitude != nullptr) == config.has_magnitudes) return {};
  return corrupt("tensor '{}': '{}' has {} magnitudes; use_dora says {}", module.first_tensor(),
                 module.name, magnitude != nullptr ? "DoRA's" : "no", config.has_magnitudes);
}

// Each part with those that it needs.
Status check_pairs(const AdapterConfig& config, const AdapterModule& module) {
  struct RequiredPart {
    AdapterPart part, other;
    std::string_view name;
  };
  constexpr RequiredPart kRequiredParts[] = {
      {AdapterPart::kA, AdapterPart::kB, "lora_B"},
      {AdapterPart::kB, AdapterPart::kA, "lora_A"},
      {AdapterPart::kBBias, AdapterPart::kB, "lora_B"},
      {AdapterPart::kTurnedA, AdapterPart::kTurnedB, "lora_b"},
      {AdapterPart::kTurnedB, AdapterPart::kTurnedA, "lora_a"},
      {AdapterPart::kEmbeddingA, AdapterPart::kEmbeddingB, "lora_embedding_B"},
      {AdapterPart::kEmbeddingB, AdapterPart::kEmbeddingA, "lora_embedding_A"},
  };
  for (const RequiredPart& each : kRequiredParts) {
    const Tensor* found = module.find(each.part);
    if (found == nullptr || module.find(each.other) != nullptr) continue;
    return corrupt("tensor '{}': '{}' has no {}", found->name, module.name, each.name);
  }
  const Tensor* b = module.find(AdapterPart::kB);
  const bool lacks_bias = config.has_biases && b != nullptr && !is_stack_of_experts(module) &&
                          !module.find(AdapterPart::kBBias);
  if (lacks_bias) {
    return corrupt("tensor '{}': '{}' has no lora_B.bias; lora_bias is true", b->name, module.name);
  }
  const int products = int(module.parts.contains(AdapterPart::kA)) +
                       int(module.parts.contains(AdapterPart::kTurnedA)) +
                       int(module.parts.contains(AdapterPart::kEmbeddingA));
  const Tensor* first = module.parts.begin()->second;
  const bool replaces = module.find(AdapterPart::kNewWeight) != nullptr;
  if (products + int(replaces) > 1) {
    return corrupt("tensor '{}': '{}' has more than one new weight", first->name, module.name);
  }
  const Tensor* copy = module.find(AdapterPart::kBaseCopy);
  if (copy != nullptr && products == 0 && !replaces && !module.find(AdapterPart::kTokens)) {
    return corrupt("tensor '{}': '{}' has no lora_A", copy->name, module.name);
  }
  return check_magnitude(config, module, products > 0);
}

}  // namespace

Status check_module(const Adapter& adapter, const AdapterModule& module) {
  CKPT_TRY(check_layer(adapter.config, module));
  CKPT_TRY(check_excluded(adapter.config, module));
  return check_pairs(adapter.config, module);
}

Status check_rank(const AdapterConfig& config, const AdapterModule& module, const Tensor& factor,
                  uint64_t rank) {
  const bool has_rank = config.method == nullptr || config.method->has_alpha;
  if (!has_rank) return {};
  const double expected = config.rank_of(module.name);
  if (static_cast<double>(rank) == expected) return {};
  return corrupt("tensor '{}': shape [{}] has rank {}; the configuration says {}", factor.name,
                 fmt::join(factor.shape, ", "), rank, expected);
}

Status check_base_of_lora(const Checkpoint& checkpoint, const OptionValues& options) {
  const bool is_gguf = checkpoint.format == "gguf";
  if (is_gguf && options.has("search") && options.choice<bool>("encode")) {
    return misuse_hint("the step without it, and --search best with --to",
                       "search has no effect: the weights are encoded by a later step");
  }
  if (is_gguf) return {};
  const char* idle = options.has("base")                                 ? "base"
                     : options.has("encode")                             ? "encode"
                     : options.has("search") && !holds_codes(checkpoint) ? "search"
                                                                         : nullptr;
  if (idle != nullptr) {
    return misuse_hint("the same step without it", "{} has no effect: IN is not a {}", idle,
                       idle[0] != 's' ? "GGUF" : "GGUF, nor are its weights NVFP4");
  }
  if (!holds_packed_weights(checkpoint)) return {};
  CKPT_ASSIGN(const auto packed, describe_packed_weights(checkpoint));
  const auto first =
      std::ranges::find_if(packed, [](const auto& each) { return !each.second.empty(); });
  return unsupported_hint(
      "--step dequantize before it, and --to for the type of the output",
      "tensor '{}' is {}; adapters are added to floats, and nothing encodes that layout again",
      first == packed.end() ? "" : first->first, first == packed.end() ? "packed" : first->second);
}

namespace {

Status check_gguf_for_base(const Adapter& adapter, const Checkpoint& base,
                           const OptionValues& options) {
  for (const char* idle : {"base", "columns"}) {
    if (!options.has(idle)) continue;
    return misuse_hint("the same step without it", "{} has no effect: the adapter is a GGUF", idle);
  }
  if (base.format != "gguf") return {};
  const std::string_view found = base.metadata.architecture();
  if (found == adapter.architecture) return {};
  return misuse("general.architecture is '{}'; the base's is '{}'", adapter.architecture, found);
}

}  // namespace

Status check_adapter_for_base(const Adapter& adapter, const Checkpoint& base,
                              const OptionValues& options) {
  if (!adapter.architecture.empty()) CKPT_TRY(check_gguf_for_base(adapter, base, options));
  const AdapterMethod* method = adapter.config.method;
  if (method != nullptr && !method->has_scale && options.has("scale")) {
    return misuse_hint("the same step without it",
                       "scale has no effect: an adapter of {} adds nothing that it could multiply",
                       method->name);
  }
  if (options.has("columns") && std::ranges::none_of(adapter.modules, is_stack_of_experts)) {
    return misuse_hint("the same step without it",
                       "columns has no effect: the adapter has no stacked experts");
  }
  return {};
}


}  // namespace ckpt
