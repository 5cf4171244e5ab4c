// Shared by tests of the quantize step: a small model, an importance matrix, and a run of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "quantizers/quantizers.h"
#include "tests/transforms/run_step.h"
#include "transforms/transforms.h"

namespace ckpt::quantize_test {

inline const Codec& codec(std::string_view name) {
  const Codec* found = find_codec(all_codecs(), name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

inline Tensor zeros(std::string name, std::vector<uint64_t> shape, std::string_view type = "bf16") {
  uint64_t values = 1;
  for (uint64_t axis : shape) values *= axis;
  const PartRule& rule = codec(type).parts[0];
  const uint64_t bytes = values / element_values(rule.dtype) * size_bytes(rule.dtype);
  return make_tensor(std::move(name), std::move(shape), codec(type), std::vector<std::byte>(bytes));
}

// Two layers, the smallest thing with every kind of tensor.
inline Checkpoint small_float_model() {
  Checkpoint out;
  out.format = "gguf";
  out.metadata.append("general.architecture", MetaValue::text("llama"));
  out.metadata.append("general.quantization_version", MetaValue::u32(2));
  out.metadata.append("llama.block_count", MetaValue::u32(2));
  out.metadata.append("llama.attention.head_count", MetaValue::u32(2));
  out.metadata.append("general.file_type", MetaValue::u32(32));
  out.metadata.append("general.name", MetaValue::text("small"));
  out.tensors.push_back(zeros("token_embd.weight", {3, 256}));
  out.tensors.push_back(zeros("output.weight", {3, 256}));
  for (const char* block : {"blk.0.", "blk.1."}) {
    out.tensors.push_back(zeros(std::string(block) + "attn_norm.weight", {256}, "f32"));
    out.tensors.push_back(zeros(std::string(block) + "attn_q.weight", {2, 256}));
    out.tensors.push_back(zeros(std::string(block) + "ffn_up_exps.weight", {2, 2, 256}));
  }
  return out;
}

inline Result<Checkpoint> run(Checkpoint input, const Options& given,
                              const Imatrix* imatrix = nullptr,
                              std::vector<std::string>* notes = nullptr) {
  return find_transform("quantize")
      ->apply(std::move(input), given, Context{all_codecs(), imatrix, notes});
}

inline std::string codec_of(const Result<Checkpoint>& made, std::string_view name) {
  EXPECT_TRUE(made.has_value()) << made.error().text();
  if (!made) return "";
  const Tensor* tensor = made->find_tensor(name);
  return tensor == nullptr ? "" : std::string(tensor->codec->name);
}

inline Imatrix matrix_for(const std::string& name, size_t values) {
  Imatrix out;
  out.file = "m.dat";
  out.weights[name].assign(values, 0.5F);
  return out;
}

}  // namespace ckpt::quantize_test
