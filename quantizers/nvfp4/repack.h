// Repacks NVFP4 from parts of quantized checkpoints into ggml's blocks: bits move, nothing rounds.
//
//   codes   v1v0 v3v2 ... v15v14   8 bytes per 16 values; adjacent values share a byte
//   block   v8v0 v9v1 ... v15v7    the same 8 bytes; values 8 apart share a byte
//   scales  s0 s1 s2 s3            E4M3, the same bytes as UE4M3
//
//   | s0 s1 s2 s3 | 16 values 8 | 16 values 8 | 16 values 8 | 16 values 8 |   36 bytes, 64 values
//
// Note: the blocks have no place for the scale of the entire tensor; GGUF holds it in a separate
// tensor. ggml reads scales 0x7F and 0x00 as zero and ignores the sign bit, so a NaN would silently
// become zeros and a negative scale positive.
// Source: llama.cpp conversion/base.py (_nvfp4_pack), ggml/src/ggml-common.h (block_nvfp4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/codec.h"
#include "quantizers/nvfp4/fp4.h"

namespace ckpt {

// Packs 64 `blocks` values: 32 bytes of codes and 4 scales per block. Drops the sign bit of scales.
void pack_nvfp4_blocks(const std::byte* codes, const std::byte* scales, uint64_t blocks,
                       BlockNvfp4* out);
// Does the same value by value: the specification of the function above.
void pack_nvfp4_blocks_scalar(const std::byte* codes, const std::byte* scales, uint64_t blocks,
                              BlockNvfp4* out);

// Unpacks blocks. Returns the index of the first block with a scale of 0x7F or above, or `blocks`.
uint64_t unpack_nvfp4_blocks(const BlockNvfp4* in, uint64_t blocks, std::byte* codes,
                             std::byte* scales);

// The repack of codec mxfp4_ct from ggml's blocks.
extern const Repack kMxfp4Unpack[1];
// The repack of codec nvfp4_modelopt from nvfp4_gguf.
extern const Repack kNvfp4Unpack[1];

}  // namespace ckpt
