#include "core/model/decoded_source.h"

#include <algorithm>
#include <array>
#include <cstring>
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
      element_bytes_(ckpt::size_bytes(codec.parts[0].dtype)) {
  CKPT_CHECK(codec.parts.size() == 1 && codec.block_values == 1 && codec.decode != nullptr);
}

uint64_t DecodedSource::size_bytes() const {
  return encoded_.size_bytes / element_bytes_ * kValueBytes;
}

Status DecodedSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  if (offset_bytes > size_bytes() || out.size() > size_bytes() - offset_bytes) {
    return in(name(), Status(fail(ErrorCode::kCorrupt, "bytes {} to {} lie past the end ({} bytes)",
                                  offset_bytes, offset_bytes + out.size(), size_bytes())));
  }
  std::vector<std::byte> elements;
  std::vector<float> values;
  while (!out.empty()) {
    const uint64_t first = offset_bytes / kValueBytes;
    const uint64_t skipped_bytes = offset_bytes % kValueBytes;
    const uint64_t wanted = (skipped_bytes + out.size() + kValueBytes - 1) / kValueBytes;
    const uint64_t count = std::min(wanted, kValuesAtATime);
    elements.resize(count * element_bytes_);
    values.resize(count);
    CKPT_TRY(encoded_.source->read(encoded_.offset_bytes + first * element_bytes_, elements));
    const std::array<std::span<const std::byte>, 1> parts = {elements};
    codec_.decode(parts, {values, count});
    const uint64_t size = std::min(out.size(), count * kValueBytes - skipped_bytes);
    std::memcpy(out.data(), std::as_bytes(std::span(values)).data() + skipped_bytes, size);
    out = out.subspan(size);
    offset_bytes += size;
  }
  return {};
}

Tensor stored_as_f32(const Tensor& tensor, const Codec& f32) {
  CKPT_CHECK(tensor.is_stored());
  const Codec& from = *tensor.codec;
  if (&from == &f32) return tensor;
  Tensor out = tensor;
  out.codec = &f32;
  Stored stored;
  for (const Slice& slice : tensor.stored().parts.at(0)) {
    const auto source = std::make_shared<const DecodedSource>(slice, from);
    if (stored.parts.empty()) stored.parts.emplace_back();
    stored.parts[0].push_back({source, 0, source->size_bytes()});
  }
  out.origin = std::move(stored);
  return out;
}

}  // namespace ckpt
