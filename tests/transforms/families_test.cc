// The tables of families hold what the code that reads them takes for granted.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/base/words.h"
#include "models/families/rows.h"
#include "tests/support/files.h"
#include "transforms/to_gguf/names.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

size_t count_holes(std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2)) {
    ++count;
  }
  return count;
}

bool gives_two(Change change) {
  constexpr Change kTwo[] = {Change::kExpertsGateUp, Change::kQkvz,      Change::kKeyValue,
                             Change::kQkvOfGroups,   Change::kRowParts,
                             Change::kSwapHalves,    Change::kSwapPairs, Change::kPairs,
                             Change::kAnswersAndAll};
  return std::find(std::begin(kTwo), std::end(kTwo), change) != std::end(kTwo);
}

// Whether a row has a second target: for a second tensor, or for other layers.
bool has_two_targets(Change change) { return gives_two(change) || change == Change::kByMixer; }

// A class may read the configuration of another family's, but only that one.
TEST(Families, ArchitecturesAndModelTypesBelongToOne) {
  std::set<std::string> seen;
  for (const Family* family : families()) {
    EXPECT_FALSE(family->model_types.empty()) << family->name;
    for (const std::string_view list : {family->architectures, family->model_types}) {
      for (const std::string_view word : split_words(list)) {
        const bool is_new = seen.insert(std::string(word)).second;
        EXPECT_TRUE(is_new || word == family->model_types) << word;
      }
    }
  }
  EXPECT_EQ(all_families().size(), families().size());
}

TEST(Families, TheListSaysWhichHaveAProjectorAndAWrapper) {
  std::set<std::string_view> projectors, wrappers;
  for (const FamilyInfo& family : all_families()) {
    if (family.has_projector) projectors.insert(family.name);
    if (family.has_wrapper) wrappers.insert(family.name);
  }
  for (const char* name : {"qwen35", "qwen35moe", "gemma3", "mistral3", "llama4", "qwen3vl"}) {
    EXPECT_TRUE(projectors.contains(name) && wrappers.contains(name)) << name;
  }
  for (const char* name : {"lfm2", "phi3", "olmo2"}) {
    EXPECT_FALSE(projectors.contains(name) || wrappers.contains(name)) << name;
  }
}

TEST(Families, RowsAreWellFormed) {
  for (const Family* family : families()) {
    for (const auto list : family->names) {
      for (const NameRule& rule : list) {
        const bool is_expert = rule.change == Change::kExpert;
        if (rule.to.empty()) continue;  // the converter leaves this tensor out
        const bool is_part = rule.change == Change::kStacked || rule.change == Change::kShards;
        const size_t before = count_holes(rule.from), after = count_holes(rule.to);
        EXPECT_EQ(is_part, !rule.parts.empty()) << rule.from;
        EXPECT_TRUE(is_part ? after < before : after == std::min<size_t>(before, 1)) << rule.from;
        EXPECT_EQ(is_expert, before == 2 && !is_part) << rule.from;
        EXPECT_EQ(has_two_targets(rule.change), !rule.second.empty()) << rule.from;
      }
    }
    for (const KeyRule& rule : family->keys) EXPECT_FALSE(rule.key.empty());
  }
}

TEST(Families, RowsWithChoicesAreSeveralRows) {
  constexpr auto kRows = spread([] {
    return std::to_array<NameRule>(
        {{"layers.{}.{k,v}_proj", "blk.{}.attn_{x,y}", Change::kExpert}, {"norm", "output_norm"}});
  });
  ASSERT_EQ(kRows.size(), 3u);
  EXPECT_EQ(kRows[0].from, "layers.{}.k_proj");
  EXPECT_EQ(kRows[1].from, "layers.{}.v_proj");
  EXPECT_EQ(kRows[1].to, "blk.{}.attn_y");
  EXPECT_EQ(kRows[1].change, Change::kExpert);
  EXPECT_EQ(kRows[2].to, "output_norm");
}

// Stacks come in the order of their rows: down, gate, up.
TEST(Families, ExpertsComeDownGateUp) {
  std::vector<std::string_view> order;
  for (const NameRule& rule : rows::kExpertNames) {
    if (rule.change == Change::kExpert) order.push_back(rule.to);
  }
  EXPECT_EQ(order, (std::vector<std::string_view>{"blk.{}.ffn_down_exps", "blk.{}.ffn_gate_exps",
                                                  "blk.{}.ffn_up_exps"}));
}

// A small model. All else has the defaults of the class, which are not known for some.
JsonValue small_config(const Family& family) {
  constexpr std::pair<std::string_view, std::string_view> kWithoutDefaults[] = {
      {"bailingmoe3", "ling3"}, {"deepseek4", "deepseek-v4"}, {"kimi-k3", "kimi-k3"}};
  JsonValue out = JsonValue::object();
  for (const auto& [name, folder] : kWithoutDefaults) {
    if (family.name != name) continue;
    const std::string path = fmt::format("families/{}/hf/config.json", folder);
    const JsonValue root = JsonValue::parse(read_file(testdata(path)));
    const JsonValue* text = find_text_config(root);
    out = text == nullptr ? root : *text;
  }
  out.update(JsonValue::parse(
      R"({"num_hidden_layers": 4, "num_experts": 2, "attention_bias": true, "mlp_bias": true})"));
  return out;
}

// The rows of names convert every parameter of a model's table to GGUF.
TEST(Families, EveryParameterHasARow) {
  for (const Family* family : families()) {
    ASSERT_FALSE(family->parameters.empty()) << family->name;
    std::string_view list = family->architectures;
    while (!list.empty()) {
      const std::string_view word = take_word(list);
      const bool is_whole = !family->is_partial;
      EXPECT_EQ(table_of_architecture(word), is_whole ? family : nullptr) << word;
    }
    const JsonValue config = small_config(*family);
    for (const bool is_stacked : {false, true}) {
      ModelForm form;
      if (is_stacked) form.stacked.insert("another layer");
      const auto expected = expected_parameters({*family, *family, config}, form);
      ASSERT_TRUE(expected.has_value()) << expected.error().text();
      EXPECT_GT(expected->size(), 20u);
      for (const Parameter& parameter : *expected) {
        // llama.cpp reads no biases of cohere2, so conversion rejects them.
        const bool is_refused = family->name == "cohere2" && parameter.is_of_field;
        EXPECT_EQ(find_name_rule(*family, parameter.name).has_value(), !is_refused)
            << family->name << ' ' << parameter.name;
        const auto match = find_name_rule(*family, parameter.name);
        const bool is_left_out = match && match->rule->to.empty();  // such a tensor may be a scalar
        EXPECT_TRUE(is_left_out || !parameter.shape.empty()) << parameter.name;
      }
    }
  }
}

}  // namespace
}  // namespace ckpt
