#include "core/computed/merged_source.h"

#include <algorithm>
#include <array>

#include "core/model/findings.h"

namespace ckpt {
namespace {

// Weights are changed in strips of this many values, which fit into a processor's cache.
constexpr uint64_t kMergedStripValues = 128 << 10;

}  // namespace

Status read_floats(const Tensor& tensor, uint64_t first, std::span<float> out) {
  const SliceIndex index(tensor.stored().parts[0]);
  const uint64_t width = size_bytes(tensor.codec->parts[0].dtype);
  GatherBuffers buffers(BufferPool::shared());
  CKPT_ASSIGN(const auto bytes, in(fmt::format("tensor '{}'", tensor.name),
                                   gather(index, first * width, out.size() * width, buffers)));
  const std::array<std::span<const std::byte>, 1> parts = {bytes};
  tensor.codec->decode(parts, {out, out.size()});
  return {};
}

void encode_floats(const Codec& codec, std::span<const float> values, std::span<std::byte> out) {
  const std::array<std::span<std::byte>, 1> parts = {out};
  codec.encode({values, values.size()}, {}, parts);
}

Status check_stored_floats(const Tensor& tensor) {
  const bool has_floats = tensor.is_stored() && tensor.is_plain_float() &&
                          tensor.codec->decode != nullptr && tensor.codec->encode != nullptr;
  if (has_floats) return {};
  return unsupported("tensor '{}' is {}; expected stored floats", tensor.name, tensor.codec->name);
}

MergedSource::MergedSource(Tensor base)
    : base_(std::move(base)), base_bytes_(base_.stored().parts[0]) {}

uint64_t MergedSource::strip_rows() const {
  const uint64_t most = kMergedStripValues / std::max<uint64_t>(1, base_.row_values());
  return std::clamp<uint64_t>(most, 1, std::max<uint64_t>(1, base_.rows()));
}

// Counts the bytes of the base, a strip as floats, and the same strip rounded.
uint64_t MergedSource::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t strip = strip_rows() * base_.row_values();
  const uint64_t read = std::min(size_bytes + 2 * row_bytes(), this->size_bytes());
  return read + strip * sizeof(float) + strip_rows() * row_bytes() + change_bytes(strip);
}

Status MergedSource::merge(uint64_t first, std::span<const std::byte> raw,
                           std::span<std::byte> out) const {
  const PooledArray<float> values(raw.size() / row_bytes() * base_.row_values());
  const std::array<std::span<const std::byte>, 1> parts = {raw};
  base_.codec->decode(parts, {values.span(), base_.row_values()});
  CKPT_TRY(change(first, {values.span(), base_.row_values()}));
  encode_floats(*base_.codec, values.span(), out);
  return {};
}

Status MergedSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset_bytes, out.size()));
  if (out.empty()) return {};
  CKPT_ASSIGN(const std::shared_ptr<const void> kept, hold());  // shared by all strips
  const uint64_t first = offset_bytes / row_bytes();
  const uint64_t end = (offset_bytes + out.size() + row_bytes() - 1) / row_bytes();
  GatherBuffers buffers(BufferPool::shared());
  CKPT_ASSIGN(const std::span<const std::byte> raw,
              in(fmt::format("tensor '{}'", base_.name),
                 gather(base_bytes_, first * row_bytes(), (end - first) * row_bytes(), buffers)));
  const uint64_t skipped = offset_bytes - first * row_bytes();
  const PooledArray<std::byte> strip(std::min(strip_rows(), end - first) * row_bytes());
  for (uint64_t row = first; row < end; row += strip_rows()) {
    const uint64_t rows = std::min(strip_rows(), end - row);
    const auto merged = strip.span().first(rows * row_bytes());
    CKPT_TRY(merge(row, raw.subspan((row - first) * row_bytes(), merged.size()), merged));
    take_window(merged.subspan(row == first ? skipped : 0), offset_bytes, out);
  }
  return {};
}

Tensor stored_in(const Tensor& base, std::shared_ptr<const MergedSource> source) {
  Tensor out = base;
  const uint64_t size = source->size_bytes();
  out.origin = Stored{{{Slice{std::move(source), 0, size}}}};
  return out;
}

bool reads_lora_merge(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  if (computed == nullptr) return false;
  bool found = computed->kind() == ComputedSource::Kind::kMerged;
  computed->each_input(
      [&](const Slice& input) { found = found || reads_lora_merge(*input.source); });
  return found;
}

bool is_lora_merge(const Tensor& tensor) {
  const auto type = plain_dtype(*tensor.codec);
  if (tensor.is_stored() || !type || !is_block_type(*type)) return false;
  bool found = false;
  each_slice(*tensor.recoded().from,
             [&](const Slice& slice) { found = found || reads_lora_merge(*slice.source); });
  return found;
}

}  // namespace ckpt
