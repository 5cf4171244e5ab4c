#include "core/json/json_fault.h"

#include <gtest/gtest.h>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

std::string said(std::string_view text) { return not_json(text).value().what; }

TEST(JsonFault, IsNamedWithLineAndColumnAndWhatIsExpected) {
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

TEST(JsonFault, InvisibleCharactersAreNamed) {
  EXPECT_EQ(said("\xEF\xBB\xBF{}"),
            "not valid JSON at line 1, column 1: a byte order mark; expected a value");
  EXPECT_EQ(said(std::string_view("{}\0", 3)),
            "not valid JSON at line 1, column 3: byte 0x00; expected nothing more");
}

TEST(JsonFault, ColumnsAreCharacters) {
  EXPECT_EQ(said("[\"\xC3\xA9\xE4\xB8\xAD\" x]"),
            "not valid JSON at line 1, column 7: 'x'; expected ',' or ']'");
}

TEST(JsonFault, ATextThatEndsTooEarlyIsTruncated) {
  for (const std::string_view text : {"{\n\"a", "{\n\"a\"", "{\n\"a\":", "{\n\"a\": [1,", "[\n[nul",
                                      "{\n\"a\": \"b\\", "{\n\"a\": \"b\\u12"}) {
    const std::string place = fmt::format("line 2, column {}", text.size() - text.find('\n'));
    EXPECT_EQ(said(text), "not valid JSON: truncated at " + place) << text;
  }
  EXPECT_EQ(said(""), "not valid JSON: empty");
  EXPECT_EQ(said(" \n"), "not valid JSON: empty");
}

// Each cut and each changed byte of a text: what a parser refuses has a place, what it takes none.
TEST(JsonFault, IsFoundExactlyWhereParsersRefuse) {
  const std::string good =
      "{\"a\": [1, -2.5e3, true, null, NaN, {}], \"\\u00e9\\n\": \"\\ud83d\\ude00 \xC3\xA9\",\n"
      " \"b\": {\"c\": [], \"d\": -Infinity}}";
  ASSERT_TRUE(parse_json("f", good));
  const auto check = [](const std::string& text) {
    const bool is_json = parse_json("f", text).has_value();
    EXPECT_EQ(is_json, !find_json_fault(text)) << text;
    EXPECT_EQ(is_json, JsonText::parse(text).has_value()) << text;
  };
  for (size_t at = 0; at < good.size(); ++at) {
    check(good.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      check(changed);
    }
  }
}

TEST(JsonFault, ReadersNameTheFileAndThePlace) {
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
