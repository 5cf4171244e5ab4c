#include "core/model/checkpoint.h"

#include <mutex>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

// A tree takes several times the memory of the values. A larger file is a vocabulary, which is read
// and not edited; it gets a tree only when one is asked for.
constexpr size_t kMaxTreeBytes = size_t{1} << 20;

template <class Parsed>
Result<std::shared_ptr<const Parsed>> shared(Result<Parsed> parsed) {
  return std::move(parsed).map(
      [](Parsed&& value) { return std::make_shared<const Parsed>(std::move(value)); });
}

}  // namespace

struct Document::Content {
  explicit Content(std::string its_text) : text(std::move(its_text)) {}

  const std::string text;
  Result<std::shared_ptr<const JsonText>> tree;
  Result<std::shared_ptr<const JsonValue>> values;
  std::once_flag tree_once, values_once;

  auto parsed_tree() {
    std::call_once(tree_once, [&] { tree = shared(JsonText::parse(text)); });
    return tree;
  }
  auto parsed_values() {
    std::call_once(values_once, [&] {
      values = text.size() > kMaxTreeBytes
                   ? shared(parse_json("", text))
                   : parsed_tree().map([](const auto& of) {
                       return std::make_shared<const JsonValue>(of->value());
                     });
    });
    return values;
  }
};

Document::Document(std::string its_path, std::string text)
    : path(std::move(its_path)), content_(std::make_shared<Content>(std::move(text))) {}

const std::string& Document::text() const { return content_->text; }

Result<std::shared_ptr<const JsonText>> Document::tree() const {
  return in(path, content_->parsed_tree());
}

Result<std::shared_ptr<const JsonValue>> Document::values() const {
  return in(path, content_->parsed_values());
}

}  // namespace ckpt
