// Facts of tensors and of all tensors of a checkpoint.
#include "core/model/checkpoint.h"

#include <gtest/gtest.h>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

Tensor plain(std::string name, std::vector<uint64_t> shape = {2, 2}) {
  uint64_t count = 1;
  for (const uint64_t axis : shape) count *= axis;
  return make_f32_tensor(std::move(name), std::move(shape), std::vector<float>(count, 1.5f),
                         all_codecs());
}

TEST(Checkpoint, PlainFloatsAreOfFourTypes) {
  std::string names;
  for (const Codec* codec : all_codecs()) {
    Tensor tensor;
    tensor.codec = codec;
    if (tensor.is_plain_float()) names += std::string(codec->name) + " ";
  }
  for (const char* name : {"f64 ", "f32 ", "f16 ", "bf16 "}) {
    EXPECT_NE(names.find(name), std::string::npos) << names;
  }
  EXPECT_EQ(names.size(), std::string("f64 f32 f16 bf16 ").size()) << names;
}

TEST(Checkpoint, ANumberIsATensorOfOneFloat) {
  const Tensor scale = make_f32_tensor("a.input_scale", {}, {0.25f}, all_codecs());
  EXPECT_EQ(scale.codec->name, "f32");
  EXPECT_EQ(*read_values(scale, 1), std::vector<float>{0.25f});
}

TEST(Checkpoint, TheHeadIsItsOwnOrMissing) {
  Checkpoint checkpoint;
  checkpoint.tensors = {plain("model.embed_tokens.weight")};
  EXPECT_FALSE(checkpoint.has_head());
  checkpoint.tensors.push_back(plain("language_model.lm_head.weight"));
  EXPECT_TRUE(checkpoint.has_head());
}

TEST(Checkpoint, TheFirstTensorWithScalesIsFound) {
  Checkpoint checkpoint;
  checkpoint.tensors = {plain("a.weight"), plain("b.weight")};
  EXPECT_EQ(checkpoint.first_with_scales(), nullptr);
  checkpoint.tensors[1].codec = find_codec(all_codecs(), "nvfp4_modelopt");
  EXPECT_EQ(checkpoint.first_with_scales(), &checkpoint.tensors[1]);
}

TEST(Checkpoint, EqualTensorsAreStackedAndOthersNamed) {
  const auto stacked = stack({plain("experts.0"), plain("experts.1"), plain("experts.2")});
  ASSERT_TRUE(stacked);
  EXPECT_EQ(stacked->shape, (std::vector<uint64_t>{3, 2, 2}));
  EXPECT_EQ(read_values(*stacked, 12)->size(), 12u);
  const auto refused = stack({plain("experts.0"), plain("experts.1", {4, 1})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "tensor 'experts.1' has shape [4, 1]; 'experts.0', which it is stacked on, [2, 2]");
}

}  // namespace
}  // namespace ckpt
