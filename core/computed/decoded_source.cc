#include "core/computed/decoded_source.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/model/findings.h"

namespace ckpt {
namespace {

constexpr uint64_t kValueBytes = sizeof(float);
constexpr uint64_t kValuesAtATime = 16 << 10;

}  // namespace

DecodedSource::DecodedSource(Slice encoded, const Codec& codec)
    : encoded_(std::move(encoded)),
      codec_(codec),
      block_bytes_(ckpt::size_bytes(codec.parts[0].dtype)) {
  CKPT_CHECK(codec.parts.size() == 1 && codec.parts[0].tile_rows == 1 &&
             codec.parts[0].tile_values == codec.block_values && codec.decode != nullptr);
}

uint64_t DecodedSource::size_bytes() const {
  return encoded_.size_bytes / block_bytes_ * codec_.block_values * kValueBytes;
}

Status DecodedSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  const RowSize size{codec_.block_values * kValueBytes,
                     std::max<uint64_t>(1, kValuesAtATime / codec_.block_values)};
  std::vector<std::byte> blocks;
  std::vector<float> values;
  return read_rows(
      offset_bytes, out, size, [&](uint64_t first, uint64_t count, auto take) -> Status {
        blocks.resize(count * block_bytes_);
        values.resize(count * codec_.block_values);
        CKPT_TRY(encoded_.source->read(encoded_.offset_bytes + first * block_bytes_, blocks));
        const std::array<std::span<const std::byte>, 1> parts = {blocks};
        codec_.decode(parts, {values, values.size()});
        take(std::as_bytes(std::span(values)));
        return {};
      });
}

// Returns the memory for some stored blocks and their decoded values.
uint64_t DecodedSource::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t most = std::max<uint64_t>(kValuesAtATime, codec_.block_values) * kValueBytes;
  return 2 * std::min(size_bytes + 2 * codec_.block_values * kValueBytes, most);
}

DecodedTensor::DecodedTensor(Tensor tensor) : tensor_(std::move(tensor)) {
  CKPT_CHECK(tensor_.is_stored() && tensor_.codec->decode != nullptr);
  for (const std::vector<Slice>& slices : tensor_.stored().parts) parts_.emplace_back(slices);
}

// Decodes complete bands, at least one at a time.
Status DecodedTensor::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset_bytes, out.size()));
  const Codec& codec = *tensor_.codec;
  const uint64_t columns = tensor_.row_values();
  const uint64_t row_bytes = columns * kValueBytes;
  const uint64_t bands = std::max<uint64_t>(kValuesAtATime / (columns * codec.band_rows), 1);
  while (!out.empty()) {
    const uint64_t row = offset_bytes / row_bytes;
    const uint64_t first = row - row % codec.band_rows;
    const uint64_t wanted = (offset_bytes + out.size() + row_bytes - 1) / row_bytes - first;
    const uint64_t count = std::min({wanted, bands * codec.band_rows, tensor_.rows() - first});
    const PooledArray<float> values(count * columns);
    CKPT_TRY(decode_rows(first, values.span()));
    take_window(values.bytes().subspan(offset_bytes - first * row_bytes), offset_bytes, out);
  }
  return {};
}

// Counts one or more bands of floats twice, and the bytes that they are decoded from.
uint64_t DecodedTensor::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t band_bytes = tensor_.codec->band_rows * tensor_.row_values() * kValueBytes;
  const uint64_t most = std::max(band_bytes, kValuesAtATime * kValueBytes);
  return 3 * std::min(size_bytes + 2 * band_bytes, most);
}

Status DecodedTensor::decode_rows(uint64_t first, std::span<float> values) const {
  const uint64_t columns = tensor_.row_values();
  const uint64_t end = first + values.size() / columns;
  // Rows that share elements with others are read up to the last of these.
  const uint64_t band = tensor_.codec->band_rows;
  const uint64_t whole_end = std::min((end + band - 1) / band * band, tensor_.rows());
  const PooledArray<float> all((whole_end - first) * columns);
  std::vector<GatherBuffers> buffers;
  std::vector<std::span<const std::byte>> bytes;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const PartRule& rule = tensor_.codec->parts[part];
    const bool is_whole = rule.tile_rows == 0;
    const uint64_t begin = is_whole ? 0 : part_shape(rule, first, columns).size_bytes;
    const uint64_t stop =
        is_whole ? parts_[part].size_bytes() : part_shape(rule, whole_end, columns).size_bytes;
    CKPT_ASSIGN(bytes.emplace_back(), gather(parts_[part], begin, stop - begin,
                                             buffers.emplace_back(BufferPool::shared())));
  }
  tensor_.codec->decode(bytes, {all.span(), columns});
  std::copy_n(all.span().begin(), values.size(), values.begin());
  return {};
}

Tensor stored_as_f32(const Tensor& tensor, const Codec& f32) {
  CKPT_CHECK(tensor.is_stored());
  const Codec& from = *tensor.codec;
  if (&from == &f32) return tensor;
  Tensor out = tensor;
  out.codec = &f32;
  Stored stored;
  const bool is_block_by_block = from.parts.size() == 1 && from.parts[0].tile_rows == 1 &&
                                 from.parts[0].tile_values == from.block_values;
  if (!is_block_by_block) {
    const auto source = std::make_shared<const DecodedTensor>(tensor);
    out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
    return out;
  }
  for (const Slice& slice : tensor.stored().parts.at(0)) {
    const auto source = std::make_shared<const DecodedSource>(slice, from);
    if (stored.parts.empty()) stored.parts.emplace_back();
    stored.parts[0].push_back({source, 0, source->size_bytes()});
  }
  out.origin = std::move(stored);
  return out;
}

Result<Tensor> StoredValues::back(Tensor rows) const {
  if (!is_computed()) return rows;
  CKPT_ASSIGN(Tensor out, recode(std::move(rows), *codec));
  for (const ValueOp& op : ops) CKPT_SET(out, with_op(std::move(out), op));
  return out;
}

bool StoredValues::rounds_as_stored() const {
  const auto type = plain_dtype(*codec);
  return std::ranges::all_of(ops, [&](const ValueOp& op) {
    const auto* rounding = std::get_if<RoundTo>(&op);
    return rounding != nullptr && type == rounding->dtype;
  });
}

Result<StoredValues> stored_values(const Tensor& tensor, const Codec& f32) {
  if (tensor.is_stored()) return StoredValues{tensor, tensor.codec};
  const Recoded& made = tensor.recoded();
  const bool is_rounded_alone = made.repack == nullptr && made.block_amax == nullptr &&
                                !made.stats && std::ranges::all_of(made.ops, [](const ValueOp& op) {
                                  return std::holds_alternative<RoundTo>(op);
                                });
  if (!is_rounded_alone) {
    return unsupported_hint("a conversion for the steps before this one, and another for the rest",
                            "tensor '{}' is computed; its rows cannot be cut or joined",
                            tensor.name);
  }
  StoredValues out{tensor, tensor.codec, made.ops};
  out.values = stored_as_f32(*made.from, f32);
  out.values.name = tensor.name;
  out.values.source_name = tensor.source_name;
  out.values.home = tensor.home;
  CKPT_ASSIGN(out.values, reshape(std::move(out.values), tensor.shape));
  return out;
}

}  // namespace ckpt
