// A LoRA adapter as GGUF, which llama.cpp loads next to a model.
//
//   NAME.lora_a [r, in], NAME.lora_b [out, r]         of experts [E, r, in] and [E, out, r]
//   token_embd.weight.lora_a [vocabulary, r], .lora_b [dim, r]
//   X_norm.weight                                     replaces the norm
//   adapter.lora.alpha                                s = alpha / r; 1 where it is 0 or absent
//
// Source: llama.cpp v0.5.0 src/llama-adapter.cpp, src/llama-adapter.h (get_scale).
#pragma once

#include <string>

#include "transforms/lora/adapter.h"

namespace ckpt {

// Modules have the names of GGUF: "blk.0.attn_q". Fails: kUsage: not an adapter; kUnsupported:
// another kind of adapter, or an unknown key of one; kCorrupt, naming the tensor.
Result<Adapter> read_gguf_adapter(Checkpoint file, const std::string& path, const Context& context);

// The same with the names of `folder` and its order of rows. Fails: kUsage: of another
// architecture; kUnsupported: a tensor that to-gguf makes by more than moving rows of one weight.
Result<Adapter> adapter_for_folder(const Adapter& adapter, const Checkpoint& folder,
                                   const Context& context);

}  // namespace ckpt
