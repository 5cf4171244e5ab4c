// tokenizer.json, found through without building a tree of it.
//
//   {"added_tokens": [...], "normalizer": {...}, ..., "model": {"type": "BPE", "vocab": {...},
//   ...}}
//    └── one view a member ──┘                                 └── one view a member ──┘
//
// Source of the fields: huggingface/tokenizers, tokenizers/src/tokenizer/serialization.rs,
// models/bpe/serialization.rs. Note: merges are texts "a b" in old files
// and pairs ["a", "b"] in new ones, and say the same.
#include <algorithm>

#include "core/json/json_fault.h"
#include "transforms/tokenizer/parts.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxFileTokens = 16'000'000;

// Walks over the members of one object. Nothing recurses: nesting is counted.
class JsonMembers {
 public:
  // `text`: a view into `whole`, the file.
  JsonMembers(std::string_view text, std::string_view whole) : text_(text), whole_(whole) {}

  Result<std::vector<TokenizerFile::Member>> run() {
    std::vector<TokenizerFile::Member> out;
    if (next() != '{') return bad();
    ++at_;
    if (next() == '}') return out;
    while (true) {
      if (next() != '"') return bad();
      const std::string_view key = span();
      if (next() != ':') return bad();
      ++at_;
      next();
      const std::string_view value = span();
      if (key.size() < 2 || value.empty()) return bad();
      out.emplace_back(key.substr(1, key.size() - 2), value);
      const char c = next();
      if (c != ',' && c != '}') return bad();
      ++at_;
      if (c == '}') return out;
    }
  }

 private:
  char next() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Failure bad() const {
    if (find_json_fault(whole_)) return Failure(Error(not_json(whole_).value()).in(kTokenizerJson));
    const bool is_whole = text_.data() == whole_.data();
    return fail(ErrorCode::kCorrupt, "{}: {} is no object; expected one", kTokenizerJson,
                is_whole ? "the file" : "'model'");
  }

  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  // One value, up to its end: a string, brackets that close, or a bare word. "" when cut off.
  std::string_view span() {
    const size_t start = at_;
    uint64_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        if (depth == 0) return text_.substr(start, at_ - start);
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_json_space(c))) {
        return text_.substr(start, at_ - start);
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return text_.substr(start, at_ - start);
    }
    return {};
  }

  std::string_view text_, whole_;
  size_t at_ = 0;
};

std::string_view find(const std::vector<TokenizerFile::Member>& members, std::string_view name) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const auto& member) { return member.first == name; });
  return found == members.rend() ? std::string_view() : found->second;
}

bool flag(const JsonValue& json, std::string_view key) { return is_truthy(member(json, key)); }

Failure bad_part(std::string_view what, std::string_view expected) {
  return fail(ErrorCode::kCorrupt, "{}: {}; expected {}", kTokenizerJson, what, expected);
}

Status put_token(std::vector<std::string>& out, std::string_view text, uint64_t id) {
  if (id >= kMaxFileTokens) return bad_part(fmt::format("token '{}' has id {}", text, id), "less");
  if (id >= out.size()) out.resize(id + 1);
  out[id] = text;
  return {};
}

}  // namespace

std::string_view TokenizerFile::text(std::string_view name) const {
  constexpr std::string_view kModel = "model.";
  return name.starts_with(kModel) ? find(model, name.substr(kModel.size())) : find(members, name);
}

Result<JsonValue> TokenizerFile::value(std::string_view name) const {
  const std::string_view found = text(name);
  if (found.empty()) return JsonValue();
  return parse_json_piece(fmt::format("{}: {}", kTokenizerJson, name), found, file_text);
}

Result<std::optional<TokenizerFile>> read_tokenizer_file(const Checkpoint& checkpoint) {
  const Document* document = checkpoint.find_document(kTokenizerJson);
  if (document == nullptr) return std::optional<TokenizerFile>();
  TokenizerFile out;
  out.file_text = *document->content;
  CKPT_ASSIGN(out.members, JsonMembers(out.file_text, out.file_text).run());
  CKPT_ASSIGN(out.model, JsonMembers(find(out.members, "model"), out.file_text).run());
  return std::optional(std::move(out));
}

Result<std::vector<AddedToken>> read_added_tokens(const TokenizerFile& file) {
  CKPT_ASSIGN(const JsonValue list, file.value("added_tokens"));
  std::vector<AddedToken> out;
  if (list.is_null()) return out;
  if (!list.is_array()) return bad_part("added_tokens is no list", "a list");
  for (const JsonValue& entry : list) {
    const JsonValue* id = member(entry, "id");
    const std::optional<uint64_t> number = whole(id == nullptr ? JsonValue() : *id);
    const std::string* content = text_of(entry, "content");
    if (!number || *number >= kMaxFileTokens || content == nullptr) {
      return bad_part("an added token without id or content", "both");
    }
    out.push_back({*number, *content, flag(entry, "lstrip"), flag(entry, "normalized"),
                   flag(entry, "rstrip"), flag(entry, "single_word"), flag(entry, "special")});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return out;
}

Result<std::vector<std::string>> read_tokens(const TokenizerFile& file) {
  CKPT_ASSIGN(const JsonValue vocabulary, file.value("model.vocab"));
  std::vector<std::string> out;
  if (vocabulary.is_array()) {  // Unigram: [text, score] by id
    for (const JsonValue& entry : vocabulary) {
      if (!entry.is_array() || entry.empty() || !entry[0].is_string()) {
        return bad_part("a token of the vocabulary is no text with a score", "[text, score]");
      }
      out.push_back(entry[0].get<std::string>());
    }
    return out;
  }
  if (!vocabulary.is_object()) return bad_part("the model has no vocabulary", "one");
  for (const auto& [text, id] : vocabulary.items()) {
    const std::optional<uint64_t> number = whole(id);
    if (!number) return bad_part(fmt::format("token '{}' has no whole number", text), "its id");
    CKPT_TRY(put_token(out, text, *number));
  }
  return out;
}

Result<std::vector<std::string>> read_merge_texts(const TokenizerFile& file) {
  CKPT_ASSIGN(const JsonValue list, file.value("model.merges"));
  std::vector<std::string> out;
  if (list.is_null()) return out;
  if (!list.is_array()) return bad_part("merges is no list", "a list");
  out.reserve(list.size());
  for (const JsonValue& merge : list) {
    if (merge.is_string()) {
      out.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      out.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      return bad_part(fmt::format("merge {} is no pair", out.size()), "\"a b\" or [\"a\", \"b\"]");
    }
  }
  return out;
}

}  // namespace ckpt
