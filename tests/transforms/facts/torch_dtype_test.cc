// config.json names the type of floats by either of two keys.
#include "transforms/facts/torch_dtype.h"

#include <gtest/gtest.h>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

TEST(TorchDtype, ThreeTypesHaveNamesThere) {
  EXPECT_EQ(torch_name(*find_codec(all_codecs(), "bf16")), "bfloat16");
  EXPECT_EQ(torch_name(*find_codec(all_codecs(), "f16")), "float16");
  EXPECT_EQ(torch_name(*find_codec(all_codecs(), "f32")), "float32");
  EXPECT_EQ(torch_name(*find_codec(all_codecs(), "q8_0")), "");
}

TEST(TorchDtype, OnlyKeysThatAreThereAreChanged) {
  JsonText config = *JsonText::parse("{\"a\": 1, \"torch_dtype\": \"bfloat16\"}");
  EXPECT_TRUE(says_dtype(config));
  EXPECT_FALSE(change_dtype(config, "bfloat16"));
  EXPECT_TRUE(change_dtype(config, "float16"));
  EXPECT_EQ(config.dump(0), "{\"a\": 1, \"torch_dtype\": \"float16\"}");
  JsonText silent = *JsonText::parse("{\"a\": 1}");
  EXPECT_FALSE(says_dtype(silent));
  EXPECT_FALSE(change_dtype(silent, "float16"));
  EXPECT_EQ(silent.dump(0), "{\"a\": 1}");
}

}  // namespace
}  // namespace ckpt
