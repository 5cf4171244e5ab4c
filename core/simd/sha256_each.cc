#include "core/simd/sha256_each.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/simd/sha256_kernels.h"

namespace ckpt {
namespace {

size_t blocks_of(const Sha256Piece& piece) { return piece.bytes.size() / kSha256BlockBytes; }

// Adds as many blocks as the shortest one, the last, has.
void add_equally(std::span<Sha256Piece> pieces, const Sha256Kernel& kernel) {
  std::vector<Sha256Chain> chains;
  const size_t blocks = blocks_of(pieces.back());
  for (auto& [hash, bytes] : pieces) {
    chains.push_back({hash->chain_for(blocks).data(), bytes.data()});
    bytes = bytes.subspan(blocks * kSha256BlockBytes);
  }
  kernel.add(chains, blocks);
}

// Removes the pieces whose blocks kernels added. Kernels for most chains first; the longest pieces
// first, so that all end together.
void add_blocks(std::vector<Sha256Piece>& pieces) {
  for (const Sha256Kernel& kernel : sha256_kernels()) {
    while (true) {
      std::erase_if(pieces, [](const Sha256Piece& piece) { return blocks_of(piece) == 0; });
      if (pieces.size() < kernel.worth_from) break;
      std::ranges::sort(pieces, std::greater(), blocks_of);
      add_equally(std::span(pieces).first(std::min(pieces.size(), kernel.chains)), kernel);
    }
  }
}

}  // namespace

void add_to_each(std::span<const Sha256Piece> pieces) {
  std::vector<Sha256Piece> blocks, rests;
  for (const auto& [hash, bytes] : pieces) {
    const size_t open = hash->open_bytes();
    const size_t first = open == 0 ? 0 : std::min(bytes.size(), kSha256BlockBytes - open);
    hash->add(bytes.first(first));
    const auto after = bytes.subspan(first);
    const size_t rest = after.size() % kSha256BlockBytes;
    blocks.push_back({hash, after.first(after.size() - rest)});
    rests.push_back({hash, after.last(rest)});
  }
  add_blocks(blocks);
  for (const auto& [hash, bytes] : blocks) hash->add(bytes);  // alone
  for (const auto& [hash, bytes] : rests) hash->add(bytes);
}

size_t sha256_chains() { return sha256_kernels().front().chains; }

}  // namespace ckpt
