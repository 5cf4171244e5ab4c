// Lookups in data/pretokenizers.txt, and the hash of a fixed text's ids, by which llama.cpp's
// converter identifies a pre-tokenizer.
#include "core/base/lines.h"
#include "core/base/sha256.h"
#include "core/base/words.h"
#include "transforms/facts/byte_level_bpe.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/to_gguf/tokenizer/special.h"

namespace ckpt {

extern const std::string_view kPretokenizers;  // data/pretokenizers.txt
extern const std::string_view kProfileFiles;   // data/profiles/*.txt, each after "profile NAME"

namespace {

constexpr std::string_view kCheckText =
    "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n🚀 (normal) 😶\u200d🌫\ufe0f (multiple"
    " emojis concatenated) ✅ 🦙🦙 3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3..."
    "3 កាន់តែពិសេសអាច😁 ?我想在apple工作1314151天～ ------======= нещо на Български ''''''```````"
    "\"\"\"\"......!!!!!!?????? I've been 'told he's there, 'RE you sure? 'M not sure I'l"
    "l make it, 'D you like some tea? We'Ve a'lL";

// Ids of the special tokens that a template puts before or after a text.
struct AddedIds {
  std::vector<uint64_t> before, behind;
};

void append_ids(const JsonValue& processor, const JsonValue& item, std::vector<uint64_t>& out) {
  const std::string* text = text_of(known(item, "SpecialToken"), "id");
  const JsonValue* table = known(processor, "special_tokens");
  const JsonValue* entry = text == nullptr ? nullptr : known(table, *text);
  if (entry == nullptr) return;
  for (const JsonValue& id : list_in(*entry, "ids")) out.push_back(whole(id).value_or(0));
}

AddedIds added_ids(const JsonValue& tokenizer) {
  AddedIds out;
  for (const JsonValue& step : post_processors(tokenizer)) {
    bool is_behind = false;
    for (const JsonValue& item : list_in(step, "single")) {
      is_behind = is_behind || known(item, "Sequence") != nullptr;
      append_ids(step, item, is_behind ? out.behind : out.before);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> pre_tokenizer_names() {
  std::vector<std::string> out;
  bool is_file = false, is_list = false;
  for (std::string_view text = kProfileFiles; !text.empty();) {
    const std::string_view line = take_line(text);
    const bool starts_file = line.starts_with("profile ");
    if (starts_file) is_file = line == "profile llama.cpp";
    const bool starts_list = starts_file || line.starts_with('[');
    if (starts_list) is_list = is_file && line == "[gguf pre-tokenizers]";
    if (!is_list || starts_list || line.starts_with('#')) continue;
    for (const std::string_view word : split_words(line)) out.emplace_back(word);
  }
  for (const std::string_view word : split_words(kWordPieceNames)) out.emplace_back(word);
  return out;
}

constexpr std::string_view kRulesFront = "rules ";

std::string_view names_with_rules_of(std::string_view name) {
  for (std::string_view text = kPretokenizers; !text.empty();) {
    const std::string_view line = take_line(text);
    if (line.starts_with(kRulesFront) && has_word(line.substr(kRulesFront.size()), name)) {
      return line.substr(kRulesFront.size());
    }
  }
  return {};
}

std::vector<PreTokenizerRules> all_pre_tokenizers() {
  constexpr std::string_view kFront = kRulesFront, kIndent = "  ";
  std::vector<PreTokenizerRules> out;
  for (std::string_view text = kPretokenizers; !text.empty();) {
    const std::string_view line = take_line(text);
    if (line.starts_with(kFront)) out.push_back({std::string(line.substr(kFront.size())), {}});
    if (line.starts_with(kIndent)) out.back().rules.emplace_back(line.substr(kIndent.size()));
  }
  return out;
}

std::vector<uint8_t> check_pieces(std::string_view rules) {
  constexpr std::string_view kFront = "pieces ";
  std::vector<uint8_t> out;
  for (std::string_view text = kPretokenizers; !text.empty() && out.empty();) {
    std::string_view line = take_line(text);
    const size_t names_end = line.find(": ");
    if (!line.starts_with(kFront) || names_end == line.npos) continue;
    if (!has_word(line.substr(kFront.size(), names_end - kFront.size()), rules)) continue;
    line.remove_prefix(names_end + 2);
    for (uint8_t size = 0; take_number(line, size);) out.push_back(size);
  }
  return out;
}

std::string_view name_of_hash(std::string_view sha256) {
  const std::string front = fmt::format("hash {} ", sha256);
  for (std::string_view text = kPretokenizers; !text.empty();) {
    const std::string_view line = take_line(text);
    if (line.starts_with(front)) return line.substr(front.size());
  }
  return {};
}

std::optional<std::string> check_hash(const JsonValue& tokenizer, const TokenLists& lists,
                                      const std::vector<std::string>& merges,
                                      std::span<const uint8_t> pieces) {
  const JsonValue* model = known(tokenizer, "model");
  if (model == nullptr) return std::nullopt;
  const ByteLevelBpe bpe(*model, lists, merges);
  const AddedIds added = added_ids(tokenizer);
  std::vector<uint64_t> ids = added.before;
  std::string_view text = kCheckText;
  for (const uint8_t size : pieces) {
    if (!bpe.encode(text.substr(0, size), ids)) return std::nullopt;
    text.remove_prefix(size);
  }
  CKPT_CHECK(text.empty());
  ids.insert(ids.end(), added.behind.begin(), added.behind.end());
  const std::string list = fmt::format("[{}]", fmt::join(ids, ", "));
  Sha256 hash;
  hash.add(std::as_bytes(std::span(list)));
  return hash.finish();
}

}  // namespace ckpt
