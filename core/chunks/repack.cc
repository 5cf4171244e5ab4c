#include "core/chunks/repack.h"

#include <algorithm>
#include <cstring>

namespace ckpt {
namespace {

// Blocks move where the columns of each come together, in order, to the place of another.
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

// A block must have bytes of its own in each part that is not the whole tensor's.
bool has_block_bytes(const Codec& codec) {
  return std::all_of(codec.parts.begin(), codec.parts.end(), [&](const PartRule& rule) {
    if (rule.tile_rows == 0) return rule.tile_values == 0;
    return rule.tile_rows == 1 && rule.tile_values > 0 &&
           codec.block_values % rule.tile_values == 0;
  });
}

// Bytes of one block in a part that has_block_bytes() accepts.
uint64_t block_bytes(const Codec& codec, const PartRule& rule) {
  return codec.block_values / rule.tile_values * size_bytes(rule.dtype);
}

// The parts of one row, its blocks in the order of `index`.
class PermutedRow {
 public:
  explicit PermutedRow(const Codec& codec) : codec_(codec), bytes_(codec.parts.size()) {}

  ConstParts make(ConstParts parts, uint64_t row, uint64_t row_values,
                  const std::vector<uint32_t>& index) {
    views_.clear();
    for (size_t i = 0; i < codec_.parts.size(); ++i) {
      const PartRule& rule = codec_.parts[i];
      if (rule.tile_rows == 0) {
        views_.push_back(parts[i]);
        continue;
      }
      const uint64_t size = block_bytes(codec_, rule);
      const uint64_t blocks = row_values / codec_.block_values;
      const std::byte* in = parts[i].data() + row * blocks * size;
      bytes_[i].resize(blocks * size);
      for (uint64_t b = 0; b < blocks; ++b) {
        const uint64_t from = index[b * codec_.block_values] / codec_.block_values;
        std::memcpy(bytes_[i].data() + b * size, in + from * size, size);
      }
      views_.push_back(bytes_[i]);
    }
    return views_;
  }

 private:
  const Codec& codec_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::span<const std::byte>> views_;
};

// Several permutations as one: applied in order, so the last one is asked first.
std::vector<uint32_t> joined(const std::vector<ValueOp>& ops) {
  std::vector<uint32_t> out = *std::get<PermuteColumns>(ops.back()).index;
  for (size_t i = ops.size() - 1; i-- > 0;) {
    for (uint32_t& column : out) column = (*std::get<PermuteColumns>(ops[i]).index)[column];
  }
  return out;
}

std::vector<std::span<std::byte>> row_parts(const RecodeInput& input, uint64_t row, Parts out) {
  std::vector<std::span<std::byte>> parts;
  for (size_t i = 0; i < out.size(); ++i) {
    const PartRule& rule = input.tensor.codec->parts[i];
    const uint64_t size = part_shape(rule, 1, input.grain.row_values).size_bytes;
    parts.push_back(rule.tile_rows == 0 ? out[i] : out[i].subspan(row * size, size));
  }
  return parts;
}

Status refused(const RecodeInput& input, uint64_t row) {
  const Tensor& tensor = input.tensor;
  const std::string& source = tensor.source_name.empty() ? tensor.name : tensor.source_name;
  const Repack& repack = *tensor.recoded().repack;
  const std::string advice = repack.advice.empty()
                                 ? "the exporter that wrote it; --allow-nonfinite moves it as it is"
                                 : std::string(repack.advice);
  Failure failure =
      fail_with_hint(ErrorCode::kCorrupt, advice, "tensor '{}': row {} has {}; {} has none", source,
                     input.first_row + row, repack.refused, tensor.codec->name);
  if (!tensor.home.empty()) failure = Failure(std::move(failure.value()).in(tensor.home));
  return failure;
}

}  // namespace

Result<Tensor> repack(Tensor tensor, const Codec& codec) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  const Codec& from = *tensor.codec;
  const bool was_stored = tensor.is_stored();
  const Repack* found = find_repack(from, codec);
  if (found == nullptr || (!was_stored && tensor.recoded().from->codec != &from)) {
    return fail(ErrorCode::kUnsupported, "{}: bits of {} cannot be moved into {}", place,
                was_stored ? from.name : tensor.recoded().from->codec->name, codec.name);
  }
  if (was_stored) {
    auto stored = std::make_shared<const Tensor>(tensor);
    tensor.origin = Recoded{std::move(stored), {}, {}, nullptr, {}, {}, nullptr, nullptr};
  }
  Recoded& recoded = std::get<Recoded>(tensor.origin);
  for (const ValueOp& op : recoded.ops) {
    if (has_block_bytes(from) && moves_whole_blocks(op, from.block_values)) continue;
    return fail(ErrorCode::kUnsupported,
                "{}: columns change places in runs that are not whole blocks of {} values, which "
                "{} could only do by rounding again",
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

Status repack_chunk(const RecodeInput& input, Parts out) {
  const Recoded& recoded = input.tensor.recoded();
  const uint64_t row_values = input.grain.row_values;
  uint64_t bad = input.rows;
  if (recoded.ops.empty()) {
    bad = recoded.repack->move(input.source, input.rows, row_values, out);
  } else {
    const std::vector<uint32_t> index = joined(recoded.ops);
    PermutedRow permuted(*recoded.repack->from);
    for (uint64_t row = 0; row < input.rows; ++row) {
      const ConstParts source = permuted.make(input.source, row, row_values, index);
      const bool moved =
          recoded.repack->move(source, 1, row_values, row_parts(input, row, out)) == 1;
      if (!moved) bad = std::min(bad, row);
    }
  }
  const bool may_pass = input.allow_nonfinite && recoded.repack->advice.empty();
  if (bad == input.rows || may_pass) return {};
  return refused(input, bad);
}

}  // namespace ckpt
