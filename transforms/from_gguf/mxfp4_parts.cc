// Splits MXFP4 experts into the tensors that folders use (inverse of to_gguf/mxfp4.h).
//
//   X [n, rows, K]  ──▶  X_blocks U8 [n, rows, K/32, 16], X_scales U8 [n, rows, K/32]
//
// Source: transformers integrations/mxfp4.py, which loads no other layout.
#include "core/computed/interleaved_source.h"
#include "transforms/from_gguf/folder.h"

namespace ckpt {

std::vector<Tensor> split_mxfp4(const Tensor& tensor, Codecs codecs) {
  const Codec& parts = scheme_codec(codecs, Scheme::kMxfp4, Dialect::kCompressedTensors);
  const uint64_t blocks = tensor.row_values() / parts.block_values;
  std::vector<Tensor> out;
  for (size_t part = 0; part < parts.parts.size(); ++part) {
    Tensor& made = out.emplace_back(tensor);
    made.name += part == 0 ? "_blocks" : "_scales";
    made.codec = &plain_codec(codecs, Dtype::kU8);
    made.shape.back() = blocks;
    if (part == 0) made.shape.push_back(parts.block_values / 2);
    if (tensor.codec == &parts) {
      made.origin = Stored{{tensor.stored().parts[part]}};
      continue;
    }
    const SharedSource source = repacked_part(tensor, parts, part);
    made.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  }
  return out;
}

bool has_mxfp4_experts(const Checkpoint& file) {
  bool has_experts = false;
  for (const Tensor& tensor : file.tensors) {
    if (!tensor.name.ends_with("_exps.weight")) continue;
    if (plain_dtype(*tensor.codec) != Dtype::kMxfp4) return false;
    has_experts = true;
  }
  return has_experts;
}

void add_mxfp4_statement(JsonValue& config) {
  config["quantization_config"] = {
      {"quant_method", "mxfp4"},
      {"modules_to_not_convert",
       {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}}};
}

}  // namespace ckpt
