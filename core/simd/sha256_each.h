// SHA-256 of several files on one core, which computes several chains in the time of one.
#pragma once

#include <span>

#include "core/base/sha256.h"

namespace ckpt {

struct Sha256Piece {
  Sha256* hash;  // of no other piece
  std::span<const std::byte> bytes;
};

// Does hash->add(bytes) for each piece. Fastest with at least sha256_chains() pieces of equal
// sizes.
void add_to_each(std::span<const Sha256Piece> pieces);

// So many chains are fastest together on this processor.
size_t sha256_chains();

}  // namespace ckpt
