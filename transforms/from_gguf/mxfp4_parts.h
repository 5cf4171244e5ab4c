// MXFP4 experts as folders store them (to_gguf/mxfp4.h, backwards).
//
//   X [n, rows, K]  ──▶  X_blocks U8 [n, rows, K/32, 16], X_scales U8 [n, rows, K/32]
//
// Source: transformers integrations/mxfp4.py, which loads no other layout.
#pragma once

#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Both tensors of `tensor`, which is Stored as MXFP4: in ggml's blocks, or in such parts already.
std::vector<Tensor> split_mxfp4(const Tensor& tensor, Codecs codecs);

// Whether all stacks of experts in the file are MXFP4, so that they can stay so.
bool has_mxfp4_experts(const Checkpoint& file);

// config.json's statement about them.
void add_mxfp4_statement(JsonValue& config);

}  // namespace ckpt
