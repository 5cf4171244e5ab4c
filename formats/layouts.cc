#include "formats/layouts.h"

#include <algorithm>
#include <cstring>

namespace ckpt {
namespace {

// Larger gaps than any alignment in use are not worth reading.
constexpr uint64_t kMaxGapBytes = 1 << 20;

Result<bool> is_zero(const ByteSource& source, uint64_t begin, uint64_t end) {
  if (end - begin > kMaxGapBytes) return false;
  std::vector<std::byte> bytes(end - begin);
  CKPT_TRY(source.read(begin, bytes));
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

Result<bool> has_header(const ByteSource& source, const std::vector<std::byte>& header) {
  constexpr size_t kStepBytes = 1 << 20;
  std::vector<std::byte> bytes(std::min(header.size(), kStepBytes));
  for (size_t at = 0; at < header.size(); at += kStepBytes) {
    const size_t size = std::min(kStepBytes, header.size() - at);
    CKPT_TRY(source.read(at, std::span(bytes).first(size)));
    if (std::memcmp(bytes.data(), header.data() + at, size) != 0) return false;
  }
  return true;
}

}  // namespace

Status check_header_slack(const LayoutOptions& options) {
  constexpr uint64_t kMaxHeaderSlackBytes = uint64_t{64} << 20;
  if (options.header_slack_bytes <= kMaxHeaderSlackBytes) return {};
  return misuse_hint("--header-slack 64K", "--header-slack: {} bytes; at most {} are written",
                     options.header_slack_bytes, kMaxHeaderSlackBytes);
}

const Slice* slice_of(const Tensor& tensor, size_t part) {
  if (!tensor.is_stored()) return nullptr;
  const auto& slices = tensor.stored().parts[part];
  return slices.size() == 1 ? &slices[0] : nullptr;
}

Status find_same_file(const Checkpoint& checkpoint, OutputFile& file) {
  SharedSource source;
  for (const Extent& extent : file.extents) {
    if (extent.size_bytes == 0) continue;
    const Slice* slice = slice_of(checkpoint.tensors[extent.tensor], extent.part);
    if (slice == nullptr || slice->offset_bytes != extent.offset_bytes) return {};
    if (source == nullptr) source = slice->source;
    if (slice->source != source || source->size_bytes() != file.size_bytes) return {};
  }
  if (source == nullptr || !source->memory().empty()) return {};
  CKPT_ASSIGN(bool same, has_header(*source, file.header));
  uint64_t end = file.header.size();
  for (size_t i = 0; same && i <= file.extents.size(); ++i) {
    const bool last = i == file.extents.size();
    const uint64_t begin = last ? file.size_bytes : file.extents[i].offset_bytes;
    CKPT_ASSIGN(same, is_zero(*source, end, begin));
    if (!last) end = begin + file.extents[i].size_bytes;
  }
  if (same) file.same_as = {source, 0, file.size_bytes};
  return {};
}

}  // namespace ckpt
