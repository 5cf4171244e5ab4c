// Turns MXFP4 weights into NVFP4 or FP8 with power-of-two scales: blocks whose exponents fit the
// target keep their values exactly, and the number of the others is reported.
#include <algorithm>
#include <cmath>

#include "core/computed/transposed_source.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/modelopt_export/quantized_sources.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

constexpr uint64_t kBlockAmaxValues = 16;
constexpr size_t kNamedWeights = 20;
constexpr int kLargestPower = 119;  // 448 x 2^k is a finite float
constexpr int kSmallestPower = -127;

// FP8 with a scale 2^p: 6 x 2^k becomes 6 x 2^(k - p), which E4M3 holds up to 6 x 2^6; and the
// least of a block, 0.5 x 2^k, is a multiple of E4M3's least, 2^-9, down to k = p - 8.
constexpr int kFp8Above = 6, kFp8Below = 8;
constexpr int kLeastFp8Power = -126;  // a scale is not a subnormal float
constexpr float kFp8Largest = 448;

bool is_mxfp4_in_parts(const Tensor& tensor) {
  return tensor.codec->scheme == Scheme::kMxfp4 && tensor.is_stored() &&
         tensor.codec->parts.size() == 2;
}

// The NVFP4 scale of each block: in the order of `weight`'s values, for its codec's blocks.
Tensor block_amax_of(const Tensor& weight, Mxfp4BlockAmax::Choice choice, Codecs codecs) {
  const Tensor& own = *mxfp4_of(weight);
  const auto source = std::make_shared<const Mxfp4BlockAmax>(own, choice);
  Tensor out = own;
  out.shape.back() /= kBlockAmaxValues;
  out.codec = &plain_codec(codecs, Dtype::kF32);
  out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  if (&own == &weight) return out;
  const auto turned = std::make_shared<const TransposedSource>(out);
  std::swap(out.shape[1], out.shape[2]);
  out.origin = Stored{{{Slice{turned, 0, turned->size_bytes()}}}};
  return out;
}

// Blocks that keep their values when all powers from `smallest` on do.
Result<uint64_t> count_exact(const Tensor& own, const Mxfp4Exponents& found, int smallest) {
  const uint64_t below = found.below(smallest);
  uint64_t zeros = 0;
  if (below > 0) CKPT_SET(zeros, count_mxfp4_zeros(own, smallest));
  return found.total() - below + zeros;
}

// One weight and how it becomes another type.
struct Cast {
  Tensor* made;
  const Tensor* weight;  // as it was read: mxfp4_of() it is not null
  Mxfp4Exponents found = {};
  uint64_t exact_blocks = 0;  // of 32 values
  int window = kMxfp4Window;  // powers of two below the largest that stay exact

  const Tensor& own() const { return *mxfp4_of(*weight); }
  bool is_stack() const { return &own() != weight; }
};

Failure too_large(const Cast& cast, int power, int largest) {
  return unsupported_hint("--step dequantize before it",
                          "tensor '{}': a block scale of 2^{}; expected 2^{} at most",
                          cast.weight->name, power, largest);
}

Status cast_to_nvfp4(std::vector<Cast>& group, Codecs codecs) {
  int largest = kSmallestPower;
  for (const Cast& cast : group) largest = std::max(largest, cast.found.largest());
  if (largest > kLargestPower) return too_large(group[0], largest, kLargestPower);
  for (Cast& cast : group) {
    // The scripts for unstacked experts give blocks of zeros the smallest scale; the one
    // for stacks does so where nothing else is outside either.
    const bool is_inside = cast.is_stack() && cast.found.fits_window();
    const Mxfp4BlockAmax::Choice choice{
        is_inside ? kSmallestPower : cast.found.largest() - kMxfp4Window,
        cast.is_stack() ? 0.0f : std::ldexp(6.0f, kSmallestPower)};
    Recoded& recoded = std::get<Recoded>(cast.made->origin);
    recoded.block_amax =
        std::make_shared<const Tensor>(block_amax_of(*cast.weight, choice, codecs));
    const float amax = std::ldexp(2688.0f, largest - 8);
    recoded.stats = Stats{amax, amax};
    CKPT_ASSIGN(cast.exact_blocks, count_exact(cast.own(), cast.found, largest - kMxfp4Window));
  }
  return {};
}

// Byte 0 counts here: no other program's files have to be met.
int largest_power(const Mxfp4Exponents& found) {
  const bool is_low = found.total() == found.blocks[0];
  return is_low ? kSmallestPower : found.largest();
}

Status cast_to_fp8(std::vector<Cast>& group) {
  int largest = kSmallestPower;
  for (const Cast& cast : group) largest = std::max(largest, largest_power(cast.found));
  if (largest - kFp8Above > kLargestPower) {
    return too_large(group[0], largest, kLargestPower + kFp8Above);
  }
  const int power = std::max(largest - kFp8Above, kLeastFp8Power);
  for (Cast& cast : group) {
    const float amax = std::ldexp(kFp8Largest, power);
    std::get<Recoded>(cast.made->origin).stats = Stats{amax, amax};
    cast.window = kFp8Above + kFp8Below;
    CKPT_ASSIGN(cast.exact_blocks, count_exact(cast.own(), cast.found, power - kFp8Below));
  }
  return {};
}

}  // namespace

Result<Checkpoint> take_mxfp4(Checkpoint checkpoint, const ExportOptions& options,
                              const Context& context) {
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (statement.method == "mxfp4") {
    CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  } else if (statement.method != "compressed-tensors" ||
             std::ranges::none_of(checkpoint.tensors, is_mxfp4_in_parts)) {
    return checkpoint;
  }
  CKPT_TRY(check_declared_cache(statement, options));
  CKPT_TRY(check_weights_are_read(checkpoint));
  CKPT_TRY(remove_quant_config(checkpoint));
  return checkpoint;
}

Status check_declared_cache(const QuantStatement& statement, const ExportOptions& options) {
  const JsonText* cache = statement.declared.find("kv_cache_scheme");
  if (cache == nullptr || cache->is_null() || options.kv_cache) return {};
  return misuse_hint(
      "--kv-cache fp8, or --kv-cache none",
      "config.json declares a kv_cache_scheme, which goes with its quantization_config");
}

const Tensor* mxfp4_of(const Tensor& tensor) {
  if (is_mxfp4_in_parts(tensor)) return &tensor;
  if (!tensor.is_stored()) return nullptr;
  const auto* turned = made_by<TransposedSource>(tensor.stored());
  return turned != nullptr && is_mxfp4_in_parts(turned->tensor()) ? &turned->tensor() : nullptr;
}

Result<bool> Mxfp4Weights::cast(std::span<Tensor* const> members, ExportType type, Codecs codecs) {
  std::vector<Cast> group;
  for (Tensor* member : members) {
    const auto found = as_read_.find(member->name);
    if (found != as_read_.end()) group.push_back({member, &found->second});
  }
  if (group.size() != members.size() || type == ExportType::kFp8Blocks) {
    for (const Cast& cast : group) rounded_.emplace(cast.weight->name, *cast.weight);
    return false;
  }
  for (Cast& cast : group) CKPT_SET(cast.found, count_mxfp4_exponents(cast.own()));
  CKPT_TRY(is_nvfp4(type) ? cast_to_nvfp4(group, codecs) : cast_to_fp8(group));
  for (const Cast& cast : group) {
    std::get<Recoded>(cast.made->origin).exact_blocks = cast.exact_blocks;
    const uint64_t blocks = cast.found.total();
    ++weights_;
    blocks_ += blocks;
    exact_blocks_ += cast.exact_blocks;
    if (cast.exact_blocks == blocks) continue;
    lines_.push_back(fmt::format(
        "'{}': {} of {} blocks keep their values; the others lie more than 2^{} below the largest "
        "and were rounded",
        cast.weight->name, cast.exact_blocks, blocks, cast.window));
  }
  return true;
}

Status Mxfp4Weights::say(Checkpoint& checkpoint, const Context& context) const {
  if (weights_ > 0) {
    context.note("{} weights of MXFP4: {} of {} blocks keep their values", weights_, exact_blocks_,
                 blocks_);
  }
  for (size_t i = 0; i < std::min(lines_.size(), kNamedWeights); ++i) context.note(lines_[i]);
  if (lines_.size() > kNamedWeights) {
    context.note("{} more weights have blocks that were rounded", lines_.size() - kNamedWeights);
  }
  return note_second_rounding(checkpoint, rounded_, {"weights of MXFP4"}, context);
}

}  // namespace ckpt
