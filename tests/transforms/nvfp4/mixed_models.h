// Shared by tests of mixed-to-nvfp4: real models with some layers FP8 and others NVFP4, and
// looks at scales and values.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunks/evaluate.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "tests/transforms/run_step.h"

namespace ckpt::mixed_test {
using namespace step_test;

inline Result<Checkpoint> convert_mixed(Checkpoint input, const Options& given = {},
                                        std::vector<std::string>* notes = nullptr) {
  return run("mixed-to-nvfp4", std::move(input), given, notes);
}

inline Checkpoint converted(Checkpoint input, const Options& given = {},
                            std::vector<std::string>* notes = nullptr) {
  return settle(convert_mixed(std::move(input), given, notes));
}

inline Checkpoint exported(const std::string& model, const std::string& type) {
  const std::string amax = testdata("export/modelopt/" + model + "/nvfp4").string();
  return settle(
      run("export", *open(testdata(model)), options({{"type", type}, {"amax-from", amax}})));
}

inline bool in_attention(std::string_view name) { return name.find("_attn.") != name.npos; }

inline float number(const Checkpoint& checkpoint, std::string_view name) {
  return read_values(tensor(checkpoint, name), 1)->at(0);
}
inline float tensor_scale(const Checkpoint& checkpoint, std::string_view name) {
  float out;
  std::memcpy(&out, part_bytes(tensor(checkpoint, name), 2).data(), sizeof out);
  return out;
}
inline std::vector<float> values(const Tensor& each) {
  return *read_values(each, uint64_t{1} << 24);
}

inline void expect_same(const Checkpoint& a, const Checkpoint& b, std::string_view name) {
  const Tensor &left = tensor(a, name), &right = tensor(b, name);
  ASSERT_EQ(left.codec, right.codec) << name;
  for (size_t part = 0; part < left.codec->parts.size(); ++part) {
    EXPECT_EQ(part_bytes(left, part), part_bytes(right, part)) << name << " part " << part;
  }
}

// Layers for which `takes` holds from `other`, with a configuration that lists all.
inline Checkpoint mix(Checkpoint first, const Checkpoint& other,
                      const std::function<bool(std::string_view)>& takes) {
  for (Tensor& each : first.tensors) {
    const Tensor* found = other.find_tensor(each.name);
    if (found != nullptr && takes(each.name)) each = *found;
  }
  nlohmann::ordered_json layers;
  for (const Tensor& each : first.tensors) {
    if (each.codec->parts.size() < 2) continue;
    auto& row = layers[each.name.substr(0, each.name.size() - 7)];
    const bool is_fp8 = each.codec->name.starts_with("fp8");
    row["quant_algo"] = is_fp8 ? "FP8" : "NVFP4";
    if (!is_fp8) row["group_size"] = 16;
  }
  nlohmann::ordered_json config;
  config["producer"] = {{"name", "modelopt"}, {"version", "0.47.0"}};
  config["quantization"]["quant_algo"] = "MIXED_PRECISION";
  config["quantization"]["kv_cache_quant_algo"] = nullptr;
  config["quantization"]["quantized_layers"] = layers;
  first.set_document("hf_quant_config.json", config.dump(4));
  return first;
}

inline Checkpoint mixed(const std::string& model) {
  return mix(exported(model, "nvfp4"), exported(model, "fp8"), in_attention);
}

inline Tensor column_scale(const std::string& module, const std::vector<float>& factors) {
  std::vector<std::byte> bytes(factors.size() * sizeof(float));
  std::memcpy(bytes.data(), factors.data(), bytes.size());
  return make_tensor(module + ".pre_quant_scale", {factors.size()},
                     *find_codec(all_codecs(), "f32"), std::move(bytes));
}

inline std::vector<float> powers_of_two(size_t count) {
  std::vector<float> out;
  for (size_t i = 0; i < count; ++i) out.push_back(std::exp2(static_cast<float>(i * 7 % 5) - 2));
  return out;
}

}  // namespace ckpt::mixed_test
