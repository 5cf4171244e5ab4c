// Packed INT4 is taken together only where all of it is understood.
#include <gtest/gtest.h>

#include "quantizers/quantizers.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

template <class T>
Tensor plain(const char* name, std::vector<uint64_t> shape, Dtype dtype, const std::vector<T>& v) {
  const auto bytes = std::as_bytes(std::span(v));
  return make_tensor(name, std::move(shape), plain_codec(all_codecs(), dtype),
                     {bytes.begin(), bytes.end()});
}

// A weight of 2 x 64 in groups of 32, and a norm.
std::vector<Tensor> weight(std::vector<int32_t> shape = {2, 64}, uint64_t groups = 2) {
  std::vector<Tensor> out;
  out.push_back(plain("x.norm.weight", {2}, Dtype::kF32, std::vector<float>(2)));
  out.push_back(plain("x.weight_packed", {2, 8}, Dtype::kI32, std::vector<int32_t>(16)));
  out.push_back(
      plain("x.weight_scale", {2, groups}, Dtype::kBF16, std::vector<uint16_t>(2 * groups)));
  out.push_back(plain("x.weight_shape", {2}, Dtype::kI32, shape));
  return out;
}

std::vector<std::string> names(const Result<std::vector<Tensor>>& tensors) {
  std::vector<std::string> out;
  for (const Tensor& tensor : tensors.value()) out.push_back(tensor.name);
  return out;
}

TEST(PackedInt4, PartsBecomeOneWeight) {
  const auto joined = join_packed_int4(weight(), all_codecs());
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(names(joined), (std::vector<std::string>{"x.weight", "x.norm.weight"}));
  EXPECT_EQ((*joined)[0].codec->name, "int4_g32");
  EXPECT_EQ((*joined)[0].shape, (std::vector<uint64_t>{2, 64}));
}

TEST(PackedInt4, KeepsUnknownTensors) {
  const size_t all = weight().size();
  EXPECT_EQ(names(join_packed_int4(weight({2, 60}), all_codecs())).size(), all);  // padded rows
  EXPECT_EQ(names(join_packed_int4(weight({-2, 64}), all_codecs())).size(), all);
  EXPECT_EQ(names(join_packed_int4(weight({2, 64}, 4), all_codecs())).size(), all);  // groups of 16
  std::vector<Tensor> asymmetric = weight();
  asymmetric.push_back(plain("x.weight_zero_point", {1, 2}, Dtype::kI32, std::vector<int32_t>(2)));
  EXPECT_EQ(names(join_packed_int4(asymmetric, all_codecs())).size(), all + 1);
  std::vector<Tensor> shapeless = weight();
  shapeless.pop_back();
  EXPECT_EQ(names(join_packed_int4(shapeless, all_codecs())).size(), all - 1);
}

}  // namespace
}  // namespace ckpt
