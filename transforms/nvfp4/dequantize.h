// The dequantize step: weights of every quantized kind back to plain floats.
//
//   P.weight U8 + _scale + _scale_2 [+ P.pre_quant_scale] ──▶ P.weight BF16
//   P.input_scale, A.k_proj.k_scale, A.v_proj.v_scale     ──▶ dropped
//   quantization_config, hf_quant_config.json             ──▶ dropped
//
// An AWQ weight is stored divided by pre_quant_scale, column by column, and the scale that would be
// applied to its input has to be multiplied back into it.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Fails: kUsage for options; kUnsupported: weights whose scales are of no kind that is known;
// kCorrupt: a pre_quant_scale that does not fit its weight.
Result<Checkpoint> dequantize(Checkpoint checkpoint, const OptionValues& options,
                              const Context& context);

}  // namespace ckpt
