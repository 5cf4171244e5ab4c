// tokenizer:from=DIR for a GGUF file: replaces the keys tokenizer.* in place by those that a
// conversion of DIR's tokenizer writes.
//
//   general.* | llama.* | tokenizer.ggml.model ... tokenizer.chat_template | (tensors unchanged)
//                         └────────────── replaced as one block ──────────┘
//
// Tokens, merges and the pre-tokenizer must be the same; types, ids of special tokens, flags and
// the chat template are corrected. Tokens that only fill up the vocabulary ("[PAD7]") are equal to
// each other, and types are not compared.
#include <algorithm>

#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "models/models.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/tokenizer/compare.h"
#include "transforms/tokenizer/jobs.h"

namespace ckpt {
namespace {

constexpr std::string_view kPrefix = "tokenizer.";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kPre = "tokenizer.ggml.pre";
// Keys after "tokenizer.ggml." that a conversion may write, even if it does not write them here;
// other keys were added by users.
constexpr std::string_view kConverted =
    "model pre tokens token_type merges scores bos_token_id eos_token_id unknown_token_id"
    " seperator_token_id padding_token_id mask_token_id add_bos_token add_eos_token add_sep_token"
    " add_space_prefix";

bool is_converted(std::string_view key) {
  constexpr std::string_view kGgml = "tokenizer.ggml.";
  return (key.starts_with(kGgml) && has_word(kConverted, key.substr(kGgml.size()))) ||
         key.starts_with("tokenizer.chat_template") || key.starts_with("tokenizer.ggml.normalizer");
}

const std::vector<std::string>& texts_at(const Metadata& metadata, std::string_view key) {
  static const std::vector<std::string> kNone;
  const MetaArray* array = metadata.find_array(key);
  return array == nullptr ? kNone : array->texts;
}

// Finds the first family with the architecture's name, as from-gguf does.
const Family& family_of(const Checkpoint& gguf) {
  static constexpr Family kNone{};
  for (const Family* family : families()) {
    if (family->name == gguf.metadata.architecture()) return *family;
  }
  return kNone;
}

// Does the same by the class of `donor` if several families have this architecture: Kimi K2 and GLM
// 4.7 Flash are both deepseek2.
const Family& family_of_donor(const Checkpoint& gguf, const Checkpoint& donor) {
  const auto config = read_object(donor, "config.json").value_or(nullptr);
  if (config == nullptr) return family_of(gguf);
  for (const JsonValue& name : list_in(*config, "architectures")) {
    const auto* text = name.get_ptr<const std::string*>();
    const Family* found = text == nullptr ? nullptr : table_of_architecture(*text);
    if (found != nullptr && found->name == gguf.metadata.architecture()) return *found;
  }
  return family_of(gguf);
}

// Rows of the embedding; if the family fills up its tokens, the file's number of tokens.
std::optional<uint64_t> tokens_of_embedding(const Checkpoint& gguf) {
  const Tensor* found = gguf.find_embeddings();
  if (found == nullptr || found->shape.size() != 2) return std::nullopt;
  const uint64_t rows = found->shape[0], tokens = texts_at(gguf.metadata, kTokens).size();
  return tokens > rows && tokens - rows < family_of(gguf).sizes.vocabulary_multiple ? tokens : rows;
}

TokenizerDifferences compare(const Metadata& ours, const Metadata& theirs) {
  TokenizerDifferences out;
  for (const auto& [key, what] : {std::pair{kTokens, "token"}, std::pair{kMerges, "merge"}}) {
    if (auto found = first_token_difference(texts_at(ours, key), texts_at(theirs, key), what)) {
      out.push_back({TokenizerArea::kIds, std::move(*found)});
      break;
    }
  }
  const std::string* mine = ours.find_text(kPre);
  const std::string* other = theirs.find_text(kPre);
  if (mine != nullptr && other != nullptr && *mine != *other) {
    out.push_back({TokenizerArea::kRules,
                   fmt::format("pre-tokenizer: '{}' here, '{}' there", *mine, *other)});
  }
  return out;
}

// If the model's vocabulary is unknown, only its size can be compared.
Status check(const Checkpoint& checkpoint, const Metadata& made, const OptionValues& options,
             const Context& context) {
  const uint64_t tokens = texts_at(made, kTokens).size();
  if (const auto rows = tokens_of_embedding(checkpoint); rows && *rows != tokens) {
    return unsupported("{} tokens; expected {}, the rows of the embeddings", tokens, *rows);
  }
  if (texts_at(checkpoint.metadata, kTokens).empty()) {
    context.note(
        "tokenizer: the file had none to compare with; all that was checked: "
        "{} tokens, as many as the embeddings have rows",
        tokens);
    return {};
  }
  return settle(compare(checkpoint.metadata, made), options, context);
}

bool same_ids(const Metadata& a, const Metadata& b) {
  return texts_at(a, kTokens) == texts_at(b, kTokens) &&
         texts_at(a, kMerges) == texts_at(b, kMerges);
}

// Keys that no conversion writes are kept after the block if their ids mean the same tokens.
void replace_keys(Metadata& metadata, Metadata made, const Context& context) {
  const bool keeps_extras = same_ids(metadata, made);
  std::vector<MetaEntry> extras;
  for (const MetaEntry& entry : metadata.entries) {
    if (!entry.key.starts_with(kPrefix) || is_converted(entry.key)) continue;
    if (keeps_extras) {
      extras.push_back(entry);
    } else {
      context.note("tokenizer: {} spoke of other ids and is gone", entry.key);
    }
  }
  const auto is_old = [](const MetaEntry& entry) { return entry.key.starts_with(kPrefix); };
  auto& entries = metadata.entries;
  const auto at = std::ranges::find_if(entries, is_old) - entries.begin();
  std::erase_if(entries, is_old);
  for (MetaEntry& entry : extras) {
    if (made.find(entry.key) == nullptr) made.entries.push_back(std::move(entry));
  }
  entries.insert(entries.begin() + at, std::make_move_iterator(made.entries.begin()),
                 std::make_move_iterator(made.entries.end()));
}

}  // namespace

Result<Checkpoint> read_tokenizer_donor(const std::string& folder, const Context& context) {
  Checkpoint donor;
  CKPT_CHECK(context.documents != nullptr);
  CKPT_ASSIGN(donor.documents, context.documents(folder));
  return donor;
}

Result<Metadata> tokenizer_keys_for(const Checkpoint& gguf, const Checkpoint& donor,
                                    std::optional<std::string> pre, const Context& context) {
  TokenizerOptions how;
  how.vocab_size = how.most_tokens = tokens_of_embedding(gguf);
  if (!how.vocab_size) how.vocab_size = texts_at(gguf.metadata, kTokens).size();
  how.vocab_size_of = "the GGUF's number of tokens";
  how.pre_name = std::move(pre);
  how.rules = family_of_donor(gguf, donor).tokenizer;
  Metadata out;
  Status added = add_tokenizer_keys(donor, how, context, out);
  if (!added && added.error().remedy == Remedy::kTokenizer) {
    added.error().hint = "--step tokenizer:from=DIR with the source model's tokenizer";
  }
  CKPT_TRY(std::move(added));
  return out;
}

Status take_tokenizer_into_gguf(Checkpoint& checkpoint, const OptionValues& options,
                                const Context& context) {
  const std::string folder = options.text("from");
  CKPT_ASSIGN(const Checkpoint donor, read_tokenizer_donor(folder, context));
  CKPT_ASSIGN(Metadata made,
              in(folder, tokenizer_keys_for(checkpoint, donor, options.find("pre"), context)));
  CKPT_TRY(in(folder, check(checkpoint, made, options, context)));
  replace_keys(checkpoint.metadata, std::move(made), context);
  return {};
}

}  // namespace ckpt
