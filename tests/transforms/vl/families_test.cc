// Every row of the table of vision-language families; names in lists of modules; processor files.
#include "transforms/vl/families.h"

#include <gtest/gtest.h>

#include "tests/transforms/vl/models.h"
#include "transforms/vl/names.h"

namespace ckpt {
using namespace vl_test;
namespace {

const std::string kFamilyInput = testdata("qwen35vl-micro").string();

// ---- every family ------------------------------------------------------------------------------

TEST(VlFamilies, EveryTextModelGoesIntoItsWrapperAndComesBack) {
  const std::vector<std::string> names = {"lm_head.weight", "model.embed_tokens.weight",
                                          "model.layers.0.mlp.up_proj.weight", "model.norm.weight"};
  for (const VlFamily& family : all_vl_families()) {
    for (const VlText& text : family.texts) {
      SCOPED_TRACE(fmt::format("{} in {}", text.outside, family.model_type));
      made_bases["BASE"] = made_base(family, text);
      const Checkpoint before = small_model(flat_config(text), names);
      const Checkpoint wrapped = must(run("vl-wrap", before, {{"with", "BASE"}}));
      const JsonText config = document(wrapped, "config.json");
      const JsonText* inner = config.find(family.text_key);
      ASSERT_NE(inner, nullptr);
      EXPECT_EQ(inner->find_text("model_type"), text.inside);
      EXPECT_EQ(config.find("vision_config")->find_whole("depth"), 2u);
      EXPECT_EQ(wrapped.tensors[0].name, std::string(family.names[1].wrapped) + ".weight");
      EXPECT_EQ(wrapped.tensors[3].name, std::string(family.names[0].wrapped) + ".norm.weight");
      for (const VlToken& token : family.tokens) {
        EXPECT_EQ(config.find_whole(token.key), token.usual_id);
      }
      const Checkpoint after = must(run("vl-unwrap", wrapped));
      EXPECT_EQ(names_of(after), names);
      const JsonText flat = parsed(flat_config(text)), back = document(after, "config.json");
      for (const auto& [key, value] : flat.members()) {
        if (key == "rope_theta" && family.has_attention_interval) continue;  // in rope_parameters
        ASSERT_NE(back.find(key), nullptr) << key;
        EXPECT_EQ(*back.find(key), value) << key;
      }
    }
  }
}

TEST(VlFamilies, WithoutBaseOneFamilyWithAUsualTowerIsEnough) {
  for (const VlFamily& family : all_vl_families()) {
    for (const VlText& text : family.texts) {
      SCOPED_TRACE(fmt::format("{} in {}", text.outside, family.model_type));
      const auto made = run("vl-wrap", small_model(flat_config(text), {"model.norm.weight"}));
      const size_t families = vl_families_for_text(text.outside).size();
      if (families > 1) {
        expect_error(made, ErrorCode::kUsage, "expected one family. Try: --step vl-wrap:with=BASE");
      } else {
        EXPECT_TRUE(made.has_value()) << made.error().text();
        EXPECT_NE(made->find_document("preprocessor_config.json"), nullptr);
      }
    }
  }
}

TEST(VlFamilies, FlatWrappersAsQwen25VlIsPublishedAreNestedAndUnwrapped) {
  const char* config = R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "hidden_size": 512, "image_token_id": 151655, "model_type": "qwen2_5_vl",
    "num_attention_heads": 4, "rope_scaling": {"mrope_section": [16, 24, 24], "type": "mrope"},
    "torch_dtype": "bfloat16", "vision_config": {"depth": 2, "out_hidden_size": 512}})";
  const Checkpoint input = small_model(config, {"model.norm.weight", "visual.merger.ln_q.weight"});
  const JsonText nested = document(must(run("vl-wrap", input)), "config.json");
  EXPECT_EQ(nested.find("text_config")->find_text("model_type"), "qwen2_5_vl_text");
  EXPECT_EQ(nested.find("rope_scaling"), nullptr);
  EXPECT_EQ(nested.find("vision_config")->find_whole("depth"), 2u);
  const Checkpoint made = must(run("vl-unwrap", input));
  EXPECT_EQ(names_of(made), std::vector<std::string>{"model.norm.weight"});
  const JsonText flat = document(made, "config.json");
  EXPECT_EQ(flat.find_text("model_type"), "qwen2");
  EXPECT_TRUE(flat.find("rope_scaling")->is_null());
  EXPECT_EQ(flat.find("vision_config"), nullptr);
}

TEST(VlFamilies, MropeGoesIntoTheDictionaryThatReadersUse) {
  const char* config = R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 512,
    "model_type": "qwen2_5_vl", "num_attention_heads": 4, "torch_dtype": "bfloat16",
    "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
    "rope_scaling": {"type": "yarn", "factor": 4.0}, "vision_config": {"depth": 2}})";
  const auto made = run("vl-wrap", small_model(config, {"model.norm.weight"}));
  const JsonText text = *document(must(made), "config.json").find("text_config");
  EXPECT_NE(text.find("rope_scaling")->find("mrope_section"), nullptr);
  EXPECT_EQ(text.find("rope_parameters")->find("mrope_section"), nullptr);
}

// ---- lists of modules --------------------------------------------------------------------------

TEST(VlNames, ModulesGlobsAndExpressions) {
  const VlFamily& qwen = *find_vl_family("qwen3_5");
  const std::pair<const char*, const char*> kSame[] = {
      {"model.layers.0.mlp.gate", "model.language_model.layers.0.mlp.gate"},
      {"model.layers.1.linear_attn*", "model.language_model.layers.1.linear_attn*"},
      {"model*", "model.language_model*"},
      {"model.embed_tokens", "model.language_model.embed_tokens"},
      {R"(re:model\.layers\.0\..*)", R"(re:model\.language_model\.layers\.0\..*)"},
      {"re:^model.layers.*", "re:^model.language_model.layers.*"},
      {"lm_head", "lm_head"},
      {"Linear", "Linear"},
      {"*mlp.gate*", "*mlp.gate*"},
      {"re:.*mlp.gate$", "re:.*mlp.gate$"},
      {"mtp*", "mtp*"},
      {"modeling", "modeling"},
  };
  for (const auto& [text, wrapped] : kSame) {
    EXPECT_EQ(rename_vl_module(text, qwen, VlSide::kWrapped), wrapped);
    EXPECT_EQ(rename_vl_module(wrapped, qwen, VlSide::kText), text);
    EXPECT_EQ(rename_vl_module(wrapped, qwen, VlSide::kWrapped), wrapped);
  }
  for (const char* vision : {"model.visual*", "visual.blocks.0", R"(re:model\.visual\..*)"}) {
    EXPECT_EQ(rename_vl_module(vision, qwen, VlSide::kWrapped), vision);
  }
  const VlFamily& gemma = *find_vl_family("gemma3");
  EXPECT_EQ(rename_vl_module("model.layers.0*", gemma, VlSide::kWrapped),
            "language_model.model.layers.0*");
  EXPECT_EQ(rename_vl_module("lm_head", gemma, VlSide::kWrapped), "language_model.lm_head");
  EXPECT_EQ(rename_vl_module("language_model.lm_head", gemma, VlSide::kText), "lm_head");
}

// A checkpoint whose config.json has the statement `said`.
Checkpoint stating(const JsonText& said) {
  JsonText config = JsonText::object();
  config.set("quantization_config", said);
  Checkpoint out;
  out.set_document("config.json", config.dump(0));
  return out;
}

JsonText stated(const Checkpoint& checkpoint) {
  return *document(checkpoint, "config.json").find("quantization_config");
}

JsonText wrapped(const JsonText& said) {
  const VlFamily& qwen = *find_vl_family("qwen3_5");
  Checkpoint checkpoint = stating(said);
  EXPECT_TRUE(rename_vl_modules(checkpoint, qwen, VlSide::kWrapped));
  EXPECT_TRUE(cover_vl_modules(checkpoint, qwen));
  return stated(checkpoint);
}

JsonText unwrapped(const JsonText& said) {
  Checkpoint checkpoint = stating(said);
  EXPECT_TRUE(rename_vl_modules(checkpoint, *find_vl_family("qwen3_5"), VlSide::kText));
  return stated(checkpoint);
}

TEST(VlNames, ListsOfMixedPrecisionAndOfCompressedTensors) {
  const JsonText mixed = parsed(R"({"config_groups": {"group_0": {"targets": ["model.layers.0.a"]}},
    "quantized_layers": {"model.layers.0.a": {"quant_algo": "FP8"}}})");
  EXPECT_EQ(
      wrapped(mixed),
      parsed(R"({"config_groups": {"group_0": {"targets": ["model.language_model.layers.0.a"]}},)"
             R"("quantized_layers": {"model.language_model.layers.0.a": {"quant_algo": "FP8"}}})"));
  EXPECT_EQ(unwrapped(wrapped(mixed)), mixed);

  const JsonText compressed = parsed(R"({"quant_method": "compressed-tensors",
    "config_groups": {"group_0": {"targets": ["Linear"]}},
    "ignore": ["model.layers.0.linear_attn.in_proj_b", "lm_head"]})");
  EXPECT_EQ(*wrapped(compressed).find("ignore"),
            parsed(R"(["model.language_model.layers.0.linear_attn.in_proj_b","lm_head",)"
                   R"("re:.*visual.*","re:.*mtp.*"])"));
  EXPECT_EQ(wrapped(wrapped(compressed)), wrapped(compressed));
  EXPECT_EQ(*unwrapped(wrapped(compressed)).find("ignore"),
            parsed(R"(["model.layers.0.linear_attn.in_proj_b","lm_head","re:.*mtp.*"])"));
}

TEST(VlNames, ListsAreThoseThatTheMethodReads) {
  const std::pair<const char*, const char*> kSame[] = {
      {R"({"quant_method": "gptq", "dynamic": {"-:model\\.layers\\.1\\..*": {},)"
       R"( "model\\.layers\\.0": {"bits": 8}}})",
       R"({"quant_method": "gptq", "dynamic": {"-:.*visual.*": {}, "-:.*mtp.*": {},)"
       R"( "-:model\\.language_model\\.layers\\.1\\..*": {},)"
       R"( "model\\.language_model\\.layers\\.0": {"bits": 8}}})"},
      {R"({"quant_method": "bitsandbytes", "llm_int8_skip_modules":)"
       R"( ["lm_head", "model.layers.1"]})",
       R"({"quant_method": "bitsandbytes", "llm_int8_skip_modules": ["lm_head",)"
       R"( "model.language_model.layers.1", "model.visual", "mtp"]})"},
      {R"({"quant_method": "fp8", "ignored_layers": ["model.layers.1.mlp.up_proj"]})",
       R"({"quant_method": "fp8", "ignored_layers": ["model.language_model.layers.1.mlp.up_proj",)"
       R"( "model.visual", "mtp"]})"},
      {R"({"quant_method": "quark", "exclude": ["model.layers.1.mlp.up_proj"]})",
       R"({"quant_method": "quark", "exclude": ["model.language_model.layers.1.mlp.up_proj",)"
       R"( "re:.*mtp.*", "re:.*visual.*"]})"},
  };
  for (const auto& [text, made] : kSame) {
    EXPECT_EQ(wrapped(parsed(text)).dump(0), parsed(made).dump(0));
    const JsonText again = wrapped(unwrapped(parsed(made)));
    EXPECT_EQ(again.dump(0), parsed(made).dump(0));
  }
}

TEST(VlNames, ExpressionsOfSeveralNamesAreReported) {
  Checkpoint checkpoint =
      stating(parsed(R"({"quant_method": "gptq", "dynamic": {"-:(model|x).layers": {},)"
                     R"( "-:model.a|model.b": {}, "-:.*gate.*": {}}})"));
  const auto unclear =
      rename_vl_modules(checkpoint, *find_vl_family("qwen3_5"), VlSide::kWrapped);
  ASSERT_TRUE(unclear);
  EXPECT_EQ(*unclear, (std::set<std::string>{"-:(model|x).layers", "-:model.a|model.b"}));
}

TEST(VlNames, QuantizedMtpLayersAreNotListedAsUnquantized) {
  Checkpoint checkpoint = stating(parsed(R"({"ignore": ["lm_head"]})"));
  checkpoint.tensors.push_back(
      {"mtp.fc.weight", {16, 32}, find_codec(all_codecs(), "nvfp4_modelopt"), {}, "", ""});
  EXPECT_TRUE(cover_vl_modules(checkpoint, *find_vl_family("qwen3_5")));
  EXPECT_EQ(*stated(checkpoint).find("ignore"), parsed(R"(["lm_head","model.visual*"])"));
}

TEST(VlNames, ModulesOfATowerAreListedWhereReadersFindThem) {
  const auto listed = [](const char* text) {
    Checkpoint checkpoint = stating(parsed(text));
    for (const char* name : {"model.visual.merger.fc", "lm_head"}) {
      checkpoint.tensors.push_back(
          {std::string(name) + ".weight", {16, 32}, find_codec(all_codecs(), "bf16"), {}, "", ""});
    }
    EXPECT_TRUE(cover_vl_modules(checkpoint, *find_vl_family("qwen3_5")));
    return stated(checkpoint).dump(0);
  };
  const auto expect = [&](const char* text, const char* made) {
    EXPECT_EQ(listed(text), parsed(made).dump(0));
  };
  // vLLM reads names of modules, and the first list that has some.
  expect(R"({"quant_method": "fp8", "ignored_layers": [], "modules_to_not_convert": ["lm_head"]})",
         R"({"quant_method": "fp8", "ignored_layers": [], "modules_to_not_convert": ["lm_head",)"
         R"( "model.visual", "mtp", "model.visual.merger.fc"]})");
  expect(R"({"quant_method": "fp8"})",
         R"({"quant_method": "fp8", "modules_to_not_convert": ["model.visual.merger.fc",)"
         R"( "lm_head"]})");
  // An entry would keep vLLM from finding the floats among the other modules.
  expect(R"({"quant_method": "awq", "modules_to_not_convert": null})",
         R"({"quant_method": "awq", "modules_to_not_convert": ["model.visual.merger.fc",)"
         R"( "lm_head"]})");
  expect(R"({"quant_method": "bitsandbytes"})",
         R"({"quant_method": "bitsandbytes", "llm_int8_skip_modules": ["model.visual.merger.fc",)"
         R"( "lm_head"]})");
  expect(R"({"quant_method": "gptq", "dynamic": {}})",
         R"({"quant_method": "gptq", "dynamic": {"-:.*visual.*": {}, "-:.*mtp.*": {}}})");
  expect(R"({"quant_method": "gptq"})",
         R"({"quant_method": "gptq", "dynamic": {"-:^model\\.visual\\.merger\\.fc$": {}}})");
}

// ---- processors --------------------------------------------------------------------------------

TEST(Preprocessor, UsualFilesHaveTheSizesOfVisionConfig) {
  Checkpoint input = must(open(kFamilyInput));
  JsonText config = document(input, "config.json");
  config.find("vision_config")->set("patch_size", JsonText::number(12));
  input.set_document("config.json", config.dump(2));
  const Checkpoint made = must(run("preprocessor", std::move(input)));
  const JsonText image = document(made, "preprocessor_config.json");
  EXPECT_EQ(image.find_whole("patch_size"), 12u);
  EXPECT_EQ(image.find_text("image_processor_type"), "Qwen2VLImageProcessorFast");
  EXPECT_EQ(document(made, "video_preprocessor_config.json").find_whole("patch_size"), 12u);
  EXPECT_EQ(made.find_document("processor_config.json"), nullptr);
  const Checkpoint again = must(run("preprocessor", made));
  EXPECT_EQ(again.documents.size(), made.documents.size());
}

TEST(Preprocessor, FilesThatAreThereStayAndNestedOnesAreLifted) {
  Checkpoint input = must(open(kFamilyInput));
  const std::string own = R"({"image_processor_type": "Qwen2VLImageProcessor","patch_size": 16})";
  input.set_document("preprocessor_config.json", own);
  input.set_document("processor_config.json", R"({"processor_class": "Qwen3VLProcessor",
    "image_processor": {"a": 1}, "video_processor": {"fps": 1e-06}})");
  const Checkpoint made = must(run("preprocessor", std::move(input)));
  EXPECT_EQ(made.find_document("preprocessor_config.json")->text(), own);
  EXPECT_EQ(made.find_document("video_preprocessor_config.json")->text(),
            "{\n  \"fps\": 1e-06,\n  \"processor_class\": \"Qwen3VLProcessor\"\n}\n");
}

TEST(Preprocessor, AFileWithoutItsClassGetsIt) {
  Checkpoint input = must(open(kFamilyInput));
  input.set_document("preprocessor_config.json", "{\"patch_size\": 16}\n");
  const Checkpoint made = must(run("preprocessor", std::move(input)));
  EXPECT_EQ(made.find_document("preprocessor_config.json")->text(),
            "{\"patch_size\": 16, \"image_processor_type\": \"Qwen2VLImageProcessorFast\"}\n");
}

TEST(Preprocessor, AnotherFoldersFilesMustFit) {
  Checkpoint base;
  base.set_document("processor_config.json", R"({"image_processor": {"patch_size": 14}})");
  made_bases["BASE"] = base.documents;
  expect_error(run("preprocessor", must(open(kFamilyInput)), {{"from", "BASE"}}), ErrorCode::kUsage,
               "preprocessor_config.json: patch_size 14; the model's vision_config has patch_size");
  base.set_document("processor_config.json", R"({"image_processor": {"patch_size": 16}})");
  made_bases["BASE"] = base.documents;
  const Checkpoint made = must(run("preprocessor", must(open(kFamilyInput)), {{"from", "BASE"}}));
  EXPECT_EQ(document(made, "preprocessor_config.json").find_whole("patch_size"), 16u);
  made_bases["BASE"] = {};
  expect_error(run("preprocessor", must(open(kFamilyInput)), {{"from", "BASE"}}), ErrorCode::kUsage,
               "neither preprocessor_config.json");
  expect_error(run("preprocessor", must(open(testdata("qwen35-micro")))), ErrorCode::kUsage,
               "Try: vl-wrap first");
}

}  // namespace
}  // namespace ckpt
