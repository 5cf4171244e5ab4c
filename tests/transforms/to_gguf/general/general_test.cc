// The general.* keys, against tables that llama.cpp's own package made (testdata/transforms/*.py).
#include "transforms/to_gguf/general/general.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/readers/yaml.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

JsonValue load(const std::string& name) {
  std::ifstream file(std::string(CKPT_TESTDATA) + "/transforms/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return JsonValue::parse(text.str(), nullptr, false);
}

JsonValue as_json(const std::optional<std::string>& text) {
  return text ? JsonValue(*text) : JsonValue();
}

// The form of a MetaValue in the table.
JsonValue as_json(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* array = std::get_if<MetaArray>(&value.value)) return array->texts;
  if (const auto* real = std::get_if<double>(&value.value)) return *real;
  if (const auto* number = std::get_if<int64_t>(&value.value)) return *number;
  return std::get<uint64_t>(value.value);
}

std::string type_of(const MetaValue& value) {
  switch (value.type) {
    case MetaType::kText: return "STRING";
    case MetaType::kArray: return "ARRAY";
    case MetaType::kF32: return "FLOAT32";
    case MetaType::kI32: return "INT32";
    case MetaType::kU32: return "UINT32";
    default: return "other";
  }
}

Tensor tensor_of(uint64_t values) {
  Tensor tensor;
  tensor.name = "token_embd.weight";
  tensor.shape = {1, values};
  tensor.codec = &plain_codec(all_codecs(), Dtype::kBF16);
  return tensor;
}

TEST(GgufGeneralNames, MatchesLlamaCpp) {
  const JsonValue rows = load("names.json");
  ASSERT_GE(rows.size(), 150u);
  for (const JsonValue& row : rows) {
    const auto id = row[0].get<std::string>();
    const NameComponents parts = name_components(id, row[1].get<uint64_t>());
    EXPECT_EQ(title_of(id), row[2].get<std::string>()) << id;
    const JsonValue found = {as_json(parts.full_name), as_json(parts.organization),
                             as_json(parts.basename),  as_json(parts.finetune),
                             as_json(parts.version),   as_json(parts.size_label)};
    const JsonValue expected = {row[3], row[4], row[5], row[6], row[7], row[8]};
    EXPECT_EQ(found, expected) << id << " " << row[1];
  }
}

TEST(GgufGeneralNames, SizeLabels) {
  const JsonValue rows = load("size_labels.json");
  ASSERT_GE(rows.size(), 40u);
  for (const JsonValue& row : rows) {
    const ParameterCount count{row[0].get<uint64_t>(), row[1].get<uint64_t>(),
                               row[2].get<uint64_t>(), row[3].get<uint64_t>()};
    EXPECT_EQ(size_label(count), row[4].get<std::string>()) << row;
  }
}

TEST(GgufGeneral, ModelCardsMatchLlamaCpp) {
  const JsonValue cases = load("cards.json");
  ASSERT_GE(cases.size(), 20u);
  for (const JsonValue& row : cases) {
    Checkpoint checkpoint;
    checkpoint.name = row["folder"].get<std::string>();
    for (const auto& [path, text] : row["documents"].items()) {
      checkpoint.set_document(path, text.get<std::string>());
    }
    std::vector<std::string> notes;
    Metadata found;
    const Status status =
        add_general_keys(checkpoint, {tensor_of(row["total"].get<uint64_t>())}, std::nullopt,
                         Context{all_codecs(), nullptr, &notes}, found);
    ASSERT_TRUE(status.has_value()) << checkpoint.name;
    EXPECT_TRUE(notes.empty()) << checkpoint.name << ": " << notes[0];
    JsonValue keys = JsonValue::array();
    for (const MetaEntry& entry : found.entries) {
      keys.push_back({entry.key, type_of(entry.value), as_json(entry.value)});
    }
    JsonValue expected = JsonValue::array();
    for (const JsonValue& key : row["keys"]) {
      if (key[2] == "" || (key[1] == "ARRAY" && key[2].empty())) continue;  // are not written
      const bool is_float = key[1] == "FLOAT32";
      const JsonValue value =
          is_float ? JsonValue(static_cast<double>(static_cast<float>(key[2].get<double>())))
                   : key[2];
      expected.push_back({key[0], key[1], value});
    }
    EXPECT_EQ(keys, expected) << checkpoint.name;
  }
}

TEST(GgufGeneral, ModelNameWins) {
  Checkpoint checkpoint;
  checkpoint.name = "folder-7B";
  Metadata found;
  ASSERT_TRUE(
      add_general_keys(checkpoint, {}, "Given", Context{all_codecs(), nullptr, nullptr}, found)
          .has_value());
  EXPECT_EQ(*found.find_text("general.name"), "Given");
}

TEST(GgufGeneral, CountsExpertsOnce) {
  Tensor stack = tensor_of(0);
  stack.name = "blk.0.ffn_up_exps.weight";
  stack.shape = {8, 1000, 1000};
  Metadata found;
  Checkpoint checkpoint;
  checkpoint.name = "m";
  ASSERT_TRUE(add_general_keys(checkpoint, {tensor_of(1'000'000), stack}, std::nullopt,
                               Context{all_codecs(), nullptr, nullptr}, found)
                  .has_value());
  EXPECT_EQ(*found.find_text("general.size_label"), "8x2.0M");
}

TEST(GgufGeneralYaml, ReportsUnreadableParts) {
  for (const char* text :
       {"a: *x", "a: [b", "a: \"b", "a: {b: c", "- a\nb: c\n", "a:\n  b: c\n d\n"}) {
    EXPECT_FALSE(parse_yaml(text).has_value()) << text;
  }
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_FALSE(parse_yaml(deep).has_value());
  EXPECT_FALSE(parse_yaml("a: " + std::string(100'000, '[')).has_value());
}

TEST(GgufGeneralYaml, ReadsMultilineValues) {
  const auto read = parse_yaml(
      "a: [x,\n  y z\n  w, \"q\n  r\", # said\n  {k: v,\n  l: }]\nb: 'it''s\n  so'\nc: [1,\n2]\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->dump(),
            R"({"a":["x","y z w","q r",{"k":"v","l":null}],"b":"it's so","c":["1","2"]})");
}

TEST(GgufGeneralYaml, AliasesAreRepeated) {
  const auto read = parse_yaml("a: &x [mit, no]\nb: *x\nc: {d: *x}\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->dump(), R"({"a":["mit","no"],"b":["mit","no"],"c":{"d":["mit","no"]}})");
}

// Ten lines that ask for 10^10 values.
TEST(GgufGeneralYaml, AliasesOfAliasesHaveAnEnd) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}*a{}", k == 0 ? "" : ", ", i - 1);
    text += "]\n";
  }
  const auto read = parse_yaml(text);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("repeat more than"), std::string::npos) << read.error().text();
}

// Bytes are counted: one long text a thousand times, and anchors inside of each other, of
// which each keeps what the next one holds.
TEST(GgufGeneralYaml, AliasesOfLongTextsHaveAnEnd) {
  std::string text = "a: &a " + std::string(1'000'000, 'x') + "\nb: [";
  for (int i = 0; i < 1000; ++i) text += "*a, ";
  const auto repeated = parse_yaml(text + "]\n");
  ASSERT_FALSE(repeated);
  EXPECT_NE(repeated.error().text().find("repeat more than"), std::string::npos);
  std::string nested = "a: ";
  for (int i = 0; i < 30; ++i) nested += fmt::format("&a{} [", i);
  nested += std::string(1'000'000, 'x') + std::string(30, ']') + "\n";
  EXPECT_FALSE(parse_yaml(nested));
  const auto few = parse_yaml("a: &a " + std::string(1000, 'x') + "\nb: [*a, *a, *a]\n");
  EXPECT_TRUE(few);
}

// The values are those of the converter's reader.
TEST(GgufGeneralYaml, ScalarsOfEveryStyle) {
  const auto read = parse_yaml(
      "a: no\nb: 1.0\nc: ~\nd: ''\ne:\nf: \"\\u00e9\\n\"\ng: |\n  x\n   y\nh: >-\n  x\n  y\n'i': "
      "!!str 5\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->dump(),
            "{\"a\":\"no\",\"b\":\"1.0\",\"c\":null,\"d\":\"\",\"e\":null,\"f\":\"é\\n\","
            "\"g\":\"x\\n y\\n\",\"h\":\"x y\",\"i\":\"5\"}");
}

// Half a second for what took an hour when each line was read with all before it.
TEST(GgufGeneralYaml, ListsOfAHundredThousandLines) {
  std::string list = "a: [", quote = "\"", items = "c:\n";
  for (int i = 0; i < 100'000; ++i) {
    list += fmt::format("  x{},\n", i);
    quote += "  it continues\n";
    items += fmt::format("- x{}\n", i);
  }
  const auto read = parse_yaml(list + "]\nb: " + quote + "\"\n" + items);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ((*read)["a"].size(), 100'000u);
  EXPECT_EQ((*read)["c"].size(), 100'000u);
}

TEST(GgufGeneral, UnreadableCardIsNoted) {
  Checkpoint checkpoint;
  checkpoint.name = "m";
  checkpoint.set_document("README.md", "---\nlicense: *a\n---\n");
  std::vector<std::string> notes;
  Metadata found;
  ASSERT_TRUE(
      add_general_keys(checkpoint, {}, std::nullopt, Context{all_codecs(), nullptr, &notes}, found)
          .has_value());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("line 1"), std::string::npos) << notes[0];
}

// The converter stops too, but not at whole numbers that are written as reals.
TEST(GgufGeneral, SamplingTakesNumbersOnly) {
  const auto made = [](const char* text, Metadata& out) -> std::string {
    Checkpoint checkpoint;
    checkpoint.name = "m";
    checkpoint.set_document("generation_config.json", text);
    const Context context{all_codecs(), nullptr, nullptr};
    const auto status = add_general_keys(checkpoint, {}, std::nullopt, context, out);
    return status ? "" : status.error().text();
  };
  Metadata out;
  EXPECT_EQ(made(R"({"top_k": 20.0, "top_p": 1, "min_p": null})", out), "");
  EXPECT_EQ(std::get<int64_t>(out.find("general.sampling.top_k")->value), 20);
  EXPECT_EQ(std::get<double>(out.find("general.sampling.top_p")->value), 1.0);
  EXPECT_EQ(out.find("general.sampling.min_p"), nullptr);
  for (const char* text : {R"({"top_p": "0.9"})", R"({"top_k": 20.5})", R"({"top_k": 1e12})",
                           R"({"temperature": [1]})", R"({"sequence": 5})"}) {
    EXPECT_NE(made(text, out).find("generation_config.json: "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace ckpt
