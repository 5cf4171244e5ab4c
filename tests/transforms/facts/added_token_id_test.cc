// The number of a special token is found by its text.
#include <gtest/gtest.h>

#include "models/models.h"

namespace ckpt {
namespace {

TEST(AddedTokenId, IsTheNumberOfTheTextThatTheKeyNames) {
  const JsonValue config = {{"eos_token", "</s>"}, {"pad_token", nullptr}, {"bos_token", "<s>"}};
  const JsonValue tokenizer =
      *parse_json("tokenizer.json", R"({"added_tokens": [{"id": 7, "content": "</s>"}]})");
  EXPECT_EQ(added_token_id(config, tokenizer, "eos_token"), 7u);
  EXPECT_EQ(added_token_id(config, tokenizer, "bos_token"), std::nullopt);  // not in the list
  EXPECT_EQ(added_token_id(config, tokenizer, "pad_token"), std::nullopt);
  EXPECT_EQ(added_token_id(config, JsonValue(), "eos_token"), std::nullopt);
  EXPECT_EQ(added_token_id(JsonValue(), tokenizer, "eos_token"), std::nullopt);
}

}  // namespace
}  // namespace ckpt
