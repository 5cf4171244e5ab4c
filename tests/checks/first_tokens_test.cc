// Models that transformers does not make, or that fail or compute NaN with their first tokens. Each
// answer is that of the class itself, of 4.57.6 and 5.24.0, over 40 tokens.
#include <gtest/gtest.h>

#include "tests/checks/field_changes.h"

namespace ckpt {
namespace {

constexpr const char *kExaone = "families/exaone4/hf", *kMixtral = "families/mixtral/hf";
constexpr const char *kGptOss = "families/gpt-oss/hf", *kGemma2 = "families/gemma2/hf";
constexpr const char *kRope = "/rope_parameters", *kWindow = "/sliding_window";

TEST(FirstTokens, SizesOfHeadsAreNumbersTheClassCanUse) {
  expect_of("transformers-5",
            {
                {"families/cohere2/hf", kConfig, "/head_dim", "null", "C33 unloaded"},
                {"families/ernie45-moe/hf", kConfig, "/head_dim", "null", "C33 unloaded"},
                {kExaone, kConfig, "/head_dim", "32.0", "C33 unloaded"},
                {kExaone, kConfig, "/head_dim", "32", ""},
                {kLlama, kConfig, "/head_dim", "null", ""},
                {kMixtral, kConfig, "/head_dim", "null", ""},
            });
  expect_of("transformers-4.57", {
                                     {kLlama, kConfig, "/head_dim", "null", ""},
                                     {kLlama, kConfig, "/head_dim", "64.0", "C33 unloaded"},
                                 });
  expect_of("vllm", {{"families/cohere2/hf", kConfig, "/head_dim", "null", ""}});
}

TEST(FirstTokens, LayersThatSlideHaveAWindow) {
  constexpr const char* kSliding =
      R"(["sliding_attention", "sliding_attention", "sliding_attention"])";
  expect_of("transformers-5", {
                                  {kGptOss, kConfig, kWindow, "null", "C24 unsound"},
                                  {kGptOss, kConfig, "/layer_types", "null", ""},
                                  {kExaone, kConfig, kWindow, "0", "C24 unsound"},
                                  {kExaone, kConfig, kWindow, "4", ""},
                                  {kMixtral, kConfig, kWindow, "0", "C24 unsound"},
                                  {kMixtral, kConfig, kWindow, "null", ""},
                                  {"families/phi3/hf", kConfig, kWindow, "0", "C24 unsound"},
                                  {kQwen3, kConfig, "/layer_types", kSliding, "C24 unsound"},
                                  {kQwen3, kConfig, kWindow, "", ""},
                                  {"families/smollm3/hf", kConfig, "/layer_types/0",
                                   "\"sliding_attention\"", "C24 unsound"},
                                  {"families/llama4/hf", kConfig, "/text_config/layer_types/0",
                                   "\"sliding_attention\"", "C24 unsound"},
                                  {"families/lfm2/hf", kConfig, "/layer_types/0", "\"conv\"", ""},
                              });
  expect_of("transformers-4.57", {
                                     {kGemma2, kConfig, kWindow, "null", "C24 unsound"},
                                     {kMixtral, kConfig, kWindow, "0", ""},
                                 });
}

TEST(FirstTokens, ClassesThatRotateAllOfAHeadHaveNoShare) {
  constexpr const char* kHalf =
      R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64,
          "partial_rotary_factor": 0.5, "rope_theta": 10000.0})";
  constexpr const char* kAll =
      R"({"rope_type": "linear", "factor": 4.0, "partial_rotary_factor": 1,
          "rope_theta": 10000.0})";
  constexpr const char* kUnscaled =
      R"({"rope_type": "default", "partial_rotary_factor": 0.5, "rope_theta": 10000.0})";
  constexpr const char* kShare = "/partial_rotary_factor";
  expect_of("transformers-5",
            {
                {kLlama, kConfig, kRope, kHalf, "C19 unsound"},
                {kQwen3, kConfig, kRope, kHalf, "C19 unsound"},
                {kMixtral, kConfig, kRope, kHalf, "C19 unsound"},
                {kLlama, kConfig, kRope, kAll, ""},
                {kLlama, kConfig, kRope, kUnscaled, ""},
                {kLlama, kConfig, kShare, "0.5", ""},
                {kExaone, kConfig, kShare, "0.5", "C19 unsound"},
                {"families/gemma3/hf", kConfig, kShare, "0.5", "C19 unsound"},
                {"families/gemma3/hf", kConfig, kRope, kHalf, ""},  // not read: one for all layers
                {"families/glm4/hf", kConfig, kRope, kHalf, ""},
            });
  expect_of("transformers-4.57", {
                                     {kLlama, kConfig, kShare, "0.5", "C19 unsound"},
                                     {kLlama, kConfig, kShare, "1.0", ""},
                                     {kLlama, kConfig, "/rope_scaling", kHalf, ""},
                                     {"families/glm4/hf", kConfig, kShare, "0.25", ""},
                                 });
}

TEST(FirstTokens, ExpertsAreThoseThatTheClassReads) {
  constexpr const char *kChosen = "/num_experts_per_tok", *kGroups = "/n_group";
  constexpr const char *kDeepseek = "families/deepseek-v3/hf", *kGreedy = "families/deepseek-v2/hf";
  expect_of("transformers-5", {
                                  {kGptOss, kConfig, kChosen, "", "C24 unsound"},
                                  {"families/qwen3-moe/hf", kConfig, kChosen, "", "C24 unsound"},
                                  {kMixtral, kConfig, kChosen, "", ""},  // two of three
                                  {kGptOss, kConfig, kGroups, "2", ""},
                                  {kMixtral, kConfig, kGroups, "2", ""},
                                  {kDeepseek, kConfig, kGroups, "3", "C45 unsound"},
                                  {kGreedy, kConfig, kGroups, "3", ""},
                              });
  expect_of("vllm", {
                        {kGptOss, kConfig, kGroups, "2", ""},
                        {kGreedy, kConfig, kGroups, "3", "C45 unsound"},
                    });
  const FieldChange groups{kGptOss, kConfig, kGroups, "2", ""};
  EXPECT_NE(findings_of_change(groups, "llama.cpp").find("C45 unsound"), std::string::npos);
}

TEST(FirstTokens, NothingIsDividedByZero) {
  constexpr const char *kFactor = "/rope_scaling/factor", *kHigh = "/rope_scaling/high_freq_factor";
  constexpr const char* kDynamic =
      R"({"rope_type": "dynamic", "factor": 0.0, "rope_theta": 10000.0})";
  constexpr const char* kLinear = R"({"rope_type": "linear", "factor": 0, "rope_theta": 10000.0})";
  expect_of("transformers-5",
            {
                {kExaone, kConfig, kFactor, "null", "C17 unloaded"},
                {kExaone, kConfig, kFactor, "\"16\"", "C17 unloaded"},
                {kExaone, kConfig, kFactor, "0.0", "C17 unsound"},
                {kExaone, kConfig, kHigh, "0.0", "C17 unloaded"},
                {kExaone, kConfig, kHigh, "1.0", ""},  // that of low frequencies
                {kLlama, kConfig, kRope, kLinear, "C17 unsound"},
                {kLlama, kConfig, kRope, kDynamic, ""},
                {kGptOss, kConfig, "/rope_parameters/rope_theta", "1.0", "C17 unloaded"},
                {kLlama, kConfig, "/rope_parameters/rope_theta", "1.0", ""},
                {kGemma2, kConfig, "/final_logit_softcapping", "0.0", "C24 unsound"},
                {kGemma2, kConfig, "/final_logit_softcapping", "null", ""},
            });
  expect_of("transformers-4.57", {
                                     {kExaone, kConfig, kFactor, "0.0", "C17 unsound"},
                                     {kExaone, kConfig, kHigh, "0", "C17 unloaded"},
                                 });
}

}  // namespace
}  // namespace ckpt
