// The configurations for both layouts of NVFP4.
//
// ModelOpt excludes modules by patterns, compressed-tensors by names, and needs each name of the
// layers that a server joins.
#include "transforms/nvfp4/layout_config.h"

#include "core/model/json_documents.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"

namespace ckpt {
namespace {

constexpr std::string_view kConfigName = "config.json";
constexpr std::string_view kFormat = "nvfp4-pack-quantized";
constexpr std::string_view kFp8Format = "float-quantized", kMixedFormat = "mixed-precision";
constexpr std::string_view kVersion = "0.19.0";  // of compressed-tensors, whose format this is

JsonText scheme(std::string_view dynamic, std::string_view observer) {
  return JsonText::object(
      {{"actorder", JsonText::null()},
       {"block_structure", JsonText::null()},
       {"dynamic", dynamic.empty() ? JsonText::boolean(false) : JsonText::text(dynamic)},
       {"group_size", JsonText::number(16)},
       {"num_bits", JsonText::number(4)},
       {"observer", JsonText::text(observer)},
       {"observer_kwargs", JsonText::object()},
       {"scale_dtype", JsonText::text("torch.float8_e4m3fn")},
       {"strategy", JsonText::text("tensor_group")},
       {"symmetric", JsonText::boolean(true)},
       {"type", JsonText::text("float")},
       {"zp_dtype", JsonText::null()}});
}

// One scale per tensor: for FP8 layers, their inputs, the KV cache.
JsonText fp8_scheme() {
  return JsonText::object({{"dynamic", JsonText::boolean(false)},
                           {"group_size", JsonText::null()},
                           {"num_bits", JsonText::number(8)},
                           {"strategy", JsonText::text("tensor")},
                           {"symmetric", JsonText::boolean(true)},
                           {"type", JsonText::text("float")}});
}

JsonText make_group(std::string_view format, std::vector<std::string> targets, JsonText inputs,
                    JsonText weights) {
  return JsonText::object({{"format", JsonText::text(format)},
                           {"input_activations", std::move(inputs)},
                           {"output_activations", JsonText::null()},
                           {"targets", JsonText::texts(targets)},
                           {"weights", std::move(weights)}});
}

// If the folder also has FP8 layers, each group lists its layers by name.
JsonText compressed_config(const Nvfp4Modules& modules) {
  const bool is_mixed = !modules.fp8.empty();
  JsonText groups = JsonText::object();
  groups.set(
      "group_0",
      make_group(kFormat, is_mixed ? modules.quantized : std::vector<std::string>{"Linear"},
                 modules.has_input_scales ? scheme("local", "static_minmax") : JsonText::null(),
                 scheme("", "memoryless_minmax")));
  if (is_mixed) {
    groups.set("group_1", make_group(kFp8Format, modules.fp8,
                                     modules.has_fp8_input_scales ? fp8_scheme() : JsonText::null(),
                                     fp8_scheme()));
  }
  return JsonText::object(
      {{"config_groups", std::move(groups)},
       {"format", JsonText::text(is_mixed ? kMixedFormat : kFormat)},
       {"global_compression_ratio", JsonText::null()},
       {"ignore", JsonText::texts(modules.linear)},
       {"kv_cache_scheme", modules.has_fp8_cache ? fp8_scheme() : JsonText::null()},
       {"quant_method", JsonText::text("compressed-tensors")},
       {"quantization_status", JsonText::text("compressed")},
       {"sparsity_config", JsonText::object()},
       {"transform_config", JsonText::object()},
       {"version", JsonText::text(kVersion)}});
}

bool is_empty(const JsonText* json) {
  return json == nullptr || json->is_null() || (json->is_object() && json->members().empty());
}

Failure not_plain(std::string_view what) {
  return unsupported(
      "config.json: quantization_config: {} is set; only plain NVFP4 can change its layout", what);
}

Status check_group(const JsonText& group) {
  for (const char* key : {"weights", "input_activations"}) {
    const JsonText* numbers = group.find(key);
    if (is_empty(numbers)) continue;
    if (!is_empty(numbers->find("actorder"))) return not_plain("actorder");
    const bool is_fp4 = numbers->find_whole("num_bits") == 4u &&
                        numbers->find_whole("group_size") == 16u &&
                        numbers->find_text("type") == "float";
    if (!is_fp4) return not_plain(std::string(key) + " other than 4-bit floats in groups of 16");
  }
  return is_empty(group.find("output_activations")) ? Status() : not_plain("output_activations");
}

}  // namespace

Result<bool> check_configuration(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const std::optional<QuantConfig> modelopt, read_quant_config(checkpoint));
  if (modelopt && modelopt->kv_cache_algo && *modelopt->kv_cache_algo != "FP8") {
    return not_plain("a KV cache other than FP8");
  }
  if (modelopt) return modelopt->kv_cache_algo.has_value();
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  const JsonText* found = &statement.declared;
  for (const char* key : {"transform_config", "sparsity_config"}) {
    if (!is_empty(found->find(key))) return not_plain(key);
  }
  const JsonText* cache = found->find("kv_cache_scheme");
  if (!is_empty(cache) &&
      (cache->find_whole("num_bits") != 8u || cache->find_text("type") != "float")) {
    return not_plain("a kv_cache_scheme other than FP8");
  }
  const JsonText* groups = found->find("config_groups");
  if (groups != nullptr && groups->is_object()) {
    for (const auto& [name, group] : groups->members()) CKPT_TRY(check_group(group));
  }
  return !is_empty(cache);
}

Status write_modelopt_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules) {
  CKPT_ASSIGN([[maybe_unused]] const bool removed, remove_quant_config(checkpoint));
  QuantConfig config;
  config.algo.name = modules.has_input_scales ? "NVFP4" : "W4A16_NVFP4";
  config.algo.group_size = 16;
  if (modules.has_fp8_cache) config.kv_cache_algo = "FP8";
  config.exclude_modules = summarize_excluded(modules.others, modules.quantized);
  return write_quant_config(checkpoint, config);
}

Status write_compressed_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules) {
  CKPT_ASSIGN([[maybe_unused]] const bool removed, remove_quant_config(checkpoint));
  CKPT_ASSIGN(auto config, read_json(checkpoint, kConfigName));
  if (!config) return {};
  config->root.set_sorted("quantization_config", compressed_config(modules));
  write_json(checkpoint, kConfigName, *config);
  return {};
}

}  // namespace ckpt
