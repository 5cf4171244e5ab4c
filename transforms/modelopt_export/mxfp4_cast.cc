#include "transforms/modelopt_export/mxfp4_cast.h"

#include <algorithm>
#include <cmath>

#include "core/model/mxfp4_blocks.h"
#include "core/model/turned_source.h"
#include "transforms/hf/quant_config.h"
#include "transforms/hf/quant_statement.h"
#include "transforms/packed/packed.h"

namespace ckpt {
namespace {

constexpr uint64_t kBlockAmaxValues = 16;
constexpr size_t kNamedWeights = 20;
constexpr int kLargestPower = 119;  // 448 x 2^k is a finite float
constexpr int kSmallestPower = -127;

bool is_mxfp4_in_parts(const Tensor& tensor) {
  return tensor.codec->scheme == Scheme::kMxfp4 && tensor.is_stored() &&
         tensor.codec->parts.size() == 2;
}

const TurnedSource* turned_source_of(const Tensor& tensor) {
  if (!tensor.is_stored() || tensor.stored().parts.size() != 1) return nullptr;
  const std::vector<Slice>& slices = tensor.stored().parts[0];
  return slices.size() != 1 ? nullptr : dynamic_cast<const TurnedSource*>(slices[0].source.get());
}

// What NVFP4 scales each block by: in the order of `weight`'s values, for its codec's blocks.
Tensor block_amax_of(const Tensor& weight, Mxfp4BlockAmax::Choice choice, Codecs codecs) {
  const Tensor& own = *mxfp4_of(weight);
  const auto source = std::make_shared<const Mxfp4BlockAmax>(own, choice);
  Tensor out = own;
  out.shape.back() /= kBlockAmaxValues;
  out.codec = &plain_codec(codecs, Dtype::kF32);
  out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  if (&own == &weight) return out;
  const auto turned = std::make_shared<const TurnedSource>(out);
  std::swap(out.shape[1], out.shape[2]);
  out.origin = Stored{{{Slice{turned, 0, turned->size_bytes()}}}};
  return out;
}

// Blocks that keep their values when K is `largest`.
Result<uint64_t> count_exact(const Tensor& own, const Mxfp4Exponents& found, int largest) {
  const int smallest = largest - kMxfp4Window;
  const uint64_t below = found.below(smallest);
  uint64_t zeros = 0;
  if (below > 0) {
    CKPT_ASSIGN(zeros, count_mxfp4_zeros(own, smallest));
  }
  return found.total() - below + zeros;
}

}  // namespace

Result<Checkpoint> take_mxfp4(Checkpoint checkpoint, const ExportOptions& options,
                              const Context& context) {
  if (options.type == ExportType::kFp8) return checkpoint;
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (statement.method == "mxfp4") {
    CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  } else if (statement.method != "compressed-tensors" ||
             std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                          is_mxfp4_in_parts)) {
    return checkpoint;
  }
  CKPT_TRY(check_said_cache(statement, options));
  CKPT_TRY(remove_quant_config(checkpoint));
  return checkpoint;
}

Status check_said_cache(const QuantStatement& statement, const ExportOptions& options) {
  const JsonText* cache = statement.said.find("kv_cache_scheme");
  if (cache == nullptr || cache->is_null() || options.kv_cache) return {};
  return fail_with_hint(ErrorCode::kUsage, "--kv-cache fp8, or --kv-cache none",
                        "config.json declares a kv_cache_scheme, which goes with its "
                        "quantization_config");
}

const Tensor* mxfp4_of(const Tensor& tensor) {
  if (is_mxfp4_in_parts(tensor)) return &tensor;
  const TurnedSource* turned = turned_source_of(tensor);
  return turned != nullptr && is_mxfp4_in_parts(turned->tensor()) ? &turned->tensor() : nullptr;
}

Status cast_mxfp4(std::vector<Mxfp4Cast>& group, Codecs codecs) {
  std::vector<Mxfp4Exponents> found;
  for (const Mxfp4Cast& cast : group) {
    CKPT_ASSIGN(Mxfp4Exponents each, count_mxfp4_exponents(*mxfp4_of(*cast.weight)));
    found.push_back(each);
  }
  int largest = kSmallestPower;
  for (const Mxfp4Exponents& each : found) largest = std::max(largest, each.largest());
  if (largest > kLargestPower) {
    return fail_with_hint(ErrorCode::kUnsupported, "--step dequantize before it",
                          "tensor '{}': a block scale of 2^{}; expected 2^{} at most",
                          group[0].weight->name, largest, kLargestPower);
  }
  for (size_t i = 0; i < group.size(); ++i) {
    Mxfp4Cast& cast = group[i];
    const Tensor& own = *mxfp4_of(*cast.weight);
    const bool is_stack = &own != cast.weight;
    // The scripts for experts that are no stack give blocks of zeros the smallest scale; the one
    // for stacks does so where nothing else lies outside either.
    const bool is_inside = is_stack && found[i].fits_window();
    const Mxfp4BlockAmax::Choice choice{
        is_inside ? kSmallestPower : found[i].largest() - kMxfp4Window,
        is_stack ? 0.0f : std::ldexp(6.0f, kSmallestPower)};
    cast.block_amax = std::make_shared<const Tensor>(block_amax_of(*cast.weight, choice, codecs));
    cast.stats.amax = cast.stats.own_amax = std::ldexp(2688.0f, largest - 8);
    cast.blocks = found[i].total();
    CKPT_ASSIGN(cast.exact_blocks, count_exact(own, found[i], largest));
  }
  return {};
}

void Mxfp4Notes::add(const Mxfp4Cast& cast) {
  ++weights_;
  blocks_ += cast.blocks;
  exact_blocks_ += cast.exact_blocks;
  if (cast.exact_blocks == cast.blocks) return;
  lines_.push_back(fmt::format(
      "'{}': {} of {} blocks keep their values; the others lie more than 2^{} below the largest "
      "and were rounded",
      cast.weight->name, cast.exact_blocks, cast.blocks, kMxfp4Window));
}

void Mxfp4Notes::say(const Context& context) const {
  if (weights_ > 0) {
    context.note(fmt::format("{} weights of MXFP4: {} of {} blocks keep their values", weights_,
                             exact_blocks_, blocks_));
  }
  for (size_t i = 0; i < std::min(lines_.size(), kNamedWeights); ++i) context.note(lines_[i]);
  if (lines_.size() > kNamedWeights) {
    context.note(fmt::format("{} more weights have blocks that were rounded",
                             lines_.size() - kNamedWeights));
  }
  if (!rounded_.empty()) {
    context.note(fmt::format(
        "{} weights of MXFP4 share scales with floats and were rounded (the first: '{}')",
        rounded_.size(), rounded_[0]));
  }
}

}  // namespace ckpt
