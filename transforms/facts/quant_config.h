// A checkpoint's declaration of its quantization, as ModelOpt writes it, in two documents:
//
//   hf_quant_config.json   {producer, quantization: {quant_algo, kv_cache_quant_algo, group_size,
//                           exclude_modules | quantized_layers}}              indent 4, no newline
//   config.json            quantization_config: {config_groups, [quantized_layers,] ignore,
//                           quant_algo, [kv_cache_scheme,] producer, quant_method}
//
// Source: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py (get_quant_config,
// process_layer_quant_config) and convert_hf_config.py (convert_hf_quant_config_format).
// In a file of mixed precision exclude_modules is absent and a module that quantized_layers does
// not name is not quantized.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json_edit.h"
#include "core/model/checkpoint.h"
#include "core/model/json_documents.h"
#include "core/model/quant_lists.h"

namespace ckpt {

inline constexpr std::string_view kMixedPrecision = "MIXED_PRECISION";

// One way of storing weights: "NVFP4" in groups of 16.
struct QuantAlgo {
  std::string name;                    // "NVFP4", "W4A16_NVFP4", "FP8", ...
  std::optional<uint64_t> group_size;  // values that share a scale; none for FP8
  bool has_pre_quant_scale = false;    // NVFP4_AWQ and its kin
  bool operator==(const QuantAlgo&) const = default;
};

struct QuantConfig {
  std::string producer = "modelopt";
  std::string producer_version = "0.47.0";  // whose files these are equal to
  QuantAlgo algo;                           // name == kMixedPrecision: see layers
  std::optional<std::string> kv_cache_algo;
  std::optional<std::vector<std::string>> exclude_modules;  // one algorithm
  std::vector<std::pair<std::string, QuantAlgo>> layers;    // mixed precision, in file order
};

// From hf_quant_config.json, else from config.json's quantization_config; nullopt when there is
// neither, or it is not ModelOpt's. Fails: kCorrupt: no JSON, or fields of another kind.
Result<std::optional<QuantConfig>> read_quant_config(const Checkpoint& checkpoint);

// The text of hf_quant_config.json, and the value of config.json's quantization_config.
std::string render_quant_config(const QuantConfig& config);
JsonText make_quantization_config(const QuantConfig& config);

// Puts both documents into `checkpoint`; config.json gets ModelOpt's indentation of 4.
// Fails: kCorrupt: config.json is not a JSON object. Without a config.json only the other one is.
Status write_quant_config(Checkpoint& checkpoint, const QuantConfig& config);
// Takes every statement about quantization out of the documents; config.json gets transformers'
// form (indent 2, newline). True when there was one. Fails: as write_quant_config.
Result<bool> remove_quant_config(Checkpoint& checkpoint);
// The same for a further field of DeepSeek-V4's config.json: the type of its experts.
Status remove_expert_type(Checkpoint& checkpoint);

// ModelOpt's exclude_modules: the shortest prefixes of `unquantized` that match no name of
// `quantized`; each "prefix*", "prefix.*" or a whole name; sorted by byte.
// Source: modelopt/torch/export/quant_utils.py _prefix_wildcard_summarize_exclude_modules.
std::vector<std::string> summarize_excluded(const std::vector<std::string>& unquantized,
                                            const std::vector<std::string>& quantized);

struct UnquantizedModules {
  std::vector<std::string> added;      // to be declared
  std::vector<std::string> plain;      // all modules that are not quantized
  std::vector<std::string> quantized;  // all others
};
// Declares modules as not quantized in the lists that the method of each statement reads
// (quant_lists.h), where no entry covers them yet. Globs are the shortest that cover no quantized
// module. With MIXED_PRECISION a module that quantized_layers does not name is not quantized
// anyway, and the list may be absent. Documents keep their layout. Fails: kCorrupt.
Status declare_unquantized(Checkpoint& checkpoint, const UnquantizedModules& modules);
// The same in one statement.
void declare_unquantized_in(JsonText& declared, std::string_view method,
                            const UnquantizedModules& modules);

}  // namespace ckpt
