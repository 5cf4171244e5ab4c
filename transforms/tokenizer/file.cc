// Reads tokenizer.json without making a tree of it.
//
//   {"added_tokens": [...], "normalizer": {...}, ..., "model": {"type": "BPE", "vocab": {...},
//   ...}}
//    └── one view per member ─┘                                 └── one view per member ─┘
//
// Source of the fields: huggingface/tokenizers, tokenizers/src/tokenizer/serialization.rs,
// models/bpe/serialization.rs. Merges are texts "a b" in old files and pairs ["a", "b"] in new
// ones, with the same meaning.
#include "transforms/tokenizer/file.h"

#include <algorithm>

#include "core/json/json_reader.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxFileTokens = 16'000'000;

// Collects the members of the file and of its object "model".
class MemberSpans final : public JsonSink {
 public:
  explicit MemberSpans(TokenizerFile& out) : out_(out) {}

  bool key(std::string_view spelling) override {
    if (auto* list = here()) list->emplace_back(spelling.substr(1, spelling.size() - 2), "");
    return true;
  }
  bool scalar(std::string_view spelling) override {
    if (auto* list = here()) list->back().second = spelling;
    return true;
  }
  bool open(char bracket, size_t at_byte) override {
    const bool is_object = bracket == '{';
    if (depth_ == 0) is_object_ = is_object;
    if (depth_ == 1) in_model_ = is_object && is_object_ && out_.members.back().first == "model";
    if (depth_ == 1 && in_model_) out_.model.clear();  // the last of equal keys counts
    if (here() != nullptr) start_bytes_[depth_] = at_byte;
    ++depth_;
    return true;
  }
  bool close(size_t end_byte) override {
    --depth_;
    if (auto* list = here()) {
      const size_t start = start_bytes_[depth_];
      list->back().second = out_.file_text.substr(start, end_byte - start);
    }
    return true;
  }

 private:
  // The list for the members of the present object; nullptr if they are not collected.
  std::vector<TokenizerFile::Member>* here() {
    if (depth_ == 1 && is_object_) return &out_.members;
    return depth_ == 2 && in_model_ ? &out_.model : nullptr;
  }

  TokenizerFile& out_;
  size_t depth_ = 0;
  size_t start_bytes_[3] = {};
  bool is_object_ = false, in_model_ = false;
};

std::string_view find(const std::vector<TokenizerFile::Member>& members, std::string_view name) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const auto& member) { return member.first == name; });
  return found == members.rend() ? std::string_view() : found->second;
}

bool flag(const JsonValue& json, std::string_view key) { return is_truthy(member(json, key)); }

Failure bad_part(std::string_view what, std::string_view expected) {
  return corrupt("{}: {}; expected {}", kTokenizerJson, what, expected);
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
  out.file_text = document->text();
  MemberSpans members(out);
  if (const auto fault = read_json_events(out.file_text, &members)) {
    CKPT_TRY(in(kTokenizerJson, Status(not_json(*fault, out.file_text))));
  }
  const auto is_object = [](std::string_view text) { return text.starts_with('{'); };
  const size_t start = out.file_text.find_first_not_of(" \t\r\n");
  if (!is_object(out.file_text.substr(start))) return bad_part("the file is not an object", "one");
  if (!is_object(find(out.members, "model"))) return bad_part("'model' is not an object", "one");
  return std::optional(std::move(out));
}

Result<std::vector<AddedToken>> read_added_tokens(const TokenizerFile& file) {
  CKPT_ASSIGN(const JsonValue list, file.value("added_tokens"));
  std::vector<AddedToken> out;
  if (list.is_null()) return out;
  if (!list.is_array()) return bad_part("added_tokens is not a list", "a list");
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
  std::ranges::stable_sort(out,
                           [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return out;
}

Result<std::vector<std::string>> read_tokens(const TokenizerFile& file) {
  CKPT_ASSIGN(const JsonValue vocabulary, file.value("model.vocab"));
  std::vector<std::string> out;
  if (vocabulary.is_array()) {  // Unigram: [text, score] by id
    for (const JsonValue& entry : vocabulary) {
      if (!entry.is_array() || entry.empty() || !entry[0].is_string()) {
        return bad_part("a token of the vocabulary is not a text with a score", "[text, score]");
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
  if (!list.is_array()) return bad_part("merges is not a list", "a list");
  out.reserve(list.size());
  for (const JsonValue& merge : list) {
    if (merge.is_string()) {
      out.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      out.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      return bad_part(fmt::format("merge {} is not a pair", out.size()),
                      "\"a b\" or [\"a\", \"b\"]");
    }
  }
  return out;
}

}  // namespace ckpt
