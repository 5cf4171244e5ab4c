// JSON that is edited keeps its key order, the spelling of its numbers and its layout.
#include <gtest/gtest.h>

#include "core/model/json_documents.h"

namespace ckpt {
namespace {

std::string again(const std::string& text) {
  const Result<JsonText> parsed = JsonText::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? parsed->dump(json_style_of(text)) : "";
}

TEST(JsonEdit, TextsThatNobodyEditedStayAsTheyAre) {
  for (const std::string text : {
           "{\n  \"b\": 1e-06,\n  \"a\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}\n",
           "{\n    \"eps\": 10000000.0,\n    \"sizes\": [1, 2, 3],\n    \"x\": {\"y\": NaN}\n}",
           "{\"b\": 1, \"a\": [1, 2], \"c\": \"\\u00e9\"}",
           "{\"b\":1,\"a\":[1,2],\"c\":{\"d\":null}}\n",
           "{\n \"\xc3\xa9\": \"\xe2\x96\x81\"\n}",
           "{}",
           "{\n\t\"b\": 1e-06,\n\t\"a\": [\n\t\t1,\n\t\t2\n\t]\n}\n",
           "{\r\n  \"b\": 1,\r\n  \"a\": {\r\n    \"c\": [1, 2]\r\n  }\r\n}\r\n",
           "{\r\n\t\"b\": 1.50,\r\n\t\"a\": true\r\n}",
       }) {
    EXPECT_EQ(again(text), text);
  }
}

TEST(JsonEdit, AnEditChangesOnlyItsPlace) {
  const std::string text = "{\n  \"a\": 1.50,\n  \"b\": [1, 2],\n  \"c\": true\n}\n";
  JsonText root = *JsonText::parse(text);
  root.set_sorted("aa", JsonText::number(7));
  root.set("c", JsonText::boolean(false));
  EXPECT_EQ(root.dump(json_style_of(text)),
            "{\n  \"a\": 1.50,\n  \"aa\": 7,\n  \"b\": [1, 2],\n  \"c\": false\n}\n");
}

TEST(JsonEdit, TabsAndLineEndsStayWhereSomethingWasEdited) {
  const std::string text = "{\r\n\t\"a\": 1.50,\r\n\t\"b\": {\r\n\t\t\"c\": 1e-06\r\n\t}\r\n}\r\n";
  JsonText root = *JsonText::parse(text);
  root.find("b")->set("d", JsonText::number(7));
  EXPECT_EQ(
      root.dump(json_style_of(text)),
      "{\r\n\t\"a\": 1.50,\r\n\t\"b\": {\r\n\t\t\"c\": 1e-06,\r\n\t\t\"d\": 7\r\n\t}\r\n}\r\n");
}

TEST(JsonEdit, ADocumentThatSaysTheSameIsNotRewritten) {
  Checkpoint checkpoint;
  const std::string odd = "{ \"a\" :1,\n\"b\":  2 }";
  checkpoint.set_document("config.json", odd);
  Result<std::optional<JsonDocument>> document = read_json(checkpoint, "config.json");
  ASSERT_TRUE(document && *document);
  write_json(checkpoint, "config.json", **document);
  EXPECT_EQ(checkpoint.find_document("config.json")->text(), odd);
  (*document)->root.set("b", JsonText::number(3));
  write_json(checkpoint, "config.json", **document);
  EXPECT_NE(checkpoint.find_document("config.json")->text(), odd);
}

TEST(JsonEdit, ValuesAreReadWithoutGuessing) {
  const JsonText root = *JsonText::parse("{\"n\": 12, \"f\": 1.0, \"t\": true, \"s\": \"1\"}");
  EXPECT_EQ(root.find_whole("n"), 12u);
  EXPECT_FALSE(root.find_whole("f"));
  EXPECT_FALSE(root.find_whole("s"));
  EXPECT_EQ(root.find("t")->as_boolean(), true);
  EXPECT_FALSE(root.find("n")->as_boolean());
  EXPECT_EQ(root.find_text("s"), "1");
}

TEST(JsonEdit, RejectsNonObjectsWithTheirPath) {
  Checkpoint checkpoint;
  checkpoint.set_document("config.json", "[1]");
  const auto found = read_json(checkpoint, "config.json");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().text(), "config.json: JSON, but no object; expected one");
  EXPECT_FALSE(JsonText::parse(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace ckpt
