// Behavior of projector families that the files of the reference do not show.
#include "transforms/to_mmproj/families/families.h"

#include <cmath>
#include <set>

#include "core/base/words.h"
#include "tests/transforms/to_mmproj/projectors.h"

namespace ckpt::mmproj_test {
namespace {

std::string source_of(const Result<Checkpoint>& made, std::string_view tensor) {
  const Tensor* found = made ? made->find_tensor(tensor) : nullptr;
  return found == nullptr ? "none" : found->source_name;
}

void rename_all(Checkpoint& checkpoint, const std::string& from, const std::string& to) {
  for (Tensor& tensor : checkpoint.tensors) {
    const size_t at = tensor.name.find(from);
    if (at != std::string::npos) tensor.name.replace(at, from.size(), to);
  }
}

void add_floats(Checkpoint& checkpoint, const std::string& name, std::vector<uint64_t> shape) {
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  std::vector<float> values;
  for (uint64_t i = 0; i < count; ++i) values.push_back(0.25f * static_cast<float>(i) - 1);
  checkpoint.tensors.push_back(make_f32_tensor(name, std::move(shape), values, all_codecs()));
}

void set_document_field(Checkpoint& checkpoint, const std::string& path, const std::string& field,
                        const JsonValue& value) {
  JsonValue json = document(checkpoint, path);
  json[field] = value;
  checkpoint.set_document(path, json.dump());
}

TEST(ToMmproj, EveryArchitectureOfAProjectorIsOfOneFamily) {
  std::set<std::string> seen;
  for (const ProjectorFamily* family : projector_families()) {
    for (std::string_view list = family->architectures; !list.empty();) {
      EXPECT_TRUE(seen.insert(std::string(take_word(list))).second);
    }
    for (const auto& list : tower_named(family->tower).rows) {
      for (const TowerRule& rule : list) {
        const TowerChanges& made = rule.in_projector;
        const bool gives_several =
            made.change == TowerChange::kFrames || made.change == TowerChange::kThirds;
        EXPECT_EQ(gives_several, !made.second.empty()) << rule.from;
        EXPECT_TRUE(rule.to.empty() || each_name(rule.from).size() == each_name(rule.to).size())
            << rule.from;
        EXPECT_EQ(rule.from.find("{}") == rule.from.npos || rule.to.empty(),
                  rule.to.find("{}") == rule.to.npos)
            << rule.from;
      }
    }
  }
}

TEST(ToMmproj, Gemma3KeepsItsProjectionF16AndItsEmbeddingsF32) {
  for (const char* type : {"f32", "f16", "bf16", "q8_0"}) {
    const auto made = projector_of(family("gemma3-vl"), {{"mmproj-type", type}});
    EXPECT_EQ(type_of(made, "mm.input_projection.weight"), "f16") << type;
    EXPECT_EQ(type_of(made, "v.patch_embd.weight"), "f32") << type;
    EXPECT_EQ(type_of(made, "v.position_embd.weight"), "f32") << type;
  }
}

TEST(ToMmproj, Gemma3WritesAScaleThatIsNotTheUsualFour) {
  constexpr const char* kScale = "clip.vision.projector.scale_factor";
  Checkpoint input = family("gemma3-vl");  // 4 patches a side
  EXPECT_EQ(number_of(projector_of(input), kScale), 2u);
  set_document_field(input, "processor_config.json", "image_seq_length", 1);
  EXPECT_EQ(number_of(projector_of(input), kScale), std::nullopt);
  set_document_field(input, "processor_config.json", "image_seq_length", 16);
  EXPECT_EQ(number_of(projector_of(input), kScale), 1u);
  set_document_field(input, "processor_config.json", "image_seq_length", 0);
  EXPECT_NE(error_of(input).find("image_seq_length is 0"), std::string::npos);
}

TEST(ToMmproj, Gemma3OfTransformers5HasNoVisionModelInItsNames) {
  Checkpoint input = family("gemma3-vl");
  rename_all(input, "vision_tower.vision_model.", "vision_tower.");
  const auto made = projector_of(input);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(source_of(made, "v.blk.1.attn_q.weight"),
            "vision_tower.encoder.layers.1.self_attn.q_proj.weight");
}

TEST(ToMmproj, Gemma3HasNoUseForSiglipsPooling) {
  Checkpoint input = family("gemma3-vl");
  const auto without = projector_of(input);
  add_floats(input, "vision_tower.vision_model.head.probe", {1, 1, 64});
  add_floats(input, "vision_tower.vision_model.head.mlp.fc1.weight", {96, 64});
  const auto made = projector_of(input);
  ASSERT_TRUE(made && without) << made.error().text();
  EXPECT_EQ(made->tensors.size(), without->tensors.size());
}

TEST(ToMmproj, PixtralTakesTheRowOfItsBreakTokenWhereNamesAreBare) {
  EXPECT_EQ(source_of(projector_of(family("mistral3")), "v.token_embd.img_break"), "none");
  Checkpoint input = family("mistral3");
  rename_all(input, "language_model.", "");
  const auto made = projector_of(input);
  ASSERT_TRUE(made) << made.error().text();
  const Tensor* row = made->find_tensor("v.token_embd.img_break");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->shape, std::vector<uint64_t>{128});
  EXPECT_EQ(row->codec->name, "f32");

  input.set_document("tokenizer_config.json", "{}");
  input.set_document("tokenizer.json", R"({"added_tokens": []})");
  EXPECT_NE(error_of(input).find("no token [IMG_BREAK]"), std::string::npos) << error_of(input);
}

TEST(ToMmproj, PixtralSaysItsActivation) {
  const auto silu = projector_of(with_vision("mistral3", {{"hidden_act", "silu"}}));
  ASSERT_TRUE(silu);
  EXPECT_NE(silu->metadata.find("clip.use_silu"), nullptr);
  EXPECT_EQ(silu->metadata.find("clip.use_gelu"), nullptr);
  EXPECT_NE(error_of(with_vision("mistral3", {{"hidden_act", "relu"}})).find("silu and gelu"),
            std::string::npos);
}

TEST(ToMmproj, ALlavaMustHavePixtralsTower) {
  Checkpoint input = with_vision("mistral3", {{"model_type", "clip_vision_model"}});
  set_document_field(input, "config.json", "architectures", {"LlavaForConditionalGeneration"});
  EXPECT_NE(error_of(input).find("model_type is 'clip_vision_model'"), std::string::npos)
      << error_of(input);
}

TEST(ToMmproj, Llama4RefusesWhatLlamaCppCannotCompute) {
  EXPECT_NE(error_of(with_vision("llama4", {{"hidden_act", "silu"}})).find("gelu alone"),
            std::string::npos);
  EXPECT_NE(error_of(with_vision("llama4", {{"pixel_shuffle_ratio", 0}})).find("more than 0"),
            std::string::npos);
  const auto third = projector_of(with_vision("llama4", {{"pixel_shuffle_ratio", 0.34}}));
  EXPECT_EQ(number_of(third, "clip.vision.projector.scale_factor"), 2u);
}

TEST(ToMmproj, Gemma4WritesTheBoundsOfClippedLayers) {
  Checkpoint input = family("gemma4-vl");
  add_floats(input, "model.vision_tower.encoder.layers.0.self_attn.q_proj.input_max", {});
  add_floats(input, "model.vision_tower.encoder.layers.1.mlp.down_proj.output_min", {});
  add_floats(input, "model.vision_tower.encoder.layers.1.layer_scalar", {});
  const auto made = projector_of(input);
  ASSERT_TRUE(made) << made.error().text();
  for (const char* name :
       {"v.blk.0.attn_q.input_max", "v.blk.1.ffn_down.output_min", "v.blk.1.out_scale.weight"}) {
    EXPECT_EQ(type_of(made, name), "f32") << name;
    EXPECT_EQ(made->find_tensor(name)->shape, std::vector<uint64_t>{1}) << name;
  }
}

Checkpoint gemma4_that_hears() {
  Checkpoint out = family("gemma4-vl");
  set_document_field(out, "config.json", "audio_config",
                     {{"hidden_size", 32}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}});
  const std::string tower = "model.audio_tower.";
  add_floats(out, tower + "subsample_conv_projection.layer0.conv.weight", {8, 1, 3, 3});
  add_floats(out, tower + "subsample_conv_projection.input_proj_linear.weight", {32, 8});
  add_floats(out, tower + "layers.0.lconv1d.depthwise_conv1d.weight", {32, 1, 5});
  add_floats(out, tower + "layers.0.lconv1d.linear_start.linear.weight", {64, 32});
  add_floats(out, tower + "layers.0.self_attn.per_dim_scale", {16});
  add_floats(out, "model.embed_audio.embedding_projection.weight", {64, 48});
  return out;
}

TEST(ToMmproj, Gemma4MayHear) {
  const auto made = projector_of(gemma4_that_hears(), {{"mmproj-type", "q8_0"}});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(number_of(made, "clip.audio.feed_forward_length"), 128u);
  EXPECT_EQ(number_of(made, "clip.audio.num_mel_bins"), 128u);
  EXPECT_EQ(*made->metadata.find_text("clip.audio.projector_type"), "gemma4a");
  EXPECT_EQ(type_of(made, "a.conv1d.0.weight"), "f32");
  EXPECT_EQ(type_of(made, "a.input_projection.weight"), "f32");
  EXPECT_EQ(type_of(made, "a.blk.0.conv_pw1.weight"), "q8_0");
  EXPECT_EQ(type_of(made, "mm.a.input_projection.weight"), "f16")
      << "48 values are not whole blocks";
  EXPECT_EQ(type_of(made, "a.blk.0.conv_dw.weight"), "f32");
  EXPECT_EQ(made->find_tensor("a.blk.0.conv_dw.weight")->shape, (std::vector<uint64_t>{32, 5}));
  const Tensor* scale = made->find_tensor("a.blk.0.per_dim_scale.weight");
  ASSERT_NE(scale, nullptr);
  const auto values = read_values(*scale, 16);
  ASSERT_TRUE(values);
  EXPECT_NEAR((*values)[4], std::log(2.0), 1e-6) << "softplus of 0";
}

TEST(ToMmproj, TensorsOfATowerThatTheConfigurationDoesNotNameAreRefused) {
  Checkpoint input = gemma4_that_hears();
  set_document_field(input, "config.json", "audio_config", {});
  EXPECT_NE(error_of(input).find("config.json: audio_config"), std::string::npos)
      << error_of(input);
}

TEST(ToMmproj, Qwen25VlNeedsFullAttentionInEveryNthLayer) {
  const auto made = [](const JsonValue& layers) {
    return projector_of(with_vision("qwen25-vl", {{"fullatt_block_indexes", layers}}));
  };
  EXPECT_EQ(number_of(made(JsonValue::array({2, 5, 8})), "clip.vision.n_wa_pattern"), 3u);
  for (const JsonValue& layers : {JsonValue::array({2, 4}), JsonValue::array()}) {
    const auto refused = made(layers);
    ASSERT_FALSE(refused) << layers.dump();
    EXPECT_NE(refused.error().text().find("every n-th layer"), std::string::npos);
  }
}

TEST(ToMmproj, MiniCpmV46DoesWithoutItsFirstMergerWhereItDownsamplesLess) {
  Checkpoint input = family("minicpm-v46");
  constexpr const char* kScale = "clip.vision.projector.scale_factor";
  EXPECT_EQ(number_of(projector_of(input), kScale), 4u);
  EXPECT_NE(source_of(projector_of(input), "v.vit_merger.ln1.weight"), "none");
  set_document_field(input, "preprocessor_config.json", "downsample_mode", "4x");
  EXPECT_EQ(number_of(projector_of(input), kScale), 2u);
  EXPECT_EQ(source_of(projector_of(input), "v.vit_merger.ln1.weight"), "none");
  set_document_field(input, "preprocessor_config.json", "downsample_mode", "8x");
  EXPECT_NE(error_of(input).find("downsample_mode is '8x'"), std::string::npos);
}

TEST(ToMmproj, Granite4VisionReadsLayersThatItHas) {
  Checkpoint input = family("granite4-vision");
  set_document_field(input, "config.json", "deepstack_layer_map", {{1, 0}, {9, 2}});
  EXPECT_NE(error_of(input).find("9 is not one of 3 layers"), std::string::npos);
}

TEST(ToMmproj, AnAudioTowerNeedsNoPreprocessor) {
  Checkpoint input = family("voxtral");
  std::erase_if(input.documents,
                [](const auto& each) { return each.path == "preprocessor_config.json"; });
  const auto made = projector_of(input);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->metadata.find("clip.has_vision_encoder"), nullptr);
  EXPECT_EQ(number_of(made, "clip.audio.projector.stack_factor"), 4u);
}

}  // namespace
}  // namespace ckpt::mmproj_test
