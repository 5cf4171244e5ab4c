#include "core/model/token_lists.h"

#include "core/base/numbers.h"
#include "core/json/json_reader.h"
#include "core/json/json_string.h"
#include "core/json/json_value_builder.h"

namespace ckpt {
namespace {

// Stores list items and passes all other events to the builder of values.
class TokenizerJsonBuilder final : public JsonSink {
 public:
  explicit TokenizerJsonBuilder(std::string_view text) : text_(text) {}

  TokenizerJson take() { return {values_.take(), std::move(lists_)}; }

  bool scalar(std::string_view spelling) override {
    if (list_ == List::kTokens && depth_ == 3) return add_token(spelling);
    if (list_ == List::kMerges) return add_piece(spelling);
    if (list_ != List::kNone) return true;
    pass_key();
    return values_.scalar(spelling);
  }
  bool key(std::string_view spelling) override {
    if (list_ == List::kNone) pass_key();
    if (list_ == List::kNone || depth_ == 3) key_ = spelling;
    return true;
  }
  bool open(char bracket, size_t at_byte) override {
    if (list_ == List::kNone && starts_list(bracket)) {
      list_start_ = at_byte;
      ++depth_;
      return true;
    }
    if (list_ == List::kNone) {
      if (depth_ == 1) in_model_ = bracket == '{' && is_key("model");
      pass_key();
      ++depth_;
      return values_.open(bracket, at_byte);
    }
    if (depth_ == 3) {
      inner_start_ = at_byte;
      pieces_.clear();
      is_pair_ = bracket == '[';
    } else {
      is_pair_ = false;
    }
    ++depth_;
    return true;
  }
  bool close(size_t end_byte) override {
    --depth_;
    if (list_ == List::kNone) return values_.close(end_byte);
    if (depth_ == 2) return end_list(text_.substr(list_start_, end_byte - list_start_));
    if (depth_ != 3) return true;
    if (list_ == List::kTokens)
      return add_token(text_.substr(inner_start_, end_byte - inner_start_));
    if (list_ == List::kMerges) end_merge();
    return true;
  }

 private:
  enum class List : uint8_t { kNone, kTokens, kMerges, kSkipped };

  bool is_key(std::string_view name) const { return !key_.empty() && json_unquoted(key_) == name; }
  // A key waits for its value, which may turn out to be one of the lists.
  void pass_key() {
    if (key_.empty()) return;
    forget_lists();
    values_.key(key_);
    key_ = {};
  }
  // Discards earlier lists, because the last of equal keys counts.
  void forget_lists() {
    if (depth_ == 1 && is_key("model")) {
      lists_ = {};
    } else if (depth_ == 2 && in_model_ && is_key("vocab")) {
      forget_tokens();
    } else if (depth_ == 2 && in_model_ && is_key("merges")) {
      lists_.has_merges = false;
      lists_.merges.clear();
    }
  }
  void forget_tokens() {
    lists_.vocabulary = TokenLists::Vocabulary::kNone;
    lists_.tokens.clear();
    lists_.odd_ids.clear();
    lists_.index = {};
  }

  bool starts_list(char bracket) {
    if (depth_ != 2 || !in_model_) return false;
    if (is_key("vocab")) {
      forget_tokens();
      lists_.vocabulary =
          bracket == '{' ? TokenLists::Vocabulary::kNumbers : TokenLists::Vocabulary::kList;
      list_ = bracket == '{' ? List::kTokens : List::kSkipped;
    } else if (is_key("merges") && bracket == '[') {
      lists_.has_merges = true;
      lists_.merges.clear();
      list_ = List::kMerges;
    } else {
      return false;
    }
    key_ = {};
    return true;
  }
  bool end_list(std::string_view text) {
    if (list_ == List::kTokens) index_tokens();
    if (list_ == List::kMerges) lists_.merges.shrink_to_fit();
    if (list_ == List::kSkipped) lists_.list_text = text;
    list_ = List::kNone;
    key_ = {};
    return true;
  }

  std::string_view text_of(std::string_view spelling) {
    if (spelling.find('\\') == spelling.npos) return spelling.substr(1, spelling.size() - 2);
    const std::string text = json_unquoted(spelling);
    auto& blocks = lists_.unescaped;
    if (blocks.empty() || blocks.back()->capacity() - blocks.back()->size() < text.size()) {
      blocks.push_back(std::make_unique<std::string>());
      blocks.back()->reserve(std::max(text.size(), kBlockBytes));
    }
    const size_t start = blocks.back()->size();
    *blocks.back() += text;  // within its capacity, so views into it stay valid
    return std::string_view(*blocks.back()).substr(start);
  }

  bool add_token(std::string_view spelling) {
    const std::string_view text = text_of(key_);
    const uint32_t id = number_from<uint32_t>(spelling).value_or(TokenLists::kOddId);
    if (id == TokenLists::kOddId) lists_.odd_ids[text] = spelling;
    lists_.tokens.push_back({text, id});
    return true;
  }
  bool add_piece(std::string_view spelling) {
    const bool is_text = spelling.front() == '"';
    if (depth_ == 3) {
      lists_.merges.push_back(is_text ? TokenLists::Merge{text_of(spelling), {}}
                                      : TokenLists::Merge());
    } else if (is_pair_ && is_text && pieces_.size() < 2) {
      pieces_.push_back(text_of(spelling));
    } else {
      is_pair_ = false;
    }
    return true;
  }
  void end_merge() {
    const bool is_pair = is_pair_ && pieces_.size() == 2;
    lists_.merges.push_back(is_pair ? TokenLists::Merge{pieces_[0], pieces_[1]}
                                    : TokenLists::Merge());
  }

  void index_tokens() {
    auto& tokens = lists_.tokens;
    tokens.shrink_to_fit();
    lists_.index = TextIndex(texts());
    if (lists_.index.distinct() == tokens.size()) return;
    std::vector<TokenLists::Token> kept;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const size_t first = *lists_.index.find(tokens[i].text);
      tokens[first].id = tokens[i].id;
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (*lists_.index.find(tokens[i].text) == i) kept.push_back(tokens[i]);
    }
    tokens = std::move(kept);
    lists_.index = TextIndex(texts());
  }
  std::vector<std::string_view> texts() const {
    std::vector<std::string_view> out;
    out.reserve(lists_.tokens.size());
    for (const auto& token : lists_.tokens) out.push_back(token.text);
    return out;
  }

  static constexpr size_t kBlockBytes = size_t{1} << 16;

  std::string_view text_;
  JsonValueBuilder values_;
  TokenLists lists_;
  List list_ = List::kNone;
  size_t depth_ = 0;       // open brackets; list items are at depth 3
  bool in_model_ = false;  // within the object at depth 1
  std::string_view key_;   // as spelled; empty: already passed on
  size_t list_start_ = 0;
  // State of the list item being read.
  size_t inner_start_ = 0;
  bool is_pair_ = false;
  std::vector<std::string_view> pieces_;
};

}  // namespace

const TokenLists::Token* TokenLists::find(std::string_view text) const {
  const auto place = index.find(text);
  return place ? &tokens[*place] : nullptr;
}

JsonValue TokenLists::id_value(const Token& token) const {
  if (token.id != kOddId) return token.id;
  auto read = parse_json("", odd_ids.at(token.text));
  CKPT_CHECK(read);
  return std::move(*read);
}

const std::string* text_of_token(const JsonValue& token) {
  return token.is_object() ? text_of(token, "content") : token.get_ptr<const std::string*>();
}

Result<TokenizerJson> parse_tokenizer_json(std::string_view text, Status* set_twice) {
  TokenizerJsonBuilder builder(text);
  CKPT_TRY(json_status(read_json_events(text, &builder), text, set_twice));
  return builder.take();
}

}  // namespace ckpt
