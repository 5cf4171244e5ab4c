// The content of a zstd stream. Such a stream has no table of its blocks and may not store the size
// of its content: a stream is decoded forward, from its start.
#pragma once

#include <vector>

#include "core/io/bytes.h"

namespace ckpt {

// Up to `most_bytes` from the start of the content. Fails: kCorrupt: damaged; kIo.
Result<std::vector<std::byte>> zstd_start(const Slice& packed, uint64_t most_bytes);
// The first `size_bytes` of the content, decoded on demand.
SharedSource zstd_content(Slice packed, uint64_t size_bytes);

}  // namespace ckpt
