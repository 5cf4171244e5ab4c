// The steps vl-wrap and vl-unwrap: a text model becomes the text part of a vision-language one, and
// the other way. No byte of a tensor changes, only names.
//
//   config.json            nested (config.h)
//   tensors                model.layers.* ⇄ model.language_model.layers.* (names.h)
//   quantization lists     the same names, in hf_quant_config.json and config.json; tower and MTP
//                          layers are listed as not quantized
//   processor files        from BASE, else the usual ones (preprocessor.h); unwrapping drops
//                          them and the tower
//
// Why anyone does it: vLLM 0.17 and SGLang know Qwen3.5 only by its vision-language class.
// Which of the five a folder lacks varies; each is fixed alone, so wrapping what is wrapped changes
// nothing.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

Result<Checkpoint> vl_wrap(Checkpoint checkpoint, const OptionValues& options,
                           const Context& context);
Result<Checkpoint> vl_unwrap(Checkpoint checkpoint, const OptionValues& options,
                             const Context& context);

}  // namespace ckpt
