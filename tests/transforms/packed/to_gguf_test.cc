// A GGUF made of packed weights is the one made of their floats.
#include "tests/transforms/run_step.h"
#include "transforms/packed/packed.h"

namespace ckpt {
using namespace step_test;
namespace {

Tensor bytes_of(std::string name, std::vector<uint64_t> shape, Dtype dtype, uint64_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (uint64_t i = 0; i < size_bytes; ++i) {
    bytes[i] = static_cast<std::byte>(dtype == Dtype::kF16 ? (i % 2 == 0 ? i % 97 : 0x18)
                                                           : i * 37 + i / 251);
  }
  return make_tensor(std::move(name), std::move(shape), plain_codec(all_codecs(), dtype),
                     std::move(bytes));
}

// Makes qwen3-micro with GPTQ layers, whose codes and scales are arbitrary.
Checkpoint packed_model() {
  Checkpoint out = *open(testdata("qwen3-micro"));
  std::vector<Tensor> tensors;
  for (Tensor& each : out.tensors) {
    if (!each.name.ends_with("_proj.weight")) {
      tensors.push_back(std::move(each));
      continue;
    }
    const uint64_t n = each.shape[0], k = each.shape[1], groups = k / 32;
    const std::string stem = each.name.substr(0, each.name.size() - 6);
    tensors.push_back(bytes_of(stem + "qweight", {k / 8, n}, Dtype::kI32, k / 2 * n));
    tensors.push_back(bytes_of(stem + "qzeros", {groups, n / 8}, Dtype::kI32, groups * n / 2));
    tensors.push_back(bytes_of(stem + "scales", {groups, n}, Dtype::kF16, groups * n * 2));
  }
  out.tensors = std::move(tensors);
  std::string config(out.find_document("config.json")->text());
  config.insert(config.find('{') + 1,
                R"("quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32},)");
  out.set_document("config.json", config);
  return out;
}

// Bytes of the tensors of the GGUF, by name.
std::map<std::string, std::string> gguf_of(Checkpoint input, const char* outtype) {
  auto made = run("to-gguf", std::move(input), options({{"outtype", outtype}}));
  EXPECT_TRUE(made.has_value()) << made.error().text();
  if (!made) return {};
  auto layout = find_format("gguf")->lay_out(*made, {.out_name = "o.gguf"}, all_codecs());
  EXPECT_TRUE(layout.has_value());
  const TemporaryFolder folder;
  Plan plan;
  plan.outputs.push_back({folder / "o.gguf", std::move(*made), std::move(*layout)});
  EXPECT_TRUE(execute(plan, {}).has_value());
  std::map<std::string, std::string> out;
  const Checkpoint read = *open(folder / "o.gguf");
  for (const Tensor& each : read.tensors) out[each.name] = part_bytes(each);
  return out;
}

TEST(PackedToGguf, IsTheGgufOfTheFloats) {
  const Checkpoint joined = *join_packed_weights(packed_model(), all_codecs());
  ASSERT_TRUE(is_unpacked(tensor(joined, "model.layers.0.mlp.down_proj.weight")));
  const Checkpoint floats = settle(run("dequantize", packed_model(), options({{"type", "f32"}})));
  for (const char* outtype : {"f32", "f16", "bf16", "q8_0"}) {
    EXPECT_EQ(gguf_of(packed_model(), outtype), gguf_of(floats, outtype)) << outtype;
  }
}

// Scales and zero points of caches and activations have no use in floats.
TEST(PackedToGguf, LeavesOutWhatAccompaniesCodes) {
  const auto floats = gguf_of(packed_model(), "bf16");
  const std::string attention = "model.layers.0.self_attn";
  for (const char* end : {".q_scale", ".kv_scale", ".k_zero_point", ".v_zero_point",
                          ".q_proj.output_scale", ".k_proj.k_bias_value"}) {
    Checkpoint on = packed_model();
    const bool is_float = !std::string_view(end).ends_with("zero_point");
    on.tensors.push_back(
        bytes_of(attention + end, {1}, is_float ? Dtype::kF16 : Dtype::kI8, is_float ? 2 : 1));
    EXPECT_EQ(gguf_of(on, "bf16"), floats) << end;
    const Checkpoint made = settle(run("dequantize", std::move(on), {}));
    EXPECT_EQ(made.find_tensor(attention + end), nullptr) << end;
  }
  Checkpoint scaled = packed_model();
  scaled.tensors.push_back(bytes_of(attention + ".q_proj.pre_quant_scale", {1}, Dtype::kF16, 2));
  EXPECT_FALSE(run("to-gguf", std::move(scaled), {}).has_value());
}

}  // namespace
}  // namespace ckpt
