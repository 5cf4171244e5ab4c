// Names under the two prefixes: of tensors, and of modules in the lists of quantization configs.
//
//   model.layers.0.mlp.up_proj.weight  ⇄  model.language_model.layers.0.mlp.up_proj.weight
//   "ignore": ["lm_head", "model.layers.0.linear_attn*", "re:model\.layers\..*"] and the other
//   lists of core/model/quant_lists.h
//
// Sources of how lists are read: vLLM vllm/model_executor/layers/quantization/modelopt.py and
// compressed_tensors/utils.py (entries go through the model's own mapping of prefixes; "re:" ones
// do not); NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py (what is written).
// An entry may be a name, a glob or a regular expression; one that starts with * holds under both
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

// Which part of a model a tensor or module belongs to, by its name.
enum class VlPart : uint8_t {
  kText,     // model.layers.0..., lm_head
  kWrapped,  // the same under a wrapper's prefix
  kVision,   // tower and projector
  kMtp,      // layers that predict further tokens
  kOther,
};
VlPart vl_part_of(std::string_view name);

// Gives the text model's tensors the names of `side`; all others keep theirs. Fails: kCorrupt: two
// tensors would share a name, or names of both sides are mixed.
Status rename_vl_tensors(Checkpoint& checkpoint, const VlFamily& family, VlSide side);

// The same for one module, glob or expression.
std::string rename_vl_module(std::string_view entry, const VlFamily& family, VlSide side);

// The same for every list of modules in the statements about quantization. Towards kText, entries
// that only name the tower are taken out. Returns the expressions that no name could be read from.
// Fails: kCorrupt: a document is not JSON.
Result<std::set<std::string>> rename_vl_modules(Checkpoint& checkpoint, const VlFamily& family,
                                                VlSide side);

// Adds entries for tower and MTP layers to the list of unquantized modules that readers follow,
// unless an entry covers them or `checkpoint` has them quantized. A list is made if modules of
// theirs are in `checkpoint` and no list exists. Fails: kCorrupt.
Status cover_vl_modules(Checkpoint& checkpoint, const VlFamily& family);

}  // namespace ckpt
