// tokenizer:from=DIR for a folder: replaces the tokenizer's files by those of DIR, if they are
// proven equivalent.
//
// If the model has no tokenizer, only the number of embedding rows and the ids of a few special
// tokens can be compared and reported. Chat templates are not compared: the model keeps its own,
// unless chat-template=donor.
#include <algorithm>

#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"
#include "transforms/tokenizer/compare.h"
#include "transforms/tokenizer/file.h"
#include "transforms/tokenizer/files.h"
#include "transforms/tokenizer/jobs.h"
#include "transforms/tokenizer/model.h"

namespace ckpt {
namespace {

constexpr std::string_view kTemplate = "chat_template.jinja";
constexpr std::string_view kTemplateJson = "chat_template.json";  // of processor classes

Result<Checkpoint> open_donor(const std::string& folder, const Context& context) {
  CKPT_ASSIGN(Checkpoint donor, read_tokenizer_donor(folder, context));
  for (const std::string_view path : {kTokenizerJson, kTokenizerConfig}) {
    if (donor.find_document(path) != nullptr) continue;
    return unsupported("{}: no {}; expected a folder with a tokenizer", folder, path);
  }
  return donor;
}

// Fails if programs cannot load the file, which comparing tokens would not detect.
Status check_loadable(const TokenizerFile& file) {
  for (const auto& [name, value] : file.values->items()) {
    if (has_word(kTokenizerMembers, name)) continue;
    return unsupported(
        "{}: member '{}' is not known; the library tokenizers does not load the file",
        kTokenizerJson, name);
  }
  const JsonValue& version = file.part("version");
  if (version.is_null() || version == kTokenizerVersion) return {};
  return unsupported("{}: version {}; expected \"{}\"", kTokenizerJson, version.dump(),
                     kTokenizerVersion);
}

// The texts of a tokenizer's ids.
Result<std::vector<std::string>> read_ids(const TokenizerFile& file) {
  CKPT_ASSIGN(std::vector<std::string> out, read_tokens(file));
  CKPT_ASSIGN(const ListedTokens added, read_added_tokens(file));
  for (const auto& [id, token] : added) {
    if (id >= out.size()) out.resize(id + 1);
    out[id] = token.text;
  }
  return out;
}

std::string_view text_of_id(const std::vector<std::string>& ids, uint64_t id) {
  return id < ids.size() ? std::string_view(ids[id]) : std::string_view();
}

// Fails if there are more tokens than embedding rows, which is never correct.
Status check_size(const TokenizerModel& model, uint64_t tokens) {
  const std::optional<uint64_t> rows =
      model.embedding_rows ? model.embedding_rows : model.vocab_size;
  if (!rows || tokens <= *rows) return {};
  return unsupported("ids up to {}; expected less than {}, the {}", tokens - 1, *rows,
                     model.embedding_rows ? "rows of the embedding" : "vocab_size of config.json");
}

// Compares the tokens that the donor names with the ids that the model names.
Result<TokenizerDifferences> compare_with_model(const TokenizerModel& model,
                                                const std::vector<std::string>& ids,
                                                const JsonValue& config) {
  for (const auto& [kind, wanted] : model.special_ids) {
    for (const uint64_t id : wanted) {
      if (!text_of_id(ids, id).empty()) continue;
      return TokenizerDifferences{
          {TokenizerArea::kIds,
           fmt::format("{}_token_id {} of the model is not a token there", kind, id)}};
    }
    const std::optional<std::string> text = special_text(config, kind);
    const auto at = text ? std::ranges::find(ids, *text) : ids.end();
    const auto id = static_cast<uint64_t>(at - ids.begin());
    if (at == ids.end() || std::ranges::find(wanted, id) != wanted.end()) continue;
    return TokenizerDifferences{
        {TokenizerArea::kSpecial,
         fmt::format("{}_token_id {} here, {} ('{}') there", kind, wanted.front(), id, *text)}};
  }
  return TokenizerDifferences();
}

std::string describe_checks(const TokenizerModel& model, uint64_t tokens) {
  std::string out =
      fmt::format("tokenizer: no {} here to compare with; all that was checked: ", kTokenizerJson);
  if (model.embedding_rows || model.vocab_size) {
    out += fmt::format("{} ids fit {} {}", tokens,
                       model.embedding_rows ? "an embedding of" : "a vocab_size of",
                       model.embedding_rows ? *model.embedding_rows : *model.vocab_size);
  } else {
    out += "nothing of the vocabulary";
  }
  if (model.special_ids.empty()) return out + "; no special ids are given";
  out += "; ids of";
  for (const auto& [kind, ids] : model.special_ids) out += " " + kind;
  return out + " are tokens";
}

Status check_donor(const Checkpoint& checkpoint, const Checkpoint& donor,
                   const OptionValues& options, const Context& context) {
  CKPT_ASSIGN(const TokenizerModel model, read_tokenizer_model(checkpoint));
  CKPT_ASSIGN(const std::optional<TokenizerFile> file, read_tokenizer_file(donor));
  CKPT_TRY(check_loadable(*file));
  if (checkpoint.find_document(kTokenizerJson) != nullptr) {
    CKPT_ASSIGN(const TokenizerDifferences found, compare_tokenizers(checkpoint, donor));
    CKPT_TRY(settle(found, options, context));
    if (found.empty() || found.front().area != TokenizerArea::kIds) return {};
    CKPT_ASSIGN(const auto ids, read_ids(*file));
    return check_size(model, ids.size());
  }
  CKPT_ASSIGN(const auto ids, read_ids(*file));
  CKPT_TRY(check_size(model, ids.size()));
  CKPT_ASSIGN(const auto config, read_object(donor, kTokenizerConfig));
  CKPT_ASSIGN(const TokenizerDifferences found, compare_with_model(model, ids, *config));
  CKPT_TRY(settle(found, options, context));
  context.note(describe_checks(model, ids.size()));
  return {};
}

// Tokens by id in another file of the vocabulary, "" if programs may spell them differently; empty
// for types that are not compared, and for unreadable files.
std::vector<std::string> tokens_in(const Document& document) {
  std::vector<std::string> out;
  if (document.path == "tokenizer.model") {
    const auto model = read_sentencepiece(document.text());
    if (!model || model->model != PieceModel::kBpe) return out;  // others may have other ids
    for (const TextPiece& piece : model->pieces) {
      out.push_back(piece.type == PieceType::kNormal ? piece.text : "");
    }
  }
  if (document.path == "vocab.json") {
    const auto vocabulary = document.values();
    if (!vocabulary || !(*vocabulary)->is_object()) return out;
    for (const auto& [text, value] : (*vocabulary)->items()) {
      const auto id = whole(value);
      if (!id || *id >= kMaxPieces) continue;
      if (*id >= out.size()) out.resize(*id + 1);
      out[*id] = text;
    }
  }
  return out;
}

// Drops files that contradict tokenizer.json, because programs may read either.
Status drop_contradictions(Checkpoint& checkpoint, const Context& context) {
  CKPT_ASSIGN(const std::optional<TokenizerFile> file, read_tokenizer_file(checkpoint));
  std::vector<std::string> ids, dropped;
  for (const Document& document : checkpoint.documents) {
    const std::vector<std::string> tokens = tokens_in(document);
    if (!tokens.empty() && ids.empty()) CKPT_SET(ids, read_ids(*file));
    for (uint64_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].empty() || tokens[id] == text_of_id(ids, id)) continue;
      context.note("tokenizer: {} is left out: token {} is '{}' in it, '{}' in {}", document.path,
                   id, tokens[id], text_of_id(ids, id), kTokenizerJson);
      dropped.push_back(document.path);
      break;
    }
  }
  std::erase_if(checkpoint.documents, [&](const Document& document) {
    return std::ranges::find(dropped, document.path) != dropped.end();
  });
  return {};
}

// The effective template: a file overrides tokenizer_config.json; null if there is none.
Result<JsonText> template_of(const Checkpoint& checkpoint) {
  if (const Document* file = checkpoint.find_document(kTemplate)) {
    return JsonText::text(file->text());
  }
  for (const std::string_view path : {kTemplateJson, kTokenizerConfig}) {
    CKPT_ASSIGN(const auto json, read_json(checkpoint, path));
    const JsonText* found = json ? json->root.find("chat_template") : nullptr;
    if (found != nullptr) return *found;
  }
  return JsonText::null();
}

// Whether the texts are equal, regardless of escapes.
bool is_same(const JsonText& a, const JsonText& b) {
  const std::optional<std::string> left = a.as_text();
  return left ? left == b.as_text() : a == b;
}

Status drop_inline_template(Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, kTokenizerConfig));
  if (config && config->root.remove("chat_template")) {
    write_json(checkpoint, kTokenizerConfig, *config);
  }
  return {};
}

// Restores the model's template if the donor's files would replace it.
Status keep_template(Checkpoint& checkpoint, const Checkpoint& before, bool wants_donor,
                     const Context& context) {
  CKPT_ASSIGN(const JsonText own, template_of(before));
  CKPT_ASSIGN(const JsonText brought, template_of(checkpoint));
  if (own.is_null() || is_same(own, brought) || (wants_donor && !brought.is_null())) return {};
  if (wants_donor) {
    context.note(
        "tokenizer: chat-template=donor: the donor has no template; the model keeps its own");
  }
  std::erase_if(checkpoint.documents, is_chat_template);
  CKPT_TRY(drop_inline_template(checkpoint));
  if (before.find_document(kTemplate) == nullptr &&
      before.find_document(kTemplateJson) == nullptr) {
    CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, kTokenizerConfig));
    config->root.set_sorted("chat_template", own);
    write_json(checkpoint, kTokenizerConfig, *config);
  }
  for (const Document& document : before.documents) {
    if (is_chat_template(document)) checkpoint.set_document(document);
  }
  if (!brought.is_null()) {
    context.note(
        "tokenizer: the chat templates differ; the model keeps its own. "
        "chat-template=donor takes the other");
  }
  return {};
}

}  // namespace

Status take_tokenizer_from(Checkpoint& checkpoint, const OptionValues& options,
                           const Context& context) {
  const std::string folder = options.text("from");
  CKPT_ASSIGN(const Checkpoint donor, open_donor(folder, context));
  CKPT_TRY(in(folder, check_donor(checkpoint, donor, options, context)));
  Checkpoint before;
  before.documents = checkpoint.documents;
  exchange_files(donor.documents, is_of_tokenizer, checkpoint);
  exchange_files(donor.documents, is_chat_template, checkpoint);
  CKPT_TRY(drop_contradictions(checkpoint, context));
  return keep_template(checkpoint, before, options.choice<bool>("chat-template"), context);
}

}  // namespace ckpt
