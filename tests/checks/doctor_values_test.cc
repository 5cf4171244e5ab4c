// Values in the documents of a model, each changed in one place: what the doctor says of it, and
// that it says nothing of it before.
#include <gtest/gtest.h>

#include "tests/checks/field_changes.h"

namespace ckpt {
namespace {

TEST(DoctorValues, ReportsNothingForValidModels) {
  for (const char* model : {kLlama, kQwen3, kVisionModel, "qwen35moe-micro"}) {
    EXPECT_EQ(value_findings(documents(model)), "") << model;
    EXPECT_EQ(value_findings(documents(model), "vllm"), "") << model;
    EXPECT_EQ(value_findings(documents(model), "sglang"), "") << model;
    EXPECT_EQ(value_findings(documents(model), "transformers-5"), "") << model;
  }
}

TEST(DoctorValues, RopeTypesAreKnownAndComplete) {
  expect_all({
      {kLlama, kConfig, "/rope_parameters/rope_type", "\"spiral\"", "C17 unloaded"},
      {kLlama, kConfig, "/rope_parameters/rope_type", "7", "C17 unloaded"},
      {kLlama, kConfig, "/rope_parameters/rope_type", "", "C17 unloaded"},
      {kLlama, kConfig, "/rope_parameters/rope_type", "\"linear\"", "C17 unloaded"},
      {kLlama, kConfig, "/rope_parameters", "7", "C17 unloaded"},
      {kLlama, kConfig, "/rope_parameters", "[]", ""},
      {kLlama, kConfig, "/rope_scaling", "{}", "C17 unloaded"},
      {kLlama, kConfig, "/rope_scaling", R"({"type": "linear", "factor": 2.0})", ""},
      {kLlama, kConfig, "/rope_scaling", R"({"rope_type": "linear", "factor": "2"})",
       "C17 unloaded"},
      {kLlama, kConfig, "/rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})", "C17 unloaded"},
      {kLlama, kConfig, "/rope_scaling",
       R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1],
           "original_max_position_embeddings": 64})",
       "C17 unloaded"},
      {kVisionModel, kConfig, "/text_config/rope_parameters/mrope_section", "[4, 2]",
       "C18 unloaded"},
      {kVisionModel, kConfig, "/text_config/rope_parameters/mrope_section", "[]", ""},
      {kVisionModel, kConfig, "/text_config/partial_rotary_factor", "0.5", "C18 unloaded"},
      {kVisionModel, kConfig, "/text_config/partial_rotary_factor", "2", "C19 unloaded"},
      {kVisionModel, kConfig, "/text_config/rope_parameters/rope_theta", "\"1e7\"", "C25 unloaded"},
      {kLlama, kConfig, "/rope_parameters/rope_theta", "\"1e7\"", "C20 unsound"},
      {kQwen3, kConfig, "/rope_parameters/rope_theta", "1000000.0", "C20 unsound"},
  });
  const FieldChange moved{kQwen3, kConfig, "/rope_parameters/rope_theta", "1000000.0", ""};
  EXPECT_EQ(findings_of_change(moved, "vllm"), "");
}

TEST(DoctorValues, SizesAreWholeNumbersAboveZero) {
  expect_all({
      {kLlama, kConfig, "/hidden_size", "\"256\"", "C21 unloaded"},
      {kLlama, kConfig, "/hidden_size", "256.5", "C21 unloaded"},
      {kLlama, kConfig, "/num_hidden_layers", "-1", "C21 unloaded"},
      {kLlama, kConfig, "/vocab_size", "null", "C21 unloaded"},
      {kLlama, kConfig, "/num_key_value_heads", "null", ""},
      {kLlama, kConfig, "/head_dim", "0", "C22 unsound"},
      {kLlama, kConfig, "/intermediate_size", "true", "C22 unsound"},
      {kLlama, kConfig, "/max_position_embeddings", "\"2048\"", "C23 unloaded"},
      {kLlama, kConfig, "/max_position_embeddings", "-2048", "C23 unloaded"},
      {kLlama, kConfig, "/max_position_embeddings", "2048.5", ""},
      {kLlama, kConfig, "/rms_norm_eps", "\"1e-6\"", "C24 unsound"},
      {kVisionModel, kConfig, "/text_config/linear_num_value_heads", "[4]", "C21 unloaded"},
      {kVisionModel, kConfig, "/vision_config/depth", "null", "C21 unloaded"},
      {"qwen35moe-micro", kConfig, "/num_experts", "0", "C21 unloaded, C24 unsound"},
      {"qwen35moe-micro", kConfig, "/num_experts_per_tok", "9", "C24 unsound"},
  });
}

TEST(DoctorValues, WordsAreThoseOfTheProgram) {
  expect_all({
      {kLlama, kConfig, "/dtype", "\"bf16\"", "C26 unloaded"},
      {kLlama, kConfig, "/dtype", "[\"bfloat16\"]", "C26 unloaded"},
      {kLlama, kConfig, "/torch_dtype", "\"bf16\"", ""},  // dtype goes before it
      {kLlama, kConfig, "/hidden_act", "\"SiLU\"", "C27 unloaded"},
      {kLlama, kConfig, "/hidden_act", "", ""},
      {kVisionModel, kConfig, "/vision_config/hidden_act", "\"swish\"", "C27 unloaded"},
      {kQwen3, kConfig, "/layer_types", "[7, 7, 7]", "C28 unloaded"},
      {kQwen3, kConfig, "/layer_types", "\"full_attention\"", "C28 unloaded"},
      {kQwen3, kConfig, "/layer_types", "null", ""},
      {kLlama, kConfig, "/architectures", "\"LlamaForCausalLM\"", "C29 unloaded"},
      {kLlama, kConfig, "/architectures", "[\"GPT2LMHeadModel\"]", "C30 unloaded"},
      {kLlama, kConfig, "/architectures", "[\"MistralForCausalLM\"]", ""},
      {kVisionModel, kConfig, "/architectures", "[\"LlamaForCausalLM\"]", "C30 unloaded"},
      {kVisionModel, kConfig, "/text_config", "[]", "C31 unloaded"},
      {kVisionModel, kConfig, "/text_config/is_encoder_decoder", "true", "C32 unloaded"},
      {kLlama, kConfig, "/is_encoder_decoder", "true", ""},
      {kVisionModel, kConfig, "/model_type", "\"qwen3\"", "C30 unloaded, C31 unloaded"},
  });
}

TEST(DoctorValues, Transformers5DemandsTypes) {
  const FieldChange changes[] = {
      {kLlama, kConfig, "/rms_norm_eps", "0", "C33 unloaded"},
      {kLlama, kConfig, "/use_cache", "1", "C33 unloaded"},
      {kLlama, kConfig, "/eos_token_id", "[1, 2]", ""},
      {kLlama, kConfig, "/eos_token_id", "\"2\"", "C33 unloaded"},
      {kQwen3, kConfig, "/attention_dropout", "null", "C33 unloaded"},
      {kVisionModel, kConfig, "/image_token_id", "true", "C33 unloaded"},
      {kVisionModel, kConfig, "/vision_config/patch_size", "[16, 16]", "C21 unloaded"},
      {kLlama, kConfig, "/rope_scaling", "{}", ""},
      {kLlama, kConfig, "/rope_parameters/rope_type", "", ""},
      {kLlama, kConfig, "/rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})", ""},
  };
  for (const FieldChange& change : changes) {
    EXPECT_EQ(findings_of_change(change, "vllm"), change.expected)
        << change.pointer << change.value;
  }
  EXPECT_EQ(findings_of_change({kLlama, kConfig, "/use_cache", "1", ""}), "");
}

TEST(DoctorValues, EveryPartOfAWrapperHasTheTypesOfItsClass) {
  const auto is_refused = [](const FieldChange& change, const char* profile) {
    return findings_of_change(change, profile).find("C33 unloaded") != std::string::npos;
  };
  constexpr const char *kQwenVl = "families/qwen3-vl/hf", *kMistral3 = "families/mistral3/hf";
  const FieldChange refused[] = {
      {kQwenVl, kConfig, "/vision_config/depth", "[3]", ""},
      {kQwenVl, kConfig, "/vision_config/spatial_merge_size", "2.0", ""},
      {kQwenVl, kConfig, "/vision_config/temporal_patch_size", "{}", ""},
      {kQwenVl, kConfig, "/vision_config/deepstack_visual_indexes", "7", ""},
      {kQwenVl, kConfig, "/vision_config", "7", ""},
      {kQwenVl, kConfig, "/text_config/attention_bias", "0", ""},
      {kMistral3, kConfig, "/vision_config/image_size", "false", ""},
      {kMistral3, kConfig, "/vision_config/initializer_range", "null", ""},
      {kMistral3, kConfig, "/vision_config/num_attention_heads", "4.0", ""},
      {kMistral3, kConfig, "/text_config/attention_dropout", "null", ""},
      {"families/gemma3-vl/hf", kConfig, "/vision_config/attention_dropout", "\"0\"", ""},
      {"families/cohere/hf", kConfig, "/layer_norm_eps", "1", ""},
      {"families/qwen25-vl/hf", kConfig, "/vision_config/window_size", "true", ""},
  };
  for (const char* profile : {"transformers-5", "vllm", "sglang"}) {
    for (const FieldChange& change : refused) {
      EXPECT_TRUE(is_refused(change, profile)) << profile << " " << change.pointer;
    }
    for (const FieldChange& change : {
             FieldChange{kQwenVl, kConfig, "/vision_config/patch_size", "[16, 16]", ""},
             FieldChange{kQwenVl, kConfig, "/vision_config/of_no_class", "{}", ""},
             FieldChange{kMistral3, kConfig, "/vision_config/model_type", "\"of_no_class\"", ""},
         }) {
      EXPECT_FALSE(is_refused(change, profile)) << profile << " " << change.pointer;
    }
  }
  EXPECT_FALSE(is_refused(refused[0], "vllm-0.17"));
  // Of classes that a server has otherwise, transformers' types are not asked.
  const FieldChange later{"families/deepseek-v3/hf", kConfig, "/num_mtp_layers", "\"x\"", ""};
  EXPECT_TRUE(is_refused(later, "transformers-5"));
  EXPECT_FALSE(is_refused(later, "sglang-0.5.12"));
}

TEST(DoctorValues, Transformers5ComputesWithSomeNumbersOfRope) {
  constexpr const char *kDeepseek = "families/deepseek-v3/hf", *kPhi3 = "families/phi3/hf";
  constexpr const char *kLlama4 = "families/llama4/hf", *kGptOss = "families/gpt-oss/hf";
  expect_of("transformers-5",
            {
                {kLlama4, kConfig, "/text_config/rope_parameters/high_freq_factor", "\"4.0\"",
                 "C17 unloaded"},
                {kLlama4, kConfig, "/text_config/rope_parameters/low_freq_factor", "null",
                 "C17 unloaded"},
                {kLlama4, kConfig, "/text_config/rope_parameters/factor", "null", "C17 unloaded"},
                {kLlama4, kConfig, "/text_config/rope_parameters/original_max_position_embeddings",
                 "\"256\"", "C17 unloaded"},
                {kLlama4, kConfig, "/text_config/rope_parameters/original_max_position_embeddings",
                 "0", ""},
                {kDeepseek, kConfig, "/rope_parameters/beta_fast", "\"32\"", "C17 unloaded"},
                {kDeepseek, kConfig, "/rope_parameters/beta_slow", "[1]", "C17 unloaded"},
                {kDeepseek, kConfig, "/rope_parameters/beta_fast", "null", ""},
                {kDeepseek, kConfig, "/rope_parameters/beta_fast", "0", ""},
                {kDeepseek, kConfig, "/rope_parameters/factor", "null", ""},
                {kDeepseek, kConfig, "/rope_parameters/mscale", "\"1\"", ""},
                {kDeepseek, kConfig, "/rope_parameters/original_max_position_embeddings", "null",
                 "C17 unloaded"},
                {kDeepseek, kConfig, "/rope_parameters/original_max_position_embeddings", "", ""},
                {kGptOss, kConfig, "/rope_parameters/original_max_position_embeddings", "0",
                 "C17 unloaded"},
                {kGptOss, kConfig, "/rope_parameters/truncate", "\"x\"", ""},
                {kPhi3, kConfig, "/rope_parameters/long_factor", "[1.0]", "C17 unloaded"},
                {kPhi3, kConfig, "/rope_parameters/short_factor", "{}", "C17 unloaded"},
                {kPhi3, kConfig, "/rope_parameters/short_factor", "[\"1\",1,1,1,1,1,1,1]",
                 "C17 unloaded"},
                {kPhi3, kConfig, "/rope_parameters/partial_rotary_factor", "0.5", "C17 unloaded"},
                {kPhi3, kConfig, "/rope_parameters/partial_rotary_factor", "null", "C17 unloaded"},
                {kPhi3, kConfig, "/rope_parameters/original_max_position_embeddings", "0", ""},
            });
}

TEST(DoctorValues, NumbersFitEachOther) {
  expect_of("vllm", {
                        {kLlama, kConfig, "/rope_parameters/rope_theta", "0.0", "C44 unsound"},
                        {kVisionModel, kConfig, "/text_config/rope_parameters/rope_theta", "-1",
                         "C44 unsound"},
                        {kLlama, kConfig, "/pad_token_id", "1000000", ""},
                        {"families/deepseek-v3/hf", kConfig, "/n_group", "3", "C45 unsound"},
                        {"families/deepseek-v3/hf", kConfig, "/n_group", "1", ""},
                        {"qwen35moe-micro", kConfig, "/n_group", "3", ""},
                    });
  for (const char* profile : {"transformers-4.57", "transformers-5"}) {
    expect_of(profile, {
        {kLlama, kConfig, "/pad_token_id", "1000000", "C46 unloaded"},
        {kLlama, kConfig, "/pad_token_id", "-1", ""},
    });
  }
}

TEST(DoctorValues, TransformersAsksForKeysAlone) {
  const FieldChange spiral{kLlama, kConfig, "/rope_parameters/rope_type", "\"spiral\"", ""};
  EXPECT_EQ(findings_of_change(spiral, "transformers-5"), "C17 unloaded");
  EXPECT_EQ(findings_of_change(spiral, "transformers-4.57"), "");
  const FieldChange linear{kLlama, kConfig, "/rope_parameters/rope_type", "\"linear\"", ""};
  EXPECT_EQ(findings_of_change(linear, "transformers-5"), "C17 unloaded");
  EXPECT_EQ(findings_of_change(linear, "transformers-4.57"), "");
  const FieldChange scaling{kLlama, kConfig, "/rope_scaling", R"({"rope_type": "linear"})", ""};
  EXPECT_EQ(findings_of_change(scaling, "transformers-4.57"), "C17 unloaded");
}

TEST(DoctorValues, TransformersMakesTheClassOfTheType) {
  for (const char* profile : {"transformers-4.57", "transformers-5"}) {
    const auto told = [&](const char* type) {
      return findings_of_change({kLlama, kConfig, "/model_type", type, ""}, profile);
    };
    EXPECT_EQ(told("\"gpt2\""), "C30 unsound");
    EXPECT_EQ(told("\"gemma2\""), "C30 unsound");
    EXPECT_EQ(told("\"nonsense\""), "");  // C02
  }
}

TEST(DoctorValues, StatementsAboutQuantizationAreOfTheirForm) {
  expect_all({
      {kLlama, kConfig, "/quantization_config", "null", "Q25 unloaded"},
      {kLlama, kConfig, "/quantization_config", R"({"quant_method": "fp8", "producer": []})",
       "Q25 unloaded, Q27 unloaded"},
      {kLlama, kConfig, "/quantization_config", R"({"quant_method": "zip"})", "Q26 unloaded"},
      {kLlama, kConfig, "/quantization_config", R"({"quant_method": 7})", "Q26 unloaded"},
      {kLlama, kConfig, "/quantization_config", R"({"quant_method": "gptq", "bits": 4})",
       "Q27 unloaded"},
      {kLlama, kConfig, "/quantization_config",
       R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false})", ""},
      {kLlama, kConfig, "/quantization_config", R"({"quant_method": "modelopt"})", "Q27 unloaded"},
      {kLlama, kConfig, "/quantization_config",
       R"({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": "lm_head"})", "Q27 unloaded"},
      {kLlama, kConfig, "/quantization_config",
       R"({"quant_method": "modelopt_fp4", "quant_algo": "FP8"})", "Q27 unloaded"},
  });
}

TEST(DoctorValues, TheTokenizerHasItsForm) {
  expect_all({
      {kLlama, kTokenizer, "/more", "7", "T14 unloaded"},
      {kLlama, kTokenizer, "/version", "\"9.9\"", "T14 unloaded"},
      {kLlama, kTokenizer, "/version", "", ""},
      {kLlama, kTokenizer, "/model", "null", "T14 unloaded"},
      {kLlama, kTokenizer, "/model/type", "\"Spiral\"", "T14 unloaded"},
      {kLlama, kTokenizer, "/model/vocab", "{}", "T14 unloaded"},
      {kLlama, kTokenizer, "/model/vocab/a", "-7", "T14 unloaded"},
      {kLlama, kTokenizer, "/model/merges", "", "T14 unloaded"},
      {kLlama, kTokenizer, "/model/merges", "[]", ""},
      {kLlama, kTokenizer, "/model/merges", R"([["no-such", "piece"]])", "T14 unloaded"},
      {kLlama, kTokenizer, "/model/merges", R"(["alone"])", "T14 unloaded"},
      {kLlama, kTokenizer, "/added_tokens", "null", "T14 unloaded"},
      {kLlama, kTokenizer, "/added_tokens/0/special", "", "T14 unloaded"},
      {kLlama, kTokenizer, "/pre_tokenizer", "null", ""},
      {kLlama, kTokenizer, "/pre_tokenizer", R"({"type": "Spiral"})", "T14 unloaded"},
      {kLlama, kTokenizer, "/pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "([a-z]|\\[x"}, "behavior": "Isolated",
           "invert": false})",
       "T14 unloaded"},
      {kLlama, kTokenizer, "/truncation", "\"yes\"", "T14 unloaded"},
      {kLlama, kSettings, "/eos_token", "7", "T15 unloaded"},
      {kLlama, kSettings, "/eos_token", R"({"content": "<|im_end|>"})", "T15 unloaded"},
      {kLlama, kSettings, "/eos_token", R"({"content": "<|im_end|>", "__type": "AddedToken"})", ""},
      {kLlama, kSettings, "/padding_side", "\"up\"", "T15 unloaded"},
      {kLlama, kSettings, "/additional_special_tokens", "[7]", "T15 unloaded"},
      {kLlama, kSettings, "/added_tokens_decoder", "null", "T16 unloaded"},
      {kLlama, kSettings, "/added_tokens_decoder", R"({"seven": {"content": "a"}})",
       "T16 unloaded"},
      {kLlama, kSettings, "/added_tokens_decoder", R"({"7": {"content": "a", "special": 1}})",
       "T16 unloaded"},
      {kLlama, kSettings, "/tokenizer_class", "\"LlamaTokenizerFast\"", "T17 unloaded"},
      {kLlama, kSettings, "/tokenizer_class", "", ""},
      {kVisionModel, kSettings, "/tokenizer_class", "", "T18 unloaded"},
      {kLlama, "generation_config.json", "/pad_token_id", "\"7\"", "F07 unloaded"},
  });
}

// The answers are those of the library tokenizers 0.23.3.
TEST(DoctorValues, PartsOfTheTokenizerHaveTheirFields) {
  constexpr const char *kBad = "T14 unloaded", *kPre = "/pre_tokenizer", *kPost = "/post_processor";
  expect_all({
      {kLlama, kTokenizer, "/normalizer", "{}", kBad},
      {kLlama, kTokenizer, "/normalizer", R"({"strip_left": true, "strip_right": true})", ""},
      {kLlama, kTokenizer, "/normalizer", R"({"type": "Strip", "strip_left": true})", kBad},
      {kLlama, kTokenizer, "/normalizer", R"({"type": "Sequence", "normalizers": [null]})", kBad},
      {kLlama, kTokenizer, "/normalizer",
       R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend"}]})", kBad},
      {kLlama, kTokenizer, kPre, R"({"type": "ByteLevel"})", kBad},
      {kLlama, kTokenizer, kPre,
       R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})", ""},
      {kLlama, kTokenizer, kPre, R"({"type": "Metaspace", "replacement": "__"})", kBad},
      {kLlama, kTokenizer, kPre, R"({"type": "Metaspace", "replacement": "▁"})", ""},
      {kLlama, kTokenizer, kPre,
       R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false})", kBad},
      {kLlama, kTokenizer, kPre,
       R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false,
           "prepend_scheme": "never"})",
       ""},
      {kLlama, kTokenizer, kPre,
       R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "isolated", "invert": false})",
       kBad},
      {kLlama, kTokenizer, kPre,
       R"({"type": "Split", "pattern": {"Regex": "a|*b"}, "behavior": "Isolated",
           "invert": false})",
       kBad},
      {kLlama, kTokenizer, kPre,
       R"({"type": "Split", "pattern": {"Regex": "(?i:'s|'t)?[^a]+(?!b)|(?<x>a)+"},
           "behavior": "Isolated", "invert": false})",
       ""},
      {kLlama, kTokenizer, kPost,
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
           "pair": [], "special_tokens": {}})",
       kBad},
      {kLlama, kTokenizer, kPost,
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
           "pair": [], "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}})",
       ""},
      {kLlama, kTokenizer, "/decoder", R"({"type": "Strip", "content": " ", "start": -1})", kBad},
      {kLlama, kTokenizer, "/truncation", "{}", kBad},
      {kLlama, kTokenizer, "/truncation",
       R"({"max_length": 5, "strategy": "LongestFirst", "stride": 0})", ""},
      {kLlama, kTokenizer, "/padding", R"({"strategy": {"Fixed": 5}, "direction": "Right",
           "pad_id": 0, "pad_type_id": 0, "pad_token": "a"})", ""},
      {kLlama, kTokenizer, "/model/dropout", "1.5", kBad},
      {kLlama, kTokenizer, "/model/fuse_unk", "null", ""},
      {kLlama, kTokenizer, "/model/fuse_unk", "0", kBad},
      {kLlama, kTokenizer, "/model/type", "null", kBad},
      {kLlama, kTokenizer, "/model/type", "", ""},
  });
  const FieldChange lacking{kLlama, kTokenizer, "/added_tokens", "", ""};
  EXPECT_EQ(findings_of_change(lacking, "transformers-5"), kBad);
}

TEST(DoctorValues, AcceptsNumbersThatPythonReads) {
  Checkpoint checkpoint = documents(kLlama);
  std::string config = checkpoint.find_document(kConfig)->text();
  const std::string field = "\"initializer_range\": 0.02";
  ASSERT_NE(config.find(field), config.npos);
  config.replace(config.find(field), field.size(), "\"initializer_range\": Infinity");
  checkpoint.set_document(kConfig, config);
  EXPECT_EQ(value_findings(checkpoint), "");
  const auto diagnosis = diagnose(checkpoint, {{"vllm-0.17"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis);
  EXPECT_TRUE(std::none_of(diagnosis->findings.begin(), diagnosis->findings.end(),
                           [](const Finding& finding) { return finding.check == "C01"; }));
}

TEST(DoctorValues, TwoTokensWithOneIdAreReported) {
  for (const auto& [profile, severity] :
       {std::pair{"vllm", Severity::kWarning}, {"llama.cpp", Severity::kUnsound}}) {
    Checkpoint checkpoint = documents(kLlama);
    const auto is_reported = [&] {
      const auto diagnosis = diagnose(checkpoint, {{profile}, false, {}, nullptr});
      return diagnosis && std::ranges::any_of(diagnosis->findings, [&](const Finding& finding) {
               return finding.check == "T23" && finding.severity == severity;
             });
    };
    EXPECT_FALSE(is_reported()) << profile;
    SortedJson json = *parse_json(kTokenizer, checkpoint.find_document(kTokenizer)->text());
    for (auto& [text, id] : json["model"]["vocab"].items()) {
      if (id == 300) id = 301;
    }
    checkpoint.set_document(kTokenizer, json.dump());
    EXPECT_TRUE(is_reported()) << profile;
  }
}

// A text would get other ids at every call; llama.cpp does not read the field.
TEST(DoctorValues, DropoutOfATokenizerIsUnsoundWhereItIsRead) {
  for (const auto& [value, profile, count] :
       {std::tuple{"0.5", "vllm", 1}, {"0.0", "vllm", 0}, {"0.5", "sglang", 1},
        {"0.5", "transformers-5", 1}, {"0.5", "llama.cpp", 0}}) {
    Checkpoint checkpoint = documents(kLlama);
    SortedJson json = *parse_json(kTokenizer, checkpoint.find_document(kTokenizer)->text());
    json["model"]["dropout"] = SortedJson::parse(value);
    checkpoint.set_document(kTokenizer, json.dump());
    const auto diagnosis = diagnose(checkpoint, {{profile}, false, {}, nullptr});
    ASSERT_TRUE(diagnosis);
    EXPECT_EQ(std::ranges::count_if(diagnosis->findings,
                                    [](const Finding& finding) {
                                      return finding.place == "tokenizer.json: model.dropout" &&
                                             finding.severity == Severity::kUnsound;
                                    }),
              count)
        << value << profile;
  }
}

}  // namespace
}  // namespace ckpt
