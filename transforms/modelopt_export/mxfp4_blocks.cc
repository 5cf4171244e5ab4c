// Counts the exponents of MXFP4 blocks, and computes from them the block scales of NVFP4.
#include <algorithm>
#include <bit>
#include <cmath>

#include "transforms/modelopt_export/quantized_sources.h"

namespace ckpt {
namespace {

constexpr int kExponentBias = 127;
constexpr uint8_t kNanExponent = 255;
constexpr uint64_t kMxfp4BlockBytes = kMxfp4BlockValues / 2;
constexpr uint64_t kBlocksAtATime = 64 << 10;
constexpr uint32_t kHalves = 2;  // blocks of 16 in one of 32
constexpr uint64_t kPairBytes = kHalves * sizeof(float);

int power_of(std::byte exponent) { return static_cast<int>(exponent) - kExponentBias; }

// Calls visit(first block, exponents) for runs of blocks.
template <class Visit>
Status visit_exponents(const Tensor& tensor, const Visit& visit) {
  const SliceIndex scales(tensor.stored().parts[1]);
  GatherBuffers buffers;
  for (uint64_t first = 0; first < scales.size_bytes(); first += kBlocksAtATime) {
    const uint64_t count = std::min(kBlocksAtATime, scales.size_bytes() - first);
    CKPT_ASSIGN(const auto bytes, gather(scales, first, count, buffers));
    CKPT_TRY(visit(first, bytes));
  }
  return {};
}

// The largest magnitude of 32 codes; they count up with it, the sign aside.
float largest_e2m1(const std::byte* codes) {
  static constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  uint32_t largest = 0;
  for (uint64_t i = 0; i < kMxfp4BlockBytes; ++i) {
    const auto both = static_cast<uint32_t>(codes[i]);
    largest = std::max({largest, both & 7u, both >> 4 & 7u});
  }
  return kMagnitudes[largest];
}

}  // namespace

uint64_t Mxfp4Exponents::total() const { return below(kNanExponent + 1 - kExponentBias); }

int Mxfp4Exponents::largest() const {
  for (int e = 255; e > 0; --e) {
    if (blocks[static_cast<size_t>(e)] != 0) return e - kExponentBias;
  }
  return 0;
}

uint64_t Mxfp4Exponents::below(int smallest) const {
  uint64_t out = 0;
  for (int e = 0; e < std::clamp(smallest + kExponentBias, 0, 256); ++e) {
    out += blocks[static_cast<size_t>(e)];
  }
  return out;
}

bool Mxfp4Exponents::fits_window() const {
  const int smallest = largest() - kMxfp4Window;
  return below(smallest) == (smallest > -kExponentBias ? blocks[0] : 0);
}

Result<Mxfp4Exponents> count_mxfp4_exponents(const Tensor& tensor) {
  Mxfp4Exponents out;
  CKPT_TRY(visit_exponents(tensor, [&](uint64_t, std::span<const std::byte> bytes) -> Status {
    for (const std::byte byte : bytes) ++out.blocks[static_cast<size_t>(byte)];
    return {};
  }));
  if (out.blocks[kNanExponent] == 0) return out;
  return corrupt("tensor '{}': {} of {} block scales are NaN (byte 255); expected powers of two",
                 tensor.name, out.blocks[kNanExponent], out.total());
}

Result<uint64_t> count_mxfp4_zeros(const Tensor& tensor, int smallest) {
  const SliceIndex codes(tensor.stored().parts[0]);
  GatherBuffers buffers;
  uint64_t zeros = 0;
  CKPT_TRY(visit_exponents(tensor, [&](uint64_t first, std::span<const std::byte> bytes) -> Status {
    const auto is_below = [&](std::byte e) { return power_of(e) < smallest; };
    if (std::ranges::none_of(bytes, is_below)) return {};
    CKPT_ASSIGN(const auto all,
                gather(codes, first * kMxfp4BlockBytes, bytes.size() * kMxfp4BlockBytes, buffers));
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (is_below(bytes[i]) && largest_e2m1(all.data() + i * kMxfp4BlockBytes) == 0) ++zeros;
    }
    return {};
  }));
  return zeros;
}

Mxfp4BlockAmax::Mxfp4BlockAmax(Tensor tensor, Choice choice)
    : tensor_(std::move(tensor)), choice_(choice) {
  CKPT_CHECK(tensor_.is_stored() && tensor_.codec->scheme == Scheme::kMxfp4 &&
             tensor_.codec->parts.size() == 2);
  for (const std::vector<Slice>& slices : tensor_.stored().parts) parts_.emplace_back(slices);
}

// Fills in two numbers for each block of 32 values, from `first_block` on.
Status Mxfp4BlockAmax::fill(uint64_t first_block, std::span<float> out) const {
  const uint64_t count = out.size() / kHalves;
  GatherBuffers scale_buffers, code_buffers;
  CKPT_ASSIGN(const auto scales, gather(parts_[1], first_block, count, scale_buffers));
  const auto is_outside = [&](std::byte e) { return power_of(e) < choice_.smallest; };
  std::span<const std::byte> codes;
  if (std::ranges::any_of(scales, is_outside)) {
    CKPT_ASSIGN(codes, gather(parts_[0], first_block * kMxfp4BlockBytes, count * kMxfp4BlockBytes,
                              code_buffers));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const int power = power_of(scales[i]);
    float amax = std::ldexp(6.0f, power);
    if (is_outside(scales[i])) {
      const float largest = largest_e2m1(codes.data() + i * kMxfp4BlockBytes);
      amax = largest == 0 ? choice_.when_zeros : std::ldexp(largest, power);
    }
    out[kHalves * i] = out[kHalves * i + 1] = amax;
  }
  return {};
}

std::string Mxfp4BlockAmax::operation() const {
  return fmt::format("{} {} {:08x}", described(tensor_), choice_.smallest,
                     std::bit_cast<uint32_t>(choice_.when_zeros));
}

// Magnitudes, and the codes and scales of their blocks.
uint64_t Mxfp4BlockAmax::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t pairs = std::min(size_bytes / kPairBytes + 2, kBlocksAtATime);
  return pairs * (kPairBytes + kMxfp4BlockBytes + 1);
}

Status Mxfp4BlockAmax::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset_bytes, out.size()));
  std::vector<float> values;
  while (!out.empty()) {
    const uint64_t first = offset_bytes / kPairBytes;
    const uint64_t skipped = offset_bytes % kPairBytes;
    const uint64_t wanted = (skipped + out.size() + kPairBytes - 1) / kPairBytes;
    values.resize(std::min(wanted, kBlocksAtATime) * kHalves);
    CKPT_TRY(fill(first, values));
    take_window(std::as_bytes(std::span(values)).subspan(skipped), offset_bytes, out);
  }
  return {};
}

}  // namespace ckpt
