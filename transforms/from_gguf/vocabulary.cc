// tokenizer.json and tokenizer_config.json from the keys of a GGUF, for byte-level BPE and for
// vocabularies of SentencePiece.
#include <algorithm>

#include "core/base/lines.h"
#include "core/model/json_documents.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/from_gguf/token_table.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"
#include "transforms/to_gguf/tokenizer/pre.h"

namespace ckpt {
namespace {

constexpr std::string_view kMetaspace = "\xe2\x96\x81";  // U+2581

// Whether the vocabulary was a list of ranks, where a text that equals a token becomes that token.
bool was_ranked(const Checkpoint& file, std::string_view pre) {
  return pre == "kimi-k2" || std::ranges::any_of(families(), [&](const Family* family) {
           return family->traits.text.has(ModelTrait::kRankedVocabulary) &&
                  file.metadata.architecture() == family->name;
         });
}
std::string text_of_normal_token(std::string text, bool is_byte_level) {
  if (!is_byte_level) return text;
  for (size_t at = 0; (at = text.find(kMetaspace, at)) != text.npos; ++at) {
    text.replace(at, kMetaspace.size(), " ");
  }
  return text;
}

bool is_added(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined;
}

// Requires: the tokenizer adds the token to its vocabulary.
JsonValue added_token(const TokenTable& table, size_t id, bool is_byte_level) {
  const bool is_special = table.type(id) == TokenType::kControl;
  return {{"id", id},
          {"content",
           is_special ? table.text(id) : text_of_normal_token(table.text(id), is_byte_level)},
          {"single_word", false},
          {"lstrip", false},
          {"rstrip", false},
          {"normalized", false},
          {"special", is_special}};
}

JsonValue added_tokens(const TokenTable& table, bool is_byte_level) {
  JsonValue out = JsonValue::array();
  for (size_t id = 0; id < table.size(); ++id) {
    const bool is_unknown = !is_byte_level && table.type(id) == TokenType::kUnknown;
    if (!is_unknown && !is_added(table.type(id))) continue;
    out.push_back(added_token(table, id, is_byte_level));
    if (is_unknown) out.back()["special"] = true;
  }
  return out;
}

// Surrounds "A", the text, with the tokens that the tokenizer adds.
JsonValue template_processor(const Checkpoint& file, const TokenTable& table, bool adds_bos,
                             bool adds_eos) {
  const JsonValue sequence_a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const JsonValue sequence_b = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  JsonValue single = JsonValue::array(), pair = JsonValue::array(), tokens = JsonValue::object();
  const auto add = [&](std::string_view kind, bool is_added, uint64_t type, JsonValue& items) {
    const auto id = special_id(file, table, kind);
    if (!is_added || !id) return;
    const std::string& text = table.text(*id);
    items.push_back({{"SpecialToken", {{"id", text}, {"type_id", type}}}});
    tokens[text] = {{"id", text}, {"ids", {*id}}, {"tokens", {text}}};
  };
  add("bos", adds_bos, 0, single);
  single.push_back(sequence_a);
  add("eos", adds_eos, 0, single);
  add("bos", adds_bos, 0, pair);
  pair.push_back(sequence_a);
  add("eos", adds_eos, 0, pair);
  // Only a flag of the file can declare a separator between two texts.
  const auto separates = tokenizer_flag(file, "add_sep_token");
  if (separates == true) {
    add(special_id(file, table, "seperator") ? "seperator" : "eos", true, 0, pair);
  }
  if (separates == false) add("bos", adds_bos, 1, pair);
  pair.push_back(sequence_b);
  add("eos", adds_eos, 1, pair);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

JsonValue byte_level(bool has_words, bool trims) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", trims},
          {"use_regex", has_words}};
}

JsonValue pre_tokenizer_step(std::string_view step) {
  if (step == "bytes" || step == "bytes+words") return byte_level(step == "bytes+words", true);
  if (step == "digit" || step == "digits") {
    return {{"type", "Digits"}, {"individual_digits", step == "digit"}};
  }
  if (step == "punctuation") return {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
  return {{"type", "Split"},
          {"pattern", {{"Regex", std::string(step)}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

Result<JsonValue> pre_tokenizer_named(std::string_view name) {
  std::string_view steps = pre_tokenizer_steps(name);
  if (steps.empty()) {
    return unsupported_hint(kOtherTokenizer,
                            "tokenizer.ggml.pre is '{}', whose rules are not known here", name);
  }
  JsonValue list = JsonValue::array();
  while (!steps.empty()) list.push_back(pre_tokenizer_step(take_line(steps)));
  if (list.size() == 1) return list[0];
  return JsonValue{{"type", "Sequence"}, {"pretokenizers", list}};
}

// The number of tokens in the vocabulary. It omits added tokens after all others, because readers
// number them in order, unless a gap would shift these ids or merges lead to them.
size_t vocabulary_count(const TokenTable& table, bool is_byte_level) {
  size_t count = table.size();
  while (count > 0 &&
         (is_added(table.type(count - 1)) || table.type(count - 1) == TokenType::kUnused)) {
    --count;
  }
  if (!is_byte_level) count = std::max(count, piece_count(table));
  const auto hole = std::ranges::find(table.types, static_cast<int32_t>(TokenType::kUnused));
  const auto last = std::find_if(table.types.rbegin(), table.types.rend(), [](int32_t type) {
    return is_added(static_cast<TokenType>(type));
  });
  const auto needed = static_cast<size_t>(table.types.rend() - last);
  const bool shifts = static_cast<size_t>(hole - table.types.begin()) < needed;
  return shifts ? std::max(count, needed) : count;
}

JsonValue bpe_model(const TokenTable& table, bool is_byte_level) {
  const size_t count = vocabulary_count(table, is_byte_level);
  JsonValue vocab = JsonValue::object();
  for (size_t id = 0; id < count; ++id) {
    if (table.type(id) != TokenType::kUnused) vocab[table.text(id)] = id;
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)}};
}

JsonValue tokenizer_json(const TokenTable& table, bool is_byte_level) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(table, is_byte_level)}};
}

// Fails without merges, because every text would be split into bytes.
Result<JsonValue> listed_merges(const TokenTable& table) {
  if (table.merges.empty()) {
    return unsupported_hint(kOtherTokenizer, "the file has no tokenizer.ggml.merges");
  }
  JsonValue out = JsonValue::array();
  for (const std::string& merge : table.merges) {
    const size_t space = merge.find(' ', 1);
    if (space == merge.npos) return corrupt("tokenizer.ggml.merges: '{}' is not a pair", merge);
    out.push_back({merge.substr(0, space), merge.substr(space + 1)});
  }
  return out;
}

Result<JsonValue> byte_level_tokenizer(const Checkpoint& file, const TokenTable& table,
                                       std::vector<std::string>& guessed) {
  CKPT_ASSIGN(JsonValue merges, listed_merges(table));
  const std::string* name = file.metadata.find_text("tokenizer.ggml.pre");
  if (name == nullptr) {
    return unsupported_hint(kOtherTokenizer, "the file has no tokenizer.ggml.pre");
  }
  JsonValue out = tokenizer_json(table, true);
  const bool is_nfc = pre_normalizes_to_nfc(*name);
  out["normalizer"] = is_nfc ? JsonValue{{"type", "NFC"}} : JsonValue();
  guessed.push_back(
      fmt::format("tokenizer.json: normalizer {}, as '{}' has it", is_nfc ? "NFC" : "none", *name));
  CKPT_ASSIGN(out["pre_tokenizer"], pre_tokenizer_named(*name));
  const auto says_bos = tokenizer_flag(file, "add_bos_token");
  if (!says_bos) guessed.push_back("tokenizer.json: adds no BOS, as no key says so");
  const bool adds_bos = says_bos.value_or(false);
  const bool adds_eos = tokenizer_flag(file, "add_eos_token").value_or(false);
  out["post_processor"] = adds_bos || adds_eos ? template_processor(file, table, adds_bos, adds_eos)
                                               : byte_level(false, false);
  out["decoder"] = byte_level(true, true);
  out["decoder"]["add_prefix_space"] = true;
  out["model"] = bpe_model(table, true);
  out["model"]["ignore_merges"] =
      tokenizer_flag(file, "ignore_merges")
          .value_or(pre_ignores_merges(*name) || was_ranked(file, *name));
  out["model"]["merges"] = std::move(merges);
  return out;
}

// SentencePiece's BPE for the library tokenizers, without its merges.
JsonValue piece_tokenizer(const Checkpoint& file, const TokenTable& table, bool adds_prefix) {
  const JsonValue spaces = {
      {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", std::string(kMetaspace)}};
  const JsonValue back = {
      {"type", "Replace"}, {"pattern", {{"String", std::string(kMetaspace)}}}, {"content", " "}};
  JsonValue decoders = {back, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  JsonValue out = tokenizer_json(table, false);
  if (adds_prefix) {
    const JsonValue prefix = {{"type", "Prepend"}, {"prepend", std::string(kMetaspace)}};
    out["normalizer"] = {{"type", "Sequence"}, {"normalizers", {prefix, spaces}}};
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    out["pre_tokenizer"] = nullptr;
  } else {
    out["normalizer"] = spaces;
    out["pre_tokenizer"] = {{"type", "Split"},
                            {"pattern", {{"String", " "}}},
                            {"behavior", "MergedWithPrevious"},
                            {"invert", false}};
  }
  out["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  out["post_processor"] =
      template_processor(file, table, tokenizer_flag(file, "add_bos_token").value_or(true),
                         tokenizer_flag(file, "add_eos_token").value_or(false));
  out["model"] = bpe_model(table, false);
  out["model"]["byte_fallback"] = true;
  out["model"]["fuse_unk"] = true;
  if (const auto unknown = special_id(file, table, "unknown")) {
    out["model"]["unk_token"] = table.text(*unknown);
  }
  return out;
}

// Gemma 4 has a list of merges, and only the special tokens in tokenizer_config.json.
Result<JsonValue> listed_piece_tokenizer(const Checkpoint& file, const TokenTable& table,
                                         JsonValue& config) {
  JsonValue out = piece_tokenizer(file, table, false);
  CKPT_ASSIGN(out["model"]["merges"], listed_merges(table));
  JsonValue special = JsonValue::array();
  for (size_t id = 0; id < table.size(); ++id) {
    if (table.type(id) == TokenType::kControl) special.push_back(table.text(id));
  }
  config["additional_special_tokens"] = std::move(special);
  return out;
}

struct TokenKind {
  std::string_view kind, field;
};
// Whether texts contain the token: naming it would make it special. Its id is in config.json.
bool is_plain_token(const Checkpoint& file, const TokenTable& table, std::string_view kind) {
  const auto id = special_id(file, table, kind);
  return id && table.type(*id) == TokenType::kNormal;
}

constexpr TokenKind kOrder[] = {
    {"bos", "bos_token"},       {"eos", "eos_token"},     {"unknown", "unk_token"},
    {"seperator", "sep_token"}, {"padding", "pad_token"}, {"mask", "mask_token"},
    {"eot", "eot_token"},       {"eom", "eom_token"},
};

std::string key_of(const TokenKind& kind) {
  return fmt::format("tokenizer.ggml.{}_token_id", kind.kind);
}

// The kinds that tokenizer_config.json named: to-gguf writes those first, in this order, and then
// the ids of config.json, in the usual order.
std::vector<TokenKind> named_kinds(const Checkpoint& file, const TokenTable& table) {
  std::vector<TokenKind> out;
  const TokenKind* next = kOrder;
  for (const MetaEntry& entry : file.metadata.entries) {
    const auto is_its_key = [&](const TokenKind& kind) { return entry.key == key_of(kind); };
    const TokenKind* found = std::ranges::find_if(kOrder, is_its_key);
    if (found == std::end(kOrder)) continue;
    if (found < next) break;
    if (!is_plain_token(file, table, found->kind)) out.push_back(*found);
    next = found + 1;
  }
  return out;
}

JsonValue tokenizer_config(const Checkpoint& file, const TokenTable& table) {
  JsonValue out = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                   {"clean_up_tokenization_spaces", false}};
  const auto length =
      file.metadata.find_unsigned(fmt::format("{}.context_length", file.metadata.architecture()));
  if (length) out["model_max_length"] = *length;
  for (const auto& [kind, field] : named_kinds(file, table)) {
    if (const auto id = special_id(file, table, kind)) out[field] = table.text(*id);
  }
  for (const char* flag : {"add_bos_token", "add_eos_token"}) {
    if (const auto value = tokenizer_flag(file, flag)) out[flag] = *value;
  }
  return out;
}

// Repeats the changes of read_pieces() in to_gguf/tokenizer/.
JsonValue added_tokens_decoder(const TokenTable& table) {
  JsonValue out = JsonValue::object();
  for (size_t id = 0; id < table.size(); ++id) {
    if (!is_outside_pieces_file(table, id)) continue;
    JsonValue token = added_token(table, id, false);
    token.erase("id");
    out[std::to_string(id)] = std::move(token);
  }
  return out;
}

bool keeps_unigram_ids(const Checkpoint& file) {
  return std::ranges::any_of(families(), [&](const Family* family) {
    return family->tokenizer.is_t5 && family->name == file.metadata.architecture();
  });
}

// T5's files: spiece.model, added_tokens.json, and a class that adds tokens <extra_id_0> and so on
// behind the pieces.
Status add_unigram_documents(const Checkpoint& file, const TokenTable& table, Checkpoint& folder,
                             std::vector<std::string>& guessed) {
  constexpr size_t kUsualExtraIds = 100;
  const auto unknown = unknown_piece(file, table);
  if (!unknown || table.scores.empty()) {
    return unsupported_hint(kOtherTokenizer, "the file has no unigram pieces with scores");
  }
  PieceSettings pieces{tokenizer_flag(file, "add_space_prefix").value_or(true),
                   tokenizer_flag(file, "remove_extra_whitespaces").value_or(true), true, {}};
  if (const auto* map = file.metadata.find_array("tokenizer.ggml.precompiled_charsmap")) {
    for (uint64_t i = 0; map->holds_numbers() && i < map->count(); ++i) {
      pieces.character_map += static_cast<char>(static_cast<uint8_t>(number_at(*map, i)));
    }
  }
  folder.set_document("spiece.model", piece_file_of(table, *unknown, pieces));
  JsonValue added = JsonValue::object();
  for (size_t id = piece_count(table); id < table.size(); ++id) {
    if (is_outside_pieces_file(table, id)) added[table.text(id)] = id;
  }
  if (!added.empty()) folder.set_document("added_tokens.json", added.dump(2) + "\n");
  JsonValue config = tokenizer_config(file, table);
  config["tokenizer_class"] = "T5Tokenizer";
  const size_t extra = std::min(kUsualExtraIds, table.size() - piece_count(table));
  config["extra_ids"] = added.empty() ? extra : 0;
  guessed.push_back(fmt::format("tokenizer_config.json: extra_ids {}, as no key says so",
                                config["extra_ids"].dump()));
  folder.set_document("tokenizer_config.json", config.dump(2) + "\n");
  return {};
}

void add_chat_templates(const Checkpoint& file, Checkpoint& folder,
                        std::vector<std::string>& guessed) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  for (const MetaEntry& entry : file.metadata.entries) {
    const auto* text = std::get_if<std::string>(&entry.value.value);
    if (text == nullptr || !entry.key.starts_with(kKey)) continue;
    if (entry.key == kKey) folder.set_document("chat_template.jinja", *text);
    if (!entry.key.starts_with("tokenizer.chat_template.")) continue;
    const std::string name = entry.key.substr(kKey.size() + 1);
    // Accepts only names as to-gguf writes them, because the file could name any path.
    const bool is_word = std::ranges::all_of(name, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    });
    if (name.empty() || !is_word) {
      guessed.push_back(fmt::format("{}: left out, no name of a template", entry.key));
      continue;
    }
    folder.set_document(fmt::format("additional_chat_templates/{}.jinja", name), *text);
  }
}

}  // namespace

Status add_tokenizer_documents(const Checkpoint& file, Checkpoint& folder,
                               std::vector<std::string>& guessed) {
  CKPT_ASSIGN(const TokenTable table, read_token_table(file));
  const std::string* declared = file.metadata.find_text("tokenizer.ggml.model");
  const std::string model = declared == nullptr ? "absent" : *declared;
  if (model == "t5" && keeps_unigram_ids(file)) {
    return add_unigram_documents(file, table, folder, guessed);
  }
  JsonValue config = tokenizer_config(file, table);
  JsonValue tokenizer;
  if (model == "gpt2") {
    CKPT_ASSIGN(tokenizer, byte_level_tokenizer(file, table, guessed));
  } else if (model == "llama" && !table.scores.empty()) {
    const bool adds_prefix = tokenizer_flag(file, "add_space_prefix").value_or(true);
    tokenizer = piece_tokenizer(file, table, adds_prefix);
    tokenizer["model"]["merges"] = merges_of_scores(table);
    if (!has_scores(table)) {
      guessed.push_back(
          "tokenizer.json: merges by the order of ids, because all scores are equal and tell no "
          "order. Texts may be split differently from the source. Try: --tokenizer DIR, the folder "
          "of the source's tokenizer");
    }
    if (const auto unknown = unknown_piece(file, table)) {
      folder.set_document(
          "tokenizer.model",
          piece_file_of(
              table, *unknown,
              {adds_prefix, tokenizer_flag(file, "remove_extra_whitespaces").value_or(false)}));
      config["added_tokens_decoder"] = added_tokens_decoder(table);
    }
    if (const auto prefix = tokenizer_flag(file, "add_space_prefix")) {
      config["add_prefix_space"] = *prefix;
    }
  } else if (model == "gemma4" && !table.scores.empty()) {
    CKPT_ASSIGN(tokenizer, listed_piece_tokenizer(file, table, config));
  } else if ((model == "llama" || model == "gemma4") && table.scores.empty()) {
    return unsupported_hint(kOtherTokenizer, "the file has no tokenizer.ggml.scores");
  } else {
    return unsupported_hint(kOtherTokenizer,
                            "tokenizer.ggml.model is '{}'; gpt2, llama and gemma4 are turned back",
                            model);
  }
  folder.set_document("tokenizer.json", tokenizer.dump(2) + "\n");
  folder.set_document("tokenizer_config.json", config.dump(2) + "\n");
  add_chat_templates(file, folder, guessed);
  return {};
}

Result<bool> name_tokens(const Checkpoint& file, std::span<const std::string> keys,
                         Checkpoint& folder) {
  constexpr const char* kPath = "tokenizer_config.json";
  CKPT_ASSIGN(const TokenTable table, read_token_table(file));
  CKPT_ASSIGN(const auto declared, read_object(folder, kPath));
  if (declared == nullptr) return false;
  JsonValue config = *declared;
  for (const TokenKind& kind : kOrder) {
    // config.json has the ids of these three.
    const bool is_of_config = has_word("bos eos padding", kind.kind);
    const auto id = special_id(file, table, kind.kind);
    if (is_of_config || !id || is_plain_token(file, table, kind.kind)) continue;
    if (std::ranges::find(keys, key_of(kind)) == keys.end()) continue;
    config[std::string(kind.field)] = table.text(*id);
  }
  if (config == *declared) return false;
  folder.set_document(kPath, config.dump(2) + "\n");
  return true;
}

}  // namespace ckpt
