// Fields that the classes of transformers 4.57 and 5 take, each in their own way.
#include "tests/checks/field_changes.h"

namespace ckpt {
namespace {

TEST(DoctorReleases, EveryClassOfTransformers5HasTheFieldsOfItsBase) {
  for (const char* profile : {"transformers-5", "vllm", "sglang"}) {
    expect_of(profile, {
                           {kLlama, kConfig, "/transformers_version", "5", "C33 unloaded"},
                           {kLlama, kConfig, "/output_hidden_states", "1", "C33 unloaded"},
                           {kLlama, kConfig, "/return_dict", "\"yes\"", "C33 unloaded"},
                           {kLlama, kConfig, "/return_dict", "null", ""},
                           {kLlama, kConfig, "/chunk_size_feed_forward", "1.5", "C33 unloaded"},
                           {kLlama, kConfig, "/is_encoder_decoder", "0", "C33 unloaded"},
                           {kLlama, kConfig, "/id2label", R"({"0": "a"})", ""},
                           {kLlama, kConfig, "/id2label", R"({"a": "b"})", "C33 unloaded"},
                           {kLlama, kConfig, "/label2id", R"(["x"])", "C33 unloaded"},
                           {kLlama, kConfig, "/label2id", R"({"a": 1})", ""},
                           {kLlama, kConfig, "/problem_type", "\"foo\"", "C33 unloaded"},
                           {kLlama, kConfig, "/problem_type", "\"regression\"", ""},
                           {kLlama, kConfig, "/num_labels", "\"x\"", "C33 unloaded"},
                           {kLlama, kConfig, "/num_labels", "3", ""},
                           {kVisionModel, kConfig, "/text_config/return_dict", "1", "C33 unloaded"},
                       });
  }
  EXPECT_EQ(findings_of_change({kLlama, kConfig, "/return_dict", "1", ""}), "");
}

TEST(DoctorReleases, EveryClassOfTransformers4HasTheFieldsOfItsBase) {
  for (const char* profile : {"transformers-4.57", "vllm-0.17"}) {
    expect_of(profile, {
                           {kLlama, kConfig, "/id2label", "7", "C33 unloaded"},
                           {kLlama, kConfig, "/id2label", R"({"x": "y"})", "C33 unloaded"},
                           {kLlama, kConfig, "/id2label", R"({"0": 5})", ""},
                           {kLlama, kConfig, "/label2id", "7", "C33 unloaded"},
                           {kLlama, kConfig, "/num_labels", "\"x\"", "C33 unloaded"},
                           {kLlama, kConfig, "/num_labels", "null", ""},
                           {kLlama, kConfig, "/problem_type", "\"foo\"", "C33 unloaded"},
                           {kLlama, kConfig, "/pruned_heads", "7", "C33 unloaded"},
                           {kLlama, kConfig, "/pruned_heads", R"({"0": [1]})", ""},
                           {kLlama, kConfig, "/chunk_size_feed_forward", "1.5", ""},
                       });
  }
}

TEST(DoctorReleases, WordsOfListsAreThoseThatTheClassKnows) {
  constexpr const char* kOlmo3 = "families/olmo3/hf";
  constexpr const char* kLfm2 = "families/lfm2/hf";
  for (const char* profile : {"transformers-4.57", "transformers-5"}) {
    expect_of(profile, {
                           {kQwen3, kConfig, "/layer_types/0", "\"sliding_attention\"",
                            "C24 unsound"},  // known, but the model has no window
                           {kOlmo3, kConfig, "/layer_types/0", "\"full_attention\"", ""},
                           {kOlmo3, kConfig, "/layer_types/0", "\"sliding_attn\"", "C33 unloaded"},
                           {kOlmo3, kConfig, "/layer_types/0", "\"\"", "C33 unloaded"},
                           {"families/gpt-oss/hf", kConfig, "/layer_types/0", "\"Full_Attention\"",
                            "C33 unloaded"},
                       });
  }
  expect_of("transformers-5",
            {{kOlmo3, kConfig, "/layer_types/0", "\"chunked_attention\"", "C33 unloaded"},
             {kLfm2, kConfig, "/layer_types/0", "\"conv\"", ""},
             {kLfm2, kConfig, "/layer_types/0", "\"mamba\"", "C33 unloaded"}});
  expect_of("transformers-4.57",
            {{kOlmo3, kConfig, "/layer_types/0", "\"chunked_attention\"", ""}});
}

TEST(DoctorReleases, ConstructorsOfTransformersComputeWithTheirNumbers) {
  constexpr const char *kGptOss = "families/gpt-oss/hf", *kLlama4 = "families/llama4/hf";
  constexpr const char* kCohere2 = "families/cohere2/hf";
  constexpr const char* kInterval = "/text_config/no_rope_layer_interval";
  for (const char* profile : {"transformers-4.57", "transformers-5"}) {
    expect_of(profile, {
                           {kGptOss, kConfig, "/num_hidden_layers", "-1", "C33 unloaded"},
                           {kLlama4, kConfig, kInterval, "0", "C33 unloaded"},
                           {kLlama4, kConfig, kInterval, "3", ""},
                       });
  }
  expect_of("transformers-4.57", {{kCohere2, kConfig, "/hidden_size", "\"x\"", "C33 unloaded"},
                                  {kGptOss, kConfig, "/num_hidden_layers", "{}", "C33 unloaded"}});
}

TEST(DoctorReleases, YarnThatAClassHasByDefaultDividesTheLength) {
  constexpr const char *kGptOss = "families/gpt-oss/hf", *kLength = "/max_position_embeddings";
  expect_of("transformers-4.57", {{kGptOss, kConfig, kLength, "null", "C17 unloaded"},
                                  {kGptOss, kConfig, kLength, "\"8\"", "C17 unloaded"},
                                  {kGptOss, kConfig, kLength, "true", ""},
                                  {kGptOss, kConfig, kLength, "", ""},
                                  {kLlama, kConfig, kLength, "null", ""}});
}

TEST(DoctorReleases, PaddingIsAskedOfClassesThatTheReleaseHas) {
  constexpr const char *kLfm2Moe = "families/lfm2-moe/hf", *kPad = "/pad_token_id";
  expect_of("transformers-4.57", {{kLfm2Moe, kConfig, kPad, "9999", ""},
                                  {kLlama, kConfig, kPad, "99999", "C46 unloaded"}});
  expect_of("transformers-5", {{kLfm2Moe, kConfig, kPad, "9999", "C46 unloaded"}});
}

TEST(DoctorReleases, GenerationConfigIsWhatItsClassTakes) {
  constexpr const char* kFile = "generation_config.json";
  for (const char* profile : {"vllm", "vllm-0.17", "transformers-5"}) {
    expect_of(profile, {
                           {kLlama, kFile, "/max_new_tokens", "0", "F07 unloaded"},
                           {kLlama, kFile, "/max_new_tokens", "7", ""},
                           {kLlama, kFile, "/early_stopping", "\"foo\"", "F07 unloaded"},
                           {kLlama, kFile, "/early_stopping", "\"never\"", ""},
                           {kLlama, kFile, "/cache_implementation", "\"foo\"", "F07 unloaded"},
                           {kLlama, kFile, "/cache_implementation", "\"static\"", ""},
                           {kLlama, kFile, "/compile_config", R"({"x": 1})", "F07 unloaded"},
                           {kLlama, kFile, "/streamer", "1", "F07 unloaded"},
                       });
  }
}

TEST(DoctorReleases, GenerationConfigIsWhatTheClassOfTheReleaseTakes) {
  constexpr const char* kFile = "generation_config.json";
  expect_of("transformers-5",
            {
                {kLlama, kFile, "/suppress_tokens", "5", "F07 unloaded"},
                {kLlama, kFile, "/suppress_tokens", "\"x\"", ""},
                {kLlama, kFile, "/cache_implementation", "\"paged\"", ""},
                {kLlama, kFile, "/cache_implementation", "\"dynamic_full\"", "F07 unloaded"},
                {kLlama, kFile, "/early_stopping", "null", ""},
                {kLlama, kFile, "/watermarking_config", R"({"x": 1})", "F07 unloaded"},
            });
  expect_of("transformers-4.57",
            {
                {kLlama, kFile, "/suppress_tokens", "5", ""},
                {kLlama, kFile, "/cache_implementation", "\"paged\"", "F07 unloaded"},
                {kLlama, kFile, "/cache_implementation", "\"dynamic_full\"", ""},
                {kLlama, kFile, "/early_stopping", "null", "F07 unloaded"},
                {kLlama, kFile, "/watermarking_config", R"({"bias": 1.5})", ""},
            });
}

TEST(DoctorReleases, Transformers4TakesSomeKindsInTokenizerConfig) {
  constexpr const char *kOlmo3 = "families/olmo3/hf", *kLfm2 = "families/lfm2/hf";
  for (const char* profile : {"vllm-0.17", "transformers-4.57"}) {
    expect_of(profile,
              {
                  {kOlmo3, kSettings, "/split_special_tokens", "\"x\"", "T21 unloaded"},
                  {kOlmo3, kSettings, "/split_special_tokens", "true", ""},
                  {kOlmo3, kSettings, "/auto_map", R"({"AutoTokenizer": 7})", "T21 unloaded"},
                  {kOlmo3, kSettings, "/auto_map", R"({"AutoTokenizer": ["a.B", null]})", ""},
                  {kOlmo3, kSettings, "/tokenizer_object", "7", "T21 unloaded"},
                  {kOlmo3, kSettings, "/tokenizer_file", "\"/nosuch\"", "T21 unloaded"},
                  {kLfm2, kSettings, "/tokenizer_file", "null", ""},
                  {kLfm2, kSettings, "/from_slow", "true", "T21 unloaded"},
                  {kLfm2, kSettings, "/from_slow", "false", ""},
                  {kLfm2, kSettings, "/init_inputs", "[1]", "T21 unloaded"},
                  {kLfm2, kSettings, "/init_inputs", "[]", ""},
                  {kLfm2, kSettings, "/extra_special_tokens", R"({"x": 7})", "T21 unloaded"},
                  {kLfm2, kSettings, "/extra_special_tokens", R"({"x": "<a>"})", ""},
                  {kLfm2, kSettings, "/get_vocab", "1", ""},
              });
  }
}

TEST(DoctorReleases, ModelsOfSentencePieceAreMadeWithAnObject) {
  constexpr const char* kFolder = "families/llama-spm/hf";
  const auto told = [&](const char* value) {
    Checkpoint checkpoint;
    checkpoint.format = "safetensors";
    for (const char* name : {"config.json", "tokenizer_config.json", "tokenizer.model"}) {
      checkpoint.set_document(name,
                              text_of_file(fmt::format(CKPT_TESTDATA "/{}/{}", kFolder, name)));
    }
    SortedJson json =
        SortedJson::parse(text_of_file(fmt::format(CKPT_TESTDATA "/{}/{}", kFolder, kSettings)));
    json["sp_model_kwargs"] = SortedJson::parse(value);
    checkpoint.set_document(kSettings, json.dump());
    return value_findings(checkpoint, "transformers-4.57");
  };
  EXPECT_EQ(told("{}"), "");
  EXPECT_EQ(told("null"), "");
  EXPECT_EQ(told("[null]"), "T21 unloaded");
  EXPECT_EQ(told("1.5"), "T21 unloaded");
}

TEST(DoctorReleases, Transformers5TakesSomeKindsInTokenizerConfig) {
  for (const char* profile : {"vllm", "sglang", "transformers-5"}) {
    expect_of(profile,
              {
                  {kLlama, kSettings, "/model_max_length", "\"x\"", "T21 unloaded"},
                  {kLlama, kSettings, "/model_max_length", "1e30", ""},
                  {kLlama, kSettings, "/extra_special_tokens", R"({"img": 5})", "T21 unloaded"},
                  {kLlama, kSettings, "/extra_special_tokens", "[{}]", "T21 unloaded"},
                  {kLlama, kSettings, "/extra_special_tokens", R"(["<a>"])", ""},
                  {kQwen3, kSettings, "/add_prefix_space", "\"x\"", "T21 unloaded"},
                  {kQwen3, kSettings, "/add_prefix_space", "null", ""},
                  {kLlama, kSettings, "/model_input_names", "5", "T21 unloaded"},
                  {kLlama, kSettings, "/split_special_tokens", "null", "T21 unloaded"},
                  {kLlama, kSettings, "/auto_map", "5", "T21 unloaded"},
                  {kLlama, kSettings, "/auto_map", R"({"AutoTokenizer": 7})", "T21 unloaded"},
                  {kQwen3, kSettings, "/tokenizer_object", "7", "T21 unloaded"},
                  {kQwen3, kSettings, "/init_inputs", "[1]", "T21 unloaded"},
                  {kQwen3, kSettings, "/model_specific_special_tokens", "7", "T21 unloaded"},
                  {kQwen3, kSettings, "/model_specific_special_tokens", R"({"a": "<a>"})", ""},
                  {kLlama, kSettings, "/init_inputs", "5", "T21 unloaded"},
                  {kLlama, kSettings, "/get_vocab", "1", "T21 unloaded"},
                  {kLlama, kSettings, "/pad_token", R"({"__type": "AddedToken"})", ""},
                  {kLlama, kSettings, "/pad_token", R"({"content": "x"})", "T15 unloaded"},
                  {kLlama, kSettings, "/additional_special_tokens", "\"x\"", ""},
              });
  }
  EXPECT_EQ(findings_of_change({kLlama, kSettings, "/additional_special_tokens", "\"x\"", ""}),
            "T15 unloaded");
}

}  // namespace
}  // namespace ckpt
