// Copies of a Document share one Content, which parses the text at most once per requested form.
#include <mutex>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/token_lists.h"

namespace ckpt {
namespace {

// A tree takes several times the memory of the values. A larger file is a vocabulary, which is read
// and not edited; it gets a tree only on request.
constexpr size_t kMaxTreeBytes = size_t{1} << 20;

template <class Parsed>
Result<std::shared_ptr<const Parsed>> shared(Result<Parsed> parsed) {
  return std::move(parsed).map(
      [](Parsed&& value) { return std::make_shared<const Parsed>(std::move(value)); });
}

}  // namespace

struct Document::Content {
  Content(std::string its_text, bool has_lists, Keys keys)
      : text(std::move(its_text)), is_tokenizer(has_lists), keys_counted(keys) {}

  const std::string text;
  const bool is_tokenizer;
  const Keys keys_counted;
  Result<std::shared_ptr<const JsonText>> tree;
  Result<std::shared_ptr<const JsonValue>> values;
  Result<TokenizerJson> tokenizer;
  std::once_flag tree_once, values_once, tokenizer_once;

  // Ignores the fault of a duplicate key if its last value counts.
  struct FaultPolicy {
    explicit FaultPolicy(const Content& of) : takes(of.keys_counted == Keys::kLastCounts) {}
    Status* fault() { return takes ? &ignored : nullptr; }

    const bool takes;
    Status ignored = {};
  };

  auto parsed_tree() {
    std::call_once(tree_once,
                   [&] { tree = shared(JsonText::parse(text, FaultPolicy(*this).fault())); });
    return tree;
  }
  auto parsed_values() {
    std::call_once(values_once, [&] {
      values = text.size() > kMaxTreeBytes
                   ? shared(parse_json("", text, FaultPolicy(*this).fault()))
                   : parsed_tree().map([](const auto& of) {
                       return std::make_shared<const JsonValue>(of->value());
                     });
    });
    return values;
  }
  const Result<TokenizerJson>& parsed_tokenizer() {
    std::call_once(tokenizer_once,
                   [&] { tokenizer = parse_tokenizer_json(text, FaultPolicy(*this).fault()); });
    return tokenizer;
  }
};

Document::Document(std::string its_path, std::string text, Keys keys)
    : path(std::move(its_path)),
      content_(std::make_shared<Content>(std::move(text), path == kTokenizerJson, keys)) {}

const std::string& Document::text() const { return content_->text; }

Result<std::shared_ptr<const JsonText>> Document::tree() const {
  return in(path, content_->parsed_tree());
}

Result<std::shared_ptr<const JsonValue>> Document::values() const {
  if (!content_->is_tokenizer) return in(path, content_->parsed_values());
  const Result<TokenizerJson>& read = content_->parsed_tokenizer();
  if (!read) return in(path, Result<std::shared_ptr<const JsonValue>>(Failure(read.error())));
  return std::shared_ptr<const JsonValue>(content_, &read->values);
}

Result<std::shared_ptr<const TokenLists>> Document::token_lists() const {
  CKPT_CHECK(content_->is_tokenizer);
  const Result<TokenizerJson>& read = content_->parsed_tokenizer();
  if (!read) return in(path, Result<std::shared_ptr<const TokenLists>>(Failure(read.error())));
  return std::shared_ptr<const TokenLists>(content_, &read->lists);
}

}  // namespace ckpt
