// Configurations and tensors that differ from released models, family by family.
#include <gtest/gtest.h>

#include <cmath>

#include "core/json/json_read.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
namespace {

Checkpoint variant(const std::string& folder, const char* changes) {
  auto opened = open(testdata("families/" + folder + "/hf"));
  CKPT_CHECK(opened.has_value());
  const Document* document = opened->find_document("config.json");
  JsonValue config = JsonValue::parse(document->text());
  config.update(JsonValue::parse(changes));
  opened->set_document("config.json", config.dump());
  return std::move(*opened);
}

Result<Checkpoint> gguf_of_variant(Checkpoint input, std::vector<std::string>* notes = nullptr) {
  return run("to-gguf", std::move(input), options({{"outtype", "bf16"}, {"tokenizer-pre", "mpt"}}),
             notes);
}

// A tensor of another name with the values of one that is there.
void add_as(Checkpoint& checkpoint, std::string_view like, const std::string& name) {
  Tensor copy = tensor(checkpoint, like);
  copy.name = name;
  checkpoint.tensors.push_back(std::move(copy));
}

std::string windows_of(const char* changes) {
  const auto made = gguf_of_variant(variant("exaone4", changes));
  if (!made) return made.error().text();
  const MetaValue* found = made->metadata.find("exaone4.attention.sliding_window_pattern");
  if (found == nullptr) return "none";
  std::string out;
  const auto& list = std::get<MetaArray>(found->value);
  for (uint64_t i = 0; i < list.count(); ++i) out += number_at(list, i) != 0 ? 'L' : 'G';
  return out;
}

TEST(ToGguf, WindowsFollowThePatternWhereLayerTypesAreMissing) {
  EXPECT_EQ(windows_of("{}"), "LG");
  EXPECT_EQ(windows_of(R"({"layer_types": null, "sliding_window_pattern": 2})"), "LG");
  EXPECT_EQ(windows_of(R"({"layer_types": null, "sliding_window_pattern": 1})"), "GG");
  EXPECT_EQ(windows_of(R"({"layer_types": null, "sliding_window_pattern": "GL"})"), "GL");
  EXPECT_EQ(windows_of(R"({"layer_types": null, "sliding_window_pattern": null})"), "LL");
  EXPECT_EQ(windows_of(R"({"sliding_window": null})"), "none");
  for (const char* bad : {"0", "\"\"", "[]", "-1"}) {
    const std::string changes =
        fmt::format(R"({{"layer_types": null, "sliding_window_pattern": {}}})", bad);
    EXPECT_NE(windows_of(changes.c_str()).find("a number above 0 or letters"), std::string::npos)
        << bad;
  }
}

Metadata keys_with_rope(const std::string& folder, const char* rope) {
  Checkpoint input = variant(folder, "{}");
  JsonValue config = JsonValue::parse(input.find_document("config.json")->text());
  config.erase("rope_parameters");
  config.update(JsonValue::parse(rope));
  input.set_document("config.json", config.dump());
  const auto made = gguf_of_variant(std::move(input));
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text());
  return made ? made->metadata : Metadata();
}

TEST(ToGguf, RopeParametersThatConfigJsonLacksAreThoseOfTheClass) {
  const std::pair<const char*, const char*> kDefaults[] = {
      {"gemma4", R"({"rope_parameters": {
           "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
           "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                              "rope_theta": 1000000.0}}})"},
      {"gpt-oss", R"({"rope_parameters": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0,
           "beta_slow": 1.0, "truncate": false, "original_max_position_embeddings": 4096,
           "rope_theta": 150000.0}})"},
      {"ministral3", R"({"rope_parameters": {"type": "yarn", "factor": 16.0, "mscale": 1.0,
           "rope_theta": 1000000.0, "original_max_position_embeddings": 16384,
           "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0,
           "llama_4_scaling_beta": 0.1}})"}};
  for (const auto& [folder, rope] : kDefaults) {
    EXPECT_EQ(keys_with_rope(folder, "{}"), keys_with_rope(folder, rope)) << folder;
  }
  const char* none = R"({"rope_parameters": {}})";
  EXPECT_NE(keys_with_rope("gpt-oss", "{}"), keys_with_rope("gpt-oss", none));
  for (const char* null : {R"({"rope_parameters": null})", R"({"rope_scaling": null})"}) {
    EXPECT_EQ(keys_with_rope("gpt-oss", null), keys_with_rope("gpt-oss", none)) << null;
    EXPECT_EQ(keys_with_rope("ministral3", null), keys_with_rope("ministral3", "{}")) << null;
  }
}

TEST(ToGguf, TensorsThatLlamaCppWouldNotReadAreRefusedByName) {
  Checkpoint biased = variant("cohere2", "{}");
  add_as(biased, "model.norm.weight", "model.layers.0.self_attn.q_proj.bias");
  expect_error(gguf_of_variant(std::move(biased)), ErrorCode::kUnsupported,
               "model.layers.0.self_attn.q_proj.bias");
}

TEST(ToGguf, NormsOfSingleHeadsAreStackedIfAllAreThere) {
  Checkpoint normed = variant("stablelm", "{}");
  for (const char* head : {"0", "1", "2", "3"}) {
    add_as(normed, "model.norm.weight",
           fmt::format("model.layers.0.self_attn.q_layernorm.norms.{}.weight", head));
    if (*head == '3') continue;
    expect_error(gguf_of_variant(normed), ErrorCode::kCorrupt, "make 'blk.0.attn_q_norm.weight'");
  }
  const auto made = gguf_of_variant(normed);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(tensor(*made, "blk.0.attn_q_norm.weight").shape, (std::vector<uint64_t>{4, 64}));
  add_as(normed, "model.norm.weight", "model.layers.1.self_attn.q_layernorm.norms.4.weight");
  expect_error(gguf_of_variant(std::move(normed)), ErrorCode::kCorrupt, "has 4 of them");
}

// A layer of full attention with the heads of those that slide.
Checkpoint gemma4_of_equal_heads(const char* changes) {
  Checkpoint out = variant("gemma4", changes);
  for (const char* name : {"q_proj", "o_proj", "q_norm"}) {
    const std::string own = fmt::format("model.layers.3.self_attn.{}.weight", name);
    Tensor copy = tensor(out, fmt::format("model.layers.2.self_attn.{}.weight", name));
    copy.name = own;
    tensor(out, own) = std::move(copy);
  }
  return out;
}

// The size of a head is the layer's, for the shapes of parameters and for the keys.
TEST(ToGguf, FullAttentionOfGemma4HasTheHeadsThatItsLayersHave) {
  const std::pair<Checkpoint, uint64_t> kModels[] = {
      {gemma4_of_equal_heads(R"({"per_layer_config": {}})"), 32},
      {gemma4_of_equal_heads(R"({"per_layer_config": {"0": {"head_dim": 48}}})"), 32},
      {variant("gemma4", R"({"per_layer_config": {"3": {"head_dim": 64}}})"), 64},
      {variant("gemma4", R"({"per_layer_config": null, "global_head_dim": 64})"), 64}};
  for (const auto& [model, head] : kModels) {
    const auto made = gguf_of_variant(model);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    EXPECT_EQ(made->metadata.find_unsigned("gemma4.attention.key_length"), head);
    EXPECT_EQ(made->metadata.find_unsigned("gemma4.rope.dimension_count"), head);
    EXPECT_EQ(made->find_tensor("rope_freqs.weight")->shape, (std::vector<uint64_t>{head / 2}));
  }
  const char* differ = R"({"layer_types": ["sliding_attention", "sliding_attention",
      "full_attention", "full_attention"],
      "per_layer_config": {"2": {"head_dim": 32}, "3": {"head_dim": 64}}})";
  expect_error(gguf_of_variant(variant("gemma4", differ)), ErrorCode::kUnsupported,
               "heads of 32 and of 64 values");
}

TEST(ToGguf, SharedExpertsOfCohere2AreTakenIfTheyAreAveraged) {
  Checkpoint shared = variant("cohere2-moe", R"({"num_shared_experts": 1})");
  for (const char* layer : {"0", "1", "2"}) {
    for (const char* name : {"gate", "up", "down"}) {
      const std::string mlp = fmt::format("model.layers.{}.mlp.", layer);
      add_as(shared, fmt::format("{}experts.0.{}_proj.weight", mlp, name),
             fmt::format("{}shared_experts.{}_proj.weight", mlp, name));
    }
  }
  const auto made = gguf_of_variant(std::move(shared));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->metadata.find_unsigned("cohere2moe.expert_shared_count"), 1u);
  EXPECT_EQ(made->metadata.find_unsigned("cohere2moe.expert_shared_feed_forward_length"), 32u);
  EXPECT_NE(made->find_tensor("blk.1.ffn_up_shexp.weight"), nullptr);
  const char* added = R"({"num_shared_experts": 1, "shared_expert_combination_strategy": "sum"})";
  expect_error(gguf_of_variant(variant("cohere2-moe", added)), ErrorCode::kUnsupported, "averaged");
}

TEST(ToGguf, DynamicRopeOfHunyuanVlWithoutSectionsIsALargerBase) {
  const auto made = gguf_of_variant(variant(
      "hunyuan-vl", R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}, "head_dim": 16})"));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const MetaValue* base = made->metadata.find("hunyuan_vl.rope.freq_base");
  EXPECT_NEAR(std::get<double>(base->value), 1e4 * std::pow(50.0, 16.0 / 14), 1);
}

TEST(ToGguf, TheEndOfAChatReplacesOnlyAnEndThatTheFilesHave) {
  const char* key = "tokenizer.ggml.eos_token_id";
  const auto one = gguf_of_variant(variant("internlm3", "{}"));
  const auto list = gguf_of_variant(variant("internlm3", R"({"eos_token_id": [2, 3]})"));
  ASSERT_TRUE(one.has_value() && list.has_value());
  EXPECT_NE(one->metadata.find(key), nullptr);
  EXPECT_EQ(list->metadata.find(key), nullptr);
}

// transformers 5 saves fields of experts for a dense model, too.
TEST(ToGguf, ADenseNemotronHHasNoKeysOfExperts) {
  const auto made = gguf_of_variant(variant("nemotron-h", R"({"n_routed_experts": 8,
      "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1})"));
  const auto plain = gguf_of_variant(variant("nemotron-h", "{}"));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->metadata, plain->metadata);
}

TEST(ToGguf, AHeadThatLlamaCppReadsFromTheEmbeddingsIsLeftOutOnlyIfItIsTied) {
  for (const char* family : {"gemma", "gemma2", "cohere", "cohere2"}) {
    Checkpoint tied = variant(family, "{}");
    add_as(tied, "model.embed_tokens.weight", "lm_head.weight");
    const auto made = gguf_of_variant(std::move(tied));
    ASSERT_TRUE(made.has_value()) << family << ": " << made.error().text();
    const auto plain = gguf_of_variant(variant(family, "{}"));
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(names_of(*made), names_of(*plain)) << family;
    Checkpoint untied = variant(family, R"({"tie_word_embeddings": false})");
    add_as(untied, "model.embed_tokens.weight", "lm_head.weight");
    expect_error(gguf_of_variant(std::move(untied)), ErrorCode::kUnsupported, "lm_head.weight");
  }
}

TEST(ToGguf, ErniesLayersForMultiTokenPredictionAreLeftOutWithANote) {
  Checkpoint input = variant("ernie45-moe", "{}");
  add_as(input, "model.norm.weight", "model.mtp_emb_norm.0.weight");
  std::vector<std::string> notes;
  const auto made = gguf_of_variant(std::move(input), &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto plain = gguf_of_variant(variant("ernie45-moe", "{}"));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(names_of(*made), names_of(*plain));
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("multi-token prediction") != std::string::npos;
  }));
}

TEST(ToGguf, ErnieWithoutSharedExpertsSaysNoWidthOfThem) {
  const auto made = gguf_of_variant(variant("ernie45-moe", R"({"moe_num_shared_experts": 0})"));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->metadata.find_unsigned("ernie4_5-moe.expert_shared_count"), 0u);
  EXPECT_EQ(made->metadata.find("ernie4_5-moe.expert_shared_feed_forward_length"), nullptr);
}

TEST(ToGguf, ScalingThatGraniteFilesHaveNoPlaceForIsRefused) {
  const char* scaled = R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})";
  for (const char* folder : {"granite", "granite-moe-shared"}) {
    expect_error(gguf_of_variant(variant(folder, scaled)), ErrorCode::kUnsupported,
                 "rope scaling llama3");
  }
}

TEST(ToGguf, AShareOfRotatedValuesMustBeOne) {
  for (const char* bad : {"null", "1.5", "-0.1", "\"half\""}) {
    const std::string changes = fmt::format(R"({{"rotary_pct": {}}})", bad);
    expect_error(gguf_of_variant(variant("cohere2", changes.c_str())), ErrorCode::kCorrupt,
                 "rotary_pct");
  }
}

// The part of a head that is turned is the class's where config.json does not say.
TEST(ToGguf, Phi2WithoutAPartialRotaryFactorTurnsHalfOfAHead) {
  Checkpoint without = variant("phi2", "{}");
  JsonValue config = JsonValue::parse(without.find_document("config.json")->text());
  config.erase("partial_rotary_factor");
  without.set_document("config.json", config.dump());
  const auto made = gguf_of_variant(std::move(without));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->metadata.find_unsigned("phi2.rope.dimension_count"), 8u);
}

TEST(ToGguf, QueryKeyAndValueOfHeadsMustBeThirds) {
  expect_error(gguf_of_variant(variant("gpt-neox", R"({"num_attention_heads": 7})")),
               ErrorCode::kCorrupt, "expected q, k and v of 7 heads");
}

}  // namespace
}  // namespace ckpt
