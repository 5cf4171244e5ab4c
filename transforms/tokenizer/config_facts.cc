// Facts outside tokenizer.json that change ids or special tokens:
//
//   tokenizer_config.json    the class, flags that frame or split a text, names of special tokens,
//                            added_tokens_decoder
//   special_tokens_map.json  names of special tokens again
//   added_tokens.json        ids of added tokens again
// Different versions of transformers store the same facts in different files, so values that repeat
// tokenizer.json do not count. Source: huggingface/transformers v4.57.6
// that repeats tokenizer.json does not count. Source: huggingface/transformers v4.57.6
// tokenization_utils_base.py, tokenization_utils_fast.py; v5.17.0 tokenization_utils_tokenizers.py.
#include "transforms/tokenizer/config_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "transforms/to_gguf/tokenizer/gaps.h"
#include "transforms/tokenizer/jobs.h"
#include "transforms/tokenizer/model.h"

namespace ckpt {
namespace {

constexpr const char* kSpecialTokensMap = "special_tokens_map.json";
constexpr const char* kAddedTokensFile = "added_tokens.json";
constexpr const char* kNamedKinds[] = {"bos", "eos", "pad", "unk", "sep", "cls", "mask"};
// Fields with a list or an object of further special tokens.
constexpr const char* kMoreSpecial[] = {"additional_special_tokens", "extra_special_tokens",
                                        "model_specific_special_tokens"};
// Flags of classes that make their own normalizer.
constexpr const char* kNormalizerFlags[] = {"do_lower_case", "strip_accents",
                                            "tokenize_chinese_chars"};

class FactReader {
 public:
  FactReader(const Checkpoint& folder, const TokenizerFile& file) : folder_(folder), file_(file) {}

  Result<std::vector<TokenizerFact>> run() {
    CKPT_TRY(read());
    CKPT_TRY(add_ids());
    add_class();
    add_frame();
    add_prefix();
    add_flags();
    add_special();
    return std::move(out_);
  }

 private:
  Status read() {
    CKPT_ASSIGN(const auto config, read_object(folder_, kTokenizerConfig));
    CKPT_ASSIGN(const auto map, read_object(folder_, kSpecialTokensMap));
    CKPT_ASSIGN(const auto added, read_object(folder_, kAddedTokensFile));
    if (config) config_ = *config;
    if (map) map_ = *map;
    if (added) added_ = *added;
    CKPT_ASSIGN(const ListedTokens tokens, read_added_tokens(file_));
    for (const auto& [id, token] : tokens) tokens_[id] = token;
    return {};
  }

  void add(TokenizerArea area, std::string name, std::optional<std::string> value) {
    out_.push_back({area, std::move(name), std::move(value)});
  }

  // Adds ids that differ from tokenizer.json.
  Status add_ids() {
    std::string decoder, numbers;
    if (const JsonValue* entries = known(config_, "added_tokens_decoder")) {
      for (const auto& [id, entry] : entries->items()) {
        if (!is_in_file(id, entry)) decoder += fmt::format("{} {} ", id, entry.dump());
      }
    }
    CKPT_ASSIGN(const std::vector<std::string> vocabulary,
                added_.empty() ? std::vector<std::string>() : read_tokens(file_));
    for (const auto& [text, value] : added_.items()) {
      const auto id = whole(value);
      const auto token = id ? tokens_.find(*id) : tokens_.end();
      const bool is_same = token != tokens_.end()
                               ? token->second.text == text
                               : id && *id < vocabulary.size() && vocabulary[*id] == text;
      if (!is_same) numbers += fmt::format("{} {} ", value.dump(), text);
    }
    const auto declared = [](std::string& text) {
      if (!text.empty()) text.pop_back();
      return text.empty() ? std::nullopt : std::optional(text);
    };
    add(TokenizerArea::kIds, "added_tokens_decoder", declared(decoder));
    add(TokenizerArea::kIds, kAddedTokensFile, declared(numbers));
    return {};
  }

  bool is_in_file(const std::string& id, const JsonValue& entry) const {
    const auto token = std::ranges::find_if(
        tokens_, [&](const auto& each) { return std::to_string(each.first) == id; });
    const std::string* content = text_of_token(entry);
    return token != tokens_.end() && content != nullptr &&
           token_of_entry(entry, *content) == token->second;
  }

  void add_class() {
    const std::string* name = text_of(config_, "tokenizer_class");
    std::string rules = class_with_own_rules(name == nullptr ? "" : *name,
                                             is_truthy(known(config_, kFileRules)), file_);
    add(TokenizerArea::kRules, "tokenizer_class",
        rules.empty() ? std::nullopt : std::optional(std::move(rules)));
  }

  // Adds the flags if tokenizer.json frames a text differently.
  void add_frame() {
    const auto frame =
        text_frame(file_, special_text(config_, "bos"), special_text(config_, "eos"));
    for (const auto& [key, is_bos] : {std::pair{"add_bos_token", true}, {"add_eos_token", false}}) {
      std::optional<bool> own;
      if (frame) own = is_bos ? frame->first : frame->second;
      add(TokenizerArea::kRules, key, flag_beyond(key, own));
    }
  }

  void add_prefix() {
    const JsonValue* flag = known(file_.part("pre_tokenizer"), "add_prefix_space");
    const bool own = flag != nullptr ? is_truthy(flag) : puts_space_in_front(*file_.values);
    auto value = flag_beyond("add_prefix_space", own);
    // Then 4.57 replaces the pre-tokenizer's value by false.
    if (flag != nullptr && own && known(config_, "add_prefix_space") == nullptr) value = "absent";
    add(TokenizerArea::kRules, "add_prefix_space", std::move(value));
  }

  // The flag in tokenizer_config.json, if it differs from `own`, that of tokenizer.json.
  std::optional<std::string> flag_beyond(const char* key, std::optional<bool> own) const {
    const JsonValue* declared = known(config_, key);
    if (declared == nullptr || own == is_truthy(declared)) return std::nullopt;
    return is_truthy(declared) ? "true" : "false";
  }

  void add_flags() {
    add(TokenizerArea::kRules, "split_special_tokens", flag_beyond("split_special_tokens", false));
    for (const char* key : kNormalizerFlags) {
      const JsonValue* declared = known(config_, key);
      add(TokenizerArea::kRules, key,
          declared == nullptr ? std::nullopt : std::optional(declared->dump()));
    }
  }

  void add_special() {
    const auto quoted = [](const std::optional<std::string>& text) {
      return text ? std::optional(fmt::format("'{}'", *text)) : std::nullopt;
    };
    for (const char* kind : kNamedKinds) {
      const auto named = special_text(config_, kind), mapped = special_text(map_, kind);
      const std::string key = fmt::format("{}_token", kind);
      add(TokenizerArea::kSpecial, key, quoted(named));
      add(TokenizerArea::kSpecial, fmt::format("{}: {}", kSpecialTokensMap, key),
          mapped == named ? std::nullopt : quoted(mapped));
    }
    std::set<std::string> more;
    for (const JsonValue* from : {&config_, &map_}) add_more(*from, more);
    add(TokenizerArea::kSpecial, kMoreSpecial[0],
        more.empty() ? std::nullopt : std::optional(fmt::format("'{}'", fmt::join(more, "' '"))));
  }

  // Adds tokens that are not special in tokenizer.json.
  void add_more(const JsonValue& from, std::set<std::string>& more) const {
    for (const char* list : kMoreSpecial) {
      const JsonValue* entries = known(from, list);
      if (entries == nullptr || !(entries->is_array() || entries->is_object())) continue;
      for (const JsonValue& entry : *entries) {
        const std::string* text = text_of_token(entry);
        const bool is_known = text == nullptr || std::ranges::any_of(tokens_, [&](const auto& row) {
                                return row.second.special && row.second.text == *text;
                              });
        if (!is_known) more.insert(*text);
      }
    }
  }

  const Checkpoint& folder_;
  const TokenizerFile& file_;
  JsonValue config_ = JsonValue::object(), map_ = config_, added_ = config_;
  std::map<uint64_t, TokenAddition> tokens_;
  std::vector<TokenizerFact> out_;
};

}  // namespace

Result<std::vector<TokenizerFact>> tokenizer_facts(const Checkpoint& folder,
                                                   const TokenizerFile& file) {
  return FactReader(folder, file).run();
}

}  // namespace ckpt
