// One reader: what it takes, what values it gives, and how it names what it refuses.
#include "core/json/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

std::string said(std::string_view text) {
  const auto fault = read_json_events(text, nullptr);
  return fault ? not_json(*fault, text).value().what : "";
}

TEST(JsonReader, IsNamedWithLineAndColumnAndWhatIsExpected) {
  EXPECT_EQ(said("{\n  \"a\": 1,\n}"),
            "not valid JSON at line 3, column 1: '}'; expected a name in double quotes");
  EXPECT_EQ(said("{\n  \"a\" 1}"), "not valid JSON at line 2, column 7: '1'; expected ':'");
  EXPECT_EQ(said("[1 2]"), "not valid JSON at line 1, column 4: '2'; expected ',' or ']'");
  EXPECT_EQ(said("{\"a\": True}"), "not valid JSON at line 1, column 7: 'T'; expected a value");
  EXPECT_EQ(said("{} {}"), "not valid JSON at line 1, column 4: '{'; expected nothing more");
  EXPECT_EQ(said("[\"a\nb\"]"),
            "not valid JSON at line 1, column 4: '\\n'; expected an escape for it");
  EXPECT_EQ(said("[\"\\x\"]"),
            "not valid JSON at line 1, column 3: '\\'; expected an escape of JSON");
  EXPECT_EQ(said("[\"\xff\"]"), "not valid JSON at line 1, column 3: byte 0xff; expected UTF-8");
}

TEST(JsonReader, InvisibleCharactersAreNamed) {
  EXPECT_EQ(said("\xEF\xBB\xBF{}"),
            "not valid JSON at line 1, column 1: a byte order mark; expected a value");
  EXPECT_EQ(said(std::string_view("{}\0", 3)),
            "not valid JSON at line 1, column 3: byte 0x00; expected nothing more");
}

TEST(JsonReader, ColumnsAreCharacters) {
  EXPECT_EQ(said("[\"\xC3\xA9\xE4\xB8\xAD\" x]"),
            "not valid JSON at line 1, column 7: 'x'; expected ',' or ']'");
}

TEST(JsonReader, ATextThatEndsTooEarlyIsTruncated) {
  for (const std::string_view text : {"{\n\"a", "{\n\"a\"", "{\n\"a\":", "{\n\"a\": [1,", "[\n[nul",
                                      "{\n\"a\": \"b\\", "{\n\"a\": \"b\\u12"}) {
    const std::string place = fmt::format("line 2, column {}", text.size() - text.find('\n'));
    EXPECT_EQ(said(text), "not valid JSON: truncated at " + place) << text;
  }
  EXPECT_EQ(said(""), "not valid JSON: empty");
  EXPECT_EQ(said(" \n"), "not valid JSON: empty");
}

// nlohmann's parser knows no NaN, takes a zero byte for the end and skips a byte order mark.
bool is_comparable(std::string_view text) {
  return text.find("NaN") == text.npos && text.find("Infinity") == text.npos &&
         text.find('\0') == text.npos && !text.starts_with("\xEF\xBB\xBF");
}

void expect_as_another_parser(const std::string& text) {
  Status of_values, of_tree;
  const auto ours = parse_json("f", text, &of_values);
  const auto tree = JsonText::parse(text, &of_tree);
  const bool is_once = of_values.has_value();
  EXPECT_EQ(ours.has_value() && is_once, !read_json_events(text, nullptr)) << text;
  EXPECT_EQ(is_once, of_tree.has_value()) << text;
  ASSERT_EQ(ours.has_value(), tree.has_value()) << text;
  if (!is_comparable(text)) return;
  const auto theirs = nlohmann::json::parse(text, nullptr, false);
  ASSERT_EQ(ours.has_value(), !theirs.is_discarded()) << text;
  if (!ours) return;
  EXPECT_EQ(ours->dump(), theirs.dump()) << text;
  EXPECT_EQ(tree->value().dump(), theirs.dump()) << text;
}

// Each cut, each changed bit, and texts of pieces put together at random.
TEST(JsonReader, AgreesWithAnotherParser) {
  const std::string good =
      "{\"a\": [1, -2.5e3, true, null, NaN, {}], \"\\u00e9\\n\": \"\\ud83d\\ude00 \xC3\xA9\",\n"
      " \"b\": {\"c\": [], \"d\": -Infinity}, \"a\": false}";
  Status set_twice;
  ASSERT_TRUE(parse_json("f", good, &set_twice));
  EXPECT_FALSE(set_twice);
  for (size_t at = 0; at < good.size(); ++at) {
    expect_as_another_parser(good.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      expect_as_another_parser(changed);
    }
  }
  const std::vector<std::string> pieces = {
      "{",           "}",    "[",    "]",    ",",        ":",          "\"a\"", "1",
      "-0.5e2",      "null", "true", " ",    "\n",       "\"b\"",      "[]",    "{}",
      "\"\\ud83d\"", "\\u",  "\"",   "\xC3", "\xF0\x9F", "\"\\/\\b\"", "0"};
  std::mt19937 random(7);
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (size_t n = random() % 9; n > 0; --n) text += pieces[random() % pieces.size()];
    expect_as_another_parser(text);
  }
}

TEST(JsonReader, RejectsKeysThatAnObjectSetsTwice) {
  const auto places = [](const std::string& first, const std::string& second) {
    return fmt::format("\"a\" is set twice, at {} and at {}; expected once", first, second);
  };
  EXPECT_EQ(said("{\n  \"a\": 1,\n  \"a\": 1\n}"),
            places("line 2, column 3", "line 3, column 3"));
  EXPECT_EQ(said(R"([{"b": {"x": 1, "a": 1, "\u0061": 1}}])"),
            places("line 1, column 17", "line 1, column 25"));
  EXPECT_EQ(said(R"({"a": {"a": [{"a": 1}, {"a": 1}]}, "A": 1})"), "");
  EXPECT_EQ(said(R"({"a": 1, "a": 2)"), "not valid JSON: truncated at line 1, column 16");
  for (const size_t count : {2u, 16u, 17u, 1000u}) {
    std::string many = "{\"a\": 0";
    for (size_t i = 1; i < count; ++i) many += fmt::format(", \"\\t{}\": 0", i);
    EXPECT_EQ(said(many + "}"), "") << count;
    const auto second = fmt::format("line 1, column {}", many.size() + 3);
    EXPECT_EQ(said(many + R"(, "\u0061": 0})"), places("line 1, column 2", second)) << count;
  }
}

TEST(JsonReader, NumbersAreWholeWhereTheyCanBe) {
  for (const char* text :
       {"0", "-0", "7", "-7", "18446744073709551615", "18446744073709551616",
        "-9223372036854775808", "-9223372036854775809", "1.0", "1e2", "-1.5E-3", "1e-400", "5e-324",
        "0.1", "123456789012345678901234567890", "2.2250738585072011e-308", "1e308"}) {
    expect_as_another_parser(text);
    EXPECT_EQ(parse_json("f", text)->type(), nlohmann::json::parse(text).type()) << text;
  }
}

TEST(JsonReader, HasOneLimitOfNesting) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(said(nested(kMaxJsonDepth)), "");
  EXPECT_EQ(said(nested(kMaxJsonDepth + 1)), "nested deeper than 128 levels");
  EXPECT_EQ(JsonText::parse(nested(kMaxJsonDepth + 1)).error().text(),
            "nested deeper than 128 levels");
  EXPECT_EQ(parse_json("f", std::string(1'000'000, '[')).error().text(),
            "f: nested deeper than 128 levels");
}

TEST(JsonReader, ReadersNameTheFileAndThePlace) {
  EXPECT_EQ(parse_json("config.json", "{\n\"a\": nul}").error().text(),
            "config.json: not valid JSON at line 2, column 6: 'n'; expected a value");
  EXPECT_EQ(JsonText::parse("{\n\"a\": nul}").error().text(),
            "not valid JSON at line 2, column 6: 'n'; expected a value");
  const std::string whole = "{\"x\":\n [1,]}";
  EXPECT_EQ(parse_json_piece("f", std::string_view(whole).substr(7, 4), whole).error().text(),
            "f: not valid JSON at line 2, column 5: ']'; expected a value");
}

}  // namespace
}  // namespace ckpt
