// config, metadata, drop, rename, graft: what they change, and what they refuse.
#include <gtest/gtest.h>

#include "core/json/json_edit.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

Tensor small_tensor(const std::string& name, std::vector<uint64_t> shape = {2, 16},
                    const char* codec = "bf16") {
  const Codec& found = *find_codec(all_codecs(), codec);
  Tensor out;
  out.name = name;
  out.shape = std::move(shape);
  out.codec = &found;
  out.origin = Stored{std::vector<std::vector<Slice>>(found.parts.size()), {}};
  return out;
}

Checkpoint checkpoint(const std::vector<std::string>& names) {
  Checkpoint out;
  out.format = "safetensors";
  for (const std::string& name : names) out.tensors.push_back(small_tensor(name));
  return out;
}

using EditPairs = std::vector<std::pair<std::string, std::string>>;

Result<Checkpoint> run_edit(const char* step, const EditPairs& pairs, Checkpoint in,
                            const Context& context = {}) {
  Options options;
  for (const auto& [key, value] : pairs) options.add(key, value);
  return find_transform(step)->apply(std::move(in), options, context);
}

std::string edit_error(const Result<Checkpoint>& result) {
  return result ? "no error" : result.error().text();
}

std::string joined_names(const Result<Checkpoint>& result) {
  if (!result) return result.error().text();
  std::string out;
  for (const Tensor& t : result->tensors) out += (out.empty() ? "" : " ") + t.name;
  return out;
}

std::string config_after(const EditPairs& pairs, const std::string& before) {
  Checkpoint in;
  in.set_document("config.json", before);
  const auto out = run_edit("config", pairs, std::move(in));
  return out ? out->find_document("config.json")->text() : out.error().text();
}

// ---- config ------------------------------------------------------------------------------------

TEST(ConfigStep, SetsMembersAndKeepsTheRest) {
  const std::string before = "{\n  \"eps\": 1e-06,\n  \"a\": {\n    \"b\": 1\n  }\n}\n";
  EXPECT_EQ(config_after({{"set", "a.b=2.50"}}, before),
            "{\n  \"eps\": 1e-06,\n  \"a\": {\n    \"b\": 2.50\n  }\n}\n");
  EXPECT_EQ(config_after({{"set", "eps=1e-06"}}, before), before);
  EXPECT_EQ(config_after({{"remove", "a"}, {"set", "x.y=\"z\""}}, before),
            "{\n  \"eps\": 1e-06,\n  \"x\": {\n    \"y\": \"z\"\n  }\n}\n");
  EXPECT_EQ(config_after({{"remove", "a.c.d"}}, before), before);
}

TEST(ConfigStep, StepsIntoArraysAndKeysWithDots) {
  EXPECT_EQ(config_after({{"set", "a.1=5"}}, "{\"a\": [1, 2]}"), "{\"a\": [1, 5]}");
  EXPECT_EQ(config_after({{"set", "/a.b/c=true"}}, "{\"a.b\": {\"c\": false}}"),
            "{\"a.b\": {\"c\": true}}");
}

TEST(ConfigStep, EditsFollowEachOther) {
  const std::string before = "{\"a\": 1, \"b\": {\"c\": 3}}";
  EXPECT_EQ(config_after({{"remove", "a"}, {"set", "a=5"}}, before),
            "{\"b\": {\"c\": 3}, \"a\": 5}");
  EXPECT_EQ(config_after({{"set", "x.y=1"}, {"remove", "x"}, {"set", "x.z=2"}}, before),
            "{\"a\": 1, \"b\": {\"c\": 3}, \"x\": {\"z\": 2}}");
  EXPECT_EQ(config_after({{"set", "b=[1]"},
                          {"set", "b.0={\"c\": 1}"},
                          {"set", "b.0.d=2"},
                          {"remove", "b.0.c"},
                          {"remove", "a"}},
                         before),
            "{\"b\": [{\"d\": 2}]}");
}

TEST(ConfigStep, RefusesWhatItCannotDo) {
  const std::string before = "{\"a\": [1], \"b\": 2}";
  EXPECT_EQ(config_after({{"set", "b=yes"}}, before),
            "set=b=yes: the value is not JSON; text needs double quotes. Try: --step "
            "'config:set=b=\"yes\"'");
  EXPECT_NE(config_after({{"set", "b.c=1"}}, before).find("is not an object"), std::string::npos);
  EXPECT_NE(config_after({{"set", "a.1=1"}}, before).find("is not an object"), std::string::npos);
  EXPECT_NE(config_after({{"remove", "a.0"}}, before).find("not removed"), std::string::npos);
  EXPECT_NE(config_after({{"set", "b"}}, before).find("expected PATH=JSON"), std::string::npos);
  EXPECT_EQ(config_after({}, before), "nothing to set or remove");
  EXPECT_EQ(config_after({{"set", "a=1"}, {"file", "x.json"}}, before), "no document 'x.json'");
}

// ---- metadata ----------------------------------------------------------------------------------

Checkpoint gguf() {
  Checkpoint out;
  out.format = "gguf";
  out.metadata.set("n", MetaValue::u32(4));
  out.metadata.set("t", MetaValue::text("x"));
  out.metadata.set("list", MetaValue::array(make_i32_array({1})));
  return out;
}

std::string key_after(const std::string& set, const char* key) {
  const auto out = run_edit("metadata", {{"set", set}}, gguf());
  if (!out) return out.error().text();
  const MetaValue& value = *out->metadata.find(key);
  std::string text(name(value.type));
  if (const auto* found = std::get_if<std::string>(&value.value)) return text + " " + *found;
  if (const auto* found = std::get_if<uint64_t>(&value.value))
    return fmt::format("{} {}", text, *found);
  if (const auto* found = std::get_if<int64_t>(&value.value))
    return fmt::format("{} {}", text, *found);
  return fmt::format("{} {}", text, std::get<double>(value.value));
}

TEST(MetadataStep, KeepsTheTypeOfAKeyAndTakesANamedOne) {
  EXPECT_EQ(key_after("n=7", "n"), "u32 7");
  EXPECT_EQ(key_after("n=u64:18446744073709551615", "n"), "u64 18446744073709551615");
  EXPECT_EQ(key_after("new=seven", "new"), std::string(name(MetaType::kText)) + " seven");
  EXPECT_EQ(key_after("new=text:7", "new"), std::string(name(MetaType::kText)) + " 7");
  EXPECT_EQ(key_after("new=i8:-128", "new"), "i8 -128");
  EXPECT_EQ(key_after("new=f32:0.5", "new"), "f32 0.5");
  EXPECT_EQ(key_after("new=bool:true", "new"), "bool 1");
  EXPECT_EQ(key_after("t=http://a=b", "t"), std::string(name(MetaType::kText)) + " http://a=b");
}

TEST(MetadataStep, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(key_after("n=4294967296", "n"), "key 'n': '4294967296' is not of type u32");
  EXPECT_EQ(key_after("n=i8:128", "n"), "key 'n': '128' is not of type i8");
  EXPECT_EQ(key_after("n=i8:-129", "n"), "key 'n': '-129' is not of type i8");
  EXPECT_EQ(key_after("n=f32:1e39", "n"), "key 'n': '1e39' is not of type f32");
  EXPECT_EQ(key_after("n=x", "n"), "key 'n': 'x' is not of type u32");
  EXPECT_EQ(key_after("n=bool:1", "n"), "key 'n': '1' is not of type bool");
  EXPECT_NE(key_after("list=1", "list").find("'1' is not a list"), std::string::npos);
  EXPECT_NE(key_after("general.alignment=u32:64", "n").find("laid out"), std::string::npos);
}

TEST(MetadataStep, RejectsNewKeysWhoseTypeIsNotNamed) {
  for (const char* value : {"7", "-7", "1.5", "1e6", "inf", "true", "False", "[1]"}) {
    EXPECT_NE(key_after(fmt::format("new={}", value), "new").find("expected a type"),
              std::string::npos)
        << value;
  }
  for (const char* value : {"7 B", "v1.5", "1,5", "yes", "-", "+", "[1"}) {
    EXPECT_EQ(key_after(fmt::format("new={}", value), "new"),
              std::string(name(MetaType::kText)) + " " + value);
  }
}

TEST(MetadataStep, NamesTheKeyThatWasMeant) {
  const std::pair<const char*, const char*> kMeant[] = {
      {"general.nmae=x", "general.name"},
      {"genral.license=x", "general.license"},
      {"tokenizer.ggml.pad_token_id=1", "tokenizer.ggml.padding_token_id"},
      {"tokenizer.ggml.unk_token_id=1", "tokenizer.ggml.unknown_token_id"},
      {"tokenizer.ggml.separator_token_id=1", "tokenizer.ggml.seperator_token_id"},
      {"tokenizer.ggml.chat_template=x", "tokenizer.chat_template"},
      {"chat_template=x", "tokenizer.chat_template"},
      {"eos_token_id=1", "tokenizer.ggml.eos_token_id"}};
  for (const auto& [typed, meant] : kMeant) {
    EXPECT_NE(key_after(typed, "n").find(fmt::format("Try: {}", meant)), std::string::npos)
        << key_after(typed, "n");
  }
}

TEST(MetadataStep, RejectsAKeyThatIsNamedTwice) {
  const Checkpoint in = gguf();
  EXPECT_EQ(edit_error(run_edit("metadata", {{"set", "a=b"}, {"set", "a=c"}}, in)),
            "key 'a' is set twice; expected one of them");
  EXPECT_EQ(edit_error(run_edit("metadata", {{"set", "a=b"}, {"remove", "a"}}, in)),
            "key 'a' is set and removed; expected one of them");
}

TEST(MetadataStep, EditsTheWeightFilesOfAFolder) {
  Checkpoint in = checkpoint({"a"});
  in.file_metadata["a.safetensors"].set("format", MetaValue::text("pt"));
  in.file_metadata["b.safetensors"] = {};
  in.file_metadata["model.safetensors.index.json"] = {};
  const auto out = run_edit(
      "metadata", {{"set", "k=u32:5"}, {"remove", "format"}, {"file", "*.safetensors"}}, in);
  ASSERT_TRUE(out);
  EXPECT_EQ(*out->file_metadata.at("a.safetensors").find_text("k"), "u32:5");
  EXPECT_EQ(out->file_metadata.at("a.safetensors").find("format"), nullptr);
  EXPECT_NE(out->file_metadata.at("b.safetensors").find("k"), nullptr);
  EXPECT_TRUE(out->file_metadata.at("model.safetensors.index.json").entries.empty());
  EXPECT_EQ(edit_error(run_edit("metadata", {{"set", "k=1"}, {"file", "c*"}}, in)),
            "no weight file is called 'c*'");
}

// ---- drop, rename ------------------------------------------------------------------------------

TEST(DropStep, LeavesOutWhatFits) {
  const Checkpoint in = checkpoint({"a.w", "b.w", "c.w"});
  EXPECT_EQ(joined_names(run_edit("drop", {{"tensors", "a.*"}, {"tensors", "c.w"}}, in)), "b.w");
  EXPECT_EQ(joined_names(run_edit("drop", {{"tensors", "a.*"}, {"tensors", "d"}}, in)),
            "no tensor is called 'd'");
  EXPECT_EQ(joined_names(run_edit("drop", {{"tensors", "*"}}, in)), "no tensor would be left");
}

TEST(RenameStep, ByPrefixAndByStar) {
  const Checkpoint in = checkpoint({"m.a.gamma", "m.b.w", "x"});
  EXPECT_EQ(joined_names(run_edit("rename", {{"from", "m."}, {"to", "n.m."}}, in)),
            "n.m.a.gamma n.m.b.w x");
  EXPECT_EQ(joined_names(run_edit("rename", {{"from", "m.*.gamma"}, {"to", "*.weight"}}, in)),
            "a.weight m.b.w x");
  const auto swapped =
      run_edit("rename", {{"from", "m.b."}, {"to", "x"}, {"from", "x"}, {"to", "m.b.w"}}, in);
  EXPECT_EQ(joined_names(swapped), "m.a.gamma xw m.b.w");
  EXPECT_EQ(swapped->tensors[2].source_name, "x");
}

TEST(RenameStep, RejectsAmbiguousExpressions) {
  const Checkpoint in = checkpoint({"m.a", "m.b", "x"});
  const auto rename = [&](const EditPairs& pairs) {
    return joined_names(run_edit("rename", pairs, in));
  };
  EXPECT_EQ(rename({{"from", "m.a"}, {"to", "x"}}), "two tensors would be called 'x'");
  EXPECT_EQ(rename({{"from", "m."}, {"to", ""}, {"from", "*.a"}, {"to", "*.z"}}),
            "tensor 'm.a' fits from=m. and from=*.a; expected one");
  EXPECT_EQ(rename({{"from", "y"}, {"to", "z"}}), "no tensor fits from=y");
  EXPECT_EQ(rename({{"from", "x"}, {"to", ""}}), "tensor 'x' would have no name");
  EXPECT_EQ(rename({{"from", "*"}, {"to", "z"}}), "from=*, to=z; expected as many * in both");
  EXPECT_EQ(rename({{"from", "x"}, {"from", "y"}, {"to", "z"}}), "2 from=, 1 to=; expected pairs");
}

TEST(RenameStep, ListsOfModulesFollow) {
  Checkpoint in = checkpoint({"model.layers.0.mlp.up.weight", "lm_head.weight"});
  in.set_document("hf_quant_config.json",
                  "{\"quantization\": {\"exclude_modules\": [\"lm_head\", \"model.layers.0*\", "
                  "\"*visual*\", \"model*\"], \"quantized_layers\": {\"model.layers.0.mlp.up\": "
                  "{\"quant_algo\": \"NVFP4\"}}}}");
  in.set_document(
      "config.json",
      "{\"model_type\": \"model.layers.0\", \"quantization_config\": {\"ignore\": "
      "[\"re:^model\\\\.layers\\\\.0\\\\..*\", \"re:.*head\", \"model.layers.0.mlp.up\"], "
      "\"config_groups\": {\"group_0\": {\"targets\": [\"Linear\", "
      "\"re:model.layers.*\"]}}}}");
  const auto out = run_edit("rename", {{"from", "model."}, {"to", "model.language_model."}}, in);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->find_document("hf_quant_config.json")->text(),
            "{\"quantization\": {\"exclude_modules\": [\"lm_head\", "
            "\"model.language_model.layers.0*\", \"*visual*\", \"model.language_model*\"], "
            "\"quantized_layers\": {\"model.language_model.layers.0.mlp.up\": "
            "{\"quant_algo\": \"NVFP4\"}}}}");
  EXPECT_EQ(out->find_document("config.json")->text(),
            "{\"model_type\": \"model.layers.0\", \"quantization_config\": {\"ignore\": "
            "[\"re:^model\\\\.language_model\\\\.layers\\\\.0\\\\..*\", \"re:.*head\", "
            "\"model.language_model.layers.0.mlp.up\"], "
            "\"config_groups\": {\"group_0\": {\"targets\": [\"Linear\", "
            "\"re:model.language_model.layers.*\"]}}}}");
}

TEST(RenameStep, ListsOfEveryMethodFollow) {
  const std::pair<const char*, const char*> kSame[] = {
      {R"("quant_method": "gptq", "dynamic": {"-:model\\.layers\\.1\\..*": {},)"
       R"( "+:^model\\.layers\\.0\\..*": {"bits": 8}, "model\\.x": {}, "-:.*gate": {}})",
       R"("quant_method": "gptq", "dynamic": {"-:m\\.layers\\.1\\..*": {},)"
       R"( "+:^m\\.layers\\.0\\..*": {"bits": 8}, "m\\.x": {}, "-:.*gate": {}})"},
      {R"("quant_method": "gptq", "modules_in_block_to_quantize": [["model.a"], ["mlp.b"]])",
       R"("quant_method": "gptq", "modules_in_block_to_quantize": [["m.a"], ["mlp.b"]])"},
      {R"("quant_method": "auto-round", "block_name_to_quantize": "model.layers,x.model.blocks")",
       R"("quant_method": "auto-round", "block_name_to_quantize": "m.layers,x.model.blocks")"},
      {R"("quant_method": "bitsandbytes", "llm_int8_skip_modules": ["lm_head", "model.a"])",
       R"("quant_method": "bitsandbytes", "llm_int8_skip_modules": ["lm_head", "m.a"])"},
      {R"("quant_method": "fp8", "ignored_layers": ["model.a"], "modules_to_not_convert": null)",
       R"("quant_method": "fp8", "ignored_layers": ["m.a"], "modules_to_not_convert": null)"},
      {R"("quant_method": "quark", "exclude": ["model.a", "re:model.b.*"])",
       R"("quant_method": "quark", "exclude": ["m.a", "re:m.b.*"])"},
  };
  for (const auto& [before, after] : kSame) {
    for (const bool is_inner : {false, true}) {
      const std::string front =
          std::string(is_inner ? R"({"text_config": )" : "") + R"({"quantization_config": {)";
      const std::string end = is_inner ? "}}}" : "}}";
      Checkpoint in = checkpoint({"model.a.weight"});
      in.set_document("config.json", front + before + end);
      const auto out = run_edit("rename", {{"from", "model."}, {"to", "m."}}, in);
      ASSERT_TRUE(out) << out.error().text();
      EXPECT_EQ(out->find_document("config.json")->text(), front + after + end);
    }
  }
}

TEST(RenameStep, ExpressionsOfSeveralNamesAreReported) {
  Checkpoint in = checkpoint({"model.a.weight"});
  const std::string text =
      R"({"bits": 4, "dynamic": {"-:(model|x).a": {}, "-:model.a|model.b": {}, "-:.*c": {}}})";
  in.set_document("quantize_config.json", text);
  std::vector<std::string> notes;
  Context context;
  context.notes = &notes;
  const auto out = run_edit("rename", {{"from", "model."}, {"to", "m."}}, in, context);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->find_document("quantize_config.json")->text(), text);
  EXPECT_EQ(notes, std::vector<std::string>{
                       "rename: entries of quantization lists that keep their names: "
                       "-:(model|x).a, -:model.a|model.b"});
}

// A change that changes nothing writes nothing; a name without a prefix is reported.
TEST(RenameStep, ListsThatSpeakOfOthersStay) {
  Checkpoint in = checkpoint({"m.a.weight"});
  const std::string text =
      "{ \"quantization_config\": {\"ignore\": [\"m?x*\", \"re:(m|n).a\", \"other.m.a\"]}}";
  in.set_document("config.json", text);
  const auto out = run_edit("rename", {{"from", "m.a."}, {"to", "m.b."}}, in);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->find_document("config.json")->text(), text);
}

// ---- graft -------------------------------------------------------------------------------------

Context with(const Checkpoint& other) {
  Context context{all_codecs()};
  context.open = [other](const std::filesystem::path&) { return other; };
  return context;
}

TEST(GraftStep, PutsNewTensorsIntoASeparateFileAndTheIgnoreLists) {
  Checkpoint in = checkpoint({"m.norm.weight"});
  in.tensors.push_back(small_tensor("m.a.weight", {2, 16}, "nvfp4_modelopt"));
  in.tensors[0].home = in.tensors[1].home = "model-grafted.safetensors";
  in.set_document(
      "hf_quant_config.json",
      "{\"quantization\": {\"quant_algo\": \"NVFP4\", \"exclude_modules\": [\"lm_head\"]}}");
  in.set_document("config.json",
                  "{\"quantization_config\": {\"quant_algo\": \"NVFP4\", \"ignore\": [\"mtp*\"]}}");
  const Checkpoint other = checkpoint({"mtp.fc.weight", "mtp.fc.bias", "m.a.weight"});
  const auto out = run_edit("graft", {{"from", "o"}, {"tensors", "mtp.*"}}, in, with(other));
  ASSERT_EQ(joined_names(out), "m.norm.weight m.a.weight mtp.fc.weight mtp.fc.bias");
  EXPECT_EQ(out->tensors[2].home, "model-grafted-2.safetensors");
  EXPECT_EQ(out->find_document("hf_quant_config.json")->text(),
            "{\"quantization\": {\"quant_algo\": \"NVFP4\", \"exclude_modules\": [\"lm_head\", "
            "\"mtp*\"]}}");
  EXPECT_EQ(out->find_document("config.json")->text(), in.find_document("config.json")->text());
}

// The list that a graft of "model.b.weight" leaves in `said`, next to a packed layer and a head.
std::string lists_after_graft(const std::string& said) {
  Checkpoint in = checkpoint({"lm_head.weight"});
  in.tensors.push_back(small_tensor("model.a.qweight", {2, 16}, "i32"));
  in.tensors.push_back(small_tensor("model.c.weight", {2, 16}, "f8_e4m3"));
  in.set_document("config.json", R"({"text_config": {"quantization_config": {)" + said + "}}}");
  const auto out = run_edit("graft", {{"from", "o"}, {"tensors", "*"}}, in,
                            with(checkpoint({"model.b.weight", "model.b.bias"})));
  if (!out) return out.error().text();
  auto config = JsonText::parse(out->find_document("config.json")->text());
  JsonText& made = *config->find("text_config")->find("quantization_config");
  made.remove("quant_method");
  return made.dump(0);
}

TEST(GraftStep, NewFloatsAreInTheListThatTheMethodReads) {
  EXPECT_EQ(lists_after_graft(R"("quant_method": "awq", "modules_to_not_convert": ["lm_head"])"),
            R"({"modules_to_not_convert": ["lm_head", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "awq", "modules_to_not_convert": null)"),
            R"({"modules_to_not_convert": ["lm_head", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "awq", "modules_to_not_convert": ["model"])"),
            R"({"modules_to_not_convert": ["model"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "bitsandbytes")"),
            R"({"llm_int8_skip_modules": ["lm_head", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "mxfp4")"),
            R"({"modules_to_not_convert": ["lm_head", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "fp8", "ignored_layers": ["model"])"),
            R"({"ignored_layers": ["model", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "fp8", "ignored_layers": [])"),
            R"({"ignored_layers": [], "modules_to_not_convert": ["lm_head", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "gptq", "dynamic": {"+:.*": {"bits": 8}})"),
            R"({"dynamic": {"-:^model\\.b$": {}, "+:.*": {"bits": 8}}})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "quark", "exclude": ["lm_head"])"),
            R"({"exclude": ["lm_head", "model.b"]})");
  EXPECT_EQ(lists_after_graft(R"("quant_method": "modelopt")"), R"({"ignore": ["model.b"]})");
}

TEST(GraftStep, FloatsInPlaceOfQuantizedWeightsReplaceTheirScales) {
  Checkpoint in = checkpoint({"m.a.weight", "m.a.input_scale", "m.a.bias", "m.b.input_scale"});
  in.tensors[0] = small_tensor("m.a.weight", {2, 16}, "nvfp4_modelopt");
  const EditPairs pairs{{"from", "o"}, {"tensors", "*"}, {"replace", "yes"}};
  EXPECT_EQ(joined_names(run_edit("graft", pairs, in, with(checkpoint({"m.a.weight"})))),
            "m.a.weight m.a.bias m.b.input_scale");
  EXPECT_EQ(joined_names(run_edit("graft", pairs, in, with(checkpoint({"m.a.bias"})))),
            "m.a.weight m.a.input_scale m.a.bias m.b.input_scale");
}

TEST(GraftStep, RefusesNamesThatAreThere) {
  const Checkpoint in = checkpoint({"a.weight"});
  Checkpoint other = checkpoint({"a.weight"});
  const EditPairs pairs{{"from", "o"}, {"tensors", "*"}};
  EXPECT_NE(edit_error(run_edit("graft", pairs, in, with(other))).find("in both, of shape [2, 16]"),
            std::string::npos);
  other.tensors[0].shape = {4, 16};
  EXPECT_NE(edit_error(run_edit("graft", pairs, in, with(other)))
                .find("of shape [2, 16] here and [4, 16] there"),
            std::string::npos);
  const auto out =
      run_edit("graft", {{"from", "o"}, {"tensors", "*"}, {"replace", "yes"}}, in, with(other));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->tensors[0].shape, (std::vector<uint64_t>{4, 16}));
  EXPECT_EQ(edit_error(run_edit("graft", {{"from", "o"}, {"tensors", "b"}}, in, with(other))),
            "o: no tensor is called 'b'");
}

}  // namespace
}  // namespace ckpt
