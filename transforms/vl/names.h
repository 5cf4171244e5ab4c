// Names of tensors, and of modules in lists of quantization configurations, under two prefixes:
//
//   model.layers.0.mlp.up_proj.weight  ⇄  model.language_model.layers.0.mlp.up_proj.weight
//   "ignore": ["lm_head", "model.layers.0.linear_attn*", "re:model\.layers\..*"] and the other
//   lists of core/model/quant_lists.h
//
// Sources for how lists are read: vLLM vllm/model_executor/layers/quantization/modelopt.py and
// compressed_tensors/utils.py (the model's mapping of prefixes applies to entries, except "re:"
// ones); NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py (what is written).
// An entry may be a name, a glob or a regular expression; one that starts with * matches under both
// prefixes and must stay.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "transforms/vl/families.h"

namespace ckpt {

enum class VlSide : uint8_t { kText, kWrapped };

// The part of a model to which a tensor or module belongs, by its name.
enum class VlPart : uint8_t {
  kText,     // model.layers.0..., lm_head
  kWrapped,  // names of kText under a wrapper's prefix
  kVision,   // tower and projector
  kMtp,      // layers for multi-token prediction
  kOther,
};
VlPart vl_part_of(std::string_view name);

// Gives the text model's tensors the names of `side`; all others keep theirs. Fails: kCorrupt: two
// tensors would have the same name, or names of both sides are mixed.
Status rename_vl_tensors(Checkpoint& checkpoint, const VlFamily& family, VlSide side);

// Does the same for one module, glob or expression.
std::string rename_vl_module(std::string_view entry, const VlFamily& family, VlSide side);

// Does the same for every list of modules in declarations of quantization. For kText, removes
// entries that name only the tower. Returns the expressions that do not begin with a name. Fails:
// kCorrupt: a document is not JSON.
Result<std::set<std::string>> rename_vl_modules(Checkpoint& checkpoint, const VlFamily& family,
                                                VlSide side);

// Adds entries for tower and MTP layers to the list of unquantized modules that readers use, unless
// an entry covers them or `checkpoint` has them quantized. Makes a list if there is none but
// `checkpoint` contains such modules. Fails: kCorrupt.
Status cover_vl_modules(Checkpoint& checkpoint, const VlFamily& family);

}  // namespace ckpt
