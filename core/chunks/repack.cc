#include "core/chunks/repack.h"

#include <algorithm>

namespace ckpt {
namespace {

// Whether an operation moves entire blocks: their columns stay together and in order.
bool moves_whole_blocks(const ValueOp& op, uint32_t block_values) {
  const auto* permute = std::get_if<PermuteColumns>(&op);
  if (permute == nullptr) return false;
  const std::vector<uint32_t>& index = *permute->index;
  for (size_t i = 0; i < index.size(); ++i) {
    const uint32_t first = index[i - i % block_values];
    if (first % block_values != 0 || index[i] != first + i % block_values) return false;
  }
  return true;
}

// Whether every part that does not belong to the entire tensor has separate bytes for each block.
bool has_block_bytes(const Codec& codec) {
  return std::ranges::all_of(codec.parts, [&](const PartRule& rule) {
    if (rule.tile_rows == 0) return rule.tile_values == 0;
    return rule.tile_rows == 1 && rule.tile_values > 0 &&
           codec.block_values % rule.tile_values == 0;
  });
}

}  // namespace

Result<Tensor> repack(Tensor tensor, const Codec& codec) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  const Codec& from = *tensor.codec;
  const bool was_stored = tensor.is_stored();
  const Repack* found = find_repack(from, codec);
  if (found == nullptr || (!was_stored && tensor.recoded().from->codec != &from)) {
    return unsupported("{}: bits of {} cannot be moved into {}", place,
                       was_stored ? from.name : tensor.recoded().from->codec->name, codec.name);
  }
  Recoded& recoded = was_stored ? recode_itself(tensor) : std::get<Recoded>(tensor.origin);
  for (const ValueOp& op : recoded.ops) {
    if (has_block_bytes(from) && moves_whole_blocks(op, from.block_values)) continue;
    return unsupported(
        "{}: columns change places in runs that are not whole blocks of {} values, which {} could "
        "only do by rounding again",
        place, from.block_values, from.name);
  }
  CKPT_TRY(in(place, check_shape(tensor.shape, codec)));
  recoded.repack = found;
  tensor.codec = &codec;
  return tensor;
}

Scheme moved_scheme(const Tensor& tensor) {
  const bool is_moved = !tensor.is_stored() && tensor.recoded().repack != nullptr;
  return is_moved ? tensor.recoded().repack->from->scheme : Scheme::kPlain;
}

MovedBlocks count_moved(const std::vector<Tensor>& tensors) {
  MovedBlocks out;
  for (const Tensor& tensor : tensors) {
    if (tensor.is_stored()) continue;
    const bool is_moved = tensor.recoded().repack != nullptr;
    const uint64_t kept = tensor.recoded().exact_blocks;
    if (!is_moved && kept == 0) continue;
    ++out.tensors;
    out.blocks += is_moved ? tensor.values() / tensor.codec->block_values : kept;
  }
  return out;
}

}  // namespace ckpt
