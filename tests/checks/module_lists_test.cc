// Lists of modules against how single modules are stored, for each method and program. The rules
// are those of the servers' sources (checks/quantization/module_lists.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "checks/checks.h"
#include "core/model/tensor_names.h"
#include "quantizers/quantizers.h"
#include "tests/checks/tensors.h"

namespace ckpt {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::set<std::string>;

constexpr const char* kLinears[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                    "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                    "mlp.down_proj"};
constexpr std::string_view kCodesOfWords = ".qweight";
constexpr std::byte kFill{0x38};  // 1 in FP8: no scale is zero

// A stand-in for the readers of layouts: every tensor of words is a weight.
PackedForms forms_of_words(const Checkpoint& checkpoint) {
  PackedForms out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.name.ends_with(kCodesOfWords)) continue;
    const std::string module = module_of(tensor.name);
    const bool is_stack = module.ends_with("experts.down_proj");
    out.by_codes[tensor.name] = {module + (is_stack ? "" : ".weight"), {256, 256}, {tensor.name}};
  }
  return out;
}

// A Llama of two layers. `floats`: the modules that are not quantized; `coded`: further ones that
// are. `type`: of codes under the name of a weight; empty: words.
Checkpoint listed_model(const Json& statement, const Names& floats, std::string_view type = "",
                        const Names& coded = {}) {
  Checkpoint out;
  out.format = "safetensors";
  const auto add = [&](const std::string& module, bool is_float) {
    if (is_float || !type.empty()) {
      out.tensors.push_back(
          made_tensor(module + ".weight", {256, 256}, is_float ? "bf16" : type, kFill));
    } else {
      out.tensors.push_back(
          made_tensor(module + std::string(kCodesOfWords), {32, 256}, "i32", kFill));
    }
  };
  for (const char* layer : {"0", "1"}) {
    for (const char* name : kLinears) {
      const std::string module = fmt::format("model.layers.{}.{}", layer, name);
      add(module, floats.contains(module));
    }
  }
  for (const std::string& module : coded) add(module, false);
  if (!coded.contains("lm_head")) add("lm_head", true);
  const Json config = {{"architectures", {"LlamaForCausalLM"}},
                       {"model_type", "llama"},
                       {"hidden_size", 256},
                       {"num_hidden_layers", 2},
                       {"quantization_config", statement}};
  out.set_document("config.json", config.dump());
  return out;
}

// The findings about lists and schemes, with their severity: "Q07:unloaded Q11:unsound".
std::string lists_found(const Checkpoint& model, const std::string& profile) {
  DiagnosisOptions diagnosis_options;
  diagnosis_options.profiles = {profile};
  diagnosis_options.packed_forms = forms_of_words;
  const auto diagnosis = diagnose(model, diagnosis_options);
  EXPECT_TRUE(diagnosis.has_value());
  std::set<std::string> found;
  for (const Finding& finding : diagnosis->findings) {
    if (std::ranges::count(std::initializer_list<std::string_view>{"Q07", "Q09", "Q11", "Q37",
                                                                   "Q38"},
                           finding.check) != 0) {
      found.insert(fmt::format("{}:{}", finding.check, severity_name(finding.severity)));
    }
  }
  std::string out;
  for (const std::string& each : found) out += (out.empty() ? "" : " ") + each;
  return out;
}

constexpr const char* kNo = "Q07:unloaded";
constexpr const char* kWrong = "Q07:unsound";
constexpr const char* kParts = "Q11:unloaded";
const std::string kDown = "model.layers.0.mlp.down_proj";
const Names kAttention0 = {"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj",
                           "model.layers.0.self_attn.v_proj"};

// Expected findings in the order vllm-0.17, vllm, sglang; "-": not asked.
struct ListCase {
  const char* title;
  Json more;  // of the statement
  Names floats;
  std::array<const char*, 3> expected;
  Names coded = {};
};

void expect_lists(const Json& statement, std::string_view type,
                  const std::vector<ListCase>& cases) {
  constexpr const char* kPrograms[] = {"vllm-0.17", "vllm", "sglang"};
  for (const ListCase& each : cases) {
    Json whole = statement;
    whole.update(each.more);
    const Checkpoint model = listed_model(whole, each.floats, type, each.coded);
    for (size_t i = 0; i < std::size(kPrograms); ++i) {
      if (each.expected[i] == std::string_view("-")) continue;
      EXPECT_EQ(lists_found(model, kPrograms[i]), each.expected[i])
          << statement["quant_method"] << ": " << each.title << ", " << kPrograms[i];
    }
  }
}

Json list_of(const char* key, const std::vector<std::string>& names) { return {{key, names}}; }

TEST(ModuleLists, GptqGoesByRulesAndBlocks) {
  const Json down = {{"dynamic", {{R"(-:.*layers\.0\.mlp\.down_proj.*)", Json::object()}}}};
  const Json parts = {{"dynamic", {{R"(-:.*layers\.0\.self_attn\.[qkv]_proj$)", Json::object()}}}};
  const Json two = {{"dynamic",
                     {{R"(+:.*layers\.0.*)", {{"bits", 4}}},
                      {R"(-:.*layers\.0\.mlp\.down_proj.*)", Json::object()}}}};
  const Json unread = {{"dynamic", {{R"(-:(?!.*up).*)", Json::object()}}}};
  const std::vector<std::string> attention = {"self_attn.q_proj", "self_attn.k_proj",
                                              "self_attn.v_proj", "self_attn.o_proj"};
  const Json blocks = {{"modules_in_block_to_quantize", Json::array({Json(attention)})}};
  expect_lists(
      {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}, {"desc_act", false}}, "",
      {{"all have codes", Json::object(), {}, {"", "", ""}},
       {"floats without a rule", Json::object(), {kDown}, {"", "", kNo}},
       {"floats with a rule", down, {kDown}, {"", "", ""}},
       {"codes with a rule", down, {}, {kNo, kNo, kNo}},
       {"codes with two rules", two, {}, {"", "", ""}},
       {"floats with two rules", two, {kDown}, {"", "", ""}},
       {"rules of parts", parts, kAttention0, {"", "", kNo}},
       {"one part is floats", Json::object(), {*kAttention0.begin()}, {kParts, kParts, "-"}},
       {"codes outside of the blocks", blocks, {}, {kNo, kNo, ""}},
       {"a rule that is not read", unread, {kDown}, {"", "", ""}},
       {"a head with codes", {{"lm_head", true}}, {}, {"", "", ""}, {"lm_head"}},
       {"a head with codes, not said", Json::object(), {}, {kNo, kNo, kNo}, {"lm_head"}}});
}

TEST(ModuleLists, AwqGoesByPartsOfNames) {
  const std::vector<std::string> attention(kAttention0.begin(), kAttention0.end());
  expect_lists({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}, {"zero_point", true}}, "",
               {{"no list", Json::object(), {kDown}, {"", "", kNo}},
                {"another module is listed",
                 list_of("modules_to_not_convert", {"lm_head"}),
                 {kDown},
                 {kNo, kNo, kNo}},
                {"floats are listed",
                 list_of("modules_to_not_convert", {"layers.0.mlp.down"}),
                 {kDown},
                 {"", "", ""}},
                {"codes are listed",
                 list_of("modules_to_not_convert", {kDown}),
                 {},
                 {kNo, kNo, kNo}},
                {"parts are listed",
                 list_of("modules_to_not_convert", attention),
                 kAttention0,
                 {"", "", kNo}}});
}

TEST(ModuleLists, Fp8GoesByNames) {
  Json two = list_of("ignored_layers", {kDown});
  two["modules_to_not_convert"] = {"model.layers.1.mlp.down_proj"};
  Names attention;
  for (const char* layer : {"0", "1"}) {
    for (const char* part : {"q", "k", "v", "o"}) {
      attention.insert(fmt::format("model.layers.{}.self_attn.{}_proj", layer, part));
    }
  }
  const Json block = {{"weight_block_size", {128, 128}}};
  const Json statement = {{"quant_method", "fp8"}, {"activation_scheme", "dynamic"}};
  expect_lists(statement, "fp8_tensor",
               {{"all have codes", Json::object(), {}, {"", "", ""}},
                {"floats without a list", Json::object(), {kDown}, {kWrong, kWrong, kWrong}},
                {"floats are listed",
                 list_of("modules_to_not_convert", {kDown}),
                 {kDown},
                 {"", "", ""}},
                {"codes are listed",
                 list_of("modules_to_not_convert", {kDown}),
                 {},
                 {kNo, kNo, kNo}},
                {"the first of two lists counts", two, {kDown}, {"", "", ""}},
                {"a stem is listed",
                 list_of("modules_to_not_convert", {"self_attn"}),
                 attention,
                 {kWrong, kWrong, ""}},
                {"one part is listed",
                 list_of("ignored_layers", {*kAttention0.begin()}),
                 {*kAttention0.begin()},
                 {kParts, kParts, kParts}},
                {"inputs without their scales",
                 {{"activation_scheme", "static"}},
                 {},
                 {"Q09:unsound", "Q09:unsound", "Q09:unsound"}}});
  const char* kScheme = "Q38:unloaded";
  expect_lists(statement, "fp8_block",
               {{"blocks", block, {}, {"", "", ""}},
                {"blocks that are not said", Json::object(), {}, {kScheme, kScheme, kScheme}}});
}

TEST(ModuleLists, CompressedTensorsGoByNamesExpressionsAndTargets) {
  const auto group = [](const char* target) -> Json {
    return {{"config_groups",
             {{"group_0",
               {{"targets", Json::array({target})},
                {"weights", {{"num_bits", 4}, {"type", "int"}, {"group_size", 32}}}}}}}};
  };
  const char* kDownRule = R"(re:.*layers\.0\.mlp\.down_proj$)";
  const char* kGroup = "Q37:unloaded";
  const Names downs = {kDown, "model.layers.1.mlp.down_proj"};
  Json ints = {{"quant_method", "compressed-tensors"}};
  ints.update(group("Linear"));
  expect_lists(ints, "",
               {{"all have codes", list_of("ignore", {"lm_head"}), {}, {"", "", ""}},
                {"floats are not listed", Json::object(), {kDown}, {kNo, kNo, kNo}},
                {"floats are listed", list_of("ignore", {kDown}), {kDown}, {"", "", ""}},
                {"codes are listed", list_of("ignore", {kDown}), {}, {kNo, kNo, kNo}},
                {"floats fit", list_of("ignore", {kDownRule}), {kDown}, {"", "", ""}},
                {"codes fit", list_of("ignore", {kDownRule}), {}, {kNo, kNo, kNo}},
                {"everything fits", list_of("ignore", {"re:.*"}), {}, {kNo, kNo, kNo}},
                {"a part of names", list_of("ignore", {"MLP.down"}), downs, {kNo, kNo, ""}},
                {"the joined name fits",
                 list_of("ignore", {R"(re:.*layers\.0\.self_attn\.qkv_proj)"}),
                 kAttention0,
                 {kNo, "", ""}},
                {"the target fits nothing", group("re:nothing"), {}, {kGroup, kGroup, kGroup}},
                {"the target fits", group(R"(re:.*_proj$)"), {}, {"", "", ""}}});
  // Codes of 8 bits in the shape of the weight: floats load in their place.
  Json bytes = ints;
  bytes["config_groups"]["group_0"]["weights"] = {{"num_bits", 8}, {"type", "float"}};
  expect_lists(bytes, "fp8_channel_column",
               {{"floats are not listed", Json::object(), {kDown}, {kWrong, kWrong, kWrong}},
                {"no group of 8 bits",
                 group("Linear"),
                 {},
                 {"Q38:unloaded", "Q38:unloaded", "Q38:unloaded"}}});
}

TEST(ModuleLists, BitsandbytesGoesByWordsAndStems) {
  const auto skip = [](const char* name) { return list_of("llm_int8_skip_modules", {name}); };
  expect_lists({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}, "",
               {{"a word",
                 skip("down_proj"),
                 {kDown, "model.layers.1.mlp.down_proj"},
                 {"", "-", ""}},
                {"a stem",
                 skip("model.layers.0.mlp"),
                 {"model.layers.0.mlp.gate_proj", "model.layers.0.mlp.up_proj", kDown},
                 {"", "-", ""}},
                {"floats are not listed", skip("lm_head"), {kDown}, {kNo, "-", kNo}},
                {"codes are listed", skip("down_proj"), {}, {kNo, "-", kNo}}});
}

TEST(ModuleLists, TorchaoAndQuarkGoByNames) {
  const char* key = "modules_to_not_convert";
  expect_lists({{"quant_method", "torchao"}, {"quant_type", {{"default", Json::object()}}}}, "",
               {{"words are listed",
                 list_of(key, {"layers.0.mlp.down_proj"}),
                 {kDown},
                 {"", "", ""}},
                {"floats are not listed", list_of(key, {"lm_head"}), {kDown}, {kNo, kNo, ""}},
                {"codes are listed", list_of(key, {kDown}), {}, {kNo, kNo, ""}}});
  expect_lists({{"quant_method", "quark"}}, "",
               {{"floats fit", list_of("exclude", {"re:.*0.*down_proj"}), {kDown}, {"", "", ""}},
                {"floats are not listed",
                 list_of("exclude", {"lm_head"}),
                 {kDown},
                 {kNo, kNo, kNo}},
                {"codes are listed", list_of("exclude", {kDown}), {}, {kNo, kNo, kNo}}});
}

TEST(ModuleLists, Mxfp4IsOfExpertsAlone) {
  Names floats;
  for (const char* layer : {"0", "1"}) {
    for (const char* name : kLinears) floats.insert(fmt::format("model.layers.{}.{}", layer, name));
  }
  const Names experts = {"model.layers.0.mlp.experts.down_proj"};
  Names but_one = floats;
  but_one.erase("model.layers.0.self_attn.o_proj");
  expect_lists({{"quant_method", "mxfp4"}}, "",
               {{"experts", Json::object(), floats, {"", "", ""}, experts},
                {"another module has codes", Json::object(), but_one, {kNo, kNo, ""}, experts}});
}

}  // namespace
}  // namespace ckpt
