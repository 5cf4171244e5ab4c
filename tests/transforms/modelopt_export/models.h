// Shared by tests of export and dequantize: a small model, plain and with the maxima of a
// trainer, and looks at what a step made of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt::export_test {

inline Tensor floats(std::string name, std::vector<uint64_t> shape,
                     const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor(std::move(name), std::move(shape), plain_codec(all_codecs(), Dtype::kF32),
                     std::move(bytes));
}

inline Tensor weight(std::string name, uint64_t rows, uint64_t columns) {
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 29) - 14;
  return floats(std::move(name), {rows, columns}, values);
}

inline Checkpoint small_export_model() {
  Checkpoint out;
  out.format = "safetensors";
  out.set_document("config.json", R"({"model_type": "llama", "dtype": "float32"})");
  out.tensors.push_back(weight("lm_head.weight", 4, 32));
  out.tensors.push_back(weight("model.embed_tokens.weight", 4, 32));
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                           "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    out.tensors.push_back(weight(fmt::format("model.layers.0.{}.weight", name), 8, 32));
  }
  out.tensors.push_back(floats("model.norm.weight", {4}, {1, 2, 3, 4}));
  return out;
}

// Maxima as a trainer stores them; q, k and v differ.
inline Checkpoint qat_model() {
  Checkpoint out = small_export_model();
  float amax = 1;
  for (const Tensor& tensor : small_export_model().tensors) {
    if (tensor.name.find("_proj.") == std::string::npos) continue;
    const std::string module = tensor.name.substr(0, tensor.name.size() - 7);
    out.tensors.push_back(floats(module + ".weight_quantizer._amax", {}, {amax}));
    out.tensors.push_back(floats(module + ".input_quantizer._amax", {}, {amax * 2}));
    amax += 1;
  }
  return out;
}

inline void drop(Checkpoint& checkpoint, std::string_view name) {
  std::erase_if(checkpoint.tensors, [&](const Tensor& tensor) { return tensor.name == name; });
}

inline float value_of(const Checkpoint& checkpoint, std::string_view name) {
  const Tensor* tensor = checkpoint.find_tensor(name);
  EXPECT_NE(tensor, nullptr) << name;
  if (tensor == nullptr) return 0;
  return read_values(*tensor, 1)->at(0);
}

inline const Recoded& recoded(const Result<Checkpoint>& made, std::string_view name) {
  const Tensor* tensor = made->find_tensor(name);
  CKPT_CHECK(tensor != nullptr && !tensor->is_stored());
  return tensor->recoded();
}

// The relative squared error of one weight, by what a folder that was written decodes to.
inline double written_error(const Checkpoint& made, const Checkpoint& source,
                            const std::string& name) {
  const std::vector<float> after = *read_values(*made.find_tensor(name), 1 << 20);
  const std::vector<float> before = *read_values(*source.find_tensor(name), 1 << 20);
  double signal = 0, noise = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double difference = static_cast<double>(after[i]) - static_cast<double>(before[i]);
    noise += difference * difference;
    signal += static_cast<double>(before[i]) * static_cast<double>(before[i]);
  }
  return noise / signal;
}

inline std::string quant_config(const Result<Checkpoint>& made) {
  return made->find_document("hf_quant_config.json")->text();
}

}  // namespace ckpt::export_test
