// Finds lists of modules in quantization declarations: which keys have them, and how an entry names
// modules.
//
//   "ignore": ["lm_head", "model.layers.0.mlp*", "re:^model\.layers\.0\..*"]
//   "dynamic": {"-:^model\.layers\.1\..*": {}, "+:.*down_proj": {"bits": 8}}
//
// A module's name is that of its tensors without the last word. Sources: vLLM
// vllm/model_executor/layers/quantization/{modelopt,fp8,awq,bitsandbytes,inc}.py,
// compressed_tensors/utils.py, quark/utils.py, utils/{quant_utils,gptq_utils}.py; transformers
// quantizers/{base,quantizers_utils}.py, which read modules_to_not_convert.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_edit.h"

namespace ckpt {

// ModelOpt's document next to config.json.
inline constexpr std::string_view kQuantConfigName = "hf_quant_config.json";

enum class ModuleSpelling : uint8_t {
  kGlobs,        // names and globs
  kExpressions,  // names, and expressions after "re:"
  kNames,        // names
  kStems,        // names, including those of enclosing modules
  kRules,        // keys: expressions after "-:" (not quantized) or "+:"; the first match counts
};

struct ModuleList {
  std::string_view method;  // quant_method of the declaration; "" for all others
  std::string_view key;
  ModuleSpelling spelling;
};

// The lists of modules that `method` leaves unquantized. If all are empty, the last one is read.
std::vector<ModuleList> unquantized_lists(std::string_view method);

// The size of the mark before an expression ("re:", "-:", "+:"); 0 for names and globs.
size_t expression_mark(std::string_view entry);
// How an entry begins: with a name (including globs and expressions), or so that it matches
// anywhere. An expression of several names, such as "re:(a|b)", is unclear.
enum class EntryFront : uint8_t { kName, kAnywhere, kUnclear };
EntryFront front_of(std::string_view entry);
// Returns an expression that matches exactly `name`.
std::string escaped_dots(std::string_view name);

// Calls `edit` for the entries of all lists of modules in `declared`, including lists of quantized
// modules. The result replaces the entry; nullopt removes it.
using EditEntry = std::function<std::optional<std::string>(const std::string& entry)>;
void edit_module_lists(JsonText& declared, const EditEntry& edit);

}  // namespace ckpt
