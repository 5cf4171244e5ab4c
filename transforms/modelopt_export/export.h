// The export step: floats or a quantization-aware training's checkpoint in, ModelOpt's export out.
//
//   plain weights                            QAT checkpoint
//   P.weight BF16                            P.weight BF16, P.{weight,input}_quantizer._amax
//        │  largest magnitudes by a scan          │  largest magnitudes as stored
//        ▼                                        ▼
//   P.weight U8 + _scale + _scale_2 (NVFP4), or F8_E4M3 + _scale (FP8);  P.input_scale F32 []
//   config.json, hf_quant_config.json                                    (docs/EXPORT.md)
//
// Source: NVIDIA Model-Optimizer 0.47 modelopt/torch/export/unified_export_hf.py.
// Stored magnitudes are used even where the weights have outgrown them, because the network learned
// with that clipping; and layers that read the same input (q, k and v; gate and up) share them,
// because servers run them as one.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// config.json and generation_config.json as transformers saves them with an export.
Status complete_documents(Checkpoint& checkpoint, const Context& context);

// Requires: a checkpoint of safetensors. Fails: kUsage for options and for activation scales that
// nothing tells the maxima of; kCorrupt for quantizer tensors that contradict the weights;
// kUnsupported for weights that are quantized already or cannot be.
Result<Checkpoint> export_quantized(Checkpoint checkpoint, const OptionValues& options,
                                    const Context& context);

}  // namespace ckpt
