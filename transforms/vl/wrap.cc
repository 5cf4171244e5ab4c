// The steps vl-wrap and vl-unwrap: move a text model into a vision-language model, and out again.
// Names of tensors change, but no bytes.
//
//   config.json            nested (config.h)
//   tensors                model.layers.* ⇄ model.language_model.layers.* (names.h)
//   quantization lists     the same names, in hf_quant_config.json and config.json; tower and MTP
//                          layers are listed as not quantized
//   processor files        from BASE, else the usual ones (preprocessor.h); unwrapping removes
//                          them and the tower
//
// Users need this because vLLM 0.17 and SGLang know Qwen3.5 only by its vision-language class.
// Folders may lack any of the five; each is completed separately, so wrapping a wrapped model
// changes nothing.
#include <algorithm>

#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/vl/config.h"
#include "transforms/vl/names.h"
#include "transforms/vl/preprocessor.h"

namespace ckpt {
namespace {

constexpr OptionRule kWrapOptions[] = {
    option::path("base", "DIR", "the same as with"),
    option::path("with", "BASE",
                 "a folder of the vision-language model: its vision_config, ids, processors"),
};
constexpr OptionRule kUnwrapOptions[] = {
    option::yes_no("mtp", "keep the layers for multi-token prediction").by_default("yes"),
};
constexpr std::string_view kVlConfigFile = "config.json";
constexpr std::string_view kVlGenerationFile = "generation_config.json";

// A folder that an option names.
struct Base {
  std::vector<Document> documents;
  JsonText config;
  const VlFamily* family = nullptr;
};

Result<JsonDocument> config_of(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, kVlConfigFile));
  if (!config) return misuse("no config.json; expected a Hugging Face folder");
  return std::move(*config);
}

Result<Base> open_base(const std::string& path, const Context& context) {
  Checkpoint folder;
  CKPT_ASSIGN(folder.documents, context.documents(path));
  CKPT_ASSIGN(JsonDocument config, config_of(folder));
  CKPT_ASSIGN(const VlModel model, identify_vl_wrapper(config.root));
  if (config.root.find("vision_config") == nullptr) {
    return misuse("config.json: no vision_config; expected a BASE with one");
  }
  return Base{std::move(folder.documents), std::move(config.root), model.family};
}

// Ids of added tokens by their text; empty without a tokenizer.json.
Result<std::map<std::string, uint64_t>> read_token_ids(const Checkpoint& checkpoint) {
  std::map<std::string, uint64_t> out;
  CKPT_ASSIGN(const auto tokenizer, read_object(checkpoint, "tokenizer.json"));
  if (!tokenizer) return out;
  for (const JsonValue& token : list_in(*tokenizer, "added_tokens")) {
    const std::string* content = text_of(token, "content");
    const auto number = whole(known(token, "id"));
    if (content != nullptr && number) out[*content] = *number;
  }
  return out;
}

std::string wrapper_dtype(const Checkpoint& checkpoint) {
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_of_embeddings(tensor.name)) continue;
    const std::string_view name = torch_name(*tensor.codec);
    if (!name.empty()) return std::string(name);
  }
  return "bfloat16";
}

// Renames tensors, and modules in the lists of documents.
Status rename_all(Checkpoint& checkpoint, const VlFamily& family, VlSide side,
                  const Context& context) {
  CKPT_TRY(rename_vl_tensors(checkpoint, family, side));
  CKPT_ASSIGN(const std::set<std::string> unclear, rename_vl_modules(checkpoint, family, side));
  if (!unclear.empty()) {
    context.note("entries of quantization lists that keep their names: {}",
                 fmt::join(unclear, ", "));
  }
  return {};
}

// Adds generation_config.json, because older readers do not find the end of text in text_config.
Status complete_generation(Checkpoint& checkpoint, const JsonText& text, const Base* base) {
  if (checkpoint.find_document(kVlGenerationFile) != nullptr) return {};
  JsonText out = JsonText::object();
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    const JsonText* value = text.find(key);
    if (value != nullptr && !value->is_null()) out.set(key, *value);
  }
  if (base != nullptr) {
    Checkpoint folder;
    folder.documents = base->documents;
    CKPT_ASSIGN(std::optional<JsonDocument> theirs,
                in("BASE", read_json(folder, kVlGenerationFile)));
    const JsonText* end = theirs ? theirs->root.find("eos_token_id") : nullptr;
    const JsonText* ours = text.find("eos_token_id");
    const bool agrees =
        end != nullptr && (ours == nullptr || ours->is_null() || *ours == *end || end->is_array());
    if (agrees) out = std::move(theirs->root);
  }
  if (out.find("eos_token_id") == nullptr) return {};
  checkpoint.set_document(std::string(kVlGenerationFile), out.dump(2) + "\n");
  return {};
}

bool has_part(const Checkpoint& checkpoint, VlPart part) {
  return std::ranges::any_of(checkpoint.tensors,
                             [&](const Tensor& tensor) { return vl_part_of(tensor.name) == part; });
}

Status check_format(const Checkpoint& checkpoint) {
  if (checkpoint.format == "safetensors") return {};
  return misuse("the checkpoint is {}; expected a Hugging Face folder", checkpoint.format);
}

Result<Checkpoint> vl_wrap(Checkpoint checkpoint, const OptionValues& options,
                           const Context& context) {
  CKPT_TRY(check_format(checkpoint));
  CKPT_ASSIGN(JsonDocument config, config_of(checkpoint));
  std::optional<Base> base;
  const auto path = options.find(options.has("with") ? "with" : "base");
  if (path) CKPT_SET(base, in(*path, open_base(*path, context)));
  CKPT_ASSIGN(const VlModel model, identify_vl_text(config.root, base ? base->family : nullptr));
  VlFacts facts;
  facts.has_head = checkpoint.has_head();
  facts.dtype = wrapper_dtype(checkpoint);
  CKPT_ASSIGN(facts.token_ids, read_token_ids(checkpoint));
  if (base) facts.base = &base->config;
  CKPT_ASSIGN(config.root, nest_vl_config(config.root, model, facts, context));

  write_json(checkpoint, kVlConfigFile, config);
  CKPT_TRY(rename_all(checkpoint, *model.family, VlSide::kWrapped, context));
  CKPT_TRY(cover_vl_modules(checkpoint, *model.family));
  CKPT_TRY(complete_generation(checkpoint, *config.root.find(model.family->text_key),
                               base ? &*base : nullptr));
  CKPT_TRY(complete_processors(checkpoint, *model.family, config.root,
                               base ? &base->documents : nullptr, false));
  if (!has_part(checkpoint, VlPart::kVision)) {
    context.note(
        "no tensors of a vision tower: to be served as a language model only "
        "(vLLM: --language-model-only), or graft a tower");
  }
  return checkpoint;
}

Result<Checkpoint> vl_unwrap(Checkpoint checkpoint, const OptionValues& options,
                             const Context& context) {
  CKPT_TRY(check_format(checkpoint));
  CKPT_ASSIGN(JsonDocument config, config_of(checkpoint));
  CKPT_ASSIGN(const VlModel model, identify_vl_wrapper(config.root));
  config.root = unnest_vl_config(config.root, model, checkpoint.has_head());
  const bool keeps_mtp = options.yes("mtp");
  const size_t dropped = std::erase_if(checkpoint.tensors, [&](const Tensor& tensor) {
    const VlPart part = vl_part_of(tensor.name);
    return part == VlPart::kVision || (part == VlPart::kMtp && !keeps_mtp);
  });
  write_json(checkpoint, kVlConfigFile, config);
  CKPT_TRY(rename_all(checkpoint, *model.family, VlSide::kText, context));
  std::erase_if(checkpoint.documents, is_processor_file);
  const auto other = std::ranges::find_if(checkpoint.tensors, [](const Tensor& tensor) {
    return vl_part_of(tensor.name) == VlPart::kOther;
  });
  if (other != checkpoint.tensors.end()) {
    context.note("tensor '{}' is of neither the text model nor the tower, and stays", other->name);
  }
  if (dropped != 0) {
    context.note("{} tensors of the vision tower{} are dropped", dropped,
                 keeps_mtp ? "" : " and of multi-token prediction");
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kVlWrap = {
    "vl-wrap", "wrap a text model in its vision-language class: configuration and names",
    kWrapOptions, vl_wrap, ChangeScope::kNames};
extern constinit const Transform kVlUnwrap = {
    "vl-unwrap", "extract the text model from a vision-language model; the vision tower is dropped",
    kUnwrapOptions, vl_unwrap, ChangeScope::kNames};

}  // namespace ckpt
