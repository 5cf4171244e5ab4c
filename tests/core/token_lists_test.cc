// tokenizer.json as values and lists says what it says as a tree.
#include "core/model/token_lists.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/model/checkpoint.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

// Rebuilds the whole tree from values and lists. Lists of tokens are not kept.
JsonValue reassembled(const TokenizerJson& read) {
  JsonValue out = read.values;
  const TokenLists& lists = read.lists;
  if (lists.vocabulary == TokenLists::Vocabulary::kNumbers) {
    JsonValue& vocab = out["model"]["vocab"] = JsonValue::object();
    for (const auto& token : lists.tokens) {
      EXPECT_EQ(lists.find(token.text), &token);
      vocab[std::string(token.text)] = lists.id_value(token);
    }
    EXPECT_EQ(vocab.size(), lists.tokens.size());
  }
  if (!lists.has_merges) return out;
  JsonValue& merges = out["model"]["merges"] = JsonValue::array();
  for (const auto& merge : lists.merges) {
    if (merge.is_pair()) {
      merges.push_back({merge.left, merge.right});
    } else {
      merges.push_back(merge.is_text() ? JsonValue(merge.left) : JsonValue("neither"));
    }
  }
  return out;
}

void expect_as_tree(const std::string& text, const std::string& name) {
  Status of_tree, of_lists;
  const auto tree = parse_json("", text, &of_tree);
  const auto read = parse_tokenizer_json(text, &of_lists);
  EXPECT_EQ(of_tree.has_value(), of_lists.has_value()) << name;
  ASSERT_EQ(tree.has_value(), read.has_value()) << name;
  if (!tree) {
    EXPECT_EQ(tree.error().text(), read.error().text()) << name;
    return;
  }
  JsonValue expected = *tree;
  if (read->lists.vocabulary == TokenLists::Vocabulary::kList) expected["model"].erase("vocab");
  EXPECT_EQ(reassembled(*read), expected) << name;
}

TEST(TokenLists, SayWhatTheTreeSays) {
  for (
      const char* text :
      {R"({})",
       R"([])",
       R"([{"model": {"vocab": {"a": 0}}}])",
       R"("model")",
       R"({"model": 1})",
       R"({"model": {"vocab": {}, "merges": []}})",
       R"({"model": {"vocab": {"a": 0, "b": 1}, "merges": ["a b", ["a", "b"]], "type": "BPE"}})",
       R"({"a": [{"vocab": {"x": 1}}], "model": {"b": {"vocab": {"y": 2}}, "vocab": {"z": 3}}})",
       R"({"vocab": {"a": 0}, "merges": ["a b"], "model": {"type": null}, "z": {"merges": []}})",
       R"({"model": {"vocab": {"a": 0, "a": 7, "b": 1, "a": 9}}})",
       R"({"model": {"vocab": {"a": 0, "a": {"x": [1, {"y": 2}]}}}})",
       R"({"model": {"vocab": {"a": {"b": 0}, "a": 1, "c": []}}})",
       R"({"model": {"vocab": {"a": -1, "b": 4.0, "c": 4294967295, "d": 4294967294, "e": "1"}}})",
       R"({"model": {"vocab": {"a": 1e3, "b": null, "c": true, "d": 99999999999999999999}}})",
       R"({"model": {"vocab": {"\u0120a": 0, "\"": 1, "\\": 2, "": 3, "Ġa": 4, "/": 5, "\/": 6}}})",
       R"({"model": {"vocab": {"a": 1}}, "model": {"merges": []}})",
       R"({"model": {"vocab": {"a": 1}, "merges": ["x y"]}, "model": {"vocab": {"b": 2}}})",
       R"({"model": {"vocab": {"a": 1}, "vocab": {"b": 2}, "merges": [], "merges": ["c d"]}})",
       R"({"mod\u0065l": {"v\u006fcab": {"a": 1}, "merge\u0073": [["\u0061", "b"]]}})",
       R"({"model": {"vocab": "a", "merges": {"a": "b"}}})",
       R"({"model": [{"vocab": {"a": 1}}]})",
       R"({"model": {"vocab": [["a", -1.5], ["b", -2]], "merges": ["", " ", "a", "a b c"]}})",
       R"({"model": {"vocab": {"a" 1}}})",
       R"({"model": {"merges": [["a", "b"})",
       R"({"model": {"merges": [["a", "b"]]}} x)"}) {
    expect_as_tree(text, text);
  }
}

TEST(TokenLists, MergesThatAreNeitherTextNorPair) {
  const std::string text =
      R"({"model": {"merges": ["a b", ["a", "b"], ["a"], ["a", "b", "c"], ["a", 1], [["a"], "b"],
          ["a", ["b"]], [], {}, {"a": "b", "c": "d"}, 1, null]}})";
  const auto read = parse_tokenizer_json(text);
  ASSERT_TRUE(read.has_value());
  const auto& merges = read->lists.merges;
  ASSERT_EQ(merges.size(), 12u);
  EXPECT_TRUE(merges[0].is_text());
  EXPECT_TRUE(merges[1].is_pair());
  for (size_t i = 2; i < merges.size(); ++i) {
    EXPECT_FALSE(merges[i].is_text() || merges[i].is_pair()) << i;
  }
}

TEST(TokenLists, OfEveryTokenizerInTestdata) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testdata(""))) {
    if (entry.path().filename() != "tokenizer.json") continue;
    ++count;
    expect_as_tree(read_file(entry.path()), entry.path().string());
  }
  EXPECT_GT(count, 20u);
}

// Unescaped texts fill several blocks, one of them larger than a block.
TEST(TokenLists, KeepTextsThatAreEscaped) {
  std::string vocab, merges;
  for (int i = 0; i < 20'000; ++i) {
    vocab += fmt::format(R"({}"\u0120{}": {})", i == 0 ? "" : ", ", i, i);
    merges += fmt::format(R"({}["\u0120", "{}\n"])", i == 0 ? "" : ", ", i);
  }
  vocab += R"(, "\n)" + std::string(100'000, 'x') + R"(": 20000, "\t": 20001)";
  expect_as_tree(fmt::format(R"({{"model": {{"vocab": {{{}}}, "merges": [{}]}}}})", vocab, merges),
                 "");
}

TEST(TokenLists, OutliveTheDocument) {
  std::shared_ptr<const TokenLists> lists;
  {
    const Document document("tokenizer.json", R"({"model": {"vocab": {"a": 0}, "x": 1}})");
    lists = *document.token_lists();
    EXPECT_EQ(**document.values(), JsonValue::parse(R"({"model": {"x": 1}})"));
  }
  EXPECT_EQ(lists->find("a")->id, 0u);
  EXPECT_EQ(lists->find("b"), nullptr);
}

}  // namespace
}  // namespace ckpt
