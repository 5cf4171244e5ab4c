// Weights that are quantized already when an export begins.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/json/json_edit.h"
#include "core/model/checkpoint.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/modelopt_export/options.h"
#include "transforms/packed/second_rounding.h"

namespace ckpt {

struct Selection;

// MXFP4 whose values become NVFP4 without being rounded: the powers of two of its blocks, and the
// magnitudes that put NVFP4's scales on the same powers.
//
//   block of 32, byte e      value = E2M1 2^k, k = e - 127
//   NVFP4's tensor scale     2^(K - 8), K the largest k of the tensor (or of all that share it)
//   NVFP4's block scales     2^(k - K + 8): E4M3 has 2^-9 to 2^8, so K - 17 <= k is exact
//
// Byte 0 does not count for K. Source: NVIDIA Model-Optimizer
// modelopt/torch/quantization/utils/numeric_utils.py (mxfp4_to_nvfp4_static_scales).

inline constexpr uint32_t kMxfp4BlockValues = 32;
inline constexpr int kMxfp4Window = 17;  // powers of two below the largest that stay exact

// How many blocks have each byte.
struct Mxfp4Exponents {
  std::array<uint64_t, 256> blocks{};

  uint64_t total() const;
  int largest() const;  // k; 0 when there is none but byte 0
  // Blocks whose k is below `smallest`.
  uint64_t below(int smallest) const;
  // No block is below the window, those with byte 0 aside.
  bool fits_window() const;
};
// Requires: the tensor is Stored, of Scheme::kMxfp4 in two parts. Fails: kCorrupt: a block scale
// that is NaN; kIo.
Result<Mxfp4Exponents> count_mxfp4_exponents(const Tensor& tensor);
// Blocks of nothing but zeros among those whose k is below `smallest`. As above.
Result<uint64_t> count_mxfp4_zeros(const Tensor& tensor, int smallest);

// The magnitude to scale each block of 16 values by, F32 in the order of the values: 6 x 2^k inside
// the window of the tensor's own K, else the block's largest.
class Mxfp4BlockAmax final : public ComputedSource {
 public:
  struct Choice {
    int smallest;      // k of the last block inside
    float when_zeros;  // of blocks of zeros outside
  };
  // Requires: as count_mxfp4_exponents.
  Mxfp4BlockAmax(Tensor tensor, Choice choice);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override { return tensor_.values() / 16 * sizeof(float); }
  const std::string& name() const override { return tensor_.name; }
  static constexpr Kind kKind = Kind::kMxfp4BlockAmax;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override { each_slice(tensor_, take); }
  std::string operation() const override;
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;

 private:
  Status fill(uint64_t first_block, std::span<float> out) const;

  Tensor tensor_;
  Choice choice_;
  std::vector<SliceIndex> parts_;
};

// Weights that are MXFP4 already and become NVFP4 or FP8: their codes are kept where that is exact.
//
//   stacks of experts     P_blocks, P_scales [E, N, K/32]      ──▶  P [E, K, N], one stack
//   compressed-tensors    P.weight_packed, P.weight_scale      ──▶  P.weight
//
// NVFP4: tensor scale 2^(K - 8), block scales 2^(k - K + 8) (above). FP8: tensor scale
// 2^(K - 6), which holds the blocks from 2^(K - 14) on. Blocks that lie too far below
// the largest one are rounded and counted. Source: NVIDIA Model-Optimizer
// examples/hf_ptq/cast_mxfp4_to_nvfp4.py.

// Weights of MXFP4 as tensors that export takes, and no statement about them in the documents.
// Others as they are. Fails: kCorrupt: parts that do not fit each other.
Result<Checkpoint> take_mxfp4(Checkpoint checkpoint, const ExportOptions& options,
                              const Context& context);

// Fails: kUsage: the statement that goes declares a cache, and `options` do not.
Status check_declared_cache(const QuantStatement& statement, const ExportOptions& options);

// The stored MXFP4 of a weight as take_mxfp4 leaves it, in its own order of axes; nullptr for
// others.
const Tensor* mxfp4_of(const Tensor& tensor);

// The weights of MXFP4 that an export quantizes, from where they are read to the report on them.
class Mxfp4Weights {
 public:
  // Remembers `weight`, which mxfp4_of() knows, as it was read.
  void take(const Tensor& weight) { as_read_.emplace(weight.name, weight); }
  // Makes `members`, which are of `type` now and share a scale, keep their codes; reads the block
  // scales, and codes of blocks that are not exact. False: they are rounded, as not all of them
  // were MXFP4, or FP8 has a scale for some of their blocks. Fails: kCorrupt: block scales that are
  // NaN; kUnsupported: too large for the type; kIo.
  Result<bool> cast(std::span<Tensor* const> members, ExportType type, Codecs codecs);
  // Notes how many blocks kept their codes exactly, and in which weights; calls
  // note_second_rounding() for weights that were rounded.
  Status say(Checkpoint& checkpoint, const Context& context) const;

 private:
  SourceWeights as_read_, rounded_;
  uint64_t weights_ = 0, blocks_ = 0, exact_blocks_ = 0;
  std::vector<std::string> lines_;
};

// Weights that are FP8 already, of which other types are made.
//
//   P.weight F8_E4M3 [N, K]                           ┌▶ BF16(code x scale), to be quantized or
//   stored P.weight_scale_inv F32 [N/128, K/128]  ──────────▶┤ quant_method fp8 └▶ the same bytes,
//   where rest=fp8
//
// A value is one product of floats, rounded to BF16 once; magnitudes are those of such values.
// With rest=fp8 config.json keeps its statement, and says of the routed experts what they are now:
// "moe_quant_algo": "NVFP4". DeepSeek-V4's scales are F8_E8M0 and called P.scale; its experts are
// MXFP4 (above), those of its MTP block too, which then keep their bytes.
// Sources: NVIDIA Model-Optimizer examples/deepseek/deepseek_v3/quantize_to_nvfp4.py (BF16),
// examples/deepseek/deepseek_v4/quantize_to_nvfp4.py (FP8 that stays).

struct Fp8Source {
  // DeepSeek-V4's weight and scale, as the file has them.
  struct Pair {
    Tensor codes, scale;
  };
  SourceWeights weights;                   // of FP8
  std::map<std::string, Pair> pairs;       // by name of the weight
  JsonText declared = JsonText::object();  // config.json's quantization_config
};

// `checkpoint` with FP8 weights as BF16 that is decoded when it is read, and no statement about
// them in the documents; `out` keeps both. Others as they are. Fails: kCorrupt: parts that do not
// fit each other; kUnsupported: experts of FP8 in stacks, weights that cannot be
// decoded.
Result<Checkpoint> take_fp8(Checkpoint checkpoint, const Context& context, Fp8Source& out);

// Unselected weights: back to what they were, with a note, where `options` say so. Fails:
// kUnsupported: a selection that no server accepts with FP8.
Status keep_fp8(Checkpoint& checkpoint, const Fp8Source& source, const Selection& selection,
                const ExportOptions& options, const Context& context);

// Adds its scale behind each weight that keep_fp8 put back as codes.
void add_kept_scales(Checkpoint& checkpoint, const Fp8Source& source);

// config.json of a folder whose FP8 stays. Fails: kCorrupt: config.json is not a JSON object.
Status write_fp8_config(Checkpoint& checkpoint, const Fp8Source& source);

// Weights of packed integers (INT4) that become another type: decoded, rounded once more, and
// measured.
//
//   P.weight_packed I32, P.weight_scale  ──▶  BF16(q x scale)  ──▶  NVFP4 or FP8
//
// NVFP4 has no numbers for 5 and 7 steps of a scale, nor for ratios of two BF16 scales: few blocks
// keep their values, and the error of the others is reported. GGUF's Q4_0 takes the same weights
// exactly (docs/INPUTS.md).
// Source: compressed-tensors compressors/pack_quantized/base.py.

// `checkpoint` with INT4 of compressed-tensors as BF16 that is decoded when it is read, and no
// statement about it in the documents; `out` keeps it as it was. Others as they are. Fails:
// kCorrupt: parts that do not fit each other; kUnsupported: what join_packed_weights refuses,
// weights that cannot be decoded.
Result<Checkpoint> take_int4(Checkpoint checkpoint, const ExportOptions& options,
                             const Context& context, SourceWeights& out);

}  // namespace ckpt
