// The JSON of a document is parsed once, however many read it.
#include "core/model/checkpoint.h"

#include <gtest/gtest.h>

#include "core/model/json_documents.h"

namespace ckpt {
namespace {

TEST(Document, IsParsedOnceForAllItsCopies) {
  const Document one("config.json", "{\"a\": 1.50}");
  const Document copy = one;
  EXPECT_EQ(one.values()->get(), copy.values()->get());
  EXPECT_EQ(one.tree()->get(), copy.tree()->get());
  EXPECT_EQ(*(*one.values())->find("a"), 1.5);
  EXPECT_EQ((*one.tree())->find("a")->token(), "1.50");
}

TEST(Document, ReportsAFaultOnEveryCallWithThePath) {
  const Document broken("config.json", "{");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(broken.values().error().text(),
              "config.json: not valid JSON: truncated at line 1, column 2");
    EXPECT_EQ(broken.tree().error().text(), broken.values().error().text());
  }
}

TEST(Document, ALargeOneGivesTheSameValues) {
  const std::string text = "{\"a\": \"" + std::string(2 << 20, 'x') + "\", \"a\": 7}";
  for (const char* path : {"tokenizer.json", "vocab.json"}) {
    const Document large(path, text, Document::Keys::kLastCounts);
    EXPECT_EQ(**large.values(), (*large.tree())->value());
    EXPECT_EQ((*large.values())->at("a"), 7);
    EXPECT_FALSE(Document(path, text).values());
    EXPECT_FALSE(Document(path, text).tree());
  }
}

TEST(Document, CopiesOfACheckpointShareWhatWasParsed) {
  Checkpoint first;
  first.set_document("config.json", "{\"a\": 1}");
  const Checkpoint second = first;
  const auto before = read_object(first, "config.json");
  EXPECT_EQ(before->get(), read_object(second, "config.json")->get());
  auto edited = read_json(first, "config.json");
  (*edited)->root.set("a", JsonText::number(2));
  write_json(first, "config.json", **edited);
  EXPECT_EQ((*read_object(first, "config.json"))->at("a"), 2);
  EXPECT_EQ((*read_object(second, "config.json"))->at("a"), 1);
  EXPECT_EQ((*before)->at("a"), 1);
}

}  // namespace
}  // namespace ckpt
