// The texts of `ckpt help TOPIC`; manual pages have the first two.
#pragma once

#include <span>
#include <string_view>

namespace ckpt {

struct TopicRow {
  std::string_view term;  // empty: a paragraph
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
