// to-gguf: turns a Hugging Face checkpoint into the GGUF that llama.cpp's convert_hf_to_gguf.py
// writes for it.
//
//   config.json ─▶ Model ─┬─▶ tensors   names, order, value changes, types    tensors.h
//                         ├─▶ general.* from names, model card, totals        general/general.h
//                         ├─▶ <arch>.*  hyper-parameters                      keys.h
//                         └─▶ tokenizer.ggml.*                                tokenizer/tokenizer.h
//
// Rules and their sources: docs/formats/hf_to_gguf.md. Note: the order of tensors and keys is part
// of the result; the tensors of a file are sorted by name, not by position. For F32 checkpoints,
// outtype=auto keeps F32 where that converter rounds to F16; everything else is equal byte for
// byte.
#include <algorithm>

#include "core/base/find.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/chunks/evaluate.h"
#include "core/model/json_documents.h"
#include "core/model/transform.h"
#include "transforms/facts/like.h"
#include "transforms/facts/qat_quantizers.h"
#include "transforms/to_gguf/general/general.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/relative.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_gguf/tensors.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr std::string_view kTokenTensor = "token_embd.weight";
constexpr Choice kTokenizerAs[] = {{"source", false}, {"converter", true}};
constexpr Choice kMissing[] = {{"refuse", false}, {"leave", true}};
constexpr OptionRule kToGgufOptions[] = {
    option::choice("outtype", kOutTypeNames,
                   "type of the matrices; auto: that of the source (norms and small tensors are "
                   "F32)")
        .by_default("auto"),
    option::yes_no("mtp", "keep the layers for multi-token prediction").by_default("yes"),
    option::yes_no("keep-codes",
                   "keep INT4 codes of compressed-tensors, as q4_0; otherwise they are decoded"),
    option::yes_no("dense-modules",
                   "write the Dense modules of sentence-transformers too, which llama.cpp then "
                   "computes with"),
    option::yes_no("note-towers", "say which tensors of vision and other towers are left out")
        .by_default("yes"),
    option::choice("missing", kMissing,
                   "of a folder that lacks tensors of the model: refuse it, or convert the others")
        .by_default("refuse"),
    option::choice("tokenizer-pre", {}, "name of the pre-tokenizer, instead of the one found; "
                                        "ckpt list pre-tokenizers has their rules")
        .called("NAME")
        .or_word(kPreTokenizerNames, pre_tokenizer_names),
    option::choice("tokenizer-as", kTokenizerAs,
                   "vocabulary to write where the source's and the converter's differ; source: "
                   "llama.cpp splits texts as the source does")
        .by_default("source"),
    kLikeRule,
    option::text("model-name", "NAME",
                 "general.name, instead of that of the model card or the folder"),
};

// The model cannot look up tokens that have no row in the embedding.
Status check_vocabulary(const Metadata& metadata, const std::vector<Tensor>& tensors,
                        const Model& model, const Context& context) {
  const MetaArray* tokens = metadata.find_array("tokenizer.ggml.tokens");
  const Tensor* embedding = find_by(tensors, &Tensor::name, kTokenTensor);
  if (tokens == nullptr || embedding == nullptr) return {};
  const uint64_t count = tokens->count(), rows = embedding->rows();
  if (count < rows) {
    context.note(
        "vocab_size is {}, but the embedding has {} rows; llama.cpp will not load such a file. "
        "Try: {}",
        count, rows, advice_on_count(0, tokenizer_options_of(model, rows)).text);
    return {};
  }
  // Tokens beyond the rows are normal if they are the padding that the converter makes.
  if (count - rows < model.family->sizes.vocabulary_multiple) return {};
  return corrupt_hint(kFittingTokenizer,
                      "the vocabulary has {} tokens; the embedding '{}' has {} rows", count,
                      embedding->source_name, rows);
}

Result<Metadata> make_metadata(const Checkpoint& input, const Model& model,
                               const std::vector<Tensor>& tensors, const OptionValues& options,
                               const Context& context) {
  Metadata out;
  out.append("general.architecture", MetaValue::text(std::string(model.family->name)));
  CKPT_TRY(add_early_keys(input, model, out));
  out.append("general.type", MetaValue::text("model"));
  CKPT_TRY(add_general_keys(input, tensors, options.find("model-name"), context, out));
  CKPT_TRY(add_model_keys(input, model, out));
  out.append("general.quantization_version", MetaValue::u32(2));
  std::optional<uint64_t> rows;
  const Tensor* embedding = find_by(tensors, &Tensor::name, kTokenTensor);
  if (embedding != nullptr) rows = embedding->rows();
  TokenizerOptions tokenizer = tokenizer_options_of(model, rows);
  tokenizer.pre_name = options.find("tokenizer-pre");
  tokenizer.as_converter = options.choice<bool>("tokenizer-as");
  CKPT_TRY(add_tokenizer_keys(input, tokenizer, context, out));
  return out;
}

void note_towers(const Model& model, const Context& context) {
  const std::vector<std::string>& towers = model.towers;
  if (towers.empty()) return;
  const bool all_see = std::ranges::all_of(towers, [](const std::string& name) {
    return name.find("visual.") != name.npos || name.find("vision") != name.npos;
  });
  context.note(
      "{} tensors of {} are left out (the first: '{}'); llama.cpp reads them from a second file, "
      "which {}",
      towers.size(), all_see ? "the vision tower" : "vision and other towers", towers[0],
      find_projector_family(model.root) != nullptr
          ? "--mmproj FILE makes too, and --mmproj-only alone"
          : "its convert_hf_to_gguf.py --mmproj writes");
}

// llama.cpp normalizes embeddings itself and has a key for pooling. Its converter omits other
// modules too; --sentence-transformers-dense-modules keeps those of EmbeddingGemma.
void note_modules(const Checkpoint& input, const Context& context) {
  constexpr std::string_view kKept[] = {"Transformer", "Pooling", "Normalize", "Dropout"};
  std::vector<std::string> left_out;
  for (const auto& [path, type] : sentence_modules(input)) {
    if (!ends_with_any(type, kKept) && !path.empty()) left_out.push_back(path);
  }
  if (left_out.empty()) return;
  context.note(
      "modules.json: {} left out, for which the file has no place; its embeddings are those "
      "before these modules",
      printable(
          fmt::format("{} {}", fmt::join(left_out, ", "), left_out.size() == 1 ? "is" : "are")));
}

void note_classifier(const std::vector<NamedTensor>& tensors, const Model& model,
                     const Context& context) {
  const auto has = [&](std::string_view start) {
    return std::ranges::any_of(
        tensors, [&](const NamedTensor& named) { return named.name.starts_with(start); });
  };
  if (!has("classifier.")) return;
  if (has("pooler.")) {
    context.note(
        "the pooler, behind which the class has its classifier, is left out, as by llama.cpp's "
        "converter; scores in llama.cpp differ from the source's");
  }
  if (has_unnamed_labels(model.config)) {
    context.note(
        "config.json names none of the 2 labels (id2label), and llama.cpp will not load such a "
        "classifier. Try: --step config:set=id2label.0=NAME,set=id2label.1=NAME");
  }
}

// The GGUF contains such a head, and llama.cpp uses it, while some programs use the embedding.
void note_tied_head(const std::vector<NamedTensor>& tensors, const Model& model,
                    const Context& context) {
  constexpr uint64_t kHeadSample = uint64_t{1} << 16;
  if (!model.family->head.is_in_gguf || !is_truthy(member(model.config, "tie_word_embeddings")))
    return;
  const NamedTensor* head = find_by(tensors, &NamedTensor::name, "lm_head.weight");
  const NamedTensor* embedding = find_by(tensors, &NamedTensor::name, "model.embed_tokens.weight");
  if (head == nullptr || embedding == nullptr) return;
  const auto error = measure_error(head->tensor, embedding->tensor, {}, kHeadSample);
  if (!error || error->noise == 0) return;
  context.note(
      "config.json: tie_word_embeddings is true, but lm_head.weight has other values than the "
      "embedding; the file has it as output.weight, while vLLM 0.17 and transformers 4.57 use "
      "the embedding");
}

// rope_scaling overrides rope_parameters, as in transformers. Fails: kCorrupt if that loses a
// number that the weights were trained with.
Status check_rope(const Model& model, const Context& context) {
  if (!model.rope_conflict) return {};
  const auto& [field, scaling, parameters, is_lost] = *model.rope_conflict;
  if (!is_lost) {
    context.note(
        "config.json: {} is {} in rope_scaling and {} in rope_parameters; rope_scaling is "
        "used, as in transformers",
        field, scaling.dump(), parameters.dump());
    return {};
  }
  const bool is_inner = known(known(model.root, "text_config"), "rope_scaling") != nullptr;
  const std::string step =
      "--step " + shell_word(fmt::format("config:set={}rope_scaling.{}={}",
                                         is_inner ? "text_config." : "", field, parameters.dump()));
  return corrupt_hint(step,
                      "config.json: rope_scaling has no {0}, which would be {1}; rope_parameters, "
                      "which transformers ignores next to rope_scaling, have {2}",
                      field, scaling.is_null() ? "absent" : scaling.dump(), parameters.dump());
}

Result<Checkpoint> to_gguf(Checkpoint input, const OptionValues& options, const Context& context) {
  if (input.format == "gguf") {
    return misuse("to-gguf: the checkpoint is GGUF already");
  }
  CKPT_TRY(drop_quantizers(input, GlobList(std::vector<std::string>()), context));
  CKPT_ASSIGN(const auto own_config, read_object(input, "config.json"));
  const auto like = options.find("like");
  if (like) CKPT_TRY(make_like(input, *like));
  CKPT_TRY(require_table(input, context.codecs));
  CKPT_ASSIGN(Model model, read_model(input));
  CKPT_TRY(check_rope(model, context));
  CKPT_ASSIGN(input, with_whole_weights(std::move(input), context.codecs));
  CKPT_ASSIGN(std::vector<NamedTensor> selected,
              select_tensors(input, options.yes("mtp"), model, context.codecs));
  if (options.yes("note-towers")) note_towers(model, context);
  if (options.yes("dense-modules")) {
    CKPT_ASSIGN(std::vector<NamedTensor> dense, read_dense_modules(input, model, context.codecs));
    selected.insert(selected.begin(), std::make_move_iterator(dense.begin()),
                    std::make_move_iterator(dense.end()));
  } else {
    note_modules(input, context);
  }
  note_tied_head(selected, model, context);
  note_classifier(selected, model, context);
  if (model.left_out != 0) {
    context.note(
        "{} tensors of layers for multi-token prediction are left out: "
        "llama.cpp has no use for them in this family",
        model.left_out);
  }
  if (like) CKPT_TRY(note_assumptions(*own_config, selected, model, context));
  CKPT_TRY(check_shapes(selected, model));
  CKPT_TRY(check_layers(selected, model));
  // Names that the family does not have are reported first.
  Status whole = options.choice<bool>("missing") ? Status() : check_missing(selected, model);
  const int wanted = options.choice<int>("outtype");
  model.out_type = wanted == kSourceType ? guess_out_type(selected) : static_cast<OutType>(wanted);
  model.keeps_codes = options.yes("keep-codes");
  Checkpoint out;
  out.format = "gguf";
  out.name = input.name;
  CKPT_ASSIGN(out.tensors, make_gguf_tensors(std::move(selected), model, context.codecs));
  CKPT_TRY(std::move(whole));
  if (model.keeps_codes) CKPT_TRY(note_kept_codes(input, out.tensors, context));
  CKPT_ASSIGN(out.metadata, make_metadata(input, model, out.tensors, options, context));
  CKPT_TRY(check_vocabulary(out.metadata, out.tensors, model, context));
  return out;
}

}  // namespace

extern const Transform kToGguf = {
    .name = "to-gguf",
    .help = "Hugging Face checkpoint to GGUF, as llama.cpp's converter writes it",
    .options = kToGgufOptions,
    .run = to_gguf,
};

}  // namespace ckpt
