// MXFP4 whose values become NVFP4 without being rounded: the powers of two of its blocks, and the
// magnitudes that put NVFP4's scales on the same powers.
//
//   block of 32, byte e      value = E2M1 2^k, k = e - 127
//   NVFP4's tensor scale     2^(K - 8), K the largest k of the tensor (or of all that share it)
//   NVFP4's block scales     2^(k - K + 8): E4M3 has 2^-9 to 2^8, so K - 17 <= k is exact
//
// Byte 0 does not count for K. Source: NVIDIA Model-Optimizer
// modelopt/torch/quantization/utils/numeric_utils.py (mxfp4_to_nvfp4_static_scales).
#pragma once

#include <array>
#include <string>

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/model/checkpoint.h"

namespace ckpt {

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

}  // namespace ckpt
