// Strings are quoted as their writers quote them.
#include "core/json/json_string.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace ckpt {
namespace {

TEST(JsonString, IsQuotedAsAnotherWriterQuotesIt) {
  std::mt19937 random(11);
  const std::vector<std::string> pieces = {"a",    "\"",   "\\",   "/",           "\n",
                                           "\x01", "\x7F", "\xC3", "\u00e9",      "\U0001F600",
                                           "\xFF", "\b",   "\f",   "\xF0\x9F\x98"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t n = random() % 6; n > 0; --n) text += pieces[random() % pieces.size()];
    const nlohmann::json value(text);
    constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
    EXPECT_EQ(json_quoted(text, JsonEscape::kPython), value.dump(-1, ' ', true, kReplace));
    EXPECT_EQ(json_quoted(text, JsonEscape::kSerde), value.dump(-1, ' ', false, kReplace));
  }
}

TEST(JsonString, IsUnquotedAsItWasMeant) {
  EXPECT_EQ(json_unquoted(R"("a\u00e9\/\ud83d\ude00\n\"")"), "a\u00e9/\U0001F600\n\"");
  EXPECT_EQ(json_unquoted("\"\""), "");
}

}  // namespace
}  // namespace ckpt
