// The texts of `ckpt help TOPIC`. Manual pages contain exit_codes() and environment_topic(), too.
#pragma once

#include <span>
#include <string_view>

namespace ckpt {

struct TopicRow {
  std::string_view term;  // empty: the row is a paragraph
  std::string_view text;
};
struct Topic {
  std::string_view name, title;
  std::span<const TopicRow> rows;
};
std::span<const Topic> all_topics();
const Topic& exit_codes();
const Topic& environment_topic();

}  // namespace ckpt
