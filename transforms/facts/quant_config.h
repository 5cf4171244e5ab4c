// A checkpoint's declaration of its quantization, as ModelOpt writes it, in two documents:
//
//   hf_quant_config.json   {producer, quantization: {quant_algo, kv_cache_quant_algo, group_size,
//                           exclude_modules | quantized_layers}}              indent 4, no newline
//   config.json            quantization_config: {config_groups, [quantized_layers,] ignore,
//                           quant_algo, [kv_cache_scheme,] producer, quant_method}
//
// Source: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py (get_quant_config,
// process_layer_quant_config) and convert_hf_config.py (convert_hf_quant_config_format).
// A file of mixed precision has no exclude_modules: modules that quantized_layers does not name are
// not quantized.
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

// One method of storing weights, such as "NVFP4" in groups of 16.
struct QuantAlgo {
  std::string name;                    // "NVFP4", "W4A16_NVFP4", "FP8", ...
  std::optional<uint64_t> group_size;  // values per scale; none for FP8
  bool has_pre_quant_scale = false;    // NVFP4_AWQ and similar ones
  bool operator==(const QuantAlgo&) const = default;
};

struct QuantConfig {
  std::string producer = "modelopt";
  std::string producer_version = "0.47.0";  // these files equal its files
  QuantAlgo algo;                           // name == kMixedPrecision: see layers
  std::optional<std::string> kv_cache_algo;
  std::optional<std::vector<std::string>> exclude_modules;  // if there is one algorithm
  std::vector<std::pair<std::string, QuantAlgo>> layers;    // if mixed, in file order
};

// Reads hf_quant_config.json, else config.json's quantization_config; nullopt if there is neither,
// or it is not ModelOpt's. Fails: kCorrupt: invalid JSON, or fields of another type.
Result<std::optional<QuantConfig>> read_quant_config(const Checkpoint& checkpoint);

// Returns the text of hf_quant_config.json, and the value of config.json's quantization_config.
std::string render_quant_config(const QuantConfig& config);
JsonText make_quantization_config(const QuantConfig& config);

// Writes both documents into `checkpoint`; config.json gets ModelOpt's indentation of 4. A missing
// config.json is not made. Fails: kCorrupt: config.json is not a JSON object.
Status write_quant_config(Checkpoint& checkpoint, const QuantConfig& config);
// Removes every declaration of quantization from the documents and formats config.json as
// transformers does (indent 2, newline). Returns whether there was one. Fails: as
// write_quant_config.
Result<bool> remove_quant_config(Checkpoint& checkpoint);
// Removes the type of the experts, a separate field of DeepSeek-V4's config.json, in the same way.
Status remove_expert_type(Checkpoint& checkpoint);

// ModelOpt's exclude_modules, sorted by byte: the shortest prefixes of `unquantized` that match no
// name of `quantized`, each as "prefix*", "prefix.*" or a full name.
// Source: modelopt/torch/export/quant_utils.py _prefix_wildcard_summarize_exclude_modules.
std::vector<std::string> summarize_excluded(const std::vector<std::string>& unquantized,
                                            const std::vector<std::string>& quantized);

struct UnquantizedModules {
  std::vector<std::string> added;      // to be declared
  std::vector<std::string> plain;      // all modules that are not quantized
  std::vector<std::string> quantized;  // all others
};
// Declares modules as not quantized, in the lists that each declaration's method reads
// (quant_lists.h), unless an entry covers them already. Globs are the shortest that match no
// quantized module. With MIXED_PRECISION, modules that quantized_layers does not name are not
// quantized anyway, and the list may be absent. Documents keep their layout. Fails: kCorrupt.
Status declare_unquantized(Checkpoint& checkpoint, const UnquantizedModules& modules);
// Adds `entries`, unchanged, to each list of unquantized modules that a document has.
Status list_unquantized(Checkpoint& checkpoint, const std::vector<std::string>& entries);
// Does the same in one declaration.
void declare_unquantized_in(JsonText& declared, std::string_view method,
                            const UnquantizedModules& modules);

}  // namespace ckpt
