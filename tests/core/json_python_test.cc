// JSON that Python reads is read, and what Python refuses is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

TEST(JsonPython, NumbersThatPythonReadsAreRead) {
  const auto json = parse_json(
      "f",
      R"({"a": NaN, "b": [Infinity, -Infinity, 1e999], "c": {"d": -1e999, "e": 1}, "f": 2.5})");
  ASSERT_TRUE(json);
  EXPECT_TRUE(std::isnan(json->at("a").get<double>()));
  EXPECT_EQ(json->at("b")[0].get<double>(), INFINITY);
  EXPECT_EQ(json->at("b")[1].get<double>(), -INFINITY);
  EXPECT_EQ(json->at("b")[2].get<double>(), INFINITY);
  EXPECT_EQ(json->at("c").at("d").get<double>(), -INFINITY);
  EXPECT_EQ(json->at("c").at("e"), 1);
  EXPECT_EQ(json->at("f"), 2.5);
  EXPECT_TRUE(std::isnan(parse_json("f", "NaN")->get<double>()));
}

TEST(JsonPython, WordsInTextsAndKeysStayTexts) {
  const auto json = parse_json("f", R"({"NaN": "Infinity \" NaN", "x": NaN})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("NaN"), "Infinity \" NaN");
}

TEST(JsonPython, TheLastValueOfAKeyCountsForCallersThatTakeTheFault) {
  Status set_twice;
  EXPECT_EQ(parse_json("f", R"({"a": 1, "a": 2, "n": NaN})", &set_twice)->at("a"), 2);
  EXPECT_EQ(set_twice.error().text(),
            "f: \"a\" is set twice, at line 1, column 2 and at line 1, column 10; expected once. "
            "Try: removing one of them");
  EXPECT_EQ(JsonText::parse(R"({"a": 1, "a": 2})", &set_twice)->value().at("a"), 2);
}

TEST(JsonPython, WhatPythonRefusesIsRefused) {
  for (const std::string_view text : {"{\"a\": nan}",
                                      "{\"a\": NAN}",
                                      "{\"a\": inf}",
                                      "{\"a\": +1}",
                                      "{\"a\": +Infinity}",
                                      "[01]",
                                      "[1e999",
                                      "[01e999]",
                                      "[1.e999]",
                                      "[.5]",
                                      "[1e]",
                                      "[-]",
                                      "[--Infinity]",
                                      "[-NaN]",
                                      "[NaN,]",
                                      "[NaN NaN]",
                                      "[NaN1]",
                                      "[Infinityx]",
                                      "{NaN: 1}",
                                      "{\"a\": NaN,}",
                                      "['a']",
                                      "// x\n[1]",
                                      "\xef\xbb\xbf[NaN]",
                                      "[NaN]x",
                                      "[\"\t\", NaN]",
                                      "[0x10]",
                                      "",
                                      "[\"NaN]"}) {
    EXPECT_FALSE(parse_json("f", text)) << text;
  }
}

TEST(JsonPython, NumbersBeyondADoubleAreKeptAsTheyWere) {
  const std::string text = "{\"a\": 1e999, \"b\": NaN, \"c\": -Infinity}";
  const auto parsed = JsonText::parse(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->dump(json_style_of(text)), text);
  EXPECT_FALSE(JsonText::parse("[01e999]"));
}

}  // namespace
}  // namespace ckpt
