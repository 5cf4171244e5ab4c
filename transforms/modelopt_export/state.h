// modelopt_state.pth: the state that a quantization-aware trainer writes next to the weights.
//
//   zip, not compressed ── */data.pkl ── {"modelopt_state_dict": [(mode, {config, metadata}) ...],
//                                         "modelopt_version": "0.47.0"}
//   the last mode that has one: metadata.quantizer_state = {quantizer: {_num_bits, _block_sizes,
//                                                                       _axis, _disabled, ...}}
//
// Source: NVIDIA Model-Optimizer modelopt/torch/opt/conversion.py (modelopt_state),
// modelopt/torch/quantization/nn/modules/tensor_quantizer.py (get_modelopt_state).
// Loading it with torch runs whatever is in it. Only the numbers that name formats are taken from
// it, and nothing is run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

// How one quantizer rounds.
struct QuantizerFormat {
  int64_t exponent_bits = 0;  // 0: a whole number of `mantissa_bits` bits
  int64_t mantissa_bits = 0;
  std::optional<int64_t> block_values = {};  // along a row; none: one scale for more than a block
  bool has_e8m0_scales = false;
  bool is_four_over_six = false;  // stored magnitudes scale blocks to 6 or to 4
  bool is_per_channel = false;
  bool is_enabled = false;
  bool operator==(const QuantizerFormat&) const = default;
};
// "NVFP4", "FP8", "MXFP8", or in words: "INT8 in blocks of 128".
std::string name(const QuantizerFormat& format);

struct ModeloptState {
  std::string version;
  std::map<std::string, QuantizerFormat> quantizers;  // by "….mlp.up_proj.input_quantizer"
};

// Fails: kCorrupt: no zip, cut short, fields of another kind; kUnsupported: a compressed entry, an
// opcode that torch.save does not write.
Result<ModeloptState> read_modelopt_state(std::string_view file);

}  // namespace ckpt
