// Weights that are FP8 already, of which other types are made.
//
//   P.weight F8_E4M3 [N, K]                           ┌▶ BF16(code x scale), to be quantized or
//   stored P.weight_scale_inv F32 [N/128, K/128]  ──────────▶┤ quant_method fp8 └▶ the same bytes,
//   where rest=fp8
//
// A value is one product of floats, rounded to BF16 once; magnitudes are those of such values.
// With rest=fp8 config.json keeps its statement, and says of the routed experts what they are now:
// "moe_quant_algo": "NVFP4". DeepSeek-V4's scales are F8_E8M0 and called P.scale; its experts are
// MXFP4 (mxfp4_cast.h), those of its MTP block too, which then keep their bytes.
// Sources: NVIDIA Model-Optimizer examples/deepseek/deepseek_v3/quantize_to_nvfp4.py (BF16),
// examples/deepseek/deepseek_v4/quantize_to_nvfp4.py (FP8 that stays).
#pragma once

#include <map>
#include <string>

#include "core/json/json_edit.h"
#include "transforms/modelopt_export/select.h"
#include "transforms/packed/second_rounding.h"

namespace ckpt {

struct Fp8Source {
  // DeepSeek-V4's weight and scale, as the file has them.
  struct Pair {
    Tensor codes, scale;
  };
  SourceWeights weights;               // of FP8
  std::map<std::string, Pair> pairs;   // by name of the weight
  JsonText said = JsonText::object();  // config.json's quantization_config
};

// `checkpoint` with FP8 weights as BF16 that is decoded when it is read, and no statement about
// them in the documents; `out` keeps both. Others as they are. Fails: kCorrupt: parts that do not
// fit each other; kUnsupported: experts of FP8 in stacks, weights that cannot be
// decoded.
Result<Checkpoint> take_fp8(Checkpoint checkpoint, const Context& context, Fp8Source& out);

// What is not selected: back to what it was, with a note, where `options` say so. Fails:
// kUnsupported: a selection that no server takes beside FP8.
Status keep_fp8(Checkpoint& checkpoint, const Fp8Source& source, const Selection& selection,
                const ExportOptions& options, const Context& context);

// Behind each weight that keep_fp8 put back as codes, its scale.
void add_kept_scales(Checkpoint& checkpoint, const Fp8Source& source);

// config.json of a folder whose FP8 stays. Fails: kCorrupt: config.json is no JSON object.
Status write_fp8_config(Checkpoint& checkpoint, const Fp8Source& source);

}  // namespace ckpt
