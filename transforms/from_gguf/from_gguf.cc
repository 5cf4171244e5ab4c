// from-gguf: a GGUF becomes a Hugging Face folder.
//
//   keys ─▶ config.json ─▶ the folder's parameters ─▶ to-gguf on headers alone ─┐
//   GGUF's tensors ◀────── which rows, which changes of values ─────────────────┘
//     └──▶ the folder's tensors, changes undone
//
// The tables of to-gguf are the only ones: what it would do with the folder is read backwards, and
// a configuration counts only when the keys made from it are the file's.
#include <algorithm>
#include <map>
#include <optional>

#include "transforms/from_gguf/config.h"
#include "transforms/from_gguf/generation_config.h"
#include "transforms/from_gguf/nvfp4_into_base.h"
#include "transforms/from_gguf/skeleton.h"
#include "transforms/from_gguf/vocabulary.h"
#include "transforms/from_gguf/weights.h"
#include "transforms/hf/torch_dtype.h"
#include "transforms/steps.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
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
};

// That of the matrices, where none is quantized.
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
  return std::any_of(file.tensors.begin(), file.tensors.end(),
                     [&](const Tensor& tensor) { return tensor.codec == &nvfp4; });
}

// The first family of the file's architecture whose configuration gives the file's keys and
// tensors. Several share one: Llama, Mistral and Mixtral.
struct Found {
  Checkpoint folder;  // headers, config.json
  Forward forward;
  uint64_t kept = 0;  // tensors of the base that no GGUF of the text model has
};
Result<Found> find_folder(const Checkpoint& file, const Codec& type, const Context& context) {
  const std::string* architecture = file.metadata.find_text("general.architecture");
  std::optional<Error> first;
  for (const Family* family : families()) {
    if (architecture == nullptr || family->name != *architecture) continue;
    const auto tried = [&]() -> Result<Found> {
      CKPT_ASSIGN(const JsonValue config, returned_config(file, *family, torch_name(type)));
      Found found;
      CKPT_ASSIGN(found.folder, make_skeleton(file, config, *family, context));
      CKPT_ASSIGN(found.forward, run_forward(found.folder, context));
      CKPT_TRY(check_forward(file, found.folder, found.forward));
      return found;
    }();
    if (tried) return tried;
    if (!first) first = tried.error();
  }
  if (first) {
    return fail_with_hint(first->code, "--base DIR, the folder that the file was made from", "{}",
                          first->what);
  }
  return fail(ErrorCode::kUnsupported,
              "architecture '{}' is not known; ckpt list families shows those that are",
              architecture == nullptr ? "" : *architecture);
}

// Documents of the base, its tensors as names and types. Fails: kUsage: another model's.
Result<Found> folder_of_base(const Checkpoint& file, Checkpoint base, const Context& context) {
  Found out{std::move(base), {}, 0};
  CKPT_ASSIGN(out.forward, run_forward(out.folder, context));
  const std::string* found = file.metadata.find_text("general.architecture");
  if (found == nullptr || *found != out.forward.model.family->name) {
    return fail(ErrorCode::kUsage, "the file's architecture is {}; BASE is {}",
                found == nullptr ? "not said" : *found, out.forward.model.family->name);
  }
  const auto checked = check_forward(file, out.folder, out.forward);
  if (checked) return out;
  return fail(ErrorCode::kUsage, "BASE is not the model that this file was made from: {}",
              checked.error().what);
}

// By number of `made`. Fails: kCorrupt: one that the file lacks.
Result<std::vector<const Tensor*>> tensors_named(const std::vector<Tensor>& made,
                                                 const Checkpoint& file) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : file.tensors) by_name[tensor.name] = &tensor;
  std::vector<const Tensor*> out;
  for (const Tensor& tensor : made) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) {
      return fail(ErrorCode::kCorrupt, "tensor '{}' is missing; '{}' of the folder becomes it",
                  tensor.name, tensor.source_name.empty() ? tensor.name : tensor.source_name);
    }
    out.push_back(found->second);
  }
  return out;
}

// Stored as `type`; nullptr: each as the folder has it.
Status return_tensors(const Checkpoint& file, const Codec* type, Found& found,
                      const Context& context) {
  const std::vector<Tensor>& made = found.forward.tensors;
  CKPT_ASSIGN(const std::vector<const Tensor*> sources, tensors_named(made, file));
  std::vector<size_t> wanted;
  for (size_t i = 0; i < made.size(); ++i) {
    const bool is_computed =
        made[i].is_stored() && made[i].home.empty() && made[i].source_name.empty();
    if (!is_computed) wanted.push_back(i);
  }
  CKPT_ASSIGN(const RowMap map, find_moved_rows(found.folder.tensors, made, wanted));
  const Codec& f32 = plain_codec(context.codecs, Dtype::kF32);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < found.folder.tensors.size(); ++i) {
    const Tensor& like = found.folder.tensors[i];
    const auto rows = map.find(i);
    if (rows == map.end()) {
      tensors.push_back(like);
      ++found.kept;
      continue;
    }
    const Codec& codec = type == nullptr || keeps_f32(like.name) ? *like.codec : *type;
    CKPT_ASSIGN(Tensor made_back, returned_tensor(like, rows->second, made, sources, {codec, f32}));
    tensors.push_back(std::move(made_back));
  }
  found.folder.tensors = std::move(tensors);
  return {};
}

// Another folder's tokenizer in the place of the one at hand.
Status take_tokenizer(const std::string& where, Checkpoint& folder, const Context& context) {
  CKPT_ASSIGN(const std::vector<Document> documents, context.documents(where));
  return take_tokenizer_files(documents, where, folder);
}

// The keys that the folder's tokenizer gives, beside the file's.
Status compare_tokenizer(const Checkpoint& file, const Found& found, const Context& context) {
  TokenizerOptions options;
  const JsonValue* size = found.forward.model.field("vocab_size");
  if (size != nullptr) options.vocab_size = whole(*size);
  options.rules = found.forward.model.family->tokenizer;
  if (const std::string* pre = file.metadata.find_text("tokenizer.ggml.pre")) {
    options.pre_name = *pre;
  }
  Metadata made;
  CKPT_TRY(add_tokenizer_keys(found.folder, options, context, made));
  for (const char* list : {"tokens", "token_type", "merges", "scores"}) {
    const std::string key = std::string("tokenizer.ggml.") + list;
    const MetaValue* theirs = file.metadata.find(key);
    const MetaValue* ours = made.find(key);
    if (theirs == nullptr || (ours != nullptr && *ours == *theirs)) continue;
    context.note(fmt::format("the tokenizer of the folder does not give the file's {} back", key));
  }
  return {};
}

// The text part of a wrapped model stands alone under its own class; the keys of the file are those
// of the wrapper. Fails: kUnsupported: a wrapper whose text part has no class.
Status name_text_class(Found& found) {
  struct TextClass {
    std::string_view wrapper, text, model_type;
  };
  constexpr TextClass kTextClasses[] = {
      {"Mistral3ForConditionalGeneration", "MistralForCausalLM", "mistral"}};
  const std::string& wrapper = found.forward.model.architecture;
  if (!wrapper.ends_with("ForConditionalGeneration")) return {};
  for (const TextClass& row : kTextClasses) {
    if (row.wrapper != wrapper) continue;
    JsonValue config = found.forward.model.root;
    config["architectures"] = {std::string(row.text)};
    config["model_type"] = std::string(row.model_type);
    found.folder.set_document("config.json", config.dump(2) + "\n");
    return {};
  }
  return fail_with_hint(
      ErrorCode::kUnsupported, "--base DIR, the folder that the file was made from",
      "the file holds the text part of a {}, which has no class of its own", wrapper);
}

void note_guesses(const Found& found, const std::vector<std::string>& guessed,
                  const Context& context) {
  context.note(
      fmt::format("config.json is made from the file's keys, which follow from it again as {}",
                  found.forward.model.architecture));
  for (const std::string& guess : guessed) context.note("guessed: " + guess);
}

Result<Checkpoint> from_keys(const Checkpoint& file, const OptionValues& options,
                             const Context& context) {
  const Codec& type = chosen_type(options, file, context);
  CKPT_ASSIGN(Found found, find_folder(file, type, context));
  CKPT_TRY(return_tensors(file, &type, found, context));
  std::vector<std::string> guessed;
  const std::string tokenizer = options.text("tokenizer");
  if (tokenizer.empty()) {
    CKPT_TRY(add_tokenizer_documents(file, found.folder, guessed));
  } else {
    CKPT_TRY(take_tokenizer(tokenizer, found.folder, context));
  }
  CKPT_TRY(compare_tokenizer(file, found, context));
  CKPT_TRY(name_text_class(found));
  found.folder.set_document("generation_config.json",
                            returned_generation_config(file).dump(2) + "\n");
  note_guesses(found, guessed, context);
  return std::move(found.folder);
}

Result<Checkpoint> from_base(const Checkpoint& file, const std::string& where,
                             const OptionValues& options, const Context& context) {
  CKPT_ASSIGN(Checkpoint base, context.open(where));
  if (base.format != "safetensors" || base.first_with_scales() != nullptr) {
    return fail(ErrorCode::kUsage, "{}: expected an unquantized Hugging Face folder", where);
  }
  if (holds_nvfp4(file, context)) {
    if (options.has("tokenizer")) {
      return fail(ErrorCode::kUsage, "from-gguf: tokenizer: NVFP4 weights go into BASE as it is");
    }
    if (options.has("type")) {
      return fail_with_hint(ErrorCode::kUsage, "from-gguf without type, then dequantize",
                            "from-gguf: weights are NVFP4, which stay what they are");
    }
    return nvfp4_into_base(file, std::move(base), context);
  }
  const Codec* type = options.has("type") ? &chosen_type(options, file, context) : nullptr;
  CKPT_ASSIGN(Found found, folder_of_base(file, std::move(base), context));
  CKPT_TRY(return_tensors(file, type, found, context));
  if (type != nullptr) CKPT_TRY(set_config_dtype(found.folder, *type));
  const std::string tokenizer = options.text("tokenizer");
  if (!tokenizer.empty()) CKPT_TRY(take_tokenizer(tokenizer, found.folder, context));
  CKPT_TRY(compare_tokenizer(file, found, context));
  context.note("names, configuration and tokenizer are BASE's; weights are the file's");
  if (found.kept != 0) {
    context.note(
        fmt::format("{} tensors that the file does not hold are BASE's, such as those of "
                    "its towers",
                    found.kept));
  }
  return std::move(found.folder);
}

Result<Checkpoint> from_gguf(Checkpoint checkpoint, const OptionValues& options,
                             const Context& context) {
  if (checkpoint.format != "gguf") {
    return fail(ErrorCode::kUsage, "the checkpoint is {}; expected gguf", checkpoint.format);
  }
  if (checkpoint.is_projector()) {
    return fail_with_hint(ErrorCode::kUnsupported, "the folder that it was made from",
                          "this is a projector: towers without the language model do not come back "
                          "as a folder");
  }
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.is_stored()) continue;
    return fail_with_hint(ErrorCode::kUsage, "an OUT that ends in .gguf, and that file as IN",
                          "tensor '{}' is made by an earlier step; from-gguf takes a GGUF that is "
                          "written",
                          tensor.name);
  }
  const std::string where = options.text("base");
  if (!where.empty()) return from_base(checkpoint, where, options, context);
  if (holds_nvfp4(checkpoint, context)) {
    return fail_with_hint(ErrorCode::kUnsupported, "--base DIR, the folder that it was made from",
                          "NVFP4 weights go back into the folder that the file was made from");
  }
  return from_keys(checkpoint, options, context);
}

}  // namespace

constinit const Transform kFromGguf{
    "from-gguf",
    "GGUF to Hugging Face folder: names, configuration, tokenizer, weights; NVFP4 stays packed",
    kFromGgufOptions, from_gguf};

}  // namespace ckpt
