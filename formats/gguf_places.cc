// GGUF files that are edited where they stand: what room their header has.
#include "formats/gguf.h"

namespace ckpt {

std::optional<uint64_t> gguf_room(const Checkpoint& checkpoint, const OutputFile& file,
                                  uint64_t data_bytes) {
  SharedSource source;
  std::optional<uint64_t> room;
  for (const Extent& extent : file.extents) {
    if (extent.size_bytes == 0) continue;
    const Tensor& tensor = checkpoint.tensors[extent.tensor];
    if (!tensor.is_stored() || tensor.stored().parts[extent.part].size() != 1) return std::nullopt;
    const Slice& slice = tensor.stored().parts[extent.part][0];
    if (slice.offset_bytes < extent.offset_bytes) return std::nullopt;
    const uint64_t before = slice.offset_bytes - extent.offset_bytes;
    if (!room) {
      source = slice.source;
      room = before;
    }
    if (slice.source != source || before != *room) return std::nullopt;
  }
  if (!room || !source->memory().empty()) return std::nullopt;
  return *room + data_bytes == source->size_bytes() ? room : std::nullopt;
}

}  // namespace ckpt
