// from-gguf: makes a Hugging Face folder from a GGUF.
//
//   keys ─▶ config.json ─▶ the folder's parameters ─▶ to-gguf on headers alone ─┐
//   GGUF's tensors ◀────── their rows and their changes of values ──────────────┘
//     └──▶ the folder's tensors, changes undone
//
// It needs no tables besides those of to-gguf: it runs to-gguf on a candidate folder and reads the
// result backwards. A configuration is accepted only if the keys made from it equal the file's.
#include <algorithm>

#include "core/model/adapter.h"
#include "core/model/document_names.h"
#include "core/model/transform.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/tokenizer/files.h"

namespace ckpt {
namespace {

constexpr int kTypeOfFile = -1;
constexpr Choice kFloatTypeNames[] = {
    {"auto", kTypeOfFile}, {"f32", Dtype::kF32}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBF16}};

constexpr OptionRule kFromGgufOptions[] = {
    option::path("base", "DIR",
                 "the folder that the file was made from: its names, configuration, tokenizer"),
    option::path("tokenizer", "DIR",
                 "a folder to take the tokenizer from, instead of the file's keys"),
    option::choice("type", kFloatTypeNames,
                   "type of all tensors; auto: that of the file's matrices, bf16 where they are "
                   "quantized")
        .by_default("auto"),
    option::glob("keep",
                 "tensors that keep the file's type, by their names in IN or OUT; one that is "
                 "quantized gets auto's")
        .repeated()
        .only_with("type"),
};

// The type of the matrices, if none is quantized.
Dtype type_of_matrices(const Checkpoint& file) {
  bool has_f16 = false, has_other = false;
  for (const Tensor& tensor : file.tensors) {
    const auto dtype = plain_dtype(*tensor.codec);
    if (tensor.shape.size() < 2 || dtype == Dtype::kF32) continue;
    has_f16 = has_f16 || dtype == Dtype::kF16;
    has_other = has_other || dtype != Dtype::kF16;
  }
  return has_other ? Dtype::kBF16 : has_f16 ? Dtype::kF16 : Dtype::kF32;
}

const Codec& chosen_type(const OptionValues& options, const Checkpoint& file,
                         const Context& context) {
  const int wanted = options.choice<int>("type");
  return plain_codec(context.codecs,
                     wanted == kTypeOfFile ? type_of_matrices(file) : static_cast<Dtype>(wanted));
}

bool holds_nvfp4(const Checkpoint& file, const Context& context) {
  const Codec& nvfp4 = plain_codec(context.codecs, Dtype::kNvfp4);
  return std::ranges::any_of(file.tensors,
                             [&](const Tensor& tensor) { return tensor.codec == &nvfp4; });
}

// Replaces the tokenizer by that of the folder in `options`, if one is named.
Status take_tokenizer(const OptionValues& options, Checkpoint& folder, const Context& context) {
  const std::string where = options.text("tokenizer");
  if (where.empty()) return {};
  CKPT_ASSIGN(const std::vector<Document> documents, context.documents(where));
  return take_tokenizer_files(documents, where, folder);
}

void note_guesses(const ReturnedFolder& found, const std::vector<std::string>& guessed,
                  const Context& context) {
  context.note("config.json is made from the file's keys, which follow from it again as {}",
               found.forward.model.architecture);
  const std::string_view absent_in_gguf = found.forward.model.family->graph.absent_fields;
  if (!absent_in_gguf.empty())
    context.note("not in the file, as released models have it: {}", absent_in_gguf);
  for (const std::string& guess : guessed) context.note("guessed: " + guess);
}

// Gives the tensors the file's values, as `type` or, if that is null, in the types of the folder;
// NVFP4 stays packed, as ModelOpt stores it.
Status take_values(const Checkpoint& file, const Codec* type, const OptionValues& options,
                   ReturnedFolder& found, const Context& context) {
  KeepRules keep(options.all("keep"));
  const Codec& unkept = plain_codec(context.codecs, type_of_matrices(file));
  const Checkpoint skeleton = found.folder;
  const bool is_auto = type != nullptr && !options.has("type");
  CKPT_TRY(return_tensors(file, {type, &keep, &unkept, is_auto}, found, context));
  if (holds_nvfp4(file, context)) {
    CKPT_ASSIGN(found.folder, nvfp4_into_skeleton(file, skeleton, found.folder.tensors, context));
  }
  keep.note(context);
  return {};
}

// `is_own`: the folder's tokenizer was made from the file's keys.
Status settle_keys(const Checkpoint& file, bool is_own, ReturnedFolder& found,
                   const Context& context) {
  const Model& model = found.forward.model;
  CKPT_ASSIGN(ReturnedKeys keys, find_returned_keys(file, found.folder, model, is_own, context));
  if (!is_own) {
    CKPT_TRY(follow_token_ids(keys.made, file, found.folder));
  } else {
    CKPT_ASSIGN(const bool are_more_named, name_tokens(file, keys.absent, found.folder));
    if (are_more_named) {
      CKPT_SET(keys, find_returned_keys(file, found.folder, model, is_own, context));
    }
  }
  note_lost_keys(keys, context);
  return {};
}

Result<Checkpoint> from_keys(const Checkpoint& file, const OptionValues& options,
                             const Context& context) {
  const Codec& type = chosen_type(options, file, context);
  const bool keeps_mxfp4 = !options.has("type") && has_mxfp4_experts(file);
  CKPT_ASSIGN(ReturnedFolder found, find_folder(file, type, keeps_mxfp4, context));
  found.folder.set_document("generation_config.json",
                            returned_generation_config(file).dump(2) + "\n");
  CKPT_TRY(take_values(file, &type, options, found, context));
  std::vector<std::string> guessed;
  const bool is_own = !options.has("tokenizer");
  if (is_own) CKPT_TRY(add_tokenizer_documents(file, found.folder, guessed));
  CKPT_TRY(take_tokenizer(options, found.folder, context));
  CKPT_TRY(settle_keys(file, is_own, found, context));
  CKPT_ASSIGN(const std::string text_class, name_text_class(found));
  note_guesses(found, guessed, context);
  note_other_keys(found.forward, context);
  if (!text_class.empty()) {
    context.note("the folder is a {}: the text part of a {}, whose towers the file does not have",
                 text_class, found.forward.model.architecture);
  }
  return std::move(found.folder);
}

// Fails if BASE contradicts a key, unless --tokenizer names a folder with the right tokenizer;
// notes keys that BASE lacks.
Status settle_keys_of_base(const Checkpoint& file, const Checkpoint& folder, const Model& model,
                           const OptionValues& options, const Context& context) {
  CKPT_ASSIGN(const ReturnedKeys keys, find_returned_keys(file, folder, model, false, context));
  if (!options.has("tokenizer")) CKPT_TRY(refuse_other_keys(keys));
  note_lost_keys(keys, context);
  return {};
}

bool has_tokenizer(const Checkpoint& folder) {
  return std::ranges::any_of(folder.documents, [](const Document& document) {
    return is_document_of(DocumentKind::kVocabulary, document.path);
  });
}

// The documents come from BASE, except for the tokenizer and the declaration of NVFP4.
Result<Checkpoint> nvfp4_from_base(const Checkpoint& file, Checkpoint base,
                                   const OptionValues& options, const Context& context) {
  CKPT_TRY(take_tokenizer(options, base, context));
  Checkpoint documents;
  documents.format = base.format;
  documents.documents = base.documents;
  CKPT_ASSIGN(Checkpoint out, nvfp4_into_base(file, std::move(base), context));
  CKPT_ASSIGN(const Model model, read_model(documents));
  if (has_tokenizer(documents)) {
    CKPT_TRY(settle_keys_of_base(file, documents, model, options, context));
  }
  return out;
}

Result<Checkpoint> from_base(const Checkpoint& file, const std::string& where,
                             const OptionValues& options, const Context& context) {
  CKPT_ASSIGN(Checkpoint base, context.open(where));
  if (base.format != "safetensors" || base.first_with_scales() != nullptr) {
    return misuse_hint(fmt::format("ckpt convert {} OUT --to bf16, and OUT as BASE", where),
                       "{}: expected an unquantized Hugging Face folder", where);
  }
  if (holds_nvfp4(file, context)) return nvfp4_from_base(file, std::move(base), options, context);
  const Codec* type = options.has("type") ? &chosen_type(options, file, context) : nullptr;
  CKPT_ASSIGN(ReturnedFolder found, folder_of_base(file, std::move(base), context));
  CKPT_TRY(take_values(file, type, options, found, context));
  if (type != nullptr) CKPT_TRY(set_config_dtype(found.folder, *type));
  CKPT_TRY(take_tokenizer(options, found.folder, context));
  CKPT_TRY(settle_keys_of_base(file, found.folder, found.forward.model, options, context));
  context.note("names, configuration and tokenizer are BASE's; weights are the file's");
  note_other_keys(found.forward, context);
  if (found.kept != 0) {
    context.note("{} tensors that the file does not hold are BASE's, such as those of its towers",
                 found.kept);
  }
  return std::move(found.folder);
}

Result<Checkpoint> from_gguf(Checkpoint checkpoint, const OptionValues& options,
                             const Context& context) {
  if (checkpoint.format != "gguf") {
    return misuse("the checkpoint is {}; expected gguf", checkpoint.format);
  }
  if (checkpoint.is_projector()) {
    return unsupported_hint(
        "the folder that it was made from",
        "a projector; ckpt cannot convert towers without a language model to a folder");
  }
  CKPT_TRY(require_model(checkpoint));
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.is_stored()) continue;
    return misuse_hint(
        "--step from-gguf before that step, or an OUT that ends in .gguf",
        "tensor '{}' is made by an earlier step; from-gguf takes a GGUF that is written",
        tensor.name);
  }
  CKPT_ASSIGN(const uint64_t joined, stack_single_experts(checkpoint, context.codecs));
  if (joined != 0) {
    context.note("the file has each expert alone; {} tensors are joined to stacks", joined);
  }
  const std::string where = options.text("base");
  if (options.has("type") && holds_nvfp4(checkpoint, context)) {
    return misuse_hint("from-gguf without type, then dequantize",
                       "from-gguf: weights are NVFP4, which stay what they are");
  }
  if (!where.empty()) return from_base(checkpoint, where, options, context);
  return from_keys(checkpoint, options, context);
}

}  // namespace

extern constinit const Transform kFromGguf{
    "from-gguf",
    "GGUF to Hugging Face folder: names, configuration, tokenizer, weights; NVFP4 stays packed",
    kFromGgufOptions, from_gguf};

}  // namespace ckpt
