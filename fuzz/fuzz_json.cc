// JSON in all the ways it is read here: as text that is edited, as values, as the events of an
// index.
//
// The first two bytes choose an edit. Laws: what is parsed is written and parsed as the same; what
// one builder takes for JSON the others do too, and tree and values say the same.
#include "core/json/json_edit.h"
#include "core/json/json_read.h"
#include "core/json/json_reader.h"
#include "formats/safetensors.h"
#include "fuzz/fuzz.h"

namespace {

using namespace ckpt;

// A member of the root, or a new one.
std::string pick_key(const JsonText& root, uint32_t choice) {
  const auto& members = root.members();
  return members.empty() || choice % 4 == 3 ? "added" : members[choice % members.size()].first;
}

void edit(JsonText& root, fuzz::Input& input) {
  const uint8_t kind = input.byte(), choice = input.byte();
  if (!root.is_object()) return;
  const std::string key = pick_key(root, choice);
  switch (kind % 6) {
    case 0:
      root.set(key, JsonText::text("a \"new\" value\n"));
      FUZZ_LAW(root.find_text(key) == "a \"new\" value\n");
      return;
    case 1:
      root.set_sorted(key, JsonText::number(choice));
      FUZZ_LAW(root.find_whole(key) == choice);
      return;
    case 2:
      root.set(key, JsonText::texts({"a", key}));
      FUZZ_LAW(root.find(key) != nullptr);
      return;
    case 3:
      root.remove(key);
      FUZZ_LAW(root.find(key) == nullptr);
      return;
    default:
      return;
  }
}

void expect_same(const JsonText& root, const JsonStyle& style) {
  const std::string text = root.dump(style);
  const auto again = JsonText::parse(text);
  FUZZ_LAW(again.has_value());
  FUZZ_LAW(*again == root);
  FUZZ_LAW(again->dump(style) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  fuzz::Input choices = input;
  input.number();
  const std::string_view text = input.text();
  auto root = JsonText::parse(text);
  const auto values = parse_json("input", text);
  FUZZ_LAW(root.has_value() == values.has_value());
  FUZZ_LAW(root.has_value() == !read_json_events(text, nullptr));
  if (values) FUZZ_LAW(root->value().dump() == values->dump());
  const auto index = parse_index(text);
  if (index) {
    FUZZ_LAW(root.has_value());
    FUZZ_LAW(parse_index(render_index(index->metadata, index->weight_map)).has_value());
  }
  if (!root) return 0;
  expect_same(*root, json_style_of(text));
  edit(*root, choices);
  expect_same(*root, json_style_of(text));
  expect_same(*root, JsonStyle{});
  return 0;
}
