// to-mmproj beyond whole files of the reference: other configurations, and what is refused.
#include "tests/transforms/to_mmproj/projectors.h"

namespace ckpt::mmproj_test {
namespace {

TEST(ToMmproj, Qwen3VlImageSizeFollowsPositionsUnlessDeclared) {
  const auto computed = projector_of(
      with_vision("qwen3-vl", {{"num_position_embeddings", 2304}, {"image_size", {}}}));
  EXPECT_EQ(number_of(computed, "clip.vision.image_size"), 48 * 8u);
  const auto said = projector_of(with_vision("qwen3-vl", {{"image_size", 768}}));
  EXPECT_EQ(number_of(said, "clip.vision.image_size"), 768u);
}

TEST(ToMmproj, DeepstackMergersAreCalledAfterTheirLayers) {
  const auto made = projector_of(with_vision("qwen3-vl", {{"deepstack_visual_indexes", {2, 1}}}));
  ASSERT_TRUE(made) << made.error().text();
  const Tensor* first = made->find_tensor("v.deepstack.2.fc1.weight");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->source_name, "model.visual.deepstack_merger_list.0.linear_fc1.weight");
  EXPECT_EQ(made->metadata.find("clip.vision.is_deepstack_layers")->value,
            MetaValue::array(make_bool_array({false, true, true})).value);

  EXPECT_NE(error_of(with_vision("qwen3-vl", {{"deepstack_visual_indexes", {0}}}))
                .find("merger 1 is there; config.json names 1"),
            std::string::npos);
  EXPECT_NE(error_of(with_vision("qwen3-vl", {{"deepstack_visual_indexes", {0, 3}}}))
                .find("expected numbers of its 3 layers"),
            std::string::npos);
}

TEST(ToMmproj, PatchesAreF16InAFileOfF16Alone) {
  const Checkpoint input = family("qwen3-vl");
  for (const auto& [type, patches, matrices] :
       {std::tuple{"f16", "f16", "f16"}, std::tuple{"f32", "f32", "f32"},
        std::tuple{"bf16", "f32", "bf16"}, std::tuple{"auto", "f32", "bf16"}}) {
    const auto made = projector_of(input, {{"mmproj-type", type}});
    EXPECT_EQ(type_of(made, "v.patch_embd.weight"), patches) << type;
    EXPECT_EQ(type_of(made, "v.patch_embd.weight.1"), patches) << type;
    EXPECT_EQ(type_of(made, "v.position_embd.weight"), "f32") << type;
    EXPECT_EQ(type_of(made, "v.blk.0.attn_qkv.weight"), matrices) << type;
  }
}

TEST(ToMmproj, FramesAreSplitAndMustBeTwo) {
  Checkpoint input = family("qwen3-vl");
  for (Tensor& tensor : input.tensors) {
    if (tensor.name == "model.visual.patch_embed.proj.weight") tensor.shape = {32, 3, 1, 16, 8};
  }
  EXPECT_NE(error_of(input).find("expected a convolution over 2 frames"), std::string::npos)
      << error_of(input);
}

TEST(ToMmproj, LayersMustBeAllThere) {
  Checkpoint input = family("qwen3-vl");
  drop(input, "visual.blocks.1.");
  EXPECT_NE(error_of(input).find("tensors of 2 layers are there; config.json: vision_config has 3"),
            std::string::npos)
      << error_of(input);
  EXPECT_NE(error_of(with_vision("qwen3-vl", {{"depth", 2}, {"deepstack_visual_indexes", {0, 1}}}))
                .find("is of layer 2; config.json: vision_config has 2 layers"),
            std::string::npos);
}

TEST(ToMmproj, RefusesATensorThatItDoesNotKnowByItsName) {
  Checkpoint input = family("qwen3-vl");
  Tensor extra = input.tensors.front();
  extra.name = "model.visual.blocks.0.attn.rotor.weight";
  input.tensors.push_back(extra);
  EXPECT_NE(error_of(input).find("such as 'model.visual.blocks.0.attn.rotor.weight'"),
            std::string::npos)
      << error_of(input);
}

TEST(ToMmproj, RefusesAModelWithoutATower) {
  Checkpoint input = family("qwen3-vl");
  drop(input, "visual.");
  EXPECT_NE(error_of(input).find("is of a tower"), std::string::npos) << error_of(input);
  input = family("qwen3-vl");
  JsonValue config = document(input, "config.json");
  config.erase("vision_config");
  input.set_document("config.json", config.dump());
  EXPECT_NE(error_of(input).find("no vision_config"), std::string::npos) << error_of(input);
  EXPECT_NE(error_of(family("olmo2")).find("'Olmo2ForCausalLM' has no projector here"),
            std::string::npos);
}

TEST(ToMmproj, AsksForThePreprocessorsColors) {
  Checkpoint input = family("qwen3-vl");
  std::erase_if(input.documents,
                [](const Document& each) { return each.path == "preprocessor_config.json"; });
  EXPECT_NE(error_of(input).find("no preprocessor_config.json, which says image_mean. Try: "),
            std::string::npos)
      << error_of(input);
  input.set_document("preprocessor_config.json", R"({"image_std": [1, 1, 1]})");
  EXPECT_NE(error_of(input).find("preprocessor_config.json: no image_mean. Try: "),
            std::string::npos)
      << error_of(input);
  // Newer processors write processor_config.json instead, with the values under image_processor.
  input.set_document("processor_config.json",
                     R"({"image_processor": {"image_mean": [0, 0.5, 1], "image_std": [1, 1, 1]}})");
  const auto made = projector_of(input);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->metadata.find("clip.vision.image_mean")->value,
            MetaValue::array(make_f32_array({0, 0.5f, 1})).value);
  input.set_document("processor_config.json", R"({"image_mean": [0.5], "image_std": [1, 1, 1]})");
  EXPECT_NE(error_of(input).find("image_mean has 1 numbers; expected 3"), std::string::npos);
}

// The converter calls a projector after the weights of its model.
TEST(ToMmproj, BesideNvfp4WeightsTheTypeOfTheFileIsTheirs) {
  for (const auto& [quantization, type] :
       {std::pair{R"({"quant_algo": "NVFP4"})", 39u}, std::pair{R"({"quant_algo": "FP8"})", 32u},
        std::pair{R"({"quantized_layers": {"a": {"quant_algo": "W4A16_NVFP4"}}})", 39u}}) {
    Checkpoint input = family("qwen3-vl");
    input.set_document("hf_quant_config.json",
                       fmt::format(R"({{"quantization": {}}})", quantization));
    EXPECT_EQ(number_of(projector_of(input), "general.file_type"), type) << quantization;
    EXPECT_EQ(number_of(projector_of(input, {{"mmproj-type", "q8_0"}}), "general.file_type"), 7u);
  }
}

TEST(ToMmproj, FieldsThatTheClassFillsInNeedNotBeSaid) {
  const auto made = projector_of(with_vision("qwen3-vl", {{"spatial_merge_size", {}}}));
  EXPECT_EQ(number_of(made, "clip.vision.spatial_merge_size"), 2u);
  EXPECT_NE(error_of(with_vision("qwen3-vl", {{"patch_size", "8"}}))
                .find("vision_config: patch_size is \"8\"; expected a whole number"),
            std::string::npos);
}

}  // namespace
}  // namespace ckpt::mmproj_test
