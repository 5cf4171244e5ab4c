// Merges of a tokenizer.json against its vocabulary: the first fault is named, wherever it is.
#include <gtest/gtest.h>

#include "checks/subject/subject.h"
#include "core/model/token_lists.h"

namespace ckpt {
namespace {

using MergeList = std::vector<std::pair<std::string, std::string>>;

// Each piece is one letter longer; every second merge makes what the one before makes.
MergeList chain() {
  MergeList out;
  std::string text = "a";
  for (int i = 0; i < 40; ++i) {
    const std::string next = text + static_cast<char>('b' + i % 20);
    out.emplace_back(text, next.substr(text.size()));
    out.emplace_back(next.substr(0, 1), next.substr(1));
    text = next;
  }
  return out;
}

// "PLACE: FOUND" of the first fault of a tokenizer that has all pieces but `lacked`.
std::string first_fault(const MergeList& merges, std::string_view lacked, bool as_texts = false) {
  JsonValue vocab = JsonValue::object(), list = JsonValue::array();
  for (const auto& [left, right] : merges) {
    for (const std::string& piece : {left, right, left + right}) {
      if (piece != lacked) vocab.emplace(piece, vocab.size());
    }
    list.push_back(as_texts ? JsonValue(left + " " + right) : JsonValue({left, right}));
  }
  const std::string text =
      JsonValue{{"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", list}}}}.dump();
  const auto read = parse_tokenizer_json(text);
  EXPECT_TRUE(read.has_value());
  const auto faults = find_tokenizer_faults(read->values, read->lists);
  return faults.empty() ? "" : faults[0].place + ": " + faults[0].found;
}

TEST(TokenizerSchema, MergesOfPiecesInTheVocabularyHaveNoFault) {
  EXPECT_EQ(first_fault(chain(), ""), "");
  EXPECT_EQ(first_fault(chain(), "", true), "");
}

TEST(TokenizerSchema, FirstMergeWithAPieceThatIsMissingIsNamed) {
  const MergeList merges = chain();
  for (size_t at = 0; at < merges.size(); ++at) {
    const auto& [left, right] = merges[at];
    for (const std::string& lacked : {left, right, left + right}) {
      size_t first = 0;
      const auto has = [&](const auto& merge) {
        return merge.first == lacked || merge.second == lacked ||
               merge.first + merge.second == lacked;
      };
      while (!has(merges[first])) ++first;
      const std::string expected = fmt::format(
          "tokenizer.json: model.merges[{}]: '{}' is not in the vocabulary", first, lacked);
      EXPECT_EQ(first_fault(merges, lacked), expected);
    }
  }
}

TEST(TokenizerSchema, MergesOfAnotherFormAreNamed) {
  const auto fault_of = [](std::string_view merges) {
    const std::string text = fmt::format(
        R"({{"model": {{"type": "BPE", "vocab": {{"a": 0, "b": 1, "ab": 2}}, "merges": {}}}}})",
        merges);
    const auto read = parse_tokenizer_json(text);
    EXPECT_TRUE(read.has_value());
    const auto faults = find_tokenizer_faults(read->values, read->lists);
    return faults.empty() ? "" : faults[0].place;
  };
  EXPECT_EQ(fault_of(R"(["#version: 0.2 x", "a b"])"), "");
  EXPECT_EQ(fault_of(R"(["a b", "a b", "a  b"])"), "tokenizer.json: model.merges[2]");
  EXPECT_EQ(fault_of(R"(["a b", ["a", "b"]])"), "tokenizer.json: model.merges[1]");
  EXPECT_EQ(fault_of(R"([["a", "b"], "a b"])"), "tokenizer.json: model.merges[1]");
  EXPECT_EQ(fault_of(R"([["a", "b"], ["a"]])"), "tokenizer.json: model.merges[1]");
  EXPECT_EQ(fault_of(R"([["a", "b"], 7])"), "tokenizer.json: model.merges[1]");
  EXPECT_EQ(fault_of(R"({"a": "b"})"), "tokenizer.json: model.merges");
}

}  // namespace
}  // namespace ckpt
