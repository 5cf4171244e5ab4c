// Text models into vision-language wrappers and out again: documents and names, held to what
// transformers and ModelOpt wrote for the same weights; and what is refused.

#include <gtest/gtest.h>

#include <set>

#include "tests/transforms/vl/models.h"
#include "transforms/vl/names.h"

namespace ckpt {
using namespace vl_test;
namespace {

const std::string kWith = testdata("qwen35vl-micro").string();

std::set<std::string> text_names(const Checkpoint& wrapped) {
  std::set<std::string> out;
  for (const Tensor& tensor : wrapped.tensors) {
    if (vl_part_of(tensor.name) != VlPart::kVision) out.insert(tensor.name);
  }
  return out;
}

// ---- held to real files ------------------------------------------------------------------------

TEST(VlWrap, GivesTransformersOwnConfigAndNames) {
  const Checkpoint real = must(open(kWith));
  const Checkpoint made =
      must(run("vl-wrap", must(open(testdata("qwen35-micro"))), {{"with", kWith}}));
  JsonText config = document(made, "config.json");
  JsonText* text = config.find("text_config");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->find_whole("full_attention_interval"), 4u);  // for SGLang
  EXPECT_TRUE(text->remove("full_attention_interval"));
  EXPECT_EQ(config.dump(2) + "\n", real.find_document("config.json")->text());
  const std::vector<std::string> names = names_of(made);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), text_names(real));
}

TEST(VlWrap, GivesModeloptsOwnListsAndTheMtpLayersBeside) {
  const std::filesystem::path folder = testdata("export/modelopt/qwen35-micro/nvfp4");
  Checkpoint made = must(open(testdata("qwen35-micro")));
  for (const char* name : {"config.json", "hf_quant_config.json"}) {
    made.set_document(name, read_file(folder / name));
  }
  made = must(run("vl-wrap", std::move(made), {{"with", kWith}}));
  const std::filesystem::path real = testdata("export/modelopt/qwen35vl-micro/nvfp4");
  JsonText own = parsed(read_file(real / "hf_quant_config.json"));
  own.find("quantization")->find("exclude_modules")->items().push_back(JsonText::text("mtp*"));
  EXPECT_EQ(made.find_document("hf_quant_config.json")->text(), own.dump(4));
  JsonText embedded = *parsed(read_file(real / "config.json")).find("quantization_config");
  embedded.find("ignore")->items().push_back(JsonText::text("mtp*"));
  EXPECT_EQ(*document(made, "config.json").find("quantization_config"), embedded);
  EXPECT_EQ(document(made, "config.json").members().back().first, "quantization_config");
}

TEST(VlUnwrap, GivesTransformersOwnConfigAndNames) {
  const Checkpoint real = must(open(testdata("qwen35-micro")));
  std::vector<std::string> notes;
  const Checkpoint made = must(run("vl-unwrap", must(open(kWith)), {}, &notes));
  EXPECT_EQ(made.find_document("config.json")->text(), real.find_document("config.json")->text());
  std::vector<std::string> names = names_of(made), expected = names_of(real);
  EXPECT_EQ(names, expected);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("tensors of the vision tower are dropped"), std::string::npos);
}

TEST(VlWrap, ThereAndBackIsTheSameForRealModels) {
  for (const char* name : {"qwen35-micro", "qwen35moe-micro"}) {
    const Checkpoint before = must(open(testdata(name)));
    const Checkpoint after =
        must(run("vl-unwrap", must(run("vl-wrap", must(open(testdata(name)))))));
    EXPECT_EQ(names_of(after), names_of(before));
    JsonText config = document(after, "config.json");
    EXPECT_TRUE(config.remove("full_attention_interval"));
    EXPECT_EQ(config, document(before, "config.json")) << name;
    EXPECT_EQ(after.documents.size(), before.documents.size());
  }
}

TEST(VlWrap, WrappingTwiceChangesNothing) {
  for (const char* name : {"qwen35-micro", "qwen35moe-micro"}) {
    const Checkpoint once = must(run("vl-wrap", must(open(testdata(name)))));
    const Checkpoint twice = must(run("vl-wrap", once));
    EXPECT_EQ(names_of(twice), names_of(once));
    ASSERT_EQ(twice.documents.size(), once.documents.size());
    for (const Document& each : once.documents) {
      EXPECT_EQ(twice.find_document(each.path)->text(), each.text()) << each.path;
    }
  }
}

TEST(VlWrap, WithoutBaseTheTowerIsTheUsualOneForThisWidth) {
  std::vector<std::string> notes;
  const Checkpoint made = must(run("vl-wrap", must(open(testdata("qwen35moe-micro"))), {}, &notes));
  const JsonText config = document(made, "config.json");
  const JsonText* vision = config.find("vision_config");
  ASSERT_NE(vision, nullptr);
  EXPECT_EQ(vision->find_whole("out_hidden_size"), 256u);
  EXPECT_EQ(vision->find_text("model_type"), "qwen3_5_moe_vision");
  EXPECT_EQ(config.find_whole("image_token_id"), 991u);  // the tokenizer's own
  EXPECT_EQ(config.find_text("dtype"), "bfloat16");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("language model only"), std::string::npos);
}

// ---- states that people make by hand -----------------------------------------------------------

TEST(VlWrap, HalfDoneStatesAreMended) {
  const Checkpoint expected = must(run("vl-wrap", must(open(testdata("qwen35-micro")))));
  const JsonText wanted = document(expected, "config.json");
  const std::string flat = read_file(testdata("qwen35-micro/config.json"));
  JsonText retagged = parsed(flat);  // only model_type and architectures edited
  retagged.set("model_type", JsonText::text("qwen3_5"));
  retagged.set("architectures", JsonText::texts({"Qwen3_5ForConditionalGeneration"}));
  JsonText nested = JsonText::object();  // nested whole, names not changed
  nested.set("architectures", JsonText::texts({"Qwen3_5ForConditionalGeneration"}));
  nested.set("model_type", JsonText::text("qwen3_5"));
  nested.set("text_config", parsed(flat));
  for (const JsonText& config : {retagged, nested}) {
    Checkpoint input = must(open(testdata("qwen35-micro")));
    input.set_document("config.json", config.dump(2) + "\n");
    const Checkpoint made = must(run("vl-wrap", std::move(input)));
    EXPECT_EQ(names_of(made), names_of(expected));
    const JsonText root = document(made, "config.json");
    EXPECT_EQ(*root.find("vision_config"), *wanted.find("vision_config"));
    for (const auto& [key, value] : wanted.find("text_config")->members()) {
      ASSERT_NE(root.find("text_config")->find(key), nullptr) << key;
      EXPECT_EQ(*root.find("text_config")->find(key), value) << key;
    }
  }
}

TEST(VlWrap, RopeOfTransformers4AndAStrayOneAtTheTop) {
  JsonText config = parsed(read_file(testdata("qwen35-micro/config.json")));
  config.remove("rope_parameters");
  config.set("rope_theta", parsed("5000000"));
  Checkpoint input = must(open(testdata("qwen35-micro")));
  input.set_document("config.json", config.dump(2));
  Checkpoint made = must(run("vl-wrap", std::move(input)));
  JsonText root = document(made, "config.json");
  EXPECT_EQ(*root.find("text_config")->find("rope_parameters"),
            parsed(R"({"mrope_interleaved": true, "mrope_section": [3, 3, 2],
                       "partial_rotary_factor": 0.25, "rope_theta": 5000000,
                       "rope_type": "default"})"));
  EXPECT_EQ(root.find("text_config")->find("rope_theta"), nullptr);

  config.set("rope_parameters", parsed(R"({"rope_theta": 7, "rope_type": "default",
                                            "mrope_section": [4, 2, 2]})"));
  config.set("rope_scaling", parsed(R"({"factor": 4.0, "type": "yarn"})"));
  Checkpoint both = must(open(testdata("qwen35-micro")));
  both.set_document("config.json", config.dump(2));
  const JsonText joined = document(must(run("vl-wrap", std::move(both))), "config.json");
  EXPECT_EQ(joined.find("text_config")->find("rope_scaling"), nullptr);
  EXPECT_EQ(*joined.find("text_config")->find("rope_parameters"),
            parsed(R"({"factor": 4.0, "mrope_section": [4, 2, 2], "partial_rotary_factor": 0.25,
                       "rope_theta": 5000000, "rope_type": "yarn"})"));
  root.set("rope_theta", parsed("1"));
  made.set_document("config.json", root.dump(2));
  made = must(run("vl-wrap", std::move(made)));
  EXPECT_EQ(document(made, "config.json").find("rope_theta"), nullptr);
}

TEST(VlWrap, TiedHeadsThatDisagreeAreDecidedByTheTensors) {
  const Checkpoint wrapped = must(run("vl-wrap", must(open(testdata("qwen35-micro")))));
  JsonText config = document(wrapped, "config.json");
  config.set("tie_word_embeddings", JsonText::boolean(true));
  Checkpoint input = wrapped;
  input.set_document("config.json", config.dump(2));
  const Checkpoint made = must(run("vl-wrap", std::move(input)));
  EXPECT_EQ(document(made, "config.json").find("tie_word_embeddings")->as_boolean(), false);
}

// ---- what is refused ---------------------------------------------------------------------------

Checkpoint micro_with(std::string_view key, std::string_view value) {
  Checkpoint out = must(open(testdata("qwen35-micro")));
  JsonText config = document(out, "config.json");
  if (value.empty()) {
    config.remove(key);
  } else {
    config.set(key, parsed(value));
  }
  out.set_document("config.json", config.dump(2));
  return out;
}

TEST(VlWrap, ConfigsThatCannotBeMeantAreRefused) {
  const auto wrap = [](Checkpoint input) { return run("vl-wrap", std::move(input)); };
  expect_error(wrap(micro_with("architectures", "")), ErrorCode::kCorrupt, "no architectures");
  expect_error(wrap(micro_with("model_type", "")), ErrorCode::kCorrupt, "no model_type");
  expect_error(wrap(micro_with("model_type", "\"mystery\"")), ErrorCode::kUnsupported, "mystery");
  expect_error(wrap(micro_with("architectures", "[\"Qwen3_5ForSequenceClassification\"]")),
               ErrorCode::kUnsupported, "expected Qwen3_5ForCausalLM");
  expect_error(wrap(micro_with("layer_types", "[\"full_attention\"]")), ErrorCode::kCorrupt,
               "layer_types names 1 layers; expected 4");
  expect_error(wrap(micro_with("full_attention_interval", "3")), ErrorCode::kCorrupt,
               "full_attention_interval 3; layer_types says 4");
  expect_error(wrap(micro_with("num_experts", "8")), ErrorCode::kCorrupt,
               "num_experts in a qwen3_5; expected a qwen3_5_moe");
  expect_error(wrap(micro_with("num_hidden_layers", "4e9")), ErrorCode::kCorrupt,
               "num_hidden_layers");
  expect_error(wrap(micro_with("text_config", "{\"text_config\": {}}")), ErrorCode::kCorrupt,
               "nested twice");
  Checkpoint none = must(open(testdata("qwen35-micro")));
  none.documents.clear();
  expect_error(wrap(none), ErrorCode::kUsage, "no config.json");
  expect_error(run("vl-unwrap", must(open(testdata("qwen35-micro")))), ErrorCode::kUsage,
               "'qwen3_5_text' is not that of a vision-language model");
}

TEST(VlWrap, NamesOfBothSidesAreRefused) {
  Checkpoint mixed = must(open(testdata("qwen35-micro")));
  mixed.tensors.push_back(mixed.tensors[0]);
  mixed.tensors.back().name = "model.language_model.layers.9.mlp.up_proj.weight";
  expect_error(run("vl-wrap", mixed), ErrorCode::kCorrupt, "expected one of the two");
}

TEST(VlWrap, ABaseOfAnotherModelIsRefused) {
  const auto with = [](const VlFamily& family, const VlText& text, std::string_view from,
                       std::string_view to) {
    std::vector<Document> base = made_base(family, text);
    std::string config = base[0].text();
    config.replace(config.find(from), from.size(), to);
    base[0] = Document(base[0].path, config);
    made_bases["BASE"] = base;
    return run("vl-wrap", must(open(testdata("qwen35-micro"))), {{"with", "BASE"}});
  };
  const VlFamily& qwen = *find_vl_family("qwen3_5");
  const VlFamily& gemma = *find_vl_family("gemma3");
  expect_error(with(gemma, gemma.texts[0], "512", "256"), ErrorCode::kUsage,
               "BASE is a gemma3; a qwen3_5_text model goes into qwen3_5");
  expect_error(with(qwen, qwen.texts[0], "depth", "depth"), ErrorCode::kUsage,
               "BASE is for a text model of hidden_size 512; this one has 256");
  std::vector<Document> base = made_base(qwen, qwen.texts[0]);
  JsonText config = parsed(base[0].text());
  config.find("text_config")->set("hidden_size", JsonText::number(256));
  config.set("image_token_id", JsonText::number(7));
  base[0] = Document(base[0].path, config.dump(2));
  made_bases["BASE"] = base;
  expect_error(run("vl-wrap", must(open(testdata("qwen35-micro"))), {{"with", "BASE"}}),
               ErrorCode::kUsage, "BASE says image_token_id 7; tokenizer.json gives");
}

}  // namespace
}  // namespace ckpt
