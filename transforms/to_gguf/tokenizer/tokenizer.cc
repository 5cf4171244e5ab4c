#include "transforms/to_gguf/tokenizer/tokenizer.h"

#include <memory>

#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/to_gguf/tokenizer/special.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

const Hint kTokenizerHint("the folder of the model's tokenizer, with --tokenizer DIR",
                          Remedy::kTokenizer);

// Granite's code models share this vocabulary size and have no BOS (llama.cpp conversion/llama.py).
constexpr uint64_t kNoBosVocabulary = 49152;
// CodeLlama has this vocabulary size, and no file names its end of a turn.
constexpr uint64_t kInfillVocabulary = 32016;
constexpr uint64_t kInfillEndOfTurn = 32010;

// Tokens of Gemma 4 that programs parse (llama.cpp conversion/gemma.py Gemma4Model.set_vocab).
constexpr std::string_view kShownTokens[] = {"<|channel>",   "<channel|>",       "<|tool_call>",
                                             "<tool_call|>", "<|tool_response>", "<tool_response|>",
                                             "<|\"|>"};

struct TokenizerFiles {
  std::shared_ptr<const JsonValue> tokenizer;  // tokenizer.json; a null value if missing
  std::shared_ptr<const TokenLists> lists;     // of tokenizer.json
  JsonValue config;                            // tokenizer_config.json
};

Result<TokenizerFiles> read_files(const Checkpoint& checkpoint) {
  TokenizerFiles out{nullptr, nullptr, JsonValue::object()};
  CKPT_ASSIGN(out.tokenizer, read_object(checkpoint, kTokenizerJson));
  CKPT_ASSIGN(out.lists, token_lists_of(checkpoint));
  if (out.tokenizer == nullptr) out.tokenizer = std::make_shared<const JsonValue>();
  CKPT_ASSIGN(const auto config, read_object(checkpoint, "tokenizer_config.json"));
  if (config) out.config = *config;
  return out;
}

// Phi-4 has the model type of Phi-3, but byte-level BPE.
bool is_gpt2(const JsonValue& config) {
  return text_in(config, "tokenizer_class") == "GPT2Tokenizer";
}

// "IQ== 0": one token per line, as in tiktoken, which Llama 3 uses under this file name.
bool is_tiktoken(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const size_t space = line.find(' ');
  return space != line.npos && space > 0 && space + 1 < line.size() &&
         line.substr(space + 1).find_first_not_of("0123456789\r") == line.npos;
}

bool reads_piece_file(const Checkpoint& checkpoint, const TokenizerFiles& files,
                      const TokenizerRules& rules) {
  const Document* found = checkpoint.find_document("tokenizer.model");
  if (rules.piece_file == PieceFile::kIgnored || found == nullptr) return false;
  if (rules.keeps_added_texts && is_gpt2(files.config)) return false;
  return files.tokenizer->is_null() || !is_tiktoken(found->text());
}

Failure refuse_missing(const Checkpoint& checkpoint, const TokenizerRules& rules) {
  const bool has_json = checkpoint.find_document("tokenizer.json") != nullptr;
  if (rules.piece_file == PieceFile::kRequired && has_json) {
    return misuse_hint(kTokenizerHint,
                       "tokenizer.json without tokenizer.model, which this family's is made of");
  }
  for (const char* path : {"tokenizer.model", "spiece.model", "tekken.json", "tiktoken.model"}) {
    if (has_json || checkpoint.find_document(path) == nullptr) continue;
    return unsupported_hint(
        kTokenizerHint,
        "{} without tokenizer.json: only byte-level BPE in a tokenizer.json is converted", path);
  }
  return misuse_hint(kTokenizerHint, "no tokenizer.json{}",
                     rules.piece_file == PieceFile::kIgnored ? "" : " or tokenizer.model");
}

// Whether byte fallback replaces a missing tokenizer.model, which the converter cannot always do.
bool takes_byte_fallback(const TokenizerFiles& files, const TokenizerOptions& options) {
  const TokenizerRules& rules = options.rules;
  const bool is_taken = rules.byte_fallback != ByteFallback::kRefused ||
                        (rules.piece_file != PieceFile::kIgnored && !options.as_converter);
  return is_taken && has_byte_fallback(*files.tokenizer);
}

// Whether the converter would write this vocabulary without the scores of the source.
bool differs_from_source(const Checkpoint& checkpoint, const TokenizerFiles& files,
                         const TokenizerOptions& options) {
  return takes_byte_fallback(files, options) &&
         options.rules.byte_fallback != ByteFallback::kAsGemma4 &&
         !reads_piece_file(checkpoint, files, options.rules) && !files.lists->merges.empty();
}

bool follows_source(const Checkpoint& checkpoint, const TokenizerFiles& files,
                    const TokenizerOptions& options) {
  return !options.as_converter && differs_from_source(checkpoint, files, options);
}

// SentencePiece models in a tokenizer.json are BPE too; their bytes are tokens like <0x0A>.
Status check_kind(const JsonValue& tokenizer) {
  const JsonValue* model = known(tokenizer, "model");
  const std::string* type = text_of(model, "type");
  if (type == nullptr || *type != "BPE") {
    return unsupported("tokenizer.json: a {} model; only byte-level BPE is converted",
                       type == nullptr ? "nameless" : *type);
  }
  if (is_truthy(known(*model, "byte_fallback"))) {
    return unsupported(
        "tokenizer.json: BPE with byte fallback, as in SentencePiece; only byte-level BPE is "
        "converted");
  }
  return {};
}

// Reads the tokens of byte-level BPE in a tokenizer.json.
Result<Vocabulary> byte_level_vocabulary(const Checkpoint& checkpoint, const TokenizerFiles& files,
                                         const TokenizerOptions& options) {
  CKPT_TRY(check_kind(*files.tokenizer));
  if (options.pre_name && has_word(kWordPieceNames, *options.pre_name)) {
    return misuse("tokenizer-pre={} is of WordPiece; this vocabulary is byte-level BPE",
                  *options.pre_name);
  }
  CKPT_ASSIGN(Vocabulary out, read_vocabulary(checkpoint, *files.tokenizer, files.config, options));
  CKPT_SET(out.merges, read_merges(checkpoint));
  out.model = "gpt2";
  out.pre = options.pre_name;
  if (!out.pre) {
    CKPT_SET(out.pre,
             recognize_pre_tokenizer(*files.tokenizer, files.config, *files.lists, out.merges));
  }
  return out;
}

// Describes a contradiction in tokens into which texts are split; empty if there is none.
std::string find_conflict(const TokenLists& lists, const Vocabulary& vocabulary) {
  uint64_t count = 0;
  std::string first;
  for (const TokenLists::Token& token : lists.tokens) {
    if (token.id >= vocabulary.tokens.size()) continue;
    const auto type = static_cast<TokenType>(vocabulary.types[token.id]);
    const bool is_piece = type == TokenType::kNormal;
    if ((!is_piece && type != TokenType::kUnused) || vocabulary.tokens[token.id] == token.text) {
      continue;
    }
    if (count++ > 0) continue;
    const std::string piece =
        is_piece ? fmt::format("'{}'", shorten(vocabulary.tokens[token.id])) : "absent";
    first = fmt::format("ID {} is {} in tokenizer.model and '{}' in tokenizer.json", token.id,
                        piece, shorten(token.text));
  }
  return count < 2 ? first : fmt::format("{} ({} such tokens)", first, count);
}

Result<Vocabulary> make_vocabulary(const Checkpoint& checkpoint, const TokenizerFiles& files,
                                   const TokenizerOptions& options, const Context& context) {
  const TokenizerRules& rules = options.rules;
  if (rules.is_encoder) {
    CKPT_ASSIGN(std::optional<Vocabulary> found,
                read_encoder(checkpoint, *files.tokenizer, files.config, options));
    if (found) return std::move(*found);
  }
  const bool has_pieces = reads_piece_file(checkpoint, files, rules);
  if (has_pieces || takes_byte_fallback(files, options)) {
    CKPT_ASSIGN(Vocabulary out,
                has_pieces ? read_pieces(checkpoint, files.config, options, context)
                           : read_byte_fallback(checkpoint, *files.tokenizer, files.config));
    out.model = "llama";
    out.pre = "default";
    if (follows_source(checkpoint, files, options)) {
      CKPT_TRY(follow_source(checkpoint, *files.tokenizer, options, context, out));
    }
    if (has_pieces) out.conflict = find_conflict(*files.lists, out);
    if (!out.conflict.empty()) {
      context.note("{}; the file has the tokens of tokenizer.model", out.conflict);
    }
    if (has_pieces || rules.byte_fallback != ByteFallback::kAsGemma4) return out;
    Vocabulary converters = out;
    give_added_types(*files.tokenizer, TextIndex(converters.tokens), out);
    for (Vocabulary* each : {&out, &converters}) show_tokens(kShownTokens, *each);
    out = chosen_vocabulary(std::move(out), std::move(converters), options);
    CKPT_SET(out.merges, read_merges(checkpoint));
    out.model = "gemma4";
    out.pre.reset();
    return out;
  }
  const bool has_ranks = checkpoint.find_document(rules.ranks_file) != nullptr;
  if (files.tokenizer->is_null() && has_ranks && !rules.ranks.empty()) {
    CKPT_ASSIGN(Vocabulary out, read_ranks(checkpoint, files.config, options));
    out.model = "gpt2";
    out.pre = options.pre_name.value_or(std::string(rules.ranks));
    return out;
  }
  const bool is_byte_level = rules.piece_file != PieceFile::kRequired ||
                             (rules.keeps_added_texts && is_gpt2(files.config));
  if (files.tokenizer->is_null() || !is_byte_level) return refuse_missing(checkpoint, rules);
  return byte_level_vocabulary(checkpoint, files, options);
}

// Differences between files, or from llama.cpp's converter, that affect the keys.
struct Differences {
  std::string added;         // Vocabulary::difference
  bool scores, chat, prefix;  // differences from the converter
};

void note_differences(const Differences& found, bool as_converter, const Context& context) {
  if (as_converter) {
    if (!found.added.empty() || found.scores || found.chat || found.prefix) return;
    return context.note(
        "tokenizer-as changes nothing: both vocabularies are the same for this tokenizer");
  }
  if (found.scores) {
    context.note(
        "the vocabulary follows tokenizer.json, because tokenizer.model is missing: scores by the "
        "order of its merges. --tokenizer-as converter writes the vocabulary of llama.cpp's "
        "converter, which splits texts differently");
  } else if (!found.added.empty()) {
    context.note(
        "the added tokens are those of tokenizer.json: {}. --tokenizer-as converter writes the "
        "converter's",
        found.added);
  }
  if (found.prefix && !found.scores) {
    context.note(
        "{} follows tokenizer.json; --tokenizer-as converter writes what llama.cpp's converter "
        "does",
        kSpacePrefixKey);
  }
  if (found.chat) {
    context.note(
        "the chat template is that of chat_template.jinja, which transformers and vLLM use; "
        "--tokenizer-as converter writes the other one, of tokenizer_config.json");
  }
}

// Omits empty lists of scores and merges.
void put_vocabulary(Vocabulary vocabulary, Metadata& metadata) {
  for (MetaEntry& entry : vocabulary.before.entries) {
    metadata.append(std::move(entry.key), std::move(entry.value));
  }
  metadata.append("tokenizer.ggml.model", MetaValue::text(std::string(vocabulary.model)));
  if (vocabulary.pre) metadata.append("tokenizer.ggml.pre", MetaValue::text(*vocabulary.pre));
  metadata.append("tokenizer.ggml.tokens",
                  MetaValue::array(make_text_array(std::move(vocabulary.tokens))));
  if (!vocabulary.scores.empty()) {
    metadata.append("tokenizer.ggml.scores", MetaValue::array(make_f32_array(vocabulary.scores)));
  }
  metadata.append("tokenizer.ggml.token_type", MetaValue::array(make_i32_array(vocabulary.types)));
  for (MetaEntry& entry : vocabulary.behind.entries) {
    metadata.append(std::move(entry.key), std::move(entry.value));
  }
  if (!vocabulary.merges.empty()) {
    metadata.append("tokenizer.ggml.merges",
                    MetaValue::array(make_text_array(std::move(vocabulary.merges))));
  }
}

void add_chat_of_class(const ChatOfClass& chat, Metadata& metadata) {
  constexpr const char* kKey = "tokenizer.chat_template";
  if (chat.text == nullptr || metadata.find(kKey) != nullptr) return;
  metadata.append(kKey, MetaValue::text(chat_of_class(chat, "")));
}

void give_control_type(std::string_view text, Vocabulary& vocabulary) {
  if (text.empty()) return;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.tokens[i] == text) {
      vocabulary.types[i] = static_cast<int32_t>(TokenType::kControl);
    }
  }
}

// Replaces the EOS and EOT ids of the files in families with other rules (llama.cpp
// conversion/{internlm,hunyuan}.py set_vocab).
Status replace_ends(const Checkpoint& checkpoint, const JsonValue& config,
                    const TokenizerRules& rules, Metadata& metadata) {
  if (rules.bos_id) metadata.set("tokenizer.ggml.bos_token_id", MetaValue::u32(*rules.bos_id));
  CKPT_ASSIGN(const auto decoder, decoder_tokens(config));
  const bool needs_one = rules.ranks.empty() && !rules.is_internlm2;  // an EOS of the files
  for (const auto& [id, token] : decoder) {
    if (!token.special || rules.end_of_chat.empty() || token.text != rules.end_of_chat) continue;
    if (needs_one && metadata.find("tokenizer.ggml.eos_token_id") == nullptr) continue;
    metadata.set("tokenizer.ggml.eos_token_id", MetaValue::u32(id));
  }
  CKPT_ASSIGN(const auto model, read_object(checkpoint, "config.json"));
  if (rules.ends_by_config && model) {
    const JsonValue* start = known(*model, "bos_token_id");
    for (const JsonValue& end : list_in(*model, "eos_token_id")) {
      const auto id = whole(end);
      if (!id || (start != nullptr && *start == end)) continue;
      metadata.set("tokenizer.ggml.eot_token_id", MetaValue::u32(*id));
      break;
    }
  }
  const char* end_field = rules.ends_by_generation    ? "eod_token_id"
                          : rules.takes_eos_of_config ? "eos_token_id"
                                                      : "";
  const JsonValue* text = model ? find_text_config(*model) : nullptr;
  for (const JsonValue* level : {model.get(), text}) {  // the inner one overrides
    const auto end = level == nullptr ? std::nullopt : whole(known(*level, end_field));
    if (end) metadata.set("tokenizer.ggml.eos_token_id", MetaValue::u32(*end));
  }
  if (!rules.ends_by_generation) return {};
  CKPT_ASSIGN(const auto generation, read_object(checkpoint, "generation_config.json"));
  if (!generation) return {};
  const JsonValue& ends = list_in(*generation, "eos_token_id");
  const auto first = ends.size() < 2 ? std::nullopt : whole(ends[0]);
  if (first) metadata.set("tokenizer.ggml.eot_token_id", MetaValue::u32(*first));
  return {};
}

}  // namespace

Status add_tokenizer_keys(const Checkpoint& checkpoint, const TokenizerOptions& options,
                          const Context& context, Metadata& metadata) {
  CKPT_ASSIGN(const TokenizerFiles files, read_files(checkpoint));
  const TokenizerRules& rules = options.rules;
  const JsonValue* prefix = known(files.config, "add_prefix_space");
  if (rules.is_llama && prefix != nullptr) {
    metadata.append("tokenizer.ggml.add_space_prefix", MetaValue::boolean(is_truthy(prefix)));
  }
  for (const std::string_view flag : split_words(rules.first_flags)) {
    const size_t sign = flag.find('=');
    metadata.append(fmt::format("tokenizer.ggml.add_{}_token", flag.substr(0, sign)),
                    MetaValue::boolean(flag.substr(sign + 1) == "true"));
  }
  CKPT_ASSIGN(Vocabulary vocabulary, make_vocabulary(checkpoint, files, options, context));
  give_control_type(rules.control_token, vocabulary);
  CKPT_ASSIGN(ChatTemplate chat, find_chat_template(checkpoint, files.config));
  if (rules.prefers_template_file) chat.converter = chat.source;
  Differences differences{vocabulary.difference, differs_from_source(checkpoint, files, options),
                          chat.differs(), false};
  SpecialsWanted specials{.is_after_v050 = rules.is_after_v050};
  const bool is_bounded = vocabulary.model != "gpt2" && vocabulary.model != "gemma4";
  if (is_bounded) specials.vocab_size = vocabulary.tokens.size();
  if (vocabulary.model == "gpt2") specials.named = rules.special_tokens;
  put_vocabulary(std::move(vocabulary), metadata);
  if (!rules.end_of_chat.empty() && !rules.is_internlm2 && prefix != nullptr) {
    metadata.append("tokenizer.ggml.add_space_prefix", MetaValue::boolean(is_truthy(prefix)));
  }
  CKPT_TRY(add_special_ids(checkpoint, *files.tokenizer, files.config, specials, metadata));
  add_chat_template(options.as_converter ? chat.converter : chat.source, metadata);
  CKPT_TRY(replace_ends(checkpoint, files.config, rules, metadata));
  add_chat_of_class(rules.chat, metadata);
  add_normalizer_keys(*files.tokenizer, metadata);
  const bool has_segments = rules.is_encoder && !rules.is_t5;
  if (has_segments) metadata.set(std::string(kSegmentCountKey), MetaValue::u32(options.segments));
  const bool has_infill = rules.is_llama && options.vocab_size == kInfillVocabulary;
  const std::optional<uint64_t> end_of_turn =
      has_infill ? std::optional(kInfillEndOfTurn) : rules.end_of_turn_id;
  if (end_of_turn) {
    const SpecialsWanted wanted{UINT64_MAX, {"eot"}, {{"eot", *end_of_turn}}};
    CKPT_TRY(add_special_ids(checkpoint, *files.tokenizer, files.config, wanted, metadata));
  }
  if (rules.is_llama && options.vocab_size == kNoBosVocabulary) {
    metadata.set("tokenizer.ggml.add_bos_token", MetaValue::boolean(false));
  }
  if (rules.says_prefix_last && prefix != nullptr) {
    metadata.append("tokenizer.ggml.add_space_prefix", MetaValue::boolean(is_truthy(prefix)));
  }
  if (rules.adds_space_prefix) {
    metadata.set("tokenizer.ggml.add_space_prefix", MetaValue::boolean(*rules.adds_space_prefix));
  }
  if (differences.scores || reads_piece_file(checkpoint, files, rules)) {
    differences.prefix = follow_prefix(*files.tokenizer, options.as_converter, metadata);
  }
  note_differences(differences, options.as_converter, context);
  if (rules.adds_bos) metadata.set("tokenizer.ggml.add_bos_token", MetaValue::boolean(true));
  for (const TokenizerGap& gap : find_tokenizer_gaps(*files.tokenizer, metadata)) {
    if (!gap.is_rare) context.note("{}: {}", gap.place, gap.found);
  }
  return {};
}

std::optional<TokenizerForm> tokenizer_form(const Checkpoint& checkpoint,
                                            const TokenizerOptions& options) {
  const auto files = read_files(checkpoint);
  if (!files || files->tokenizer->is_null()) return std::nullopt;
  const bool is_bpe = text_in(known(*files->tokenizer, "model"), "type") == "BPE";
  if (options.rules.is_encoder && !is_bpe) return std::nullopt;
  const bool reads_pieces = reads_piece_file(checkpoint, *files, options.rules);
  const bool is_by_pieces = reads_pieces || takes_byte_fallback(*files, options);
  TokenizerForm out{is_by_pieces ? LlamaSplitting::kByPieces : LlamaSplitting::kByPre,
                    differs_from_source(checkpoint, *files, options), {}, {}};
  if (!is_by_pieces) return out;
  const auto vocabulary = make_vocabulary(checkpoint, *files, options, {});
  if (!vocabulary) return out;
  out.difference = vocabulary->difference;
  out.conflict = vocabulary->conflict;
  return out;
}

}  // namespace ckpt
