// Tensors of checkpoints that exist in memory alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "quantizers/quantizers.h"

namespace ckpt {

// Every byte is `fill`.
inline Tensor made_tensor(std::string name, std::vector<uint64_t> shape, std::string_view type,
                          std::byte fill = {}) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.codec = find_codec(all_codecs(), type);
  Stored stored;
  for (size_t part = 0; part < out.codec->parts.size(); ++part) {
    const uint64_t size = part_size_bytes(out, part);
    stored.parts.push_back({{make_blob(out.name, std::vector<std::byte>(size, fill)), 0, size}});
  }
  out.origin = std::move(stored);
  return out;
}

}  // namespace ckpt
