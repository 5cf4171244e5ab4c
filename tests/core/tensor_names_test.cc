// Names of tensors give modules, experts and the head.
#include "core/model/tensor_names.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(TensorNames, TheModuleIsTheTextBeforeTheLastDot) {
  EXPECT_EQ(module_of("model.layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj");
  EXPECT_EQ(module_of("lm_head.input_scale"), "lm_head");
  EXPECT_EQ(module_of("scale"), "");
  EXPECT_EQ(last_word("lm_head.input_scale"), "input_scale");
  EXPECT_EQ(last_word("scale"), "scale");
}

TEST(TensorNames, ListsNameWeightsByTheirModuleAndStacksWhole) {
  EXPECT_EQ(listed_name("lm_head.weight"), "lm_head");
  EXPECT_EQ(listed_name("model.layers.0.mlp.experts.down_proj"),
            "model.layers.0.mlp.experts.down_proj");
}

TEST(TensorNames, FindsTheHeadUnderAnyPrefix) {
  for (const char* name :
       {"lm_head.weight", "language_model.lm_head.weight", "lm_head.bias", "output.weight",
        "lm_head", "language_model.lm_head", "embed_out", "output"}) {
    EXPECT_TRUE(is_of_head(name)) << name;
  }
  for (const char* name : {"model.embed_tokens.weight", "model.lm_headless.weight", "output_norm",
                           "layers.0.attention.output.weight", "model.lm_headless"}) {
    EXPECT_FALSE(is_of_head(name)) << name;
  }
}

TEST(TensorNames, FindsEmbeddingsByModuleAndByTensor) {
  for (const char* name : {"model.embed_tokens.weight", "transformer.wte", "token_embd.weight",
                           "shared.weight", "embed_tokens"}) {
    EXPECT_TRUE(is_of_embeddings(name)) << name;
  }
  for (const char* name : {"per_layer_token_embd.weight", "token_embd_norm.weight", "lm_head",
                           "model.position_embeddings.weight", "wte.bias"}) {
    EXPECT_FALSE(is_of_embeddings(name)) << name;
  }
}

TEST(TensorNames, AnExpertHasANumber) {
  const auto expert = expert_name("model.layers.2.mlp.experts.31.up_proj.weight");
  ASSERT_TRUE(expert);
  EXPECT_EQ(expert->front, "model.layers.2.mlp.experts.");
  EXPECT_EQ(expert->number, 31u);
  EXPECT_EQ(expert->rest, "up_proj.weight");
  for (const char* name :
       {"model.layers.2.mlp.experts.gate_up_proj", "mlp.experts.3",
        "mlp.experts.99999999999999999999.up_proj", "mlp.shared_expert.up_proj"}) {
    EXPECT_FALSE(is_of_expert(name)) << name;
  }
  EXPECT_TRUE(is_of_experts("model.layers.2.mlp.experts.gate_up_proj"));
  EXPECT_TRUE(is_of_experts("model.layers.2.mlp.experts.31.up_proj"));
  EXPECT_FALSE(is_of_experts("model.layers.2.mlp.shared_experts.up_proj"));
}

TEST(TensorNames, BlocksAreReadFromNames) {
  EXPECT_EQ(block_of("blk.0.attn_v.weight"), 0);
  EXPECT_EQ(block_of("blk.123.x"), 123);
  EXPECT_EQ(block_of("blk.7"), 7);
  EXPECT_EQ(block_of("blk.x"), -1);
  EXPECT_EQ(block_of("blk."), -1);
  EXPECT_EQ(block_of("v.blk.3.x"), -1);
  EXPECT_EQ(block_of("output.weight"), -1);
  EXPECT_EQ(block_of("blk.99999999999999999999.x"), 2147483647);
}

TEST(TensorNames, OrderIsByBlockThenByBytes) {
  EXPECT_TRUE(quantized_order("output.weight", "token_embd.weight"));
  EXPECT_TRUE(quantized_order("token_embd.weight", "blk.0.a"));
  EXPECT_TRUE(quantized_order("blk.2.z", "blk.10.a"));
  EXPECT_TRUE(quantized_order("blk.2.Z", "blk.2.a"));
  EXPECT_FALSE(quantized_order("blk.2.a", "blk.2.a"));
}

}  // namespace
}  // namespace ckpt
