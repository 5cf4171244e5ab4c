// tokenizer:for=transformers-4.57: changes tokenizer_config.json so that 4.57 and 5 can read it.
//
//   5.x writes                                    becomes
//   tokenizer_class: TokenizersBackend, ...       a class that 4.57 has (classes.cc)
//   extra_special_tokens: [..]                    additional_special_tokens: [..]
//   model_specific_special_tokens: {..}           extra_special_tokens: {..}
//   backend, is_local, local_files_only,          (removed)
//   merges_file/vocab_file/... of null
//   (no added_tokens_decoder)                     from tokenizer.json
//   (no add_bos_token)                            as tokenizer.json frames a text, if a class of
//                                                 4.57 frames it too
//
// tokenizer.json stays unchanged. Source: huggingface/transformers v4.57.1
// tokenization_utils_base.py, tokenization_utils_fast.py, models/llama/tokenization_llama_fast.py;
// v5.17.0 tokenization_utils_base.py. extra_special_tokens is an object in 4.57; 5 reads the old
// additional_special_tokens only if the new key is absent.
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "models/models.h"
#include "transforms/tokenizer/file.h"
#include "transforms/tokenizer/jobs.h"
#include "transforms/tokenizer/model.h"

namespace ckpt {
namespace {

constexpr std::string_view kPlainClass = "PreTrainedTokenizerFast";
constexpr const char* kStray[] = {"backend", "is_local", "local_files_only", "files_loaded"};
constexpr const char* kNoFile[] = {"merges_file", "vocab_file", "tokenizer_file",
                                   "add_prefix_space"};
// Classes of 4.57 that make the post-processor from add_bos_token and add_eos_token.
constexpr std::string_view kFramingClasses =
    "LlamaTokenizer LlamaTokenizerFast CodeLlamaTokenizer CodeLlamaTokenizerFast GemmaTokenizer"
    " GemmaTokenizerFast CohereTokenizer CohereTokenizerFast";

// Converts JSON, with unescaped UTF-8; only for JSON that this program made or read.
JsonText as_edited(const JsonValue& json) {
  auto parsed = JsonText::parse(json.dump(-1, ' ', false, JsonValue::error_handler_t::replace));
  return parsed ? std::move(*parsed) : JsonText::null();
}

class TokenizerFix {
 public:
  TokenizerFix(Checkpoint& checkpoint, const Context& context, JsonText& config)
      : checkpoint_(checkpoint), context_(context), config_(config) {}

  Status run(const OptionValues& options) {
    CKPT_TRY(read());
    if (options.yes("slow")) CKPT_TRY(write_slow_files());
    CKPT_TRY(name_class(options));
    move_special_tokens();
    for (const char* key : kStray) config_.remove(key);
    for (const char* key : kNoFile) {
      const JsonText* found = config_.find(key);
      if (found != nullptr && found->is_null()) config_.remove(key);
    }
    CKPT_TRY(add_decoder());
    match_prefix_space();
    return {};
  }

 private:
  Status read() {
    CKPT_ASSIGN(model_, read_tokenizer_model(checkpoint_));
    CKPT_ASSIGN(std::optional<TokenizerFile> file, read_tokenizer_file(checkpoint_));
    if (!file) {
      return unsupported_hint("--step tokenizer:from=DIR with another folder",
                              "no {}, from which the tokenizer would be fixed", kTokenizerJson);
    }
    file_ = std::move(*file);
    return {};
  }

  Status name_class(const OptionValues& options) {
    const std::string named = config_.find_text("tokenizer_class").value_or("");
    CKPT_ASSIGN(ClassChoice choice, this->choice(options, named));
    choose_framing(choice);
    if (choice.name.ends_with("Fast") && choice.name != kPlainClass && choice.name != named &&
        has("vocab.json") && has("merges.txt") && !options.has("class")) {
      choice.name.resize(choice.name.size() - 4);
    }
    if (choice.name != named) {
      config_.set_sorted("tokenizer_class", JsonText::text(choice.name));
      context_.note(named.empty()
                        ? fmt::format("tokenizer: class {} named", choice.name)
                        : fmt::format("tokenizer: class {} became {}", named, choice.name));
    }
    if (choice.name == kPlainClass && choice.name != named && model_.generates &&
        config_.find("model_input_names") == nullptr) {
      config_.set_sorted("model_input_names", JsonText::texts({"input_ids", "attention_mask"}));
    }
    if (choice.needs_file_rules) {
      config_.set_sorted(kFileRules, JsonText::boolean(true));
      return {};
    }
    const JsonText* set = config_.find(kFileRules);
    const bool differs = transformers_5_cuts_otherwise(choice.name, model_.model_type, file_);
    if (differs && (set == nullptr || set->as_boolean() != true)) note_rules(choice.name);
    return {};
  }

  Result<ClassChoice> choice(const OptionValues& options, const std::string& named) const {
    if (const std::optional<std::string> given = options.find("class")) {
      if (!is_class_of_4_57(*given)) {
        return misuse("class '{}'; expected one that transformers 4.57 has", *given);
      }
      return ClassChoice{*given, transformers_5_cuts_otherwise(*given, model_.model_type, file_)};
    }
    // A processor that accepts only one class rejects the plain class.
    const bool is_refused = named == kPlainClass && !class_of_processor(model_.model_type).empty();
    if (is_class_of_4_57(named) && !is_refused) return ClassChoice{named, false};
    return choose_class(model_, file_);
  }

  // If a class of 4.57 would frame or split text differently from tokenizer.json, sets its flags or
  // selects the plain class, which follows the file.
  void choose_framing(ClassChoice& choice) {
    if (!has_word(kFramingClasses, choice.name)) return;
    const auto frame =
        text_frame(file_, config_.find_text("bos_token"), config_.find_text("eos_token"));
    const JsonText* prefix = config_.find("add_prefix_space");
    const bool is_rebuilt = choice.name.find("Llama") != std::string::npos && prefix != nullptr &&
                            !prefix->is_null() && !has("tokenizer.model");
    if (!frame || is_rebuilt) {
      choice = {std::string(kPlainClass), false};
      return;
    }
    config_.set_sorted("add_bos_token", JsonText::boolean(frame->first));
    config_.set_sorted("add_eos_token", JsonText::boolean(frame->second));
  }

  // Notes that transformers 5 and 4.57 read the folder differently, which ckpt cannot fix.
  void note_rules(const std::string& named) const {
    const bool has_own_class = !traits_of(model_.model_type).tokenizer_class.empty();
    context_.note(
        "tokenizer: under the class {} transformers 5 cuts text by rules of its own, 4.57 by those "
        "in {}, which differ; {} is right in both",
        named, kTokenizerJson, has_own_class ? "no class" : fmt::format("class={}", kPlainClass));
  }

  void move_special_tokens() {
    const JsonText* extra = config_.find("extra_special_tokens");
    if (extra != nullptr && (extra->is_array() || extra->is_null())) {
      JsonText list = *extra;
      config_.remove("extra_special_tokens");
      if (list.is_array() && !list.items().empty() &&
          config_.find("additional_special_tokens") == nullptr) {
        config_.set_sorted("additional_special_tokens", std::move(list));
      }
    }
    const JsonText* specific = config_.find("model_specific_special_tokens");
    if (specific != nullptr && specific->is_object()) {
      JsonText named = *specific;
      config_.remove("model_specific_special_tokens");
      config_.set_sorted("extra_special_tokens", std::move(named));
    }
    // 4.57 writes an empty object if there are none, which would make 5.x ignore the list.
    extra = config_.find("extra_special_tokens");
    if (extra != nullptr && extra->is_object() && extra->members().empty() &&
        config_.find("additional_special_tokens") != nullptr) {
      config_.remove("extra_special_tokens");
    }
  }

  Status add_decoder() {
    if (config_.find("added_tokens_decoder") != nullptr) return {};
    CKPT_ASSIGN(const ListedTokens tokens, read_added_tokens(file_));
    JsonText out = JsonText::object();
    for (const auto& [id, token] : tokens) {
      JsonText entry = JsonText::object();
      entry.set("content", as_edited(token.text));
      entry.set("lstrip", JsonText::boolean(token.lstrip));
      entry.set("normalized", JsonText::boolean(token.normalized));
      entry.set("rstrip", JsonText::boolean(token.rstrip));
      entry.set("single_word", JsonText::boolean(token.single_word));
      entry.set("special", JsonText::boolean(token.special));
      out.members().emplace_back(fmt::format("{}", id), std::move(entry));
    }
    config_.set_sorted("added_tokens_decoder", std::move(out));
    return {};
  }

  // 4.57 sets add_prefix_space (default false) in a pre-tokenizer that has this field.
  void match_prefix_space() {
    const JsonValue* flag = known(file_.part("pre_tokenizer"), "add_prefix_space");
    if (flag == nullptr || !flag->is_boolean()) return;
    const JsonText* declared = config_.find("add_prefix_space");
    const bool current = declared != nullptr && declared->as_boolean().value_or(false);
    if (current != flag->get<bool>()) {
      config_.set_sorted("add_prefix_space", JsonText::boolean(flag->get<bool>()));
    }
  }

  // Writes vocab.json and merges.txt, from which classes without "Fast" read a byte-level BPE.
  Status write_slow_files() {
    if (file_.part("model.type") != "BPE") {
      return unsupported("slow=yes for a model that is not BPE; expected BPE");
    }
    CKPT_ASSIGN(const std::vector<std::string> tokens, read_tokens(file_));
    std::string vocabulary = "{";
    for (size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].empty()) continue;
      const std::string text =
          JsonValue(tokens[id]).dump(-1, ' ', false, JsonValue::error_handler_t::replace);
      vocabulary += fmt::format("{}{}:{}", vocabulary.size() == 1 ? "" : ",", text, id);
    }
    CKPT_ASSIGN(const std::vector<std::string> merges, read_merge_texts(file_));
    std::string lines = "#version: 0.2\n";
    for (const std::string& merge : merges) lines += merge + "\n";
    if (!has("vocab.json")) checkpoint_.set_document("vocab.json", vocabulary + "}");
    if (!has("merges.txt")) checkpoint_.set_document("merges.txt", std::move(lines));
    return {};
  }

  bool has(std::string_view path) const { return checkpoint_.find_document(path) != nullptr; }

  Checkpoint& checkpoint_;
  const Context& context_;
  JsonText& config_;
  TokenizerFile file_;
  TokenizerModel model_;
};

}  // namespace

Status fix_tokenizer(Checkpoint& checkpoint, const OptionValues& options, const Context& context) {
  CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, kTokenizerConfig));
  if (!config) {
    return misuse_hint("--step tokenizer:from=DIR with a folder that has one", "no {}",
                       kTokenizerConfig);
  }
  CKPT_TRY(TokenizerFix(checkpoint, context, config->root).run(options));
  write_json(checkpoint, kTokenizerConfig, *config);
  return {};
}

}  // namespace ckpt
